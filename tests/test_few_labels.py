"""A table with ten labels is refused in one line, which names a command that works for it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from printed import Run

import pubench
from pubench_core.errors import PubenchError


@pytest.fixture
def command(tmp_path: Path, pubench_in: Callable[[Path], Run]) -> Run:
    """``pubench`` in a folder with a table of 66 rows, ten of them labeled, and one with eleven."""
    rng = np.random.default_rng(0)
    for name, n in (("ten.csv", 10), ("eleven labels.csv", 11)):
        frame = pd.DataFrame(rng.normal(size=(66, 3)), columns=["a", "b", "c d"])
        frame.assign(made=(np.arange(66) < n).astype(int), note=np.arange(66) / 7).to_csv(tmp_path / name, index=False)
    return pubench_in(tmp_path)


@pytest.mark.parametrize(
    ("method", "more", "left"),
    [("pu-bagging", (), 8), ("elkan-noto", (), 8), ("naive", ("--folds", "10"), 9)],
)
def test_the_refusal_of_a_run_names_options_that_work(
    command: Run, method: str, more: tuple[str, ...], left: int
) -> None:
    trees = "n_estimators=10" if method == "pu-bagging" else "base_config.n_estimators=10"
    asked = ("run", "--method", method, "--data", "ten.csv", "--label-col", "made", "--no-tracking", "--set", trees)
    refused = command(*asked, *more)
    assert refused.returncode == 2
    line = refused.stderr.splitlines()[-1]
    assert line.startswith(f"error: {left} labeled rows are left to train on")
    _, _, options = line.partition("hold out none (no folds): ")
    done = command(*asked, *shlex.split(options))
    assert done.returncode == 0, done.stderr


def test_the_refusal_of_advise_is_a_command_that_works(command: Run) -> None:
    refused = command("advise", "eleven labels.csv", "--label-col", "made", "--drop", "note,c d")
    assert refused.returncode == 2
    _, _, typed = refused.stderr.splitlines()[-1].partition("rank without a check: pubench ")
    done = command(*shlex.split(typed), "--no-tracking", "--set", "n_estimators=10")
    assert done.returncode == 0, done.stderr
    assert "predictions.csv" in done.stdout + done.stderr


def test_of_a_frame_it_is_a_call_that_works(tmp_path: Path) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 3)))
    table = pubench.data(frame, np.arange(80) < 10)
    with pytest.raises(PubenchError, match="rank without a check: ") as error:
        pubench.advise(table, out=tmp_path / "out")
    call = str(error.value).partition("rank without a check: pubench.run")[2]
    assert call == '("pu-bagging", table, validation=0, criterion="last")'
    given = {"config": {"n_estimators": 10}, "results": tmp_path, "tracking": False}
    made = pubench.run("pu-bagging", table, validation=0, criterion="last", **given)
    assert len(pubench.predictions(made)) == 70
