"""``pubench verify --blind``: a method that sees true labels in its process gives other scores with other ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from altered import edit_json, put
from printed import Run

DOUBLES = Path(__file__).parents[4] / "tests" / "doubles"
RUN = ("--data", "breast-cancer", "--threads", 1, "--no-tracking")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, make_distribution: Callable[..., Path]) -> str:
    """A folder for PYTHONPATH in which thieves are installed."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("thieving", "scheming", "importing", "ordering"):
        modules = (f"pubench_{name}", "pubench_nonconforming")
        make_distribution(folder, name, {module: (DOUBLES / f"{module}.py").read_text() for module in modules})
    return str(folder)


def test_a_thief_gives_the_same_scores_in_a_rerun_and_others_with_other_hidden_labels(pubench: Run, site: str) -> None:
    """Two thieves: one looks labels up, one keeps those that it saw first. The kit's tests have other ways.

    Other labels are tried of sound reruns alone.
    """
    env = {"PYTHONPATH": site}
    for method in ("thief-framed", "schemer-remembered"):
        assert pubench("run", "--method", method, *RUN, "--select", "f1", env=env).returncode == 0
    blind = pubench("verify", "results", "--rerun", 2, "--blind", env=env)
    assert blind.returncode == 1
    assert blind.stdout.count("with other hidden labels its scores are others (") == 2
    assert blind.stdout.splitlines()[-1].startswith("2 records, 2 problems; ")


def test_files_that_show_labels_are_named(tmp_path: Path, pubench: Run, site: str) -> None:
    env = {"PYTHONPATH": site, "TMPDIR": str(tmp_path)}
    (tmp_path / "pubench-left").write_bytes(b"\0\1\1")
    read = {"schemer-recorded": "scores.npz", "schemer-left": "pubench-left", "imports": "digits.csv.gz"}
    for key in ("pn", *read):  # the first leaves scores that another one may find
        words = ("run", "--method", key, *RUN, "--set", "epochs=1", "--results", "mine" if key in read else "results")
        assert pubench(*words, env=env).returncode == 0
    blind = pubench("verify", "mine", "--rerun", len(read), "--blind", env=env)
    assert blind.returncode == 1
    found = [line for line in blind.stdout.splitlines() if "while it trains it opens " in line]
    assert len(found) == len(read)
    assert all(any(file in line for line in found) for file in read.values())


def test_scores_that_an_undisturbed_training_does_not_give_are_a_problem(
    tmp_path: Path, pubench: Run, site: str
) -> None:
    """It cheats in a run and in a rerun, and not in a process of its own: the record tells."""
    env, left = {"PYTHONPATH": site}, {"PYTHONPATH": site, "PUBENCH_LEFT": "a7z"}
    words = ("run", "--method", "schemer-environment", *RUN, "--set", "epochs=1")
    assert pubench(*words, env=left).returncode == 0
    blind = pubench("verify", "results", "--blind", env=env)
    assert blind.returncode == 1
    assert "carried out again, " in blind.stdout
    assert blind.stdout.splitlines()[0].endswith("on the same machine with the same versions")


def test_labels_in_the_order_of_scores_are_found_whatever_processor_is_named(
    tmp_path: Path, pubench: Run, site: str
) -> None:
    """Decisions at 0 are honest; order and decisions at the prior are those of the true labels."""
    env = {"PYTHONPATH": site}
    words = ("run", "--method", "ordering", "--data", "digits", "--threads", 1, "--no-tracking", "--set", "epochs=1")
    assert pubench(*words, env=env).returncode == 0
    (folder,) = (path.parent for path in (tmp_path / "results").glob("*/result.json"))
    measured = json.loads((folder / "result.json").read_text())["criteria"]["pa"]
    assert measured["measures"]["test"]["auc"]["value"] == 1
    assert measured["measures"]["test"]["accuracy"]["value"] < 0.6
    edit_json(folder / "environment.json", put("cpu", "another processor"))
    found = pubench("verify", "results", env=env)
    assert found.returncode == 1, found.stdout
    assert "arrays differ, a measure by 0." in found.stdout
    assert "more than environment.cpu can explain" in found.stdout
    assert "its test accuracy-at-prior is 1 on 360 rows" in found.stderr


@pytest.mark.parametrize(
    ("methods", "options", "cold"),
    [(("nnpu", "pn"), ("--c", 0.3), False), (("nnpu",), ("--scheme", "one-sample", "--positive-rate", 0.3), True)],
    ids=["case-control", "one-sample, in new processes as users do"],
)
def test_an_honest_method_gives_the_same_scores(pubench: Run, methods: Any, options: Any, cold: bool) -> None:
    for method in methods:
        words = ("run", "--method", method, *RUN, *options, "--set", "epochs=3", "--select", "f1")
        assert pubench(*words).returncode == 0
    done = pubench("verify", "results", "--rerun", len(methods), "--blind", cold=cold)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("; the same with other hidden labels") == 1, "an oracle is granted them"
