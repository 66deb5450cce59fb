"""Every single alteration of a record's files, and the short list of those that ``verify`` does not see."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from altered import Alteration, alterations
from pubench_verify.training import trained

import pubench

pytestmark = [
    pytest.mark.filterwarnings("ignore::pubench.PubenchWarning"),  # so short a run may decide one-sidedly
    pytest.mark.usefixtures("forked_trainings"),
]
#: What a run ran on, and how long it took, only the one who ran it knows; no other figure is derived from it.
HOW_IT_RAN = {
    r"result\.json seconds\..*": "how long it took",
    r"result\.json peak_memory\..*": "how much memory it took",
    r"result\.json at_once put there": "how many runs shared the machine",
    r"environment\.json (python|platform|cpu|cpu_count|gpu|cuda|packages\..*|variables\..*|git_commit|git_dirty)": (
        "what it ran on; another processor or version allows a rerun to differ by the tolerance"
    ),
}
#: What gives the same measures, criteria and warnings. A rerun compares all of it.
SCORES_ALONE = {
    r"result\.json criteria\.\w+\.candidate put there": "another name for the network with these scores",
    r"result\.json warnings put there": "a warning more",
    r"result\.json criteria\.\w+\.stopped_at put there": "patience that ran out at the last epoch",
    r"scores\.npz (test|validation)_scores_\S+( as another type)?": "the order and sign of all scores stay the same",
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = {"selection.criteria": ["pa", "f1", "last"], "evaluation.metrics": ["accuracy", "auc", "pa"]}
    given: Any = {"config": {"epochs": 3, "lr": 0.01}, "threads": 1, "tracking": False, "settings": settings}
    return pubench.run("upu", "digits", results=tmp_path_factory.mktemp("altered") / "results", **given).folder


@pytest.fixture(scope="module")
def accepted(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Alteration]:
    """What is accepted without carrying a run out again."""
    place = tmp_path_factory.mktemp("alterations")
    every = list(alterations(recorded))
    assert len(every) > 300
    return {f"{one[0]} {one[1]}": one for one in every if is_accepted(recorded, one, place, rerun=0)}


def is_accepted(recorded: Path, alteration: Alteration, place: Path, *, rerun: int) -> bool:
    folder = Path(shutil.copytree(recorded, place / "records" / recorded.name))
    try:
        alteration[2](folder)
        return pubench.verify(folder.parent, rerun=rerun).ok
    finally:
        shutil.rmtree(folder.parent)


def unexplained(found: object, reasons: dict[str, str]) -> list[str]:
    return [name for name in found if not any(re.fullmatch(pattern, name) for pattern in reasons)]  # type: ignore[attr-defined]


def test_without_a_rerun_only_these_alterations_are_accepted(accepted: dict[str, Alteration]) -> None:
    reasons = HOW_IT_RAN | SCORES_ALONE
    assert unexplained(accepted, reasons) == []
    assert [pattern for pattern in reasons if not any(re.fullmatch(pattern, name) for name in accepted)] == []


@pytest.fixture
def trained_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Carries equal specs out once: they give the same record."""
    known: dict[str, tuple[Path, list[str]]] = {}

    @contextmanager
    def once(spec: dict[str, Any], holding: Path) -> Iterator[tuple[Path, list[str]]]:
        key = json.dumps(spec, sort_keys=True)
        if key not in known:
            with trained(spec, holding) as (folder, opened):
                known[key] = Path(shutil.copytree(folder, tmp_path / str(len(known)) / folder.name)), opened
        yield known[key]

    monkeypatch.setattr("pubench_verify.training.trained", once)


@pytest.mark.usefixtures("trained_once")
def test_with_a_rerun_only_what_nobody_can_repeat_is_accepted(
    recorded: Path, accepted: dict[str, Alteration], tmp_path: Path
) -> None:
    packages = [name for name in accepted if " packages." in name]
    tried = {name: one for name, one in accepted.items() if name not in packages[1:]}  # one of them stands for all
    again = [name for name, one in tried.items() if is_accepted(recorded, one, tmp_path, rerun=1)]
    assert unexplained(again, HOW_IT_RAN) == []
