"""A run is its spec and its code: what describes it or is next to it reruns nothing."""

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
Make = Callable[..., Path]
Edit = Callable[[Path], object]

ARGUMENTS = ("--data", "digits", "--threads", "1", "--no-tracking", "--set", "epochs=1", "--format", "json")

FILES = ("result", "measures")  # of a record: what its run left, what was measured from its scores since

METRIC = """
from pubench_core import MetricInfo, hookimpl

def shares(view):
    return float(view.decisions.mean())

@hookimpl
def pubench_metrics():
    return [MetricInfo(key="acme-share", name="share", summary="share of positive decisions",
                       load="acme_metric:shares", criterion=True)]
"""


def carried_out(pubench: Run, method: str, *shadows: Path, cold: bool = False, more: tuple[str, ...] = ()) -> Any:
    """The JSON result of one run where these folders come first on the import path."""
    env = {"PYTHONPATH": ":".join(map(str, shadows))} if shadows else {}
    done = pubench("run", "--method", method, *ARGUMENTS, *more, env=env, cold=cold)
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
    "the info module": ("pubench_nnpu", replaced("__init__.py", 'summary="', 'summary="In short: ')),
    "a metric in a module of its own": (
        "pubench_metrics",
        lambda package: (package / "more.py").write_text("def nothing(view):\n    return 0.0\n"),
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


def test_a_new_metric_changes_no_run_and_is_measured_from_stored_scores(
    pubench: Run, tmp_path: Path, stored: Any, make_distribution: Make
) -> None:
    site = make_distribution(tmp_path / "site", "acme-metric", {"acme_metric": METRIC})
    again = carried_out(pubench, "nnpu", site)
    assert (again["reused"], again["run_id"], again["code"]) == (True, stored["run_id"], stored["code"])
    assert set(again["criteria"]) == set(stored["criteria"])
    for criterion in again["criteria"].values():
        assert set(criterion["measures"]) == {"test", "validation"}
        for measures in criterion["measures"].values():
            assert 0 <= measures["acme-share"]["value"] <= 1
    as_run, later = (json.loads((tmp_path / again["record"] / f"{name}.json").read_text()) for name in FILES)
    assert as_run["metrics"].keys() == stored["metrics"].keys()  # the record stays as its run left it
    assert later["metrics"].keys() == {"acme-share"}


def test_an_edit_next_to_the_metric_of_a_criterion_reruns(pubench: Run, tmp_path: Path, stored: Any) -> None:
    edit = replaced("oracle.py", "def accuracy", "def nothing(view):\n    return 0.0\n\n\ndef accuracy")
    edit(copy_of("pubench_metrics", tmp_path / "shadow"))
    done = pubench("run", "--method", "nnpu", *ARGUMENTS, env={"PYTHONPATH": str(tmp_path / "shadow")})
    again = json.loads(done.stdout)  # metrics are hashed by module, and a criterion chose an epoch by one of them
    assert "the stored record has criterion f1 by other code, criterion macro-f1 by other code" in done.stderr
    assert (again["reused"], again["run_id"], again["code"]) == (False, stored["run_id"], stored["code"])


def test_a_raised_version_reruns_nothing(pubench: Run, tmp_path: Path, stored: Any) -> None:
    facts = tmp_path / "site" / "pubench_nnpu-9.9.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: pubench-nnpu\nVersion: 9.9\n")
    (facts / "entry_points.txt").write_text("[pubench]\nnnpu = pubench_nnpu\n")
    listed = json.loads(pubench("list", "methods", "--format", "json", env={"PYTHONPATH": str(facts.parent)}).stdout)
    assert next(row["version"] for row in listed if row["key"] == "nnpu") == "9.9"
    again = carried_out(pubench, "nnpu", facts.parent)
    assert (again["reused"], again["run_id"]) == (True, stored["run_id"])


def test_a_new_field_of_every_network_at_its_neutral_value_reruns_nothing(
    pubench: Run, tmp_path: Path, stored: Any
) -> None:
    core = copy_of("pubench_core", tmp_path / "shadow")
    field = '    nesterov: bool = Field(False, description="of sgd", neutral=False)\n'
    replaced("specs/config.py", "    weight_decay: float", f"{field}    weight_decay: float")(core)
    again = carried_out(pubench, "nnpu", tmp_path / "shadow", cold=True)
    assert again["spec"]["method"]["config"] == stored["spec"]["method"]["config"]  # the stored one's
    assert (again["reused"], again["run_id"]) == (True, stored["run_id"])
    other = carried_out(pubench, "nnpu", tmp_path / "shadow", cold=True, more=("--set", "nesterov=true"))
    assert (other["reused"], other["run_id"] != stored["run_id"]) == (False, True)


def test_one_edited_line_of_a_method_reruns_that_method_only(pubench: Run, tmp_path: Path, stored: Any) -> None:
    beside = carried_out(pubench, "upu")
    replaced("method.py", "gamma=c.gamma", "gamma=c.gamma / 2")(copy_of("pubench_nnpu", tmp_path / "shadow"))
    again = carried_out(pubench, "nnpu", tmp_path / "shadow")
    assert (again["reused"], again["run_id"]) == (False, stored["run_id"])
    changed = {name for name, code in again["code"]["parts"].items() if stored["code"]["parts"][name] != code}
    assert changed == {"method nnpu"}
    other = carried_out(pubench, "upu", tmp_path / "shadow")
    assert (other["reused"], other["run_id"]) == (True, beside["run_id"])
