"""Every single alteration of a record's files, and the short list of those that ``verify`` does not see."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from altered import Alteration, alterations
from pubench_verify.record import RecordChecker
from pubench_verify.training import trained

import pubench
from pubench_core.data.dataset import data_root
from pubench_core.errors import RecordError
from pubench_core.records.record import read_record
from pubench_core.specs import ExecutionSpec

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
    """What is accepted without carrying a run out again. One package stands for all."""
    place = tmp_path_factory.mktemp("alterations")
    every = {f"{one[0]} {one[1]}": one for one in alterations(recorded)}
    packages = [name for name in every if name.startswith("environment.json packages.")]
    assert len(every) - len(packages) > 300
    checker = RecordChecker(data_root(ExecutionSpec()).path, None, lambda text: None)

    def unnoticed(folder: Path) -> bool:
        try:
            return not checker.at(read_record(folder))
        except RecordError:
            return False

    return {n: one for n, one in every.items() if n not in packages[1:] and altered(recorded, one, place, unnoticed)}


def altered(recorded: Path, alteration: Alteration, place: Path, accepts: Callable[[Path], bool]) -> bool:
    """Whether an altered copy of the record is accepted."""
    folder = Path(shutil.copytree(recorded, place / "records" / recorded.name))
    try:
        alteration[2](folder)
        return accepts(folder)
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
    def repeated(folder: Path) -> bool:
        return pubench.verify(folder.parent).ok

    again = [name for name, one in accepted.items() if altered(recorded, one, tmp_path, repeated)]
    assert unexplained(again, HOW_IT_RAN) == []
