"""The tests of Jain et al. (AAAI 2017): which way of recovering is closer to the supervised truth."""

from __future__ import annotations

import csv
from types import ModuleType

import pytest
from repository import ROOT, script


@pytest.fixture
def module() -> ModuleType:
    return script("benchmarks/recovered_error.py")


def test_the_published_wins_and_ties_give_the_published_p(module: ModuleType) -> None:
    """28 wins, 1 loss, 7 ties: 6.5e-6; 25 wins, 9 losses, 2 ties: 5.7e-3 (their supplement)."""
    for wins, losses, ties, p in ((28, 1, 7, 6.5e-6), (25, 9, 2, 5.7e-3)):
        cells = [(0.01, 0.02)] * wins + [(0.02, 0.01)] * losses + [(0.01, 0.01)] * ties
        found = {(str(i), 1.0): {"IR": [indirect], "DR": [direct]} for i, (indirect, direct) in enumerate(cells)}
        assert module.binomial(found, "IR", "DR") == (wins, losses, ties, pytest.approx(p, rel=0.02))


def test_an_error_is_against_the_supervised_truth_and_values_above_one_are_cut(module: ModuleType) -> None:
    row = {"data": "pima", "beta": "1.0", "supervised_auc": "0.9", "pu_auc": "0.7", "real_indirect": "0.85"}
    row |= {"real_direct": "1.3", "estimated_indirect": "", "estimated_direct": "", "auc": "0.5"}
    (cell,) = module.errors([row], "1").values()
    assert {name: round(values[0], 6) for name, values in cell.items()} == {"PU": 0.2, "IR": 0.05, "DR": 0.1}


def test_the_page_shows_the_tests_of_the_rows(module: ModuleType) -> None:
    with (ROOT / "benchmarks" / "results" / "recovered-error.csv").open(newline="") as file:
        found = module.errors(list(csv.DictReader(file)), "1")
    page = " ".join((ROOT / "docs" / "pages" / "evaluation-measures.md").read_text(encoding="utf-8").split())
    for indirect, direct in (("IR", "DR"), ("IE", "DE")):
        wins, losses, ties, p = module.binomial(found, indirect, direct)
        assert f"{wins} wins, {losses} losses, {ties} ties" in page
        assert f"p = {p:.2g})" in page
