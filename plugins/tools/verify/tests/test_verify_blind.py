"""``pubench verify --blind``: a method that sees true labels in its process gives other scores with other ones."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
DOUBLES = Path(__file__).parents[4] / "tests" / "doubles"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, make_distribution: Callable[..., Path]) -> str:
    """A folder for PYTHONPATH in which thieves are installed."""
    modules = {name: (DOUBLES / f"{name}.py").read_text() for name in ("pubench_thieving", "pubench_nonconforming")}
    return str(make_distribution(tmp_path_factory.mktemp("site"), "thieving", modules))


@pytest.mark.parametrize("method", ["thief-framed", "thief-collected", "thief-formatted", "replaces"])
def test_a_thief_gives_other_scores_with_other_hidden_labels(pubench: Run, site: str, method: str) -> None:
    env = {"PYTHONPATH": site}
    run = ("run", "--method", method, "--data", "breast-cancer", "--threads", 1, "--no-tracking", "--select", "f1")
    assert pubench(*run, env=env).returncode == 0
    again = pubench("verify", "results", "--rerun", 1, env=env)
    assert again.returncode == 0, again.stdout  # the same code steals the same labels
    blind = pubench("verify", "results", "--rerun", 0, "--blind", 1, env=env)
    assert blind.returncode == 1
    assert "with other hidden labels its scores are others (" in blind.stdout
    assert blind.stdout.splitlines()[-1].startswith("1 record, 1 problem; ")


@pytest.mark.parametrize("scheme", ["case-control", "one-sample"])
def test_an_honest_method_gives_the_same_scores(pubench: Run, scheme: str) -> None:
    rate = ("--positive-rate", 0.3) if scheme == "one-sample" else ("--c", 0.3)
    words = (
        "--data",
        "breast-cancer",
        "--scheme",
        scheme,
        *rate,
        "--set",
        "epochs=3",
        "--no-tracking",
        "--select",
        "f1",
    )
    for method in ("nnpu", "pn"):
        assert pubench("run", "--method", method, *words).returncode == 0
    done = pubench("verify", "results", "--rerun", 0, "--blind", 2)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("with other hidden labels the same ") == 1, "an oracle is granted them"
