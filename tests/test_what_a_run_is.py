"""A run is its spec and its code: what describes it reruns nothing, what computes it reruns it alone.

The tests of core have every edit (``test_source_code.py``), versions, metrics and neutral fields (``test_coverage.py``,
``test_identity.py``).
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Edit = Callable[[Path], object]

ARGUMENTS = ("--data", "digits", "--threads", "1", "--no-tracking", "--set", "epochs=1", "--format", "json")


def carried_out(pubench: Run, method: str, *shadows: Path) -> Any:
    """The JSON result of one run where these folders come first on the import path."""
    env = {"PYTHONPATH": ":".join(map(str, shadows))} if shadows else {}
    done = pubench("run", "--method", method, *ARGUMENTS, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def copy_of(package: str, folder: Path) -> Path:
    """A copy of an installed package that may be edited, in a folder for PYTHONPATH."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    copy = folder / package
    shutil.copytree(Path(spec.origin).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def replaced(file: str, old: str, new: str) -> Edit:
    """An edit of one file of a package."""

    def edit(package: Path) -> None:
        path = package / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return edit


HARMLESS: dict[str, tuple[str, Edit]] = {
    "a docstring of the method": (
        "pubench_nnpu",
        replaced("method.py", '"""nnPU: the non-negative PU risk.', '"""nnPU: measured 97.2 today.'),
    ),
    "a loader that gives the same arrays": (
        "pubench_datasets_embedded",
        replaced("loaders.py", "\nclass ", "\nUNUSED = 1\n\n\nclass "),
    ),
}


@pytest.fixture
def stored(pubench: Run) -> Any:
    """The result that lies in the test's folder."""
    found = carried_out(pubench, "nnpu")
    assert found["reused"] is False
    return found


@pytest.mark.parametrize("what", HARMLESS)
def test_what_computes_nothing_reruns_nothing(pubench: Run, tmp_path: Path, stored: Any, what: str) -> None:
    package, edit = HARMLESS[what]
    edit(copy_of(package, tmp_path / "shadow"))
    again = carried_out(pubench, "nnpu", tmp_path / "shadow")
    assert again["reused"] is True
    assert (again["run_id"], again["code"]) == (stored["run_id"], stored["code"])


def test_one_edited_line_of_a_method_reruns_that_method_only(pubench: Run, tmp_path: Path, stored: Any) -> None:
    beside = carried_out(pubench, "upu")
    replaced("method.py", "gamma=c.gamma", "gamma=c.gamma / 2")(copy_of("pubench_nnpu", tmp_path / "shadow"))
    again = carried_out(pubench, "nnpu", tmp_path / "shadow")
    assert (again["reused"], again["run_id"]) == (False, stored["run_id"])
    changed = {name for name, code in again["code"]["parts"].items() if stored["code"]["parts"][name] != code}
    assert changed == {"method nnpu"}
    other = carried_out(pubench, "upu", tmp_path / "shadow")
    assert (other["reused"], other["run_id"]) == (True, beside["run_id"])
