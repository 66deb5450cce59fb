"""Without torch and what else only training needs: evaluation and listings work, the rest names what to install."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

#: Commands one after another, in an environment in which these modules are not installed.
WITHOUT = """
import contextlib, io, json, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "safetensors", "pyarrow", "PIL", "matplotlib", "mlflow"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from pubench_cli.main import main
for words in json.loads(sys.argv[1]):
    sys.argv, out, err = ["pubench", *words], io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main()
        except SystemExit as stop:
            code = stop.code
    print(json.dumps([code or 0, out.getvalue(), err.getvalue()]))
"""
LABELED = ("--label-col", "labeled", "--format", "json")
WORK = [
    ("list", "methods", "--format", "json"),
    ("evaluate", "scores.csv", *LABELED, "--prior", "0.4"),
    ("prior", "scores.csv", *LABELED),
    ("audit", "scores.csv", *LABELED, "--out", "audit.csv"),
    ("data", "check", "scores.csv", *LABELED),
]
TRAIN = ("run", "--method", "nnpu", "--data", "digits")
Done = dict[tuple[str, ...], tuple[int, str, str]]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Exit code and output of each command, in a folder with a table of scores."""
    folder = tmp_path_factory.mktemp("light")
    rng = np.random.default_rng(0)
    truth = rng.random(100) < 0.4
    labeled = truth & (rng.random(100) < 0.4)
    lines = (f"{score:.4f},{int(one)}" for score, one in zip(rng.normal(size=100) + 2 * truth, labeled, strict=True))
    (folder / "scores.csv").write_text("score,labeled\n" + "\n".join(lines) + "\n")
    command = [sys.executable, "-c", WITHOUT, json.dumps([*WORK, TRAIN])]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.splitlines()
    return dict(zip([*WORK, TRAIN], map(json.loads, found), strict=True))


@pytest.mark.parametrize("words", WORK, ids=lambda words: " ".join(words[:2]))
def test_what_lists_and_measures_works(words: tuple[str, ...], done: Done) -> None:
    code, out, err = done[words]
    assert code == 0, err
    assert json.loads(out)


def test_methods_are_listed_as_sound(done: Done) -> None:
    assert {row["key"]: row["status"] for row in json.loads(done[WORK[0]][1])}["nnpu"] == "ok"


def test_what_trains_names_what_to_install(done: Done) -> None:
    code, _, err = done[TRAIN]
    assert code == 1
    line = "error: this needs torch, which is not installed: pip install 'pubench-core[train]'"
    assert err.strip().splitlines()[-1] == line
