"""The rule of the answer and the evidence it reads, on numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pubench_evaluate.advice.choice as choice
import pytest
from pubench_evaluate.advice.choice import (
    SURE,
    Candidate,
    Checked,
    Fit,
    OverBagging,
    budget_of,
    checked_difference,
    chosen_by_checked_rows,
)
from pubench_evaluate.advice.fits import aligned
from pubench_evaluate.audit.statistics import ScarTest
from pubench_evaluate.cli.score_table import flags_for_arguments, flags_in
from pubench_evaluate.prior import PriorEstimates, prior_of
from sklearn.metrics import roc_auc_score

from pubench.field_names import in_words
from pubench_cli.messages import said
from pubench_core.errors import Hint, RequestError


def compared(name: str, better: float | None) -> Fit:
    """A method of which checked rows are so sure that it is better than bagged trees."""
    found = None if better is None else OverBagging(0.85, 0.05, (-0.01, 0.11), better)
    return Fit(Candidate(name, name), checked=found)


@pytest.mark.parametrize(
    ("others", "chosen"),
    [
        ({"line": None}, None),  # no row was checked
        ({"net": SURE + 0.01, "line": 0.6}, "net"),
        ({"net": SURE - 0.01}, None),
        ({"line": 0.9, "net": 0.9}, "line"),  # the cheaper one
    ],
)
def test_checked_rows_that_are_sure_choose(others: dict[str, float | None], chosen: str | None) -> None:
    found = chosen_by_checked_rows([compared("trees", None), *(compared(*other) for other in others.items())])
    assert (found.candidate.name if found else None) == chosen


@pytest.mark.parametrize(
    ("given", "estimated", "interval"),
    [
        ((0.3, 0.4), (0.1, 0.2), (0.3, 0.4)),
        (None, (0.1, 0.2), (0.1, 0.2)),
        (None, (0.99, 1.0), (0.99, 0.999)),  # room below one
        (None, None, None),
    ],
)
def test_a_given_prior_outweighs_an_estimated_one_which_says_that_it_is_one(
    given: tuple[float, float] | None, estimated: tuple[float, float] | None, interval: tuple[float, float] | None
) -> None:
    estimates = PriorEstimates("t", 100, 10, "one-sample", 1.0, "scores", (), estimated)
    found, warnings = prior_of(given, None, estimates)
    assert (found.interval, found.estimated, warnings) == (interval, given is None and estimated is not None, [])


class TestCheckedRows:
    checked = Checked(
        rows=np.array([0, 1, 2, 3, 4, 5]),
        positive=np.array([True, False, True, False, True, False]),
        weight=np.array([1.0, 1.0, 1.0, 9.0, 9.0, 9.0]),
        band=np.array([0, 0, 0, 1, 1, 1]),
    )

    def test_the_auc_is_weighted_by_the_design(self) -> None:
        scores = np.array([6.0, 5.0, 4.0, 3.0, 2.0, 1.0])
        found = checked_difference(scores, scores, self.checked)
        assert found is not None
        expected = roc_auc_score(self.checked.positive, scores, sample_weight=self.checked.weight)
        assert found.value == pytest.approx(expected)
        assert found.difference == 0
        assert found.better == 0.5

    @pytest.mark.parametrize("positive", [np.arange(6) < 2, np.ones(6, bool)])
    def test_two_answers_of_a_class_or_one_class_alone_compare_nothing(self, positive: np.ndarray) -> None:
        few = Checked(self.checked.rows, positive, self.checked.weight, self.checked.band)
        assert checked_difference(np.arange(6.0), -np.arange(6.0), few) is None

    def test_draws_keep_the_sizes_of_bands(self) -> None:
        counts = choice._drawn(self.checked.band, np.random.default_rng(0))
        assert (counts[:, :3].sum(1) == 3).all()
        assert (counts[:, 3:].sum(1) == 3).all()


def test_scar_is_contradicted_by_the_card_unless_checked_rows_reject_it() -> None:
    implied = ScarTest(undefined="no row was checked", contradiction="the prior implies 300 among 200 rows")
    assert implied.verdict == "contradicted"
    assert "or the prior is wrong: the prior implies 300 among 200 rows" in implied.sentence
    assert ScarTest(0.001, rejected=True, contradiction="the prior implies 300 among 200 rows").verdict == "rejected"
    assert ScarTest(undefined="no row was checked").sentence == "SCAR is not tested: no row was checked"


def test_errors_on_the_command_line_name_flags() -> None:
    with pytest.raises(RequestError) as raised, flags_for_arguments():
        raise RequestError("unknown column of t.csv 'x'; labeled=COLUMN names it", field="data.own.label_col")
    assert str(raised.value) == "unknown column of t.csv 'x'; --label-col COLUMN names it"
    with pytest.raises(RequestError) as raised, flags_for_arguments(), in_words():
        raise RequestError("data.own.drop=ID, or prior=0.3", field="data.own.drop", hint=Hint("fetch", "imdb"))
    assert said(raised.value) == "--drop ID, or --prior 0.3 (pubench data fetch imdb)"
    with pytest.raises(RequestError, match=r"^--beta must be"), flags_for_arguments():
        raise RequestError("purity must be in (0, 1]", field="purity")
    assert flags_in("prior: of the population; give purity=0.9") == "prior: of the population; give --beta 0.9"


def test_goals() -> None:
    assert [budget_of(text) for text in ("rank", "classify", "review:50")] == [None, None, 50]
    for text in ("review", "review:0", "review:-3", "rank:3", ""):
        with pytest.raises(RequestError, match="must be rank"):
            budget_of(text)


def test_of_equal_scores_a_random_part_is_found_within_a_budget() -> None:
    """90 of 100 labeled rows and 410 unlabeled ones share the highest score: of the latter 100 are in the budget."""
    scores = np.repeat([1.0, 0.0, 1.0, 0.0], [90, 10, 410, 490])
    labeled, fold = np.arange(1000) < 100, np.arange(1000) % 5
    found = []
    for seed in range(20):
        ranks = aligned(scores, fold, labeled, seed)
        found.append((ranks[labeled] >= np.sort(ranks[~labeled])[-100]).mean())
    assert np.mean(found) == pytest.approx(0.9 * 100 / 410, abs=0.03)
