"""The rule of the answer and the evidence it reads, on numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pubench_evaluate.advice.evidence as evidence
import pytest
from pubench_evaluate.advice.choose import SURE, choose, goal_of
from pubench_evaluate.advice.evidence import Checked, OverBagging, checked_difference, found_at, pauc_difference
from pubench_evaluate.advice.fits import aligned
from pubench_evaluate.advice.labeling import scar_of
from pubench_evaluate.advice.prior import Estimated, prior_of
from pubench_evaluate.cli.score_table import flags_for_arguments
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from pubench_core.errors import RequestError


def difference(value: float, half: float, better: float) -> OverBagging:
    return OverBagging(0.8 + value, 0.8, value, (value - half, value + half), better)


class TestTheRule:
    def test_no_held_out_difference_changes_the_answer(self) -> None:
        found = choose("trees", {"net": difference(0.2, 0.01, 1.0)}, {"net": None})
        assert (found.answer, found.by) == ("trees", "default")

    def test_checked_rows_that_are_sure_do(self) -> None:
        held_out = {"net": difference(-0.1, 0.01, 0.0), "line": difference(0.1, 0.01, 1.0)}
        checked = {"net": difference(0.05, 0.03, SURE + 0.01), "line": difference(0.02, 0.03, 0.6)}
        found = choose("trees", held_out, checked)
        assert (found.answer, found.by) == ("net", "checked rows")
        assert found.alike == ("net", "line")

    def test_less_sure_checked_rows_do_not_choose(self) -> None:
        checked = {"net": difference(0.05, 0.1, SURE - 0.01)}
        assert choose("trees", checked, checked).answer == "trees"

    def test_a_method_that_is_worse_by_more_than_a_point_is_not_alike(self) -> None:
        held_out = {"near": difference(-0.03, 0.021, 0.1), "far": difference(-0.03, 0.019, 0.0)}
        assert choose("trees", held_out, {}).alike == ("trees", "near")


class TestHeldOutPositives:
    def test_pauc_is_the_auc_of_labeled_against_unlabeled_rows(self) -> None:
        rng = np.random.default_rng(0)
        labeled = rng.random(400) < 0.3
        one, other = rng.normal(labeled), rng.normal(size=400).round(1)
        found = pauc_difference(one, other, labeled)
        assert found.value == pytest.approx(roc_auc_score(labeled, one))
        assert found.reference == pytest.approx(roc_auc_score(labeled, other))

    def test_its_interval_covers_in_nineteen_of_twenty_samples(self) -> None:
        apart, other = 1.0, 0.7
        true = norm.cdf(apart / np.sqrt(2)) - norm.cdf(other / np.sqrt(2))
        inside = 0
        for seed in range(300):
            rng = np.random.default_rng(seed)
            labeled = np.arange(300) < 80
            shared = rng.normal(size=300)
            one = 0.6 * shared + 0.8 * rng.normal(size=300) + apart * labeled
            two = 0.6 * shared + 0.8 * rng.normal(size=300) + other * labeled
            low, high = pauc_difference(one, two, labeled).interval
            inside += low <= true <= high
        assert 0.91 < inside / 300 < 0.98

    def test_found_counts_labeled_rows_above_the_last_reviewed_row(self) -> None:
        scores = np.array([9.0, 7.0, 5.0, 8.0, 6.0, 4.0])
        labeled = np.array([True, True, True, False, False, False])
        assert [found_at(scores, labeled, k) for k in (1, 2, 3)] == pytest.approx([1 / 3, 2 / 3, 1.0])


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

    def test_two_answers_of_a_class_compare_nothing(self) -> None:
        few = Checked(self.checked.rows, np.arange(6) < 2, self.checked.weight, self.checked.band)
        assert checked_difference(np.arange(6.0), -np.arange(6.0), few) is None

    def test_one_class_alone_compares_nothing(self) -> None:
        one = Checked(self.checked.rows, np.ones(6, bool), self.checked.weight, self.checked.band)
        assert checked_difference(np.arange(6.0), np.arange(6.0), one) is None

    def test_draws_keep_the_sizes_of_bands(self) -> None:
        counts = evidence._drawn(self.checked.band, np.random.default_rng(0))
        assert (counts[:, :3].sum(1) == 3).all()
        assert (counts[:, 3:].sum(1) == 3).all()


class TestThePrior:
    estimated = Estimated((0.1, 0.2), "by bbe", ())

    def test_a_given_one_outweighs_estimators_and_a_contradiction_is_told(self) -> None:
        found = prior_of((0.3, 0.4), None, self.estimated)
        assert (found.interval, found.assumes_scar) == ((0.3, 0.4), False)
        assert "outside of the given" in found.warnings[0]

    def test_an_estimate_says_that_it_assumes_scar(self) -> None:
        found = prior_of(None, None, self.estimated)
        assert (found.interval, found.assumes_scar, found.middle) == ((0.1, 0.2), True, pytest.approx(0.15))

    def test_an_estimate_of_one_leaves_room_below_one(self) -> None:
        assert prior_of(None, None, Estimated((0.99, 1.0), "by bbe", ())).interval == (0.99, 0.999)

    def test_the_prior_may_be_unknown(self) -> None:
        assert prior_of(None, None, Estimated(None, "", ())).interval is None


def test_scar_is_contradicted_by_the_card_and_untested_without_checked_rows() -> None:
    assert scar_of(None, "the prior implies 300 among 200 rows", (), 60).status == "contradicted"
    untested = scar_of(None, "", ((0.5, 0.25),), 60)
    assert untested.status == "untested"
    assert "60 checked rows notice it in 25 % if they score 0.5 deviations too high" in untested.sentence


def test_errors_on_the_command_line_name_flags() -> None:
    with pytest.raises(RequestError) as raised, flags_for_arguments():
        raise RequestError("unknown column of t.csv (labeled) 'x'; labeled=COLUMN names it")
    assert str(raised.value) == "unknown column of t.csv (--label-col) 'x'; --label-col COLUMN names it"


def test_goals() -> None:
    assert [str(goal_of(text)) for text in ("rank", "classify", "review:50")] == ["rank", "classify", "review:50"]
    for text in ("review", "review:0", "review:-3", "rank:3", ""):
        with pytest.raises(RequestError, match="must be rank"):
            goal_of(text)


def test_of_equal_scores_a_random_part_is_found_within_a_budget() -> None:
    """90 of 100 labeled rows and 410 unlabeled ones share the highest score: of the latter 100 are in the budget."""
    scores = np.repeat([1.0, 0.0, 1.0, 0.0], [90, 10, 410, 490])
    labeled, fold = np.arange(1000) < 100, np.arange(1000) % 5
    found = [found_at(aligned(scores, fold, labeled, seed), labeled, 100) for seed in range(20)]
    assert np.mean(found) == pytest.approx(0.9 * 100 / 410, abs=0.03)
