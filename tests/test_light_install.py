"""Without torch and what else only training needs: evaluation and listings work, the rest names what to install."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

#: The command, in an environment in which these modules are not installed.
WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "safetensors", "pyarrow", "PIL", "matplotlib"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from pubench_cli.main import main
sys.exit(main())
"""


def pubench(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WITHOUT, *words], cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table of scores."""
    folder = tmp_path_factory.mktemp("light")
    rng = np.random.default_rng(0)
    truth = rng.random(300) < 0.4
    labeled = truth & (rng.random(300) < 0.4)
    lines = (f"{score:.4f},{int(one)}" for score, one in zip(rng.normal(size=300) + 2 * truth, labeled, strict=True))
    (folder / "scores.csv").write_text("score,labeled\n" + "\n".join(lines) + "\n")
    return folder


def test_methods_are_listed(folder: Path) -> None:
    done = pubench("list", "methods", "--format", "json", folder=folder)
    assert done.returncode == 0, done.stderr
    assert {row["key"]: row["status"] for row in json.loads(done.stdout)}["nnpu"] == "ok"


@pytest.mark.parametrize(
    "words",
    [
        ("evaluate", "scores.csv", "--label-col", "labeled", "--prior", "0.4", "--format", "json"),
        ("prior", "scores.csv", "--label-col", "labeled", "--format", "json"),
        ("audit", "scores.csv", "--label-col", "labeled", "--out", "audit.csv", "--format", "json"),
        ("data", "info", "scores.csv", "--label-col", "labeled", "--format", "json"),
    ],
    ids=lambda words: words[0],
)
def test_a_table_of_scores_is_judged(words: tuple[str, ...], folder: Path) -> None:
    done = pubench(*words, folder=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)


@pytest.mark.parametrize(
    ("words", "module"),
    [
        (("run", "--method", "nnpu", "--data", "digits"), "torch"),
        (("data", "show", "digits"), "torch"),
    ],
    ids=lambda words: words[0],
)
def test_what_trains_names_what_to_install(words: tuple[str, ...], module: str, folder: Path) -> None:
    done = pubench(*words, folder=folder)
    assert done.returncode == 1
    line = f"error: this needs {module}, which is not installed: pip install 'pubench-core[train]'"
    assert done.stderr.strip().splitlines()[-1] == line
