"""What a result says of unlabeled rows whose truth nobody knows, from scores whose answer can be counted by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pubench_models.decisions import Decisions, decisions_of

import pubench
from pubench_core.results import CriterionResult, PriorFacts
from pubench_core.specs import DataSpec

STATE = "epoch-3"
#: Ten unlabeled rows, four of them above 0; five validation rows, of which three are labeled.
UNLABELED = np.array([5.0, 4.0, 3.0, 2.0, -1.0, -2.0, -3.0, -4.0, -5.0, -6.0])
VALIDATION = np.array([4.5, 9.0, -0.5, 1.0, -9.0])
LABELED = np.array([True, False, True, False, True])


class Told:
    """The parts of a result that are read."""

    def __init__(self, prior: float | None, scheme: str = "two-sample") -> None:
        self.chosen = CriterionResult(oracle=False, snapshot=STATE)
        self.spec = type("Spec", (), {"data": DataSpec(key="t", positive=(1,), negative=(0,), scheme=scheme)})
        self.data = type("Data", (), {"prior": PriorFacts(given=prior), "negatives": 0})


def arrays() -> dict[str, Any]:
    return {
        "validation_labeled": LABELED,
        f"validation_scores_{STATE}": VALIDATION,
        f"unlabeled_scores_{STATE}": UNLABELED,
    }


def decided(prior: float | None, scheme: str = "two-sample", labeled: int = 0) -> Decisions:
    found = decisions_of(Told(prior, scheme), arrays(), labeled)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_decisions_are_counted_beside_what_the_prior_says() -> None:
    found = decided(0.5)
    assert (found.unlabeled, found.decided) == (10, 4)
    assert found.told is not None
    assert (found.told.share, found.told.rows, found.told.threshold) == (0.5, 5, -1.0)


def test_held_out_positives_are_counted_above_0_and_among_the_top_scores() -> None:
    """4.5, -0.5 and -9: one above 0, two among the five highest, one among the four."""
    found = decided(0.5)
    assert (found.held_out, found.recalled) == (3, 1)
    assert [(top.rows, top.reached) for top in found.top] == [(4, 1), (5, 2), (6, 2)]
    assert [top.prior for top in found.top] == pytest.approx([0.4, 0.5, 0.6])


def test_labeled_rows_of_one_sample_are_positives_missing_from_u() -> None:
    """π = 0.5 of 10 unlabeled and 10 labeled rows would be 10 positives, all labeled; 0.6 is 12, so 2 of the 10."""
    found = decided(0.6, "one-sample", labeled=10)
    assert found.told is not None
    assert (found.told.share, found.told.rows) == (pytest.approx(0.2), 2)
    lowest = found.top[0]  # 0.48: fewer positives than labeled rows
    assert (lowest.share, lowest.rows, lowest.threshold, lowest.reached) == (0.0, 0, None, 0)


def test_known_negatives_are_counted_apart() -> None:
    """Of the rows with 5, -1 and -6, one is called positive though it is negative."""
    known = np.isin(UNLABELED, [5.0, -1.0, -6.0])
    there = {**arrays(), "unlabeled_rows": np.arange(10)}
    found = decisions_of(Told(0.5), there, 0, known)  # type: ignore[arg-type]
    assert found is not None
    assert (found.unlabeled, found.decided, found.known_negative, found.mistaken) == (7, 3, 3, 1)


def test_without_a_prior_there_is_nothing_to_compare_with() -> None:
    found = decided(None)
    assert (found.top, found.told, found.decided, found.recalled) == ((), None, 4, 1)


def test_a_prior_above_1_is_no_prior() -> None:
    assert [top.factor for top in decided(0.9).top] == [0.8, 1.0]


def test_a_data_set_has_no_decisions() -> None:
    of_digits = {name: values for name, values in arrays().items() if "unlabeled" not in name}
    assert decisions_of(Told(0.5), of_digits, 0) is None  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore::pubench.PubenchWarning")  # one epoch decides one-sidedly
def test_python_and_the_command_count_the_same_known_negatives(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat(["yes", "", "no"], [60, 200, 40])
    frame = pd.DataFrame(rng.normal(size=(300, 3)) + (labels == "yes")[:, None], columns=list("abc"))
    frame.assign(label=labels).to_csv(tmp_path / "my.csv", index=False)
    table = pubench.data(tmp_path / "my.csv", "label", positive_value="yes", known_negative="no")
    more: dict[str, Any] = {"prior": 0.3, "results": tmp_path / "results", "tracking": False}
    for method, config, learned in (("upu", {"epochs": 1}, False), ("naive", {"against": "known"}, True)):
        found = pubench.decisions(pubench.run(method, table, config=config, **more))
        assert (found.unlabeled, found.known_negative, found.learned) == (200, 40, learned)
