"""What Ctrl-C and SIGTERM do to a study, and what is said of it once."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from pubench_study import local
from pubench_study.planning import freeze
from pubench_study.scheduler import Stop
from pubench_study.study_file import read_study
from pubench_study.task import Ended, Orders, Progressed, RunTask

from pubench_core.data.dataset import data_root
from pubench_core.plugins.registry import registry
from pubench_core.specs import ExecutionSpec


@pytest.mark.parametrize(
    ("signals", "everything", "said"),
    [
        ([signal.SIGINT], False, "those in work are waited for (Ctrl-C again gives them up)"),
        ([signal.SIGINT, signal.SIGINT], True, "those in work are waited for (Ctrl-C again gives them up)"),
        ([signal.SIGTERM], True, "those in work are given up"),
        ([signal.SIGTERM, signal.SIGINT], True, "those in work are given up"),
    ],
)
def test_a_signal_says_what_becomes_of_runs_in_work(signals: list[int], everything: bool, said: str) -> None:
    heard: list[str] = []
    stop = Stop(heard.append)
    before = signal.getsignal(signal.SIGTERM)
    with stop.listening():
        for number in signals:
            os.kill(os.getpid(), number)
    assert (stop.starting, stop.everything, stop.signal) == (True, everything, signals[-1])
    assert len(heard) == 1
    assert heard[0].startswith("no more runs are started")
    assert heard[0].endswith(said)
    assert signal.getsignal(signal.SIGTERM) is before


def test_of_a_worker_that_is_stopped_it_is_said_that_nothing_was_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "QUIET", 1.0)
    (tmp_path / "one.yaml").write_text("name: one\nmethods: [{key: upu, config: {epochs: 500}}]\ndata: [digits]\n")
    plan, _ = freeze(read_study(tmp_path / "one.yaml"), registry(), data_root(ExecutionSpec()))
    pool = local.LocalPool(["cpu"], Orders(results=tmp_path / "results"), tmp_path / "logs")
    heard: list[Ended | Progressed] = []

    def wait_for(words: str) -> Progressed:
        until = time.monotonic() + 120
        while time.monotonic() < until:
            heard.extend(pool.events(0.1))
            for event in heard:
                if isinstance(event, Progressed) and words in event.stage:
                    return event
        raise AssertionError(heard)

    try:
        pool.submit(RunTask(plan.runs[0].run_id, plan.runs[0].resolved, {}, 1))
        wait_for("train")
        os.kill(pool._workers[0].process.pid, signal.SIGSTOP)
        quiet = wait_for("nothing heard for ")
        assert (quiet.epoch > 0, quiet.of) == (True, 500)
    finally:
        os.kill(pool._workers[0].process.pid, signal.SIGCONT)
        pool.close(abandon=True)
