"""A run is a function of its spec and its code, of nothing that is hidden from it, and finishes whole or not at all."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from printed import Run

from pubench_core.records.files import read_scores

NNPU = ("run", "--method", "nnpu", "--data", "breast-cancer", "--threads", "1", "--no-tracking")


class TestTwoProcesses:
    ARGUMENTS = (*NNPU, "--set", "epochs=3")

    def test_one_spec_gives_the_same_bits_twice(self, pubench: Run, tmp_path: Path) -> None:
        fresh = pubench(*self.ARGUMENTS, "--results", "a", "--format", "json", cold=True)
        other = pubench(*self.ARGUMENTS, "--results", "b", "--format", "json")
        first, second = json.loads(fresh.stdout), json.loads(other.stdout)
        assert first["run_id"] == second["run_id"]
        assert first["criteria"] == second["criteria"]
        a, b = (read_scores(tmp_path / found["record"]) for found in (first, second))
        assert a.keys() == b.keys()
        snapshots = {criterion["snapshot"] for criterion in first["criteria"].values()}
        assert {f"{part}_scores_{snapshot}" for part in ("test", "validation") for snapshot in snapshots} <= a.keys()
        for name in a:
            assert a[name].tobytes() == b[name].tobytes()


class TestInterrupted:
    """150 epochs of one step on four rows: long enough to be stopped after the first, short enough to do again."""

    SHORT_STEPS = ("batch_size=4", "steps_per_epoch=1", "epochs=150", "patience=null", "selection.criteria=[pa]")
    ARGUMENTS = (*NNPU, "--format", "json")

    def words(self) -> list[str]:
        return [*self.ARGUMENTS, *(word for field in self.SHORT_STEPS for word in ("--set", field))]

    def after_its_first_epoch(self, folder: Path, started: Callable[..., Any]) -> Any:
        """The command, once it has said that an epoch is over."""
        out, err = folder / "out", folder / "err"
        out.touch()
        err.touch()
        process = started(folder, *self.words(), files=(out, err))
        until = time.monotonic() + 60
        while "\ntrain 1/150 " not in err.read_text():
            assert time.monotonic() < until
            time.sleep(0.01)
        return process

    def finished(self, folder: Path) -> list[str]:
        """What a reader of the results folder would take for a record."""
        results = folder / "results"
        return [p.name for p in results.iterdir() if p.name != ".incoming"] + [str(p) for p in results.rglob("*.json")]

    def test_after_kill_9_nothing_looks_finished_and_the_next_run_succeeds(
        self, pubench: Run, pubench_started: Callable[..., Any], tmp_path: Path
    ) -> None:
        process = self.after_its_first_epoch(tmp_path, pubench_started)
        process.kill()
        out, _ = process.communicate()
        assert (process.returncode, out) == (-signal.SIGKILL, "")
        assert self.finished(tmp_path) == []

        done = pubench(*self.words())
        assert done.returncode == 0
        result = json.loads(done.stdout)
        assert (result["reused"], result["epochs"]) == (False, 150)
        assert (tmp_path / result["record"] / "result.json").exists()
        assert [p.name for p in (tmp_path / "results" / ".incoming").iterdir() if p.name != ".lock"] == []

    def test_ctrl_c_is_one_line_exit_130_and_no_record(
        self, pubench_started: Callable[..., Any], tmp_path: Path
    ) -> None:
        process = self.after_its_first_epoch(tmp_path, pubench_started)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        assert (process.returncode, json.loads(out)["exit_code"]) == (130, 130)
        _, *progress, last = err.splitlines()
        assert last == "error: interrupted; nothing unfinished was recorded"
        assert all(re.match(r"train \d+/150 ", line) for line in progress)
        assert self.finished(tmp_path) == []
