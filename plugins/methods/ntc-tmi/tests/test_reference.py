"""Ranges, candidates, objectives and thresholds against numbers of the published code."""

from __future__ import annotations

import numpy as np
import pytest
from pubench_bases.bases import base_of
from pubench_bases.models import Linear
from pubench_ntc_tmi.method import (
    TRAINING,
    candidate_range,
    log_odds,
    lower_bound,
    objective,
    threshold,
    upper_bound,
)
from pubench_testkit.testing import Case, Vectors
from scipy.special import digamma, expit

from pubench_core.errors import RequestError

VECTORS = Vectors("ntc-tmi", tolerance=1e-10)
#: What the published code makes of a probability of exactly 0 in prediction.
PREDICTION = 1e-2
FITTED = {"k": 3, "n_candidates": 100, "neighbors": "boundary"}


@VECTORS.cases("range_.*")
def test_ranges_of_candidates(case: Case) -> None:
    k, sizes, shares = int(case["k"]), case["sizes"].tolist(), case["fractions"]
    found = [candidate_range(size, k) for size in sizes]
    case.expect(1e-9, fraction_low=[low for low, _, _ in found])
    case.expect(index_low=[first for _, first, _ in found], index_high=[last for _, _, last in found])
    case.expect(
        upper_bound=[upper_bound(shares, size) for size in sizes],
        lower_bound=[lower_bound(shares, size, k) for size in sizes],
        max_lower_bound=[lower_bound(np.array(0.5), size, k) for size in sizes],
    )


@VECTORS.cases(having="scores")
def test_candidates_and_their_objective(case: Case) -> None:
    scores, k, n = np.sort(case["scores"]), int(case["k"]), int(case["n_candidates"])
    _, first, last = candidate_range(len(scores), k)
    candidates = np.linspace(scores[first], scores[last], n)
    case.expect(index_low=first, index_high=last, candidates=candidates)
    of_cut = objective(scores, case["candidates"], k, "boundary")
    constant = digamma(len(scores)) + digamma(k)
    case.expect(objective=of_cut, mutual_information=of_cut + constant)
    if "mutual_information_all_rows" in case:
        full = objective(scores, case["candidates"], k, "all") + constant
        case.expect(mutual_information_all_rows=full)


@VECTORS.cases(having="scores")
def test_thresholds_and_decisions(case: Case) -> None:
    found = threshold(case["scores"], int(case["k"]), int(case["n_candidates"]), "boundary")
    case.expect(threshold=found, decisions=case["scores"] > found)


@VECTORS.cases("fit_.*", tolerance=1e-6)
def test_whole_fits(case: Case) -> None:
    s = case["s"]
    fitted = base_of("unscaled-logistic", {}).fit(case["x"], s, np.ones(len(s)), 0)
    assert isinstance(fitted, Linear)
    z = log_odds(fitted.probability(case["x"]), TRAINING)
    found = threshold(z[s == 0], **FITTED)
    test = expit(log_odds(fitted.probability(case["x_test"]), PREDICTION) - found)
    case.expect(coefficients=fitted.weights, intercept=fitted.bias, logits=z, threshold=found)
    case.expect(probabilities_test=test, decisions_test=test > 0.5)


@VECTORS.cases("saturated")
def test_probabilities_of_exactly_0_and_1(case: Case) -> None:
    z = log_odds(case["labeling_probability"], TRAINING)
    found = threshold(z[case["s"] == 0], **FITTED)
    test = expit(log_odds(case["labeling_probability_test"], PREDICTION) - found)
    case.expect(threshold=found, probabilities_test=test, decisions_test=test > 0.5)


def test_too_few_rows_are_refused() -> None:
    assert [candidate_range(size, k)[1] for size, k in ((13, 1), (17, 2), (20, 3), (26, 5), (40, 10))] == [1] * 5
    for size, k in ((12, 1), (16, 2), (19, 3), (25, 5), (39, 10)):
        with pytest.raises(RequestError, match="too few for a threshold"):
            candidate_range(size, k)


def test_the_share_above_the_threshold_stays_near_one_half() -> None:
    """5 % of the rows are clearly positive; the published rule calls a third or more positive."""
    rng = np.random.default_rng(0)
    scores = np.r_[rng.normal(-4, 1, 950), rng.normal(6, 1, 50)]
    found = threshold(scores, **FITTED)
    assert (scores > found).mean() > 0.33


def test_equal_scores_have_their_median_as_threshold() -> None:
    assert threshold(np.full(50, -1.5), **FITTED) == -1.5
