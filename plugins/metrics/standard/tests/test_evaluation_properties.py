"""What the measures are by their definition: enumerations, limits, and what is said where they mislead."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from pubench_metrics import pubench_metrics, recovery, resampling
from pubench_metrics import pulp as pulp_module
from pubench_metrics.hypergeometric import Hypergeometric
from pubench_metrics.pulp import pulp, random_value
from pubench_metrics.recovered import Mixture, auc, indirect_curve, pu_points
from scipy.stats import norm, spearmanr
from sklearn.metrics import f1_score, matthews_corrcoef, mutual_info_score

from pubench_core.errors import Undefined
from pubench_core.metric import MetricValue, Scored, measure
from pubench_core.plugins.registry import load
from pubench_core.results import plain_data

INFOS = {info.key: info for info in pubench_metrics() if info.family not in ("oracle", "proxy")}
RECOVERED = [key for key in INFOS if key.startswith("recovered-")]


def value(key: str, scored: Scored) -> MetricValue:
    return measure(load(INFOS[key]), INFOS[key], scored)


def part(f: np.ndarray, labeled: np.ndarray, scheme: Any, prior: float, **more: Any) -> Scored:
    """A validation part as the engine builds it: in case-control the labeled positives stay in U'."""
    everything = np.arange(len(f))
    unlabeled = everything if scheme == "case-control" else np.setdiff1d(everything, labeled)
    return Scored.of(f, labeled=labeled, unlabeled=unlabeled, prior=prior, scheme=scheme, **more)


def gaussians(n: int, *, scheme: Any = "case-control", purity: float = 1.0, seed: int = 0, **more: Any) -> Scored:
    """Scores N(+1, 1) of positives, N(-1, 1) of negatives, π = 0.3, a fifth of the rows labeled, shuffled."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    f = rng.normal(np.where(y, 1.0, -1.0))
    positive, negative = np.flatnonzero(y), np.flatnonzero(~y)
    n_labeled = len(positive) // 5
    n_pure = round(n_labeled * purity)
    labeled = np.concatenate([positive[:n_pure], negative[: n_labeled - n_pure]])
    return part(f, labeled, scheme, 0.3, positive_purity=n_pure / n_labeled, **more)


# -------------------------------------------------------------------- Boyce


@pytest.mark.parametrize(
    ("labels", "expected"), [((1, 3, 2), 0.5), ((1, 2, 3), 1.0), ((3, 2, 1), -1.0), ((2, 3, 1), -0.5)]
)
def test_the_boyce_index_of_three_scores_is_that_of_their_labels(labels: tuple[int, ...], expected: float) -> None:
    """Ten rows have each of the scores 0, .5 and 1: the ratios are the numbers of labels, in that order."""
    f = np.repeat([0.0, 0.5, 1.0], 10)
    labeled = np.concatenate([10 * k + np.arange(n) for k, n in enumerate(labels)])
    for move, scale in ((0, 1), (-3, 0.01)):
        assert value("boyce", part(move + scale * f, labeled, "one-sample", 0.3)).value == pytest.approx(expected)


def test_the_boyce_index_is_the_rank_correlation_over_windows_of_a_tenth() -> None:
    """By its definition, window for window; a ratio that follows another of the same value counts once."""
    rng = np.random.default_rng(0)
    f, labeled = rng.beta(2, 4, 400), rng.choice(400, 30, replace=False)
    width, ratios = np.ptp(f) / 10, []
    for k in range(101):
        start = f.min() + k * (np.ptp(f) - width) / 100
        inside = (f >= start - 1e-12) & (f <= start + width + 1e-12)
        ratio = inside[labeled].mean() / inside.mean() if inside.any() else None
        if ratio is not None and [ratio] != ratios[-1:]:
            ratios.append(ratio)
    expected = spearmanr(ratios, np.arange(len(ratios))).statistic
    assert value("boyce", part(f, labeled, "one-sample", 0.3)).value == pytest.approx(expected, abs=1e-6)


def test_the_boyce_index_of_equal_scores_or_ratios_is_undefined() -> None:
    for f in (np.zeros(20), np.repeat([0.0, 1.0], 10)):
        with pytest.raises(Undefined, match="same share of every window"):
            value("boyce", part(f, np.array([0, 19]), "one-sample", 0.3))


# -------------------------------------------------------------------- PULP


@pytest.mark.parametrize(("n", "t"), [(6, 1), (7, 3), (8, 6)])
def test_pulp_over_every_ranking_of_a_few_rows(n: int, t: int) -> None:
    values = {
        chosen: pulp(-np.arange(float(n)), np.isin(np.arange(n), chosen)).value for chosen in combinations(range(n), t)
    }
    assert max(values, key=values.__getitem__) == tuple(range(t))  # the perfect ranking, and no other is as good
    assert values[tuple(range(n - t, n))] == pytest.approx(0, abs=1e-15)  # the worst one
    assert max(values.values()) <= (n - 1) / (n + 1)
    assert np.mean(list(values.values())) == pytest.approx(random_value(n, t), abs=1e-14)


@pytest.mark.parametrize(("n", "t"), [(100, 1), (400, 30), (1000, 999)])
def test_constant_scores_get_the_expectation_of_a_random_ranking(n: int, t: int) -> None:
    law = Hypergeometric.of(n, t)
    same = [np.square(law.pmf(np.full(t + 1, b), np.arange(t + 1))).sum() for b in range(n + 1)]
    assert random_value(n, t) == pytest.approx(np.mean((1 - np.array(same)) / 2), abs=1e-12)


def test_the_error_between_knots_of_large_groups_is_far_below_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, labeled = np.repeat([1.0, 0.0], [9000, 3000]), np.arange(12_000) % 40 == 0
    rough = pulp(scores, labeled)
    monkeypatch.setattr(pulp_module, "KNOTS", 10**6)
    exact = pulp(scores, labeled)
    assert exact.approximated == 0 < rough.approximated
    assert rough.value == pytest.approx(exact.value, abs=1e-10)
    np.testing.assert_allclose(rough.terms, exact.terms, rtol=0, atol=1e-8)


# -------------------------------------------------------------------- recovered performance


def test_the_metric_counts_rows_once_in_both_kinds_of_sampling() -> None:
    f, labeled = np.array([3.0, 2.0, 1.0, 0.0, -1.0]), np.array([0, 2])
    for scheme in ("case-control", "single-training-set"):
        found = value("pulp", part(f, labeled, scheme, 0.4))
        assert found.value == pulp(f, np.isin(np.arange(5), labeled)).value


def truth_of(f: np.ndarray, y: np.ndarray) -> float:
    return auc(f[y == 1], f[y == 0])


@pytest.mark.parametrize("scheme", ["case-control", "single-training-set", "one-sample"])
@pytest.mark.parametrize("purity", [1.0, 0.8])
def test_with_the_true_shares_recovered_values_converge_to_the_true_ones(scheme: Any, purity: float) -> None:
    """N(+1, 1) against N(-1, 1) at threshold 0: AUC Φ(√2), recall Φ(1), false positive rate Φ(-1)."""
    scored = gaussians(100_000, scheme=scheme, purity=purity)
    recall, fpr = norm.cdf(1), norm.cdf(-1)
    knowledge = scored.knowledge
    assert knowledge.labeled is not None
    assert knowledge.unlabeled is not None
    alpha = 0.3
    if scheme in ("single-training-set", "one-sample"):
        alpha = (0.3 * 100_000 - knowledge.positive_purity * len(knowledge.labeled)) / len(knowledge.unlabeled)
    found = {key: value(key, scored) for key in RECOVERED}
    assert found["recovered-auc"].details["unlabeled_prior"] == pytest.approx(alpha)
    assert found["recovered-auc"].value == pytest.approx(norm.cdf(np.sqrt(2)), abs=0.015)
    assert found["recovered-auc"].details["indirect"] == pytest.approx(norm.cdf(np.sqrt(2)), abs=0.01)
    assert found["recovered-recall"].value == pytest.approx(recall, abs=0.01)
    assert found["recovered-fpr"].value == pytest.approx(fpr, abs=0.01)
    precision = alpha * recall / (alpha * recall + (1 - alpha) * fpr)
    assert found["recovered-precision"].value == pytest.approx(precision, abs=0.015)


def test_the_recovered_average_precision_is_that_of_the_hidden_labels() -> None:
    rng = np.random.default_rng(2)
    y = rng.random(60_000) < 0.25
    f = rng.normal(np.where(y, 1.0, -1.0))
    fresh = rng.normal(1.0, size=20_000)
    curve = indirect_curve(pu_points(fresh, f), Mixture(0.25))
    scored = Scored.of(
        np.concatenate([fresh, f]),
        labeled=np.arange(20_000),
        unlabeled=np.arange(20_000, 80_000),
        prior=0.25,
        scheme="two-sample",
    )
    order = np.argsort(-f)
    hits = np.cumsum(y[order])
    truth = (hits / np.arange(1, len(f) + 1))[y[order]].mean()
    assert value("recovered-ap", scored).value == pytest.approx(truth, abs=0.02)
    assert curve.auc == pytest.approx(truth_of(f, y), abs=0.01)


# -------------------------------------------------------------------- intervals


def test_intervals_without_resampling_cover_the_true_values() -> None:
    """200 samples of 1,500 rows: the share of 95 % intervals that hold the truth (binomial error 1.5 %)."""
    truth = {"recovered-auc": norm.cdf(np.sqrt(2)), "recovered-recall": norm.cdf(1), "recovered-fpr": norm.cdf(-1)}
    held = dict.fromkeys(truth, 0)
    for seed in range(200):
        scored = gaussians(1500, scheme="single-training-set", seed=seed)
        for key, expected in truth.items():
            low, high = value(key, scored).interval or (np.nan, np.nan)
            held[key] += low <= expected <= high
    assert {key: count >= 180 for key, count in held.items()} == dict.fromkeys(truth, True), held


def test_a_report_has_intervals_and_curves_and_a_record_stays_small() -> None:
    record, report = gaussians(300), gaussians(300, thorough=True)
    for key, info in INFOS.items():
        assert not info.criterion
        short, long = value(key, record), value(key, report)
        assert long.value == short.value
        assert len(json.dumps(plain_data(short.details))) < 350
        assert (long.interval is None) == (key == "boyce")  # the index of its source is a value alone
        if long.interval is not None:
            assert long.interval[0] <= long.value <= long.interval[1]
    details = value("recovered-auc", report).details
    assert set(details) >= {"direct", "indirect", "direct_interval", "indirect_interval", "infeasible", "removed"}
    assert set(details["curve"]) == set(details["raw_curve"]) == {"fpr", "recall"}
    assert set(details["band"]) == {"fpr", "low", "high"}
    for curve in (details["curve"], details["raw_curve"], value("recovered-ap", report).details["curve"]):
        assert {len(column) for column in curve.values()} <= set(range(2, 201))
    assert value("pulp", report).details["curve"]["probability"][0] == 0


def test_a_recovered_average_precision_lies_in_its_interval() -> None:
    """Where the prior is too large, points of the curve are removed, and resamples lose more of them."""
    rng = np.random.default_rng(4)
    scores = np.concatenate([rng.normal(2, 1, 25), rng.normal(0, 1, 90)])  # 15 labeled, 10 of 100 positive
    found = value("recovered-ap", part(scores, np.arange(15), "one-sample", 0.5, thorough=True))
    assert found.interval is not None
    assert found.interval[0] <= found.value <= found.interval[1]


def test_the_interval_covers_for_every_prior_in_its_own_interval() -> None:
    for thorough in (False, True):
        known = gaussians(400, thorough=thorough)
        unsure = gaussians(400, thorough=thorough, prior_interval=(0.2, 0.4))
        for key in RECOVERED:
            narrow, wide = value(key, known).interval, value(key, unsure).interval
            if narrow is None or wide is None:
                assert narrow is wide is None
                continue
            assert wide[0] <= narrow[0] <= narrow[1] <= wide[1]
    table = value("recovered-auc", unsure).details["sensitivity"]
    assert [row["prior"] for row in table] == pytest.approx(np.linspace(0.2, 0.4, 11))
    assert np.all(np.diff([row["auc"] for row in table]) > 0)


def test_a_measure_draws_from_a_stream_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    scored = gaussians(200, thorough=True)
    first = {key: value(key, scored).interval for key in INFOS}
    for kept in (resampling.redrawn_counts, resampling.redrawn_pu, recovery._redrawn):
        kept.cache_clear()
    make = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda seed: make(seed))  # none without a seed
    assert {key: value(key, scored).interval for key in INFOS} == first


# -------------------------------------------------------------------- if there is no value, or a flag


ONE = np.array([0])


@pytest.mark.parametrize("key", INFOS)
def test_without_a_row_that_it_needs_a_measure_is_undefined(key: str) -> None:
    f, nobody = np.array([1.0, -1.0]), np.array([], dtype=np.int64)
    with pytest.raises(Undefined, match="no labeled positive"):
        value(key, part(f, nobody, "case-control", 0.5))
    with pytest.raises(Undefined, match="no unlabeled row"):
        value(key, part(f[:1], ONE, "single-training-set", 0.5))
    with pytest.raises(Undefined, match="the score of row 1 is nan"):
        value(key, part(np.array([1.0, np.nan]), ONE, "case-control", 0.5))


def test_where_every_row_is_labeled_there_is_no_pulp() -> None:
    with pytest.raises(Undefined, match="every row is labeled"):
        value("pulp", part(np.array([1.0, 0.0]), np.array([0, 1]), "case-control", 0.5))


@pytest.mark.parametrize("key", RECOVERED)
def test_shares_that_allow_no_recovery(key: str) -> None:
    f = np.array([2.0, 1.0, 0.5, -1.0])
    with pytest.raises(Undefined, match=r"among unlabeled rows, 0.6, is not below .* labeled ones, 0.6"):
        value(key, part(f, ONE, "case-control", 0.6, positive_purity=0.6))
    with pytest.raises(Undefined, match="contradict each other"):
        value(key, part(f, np.array([0, 1]), "single-training-set", 0.4))
    with pytest.raises(Undefined, match=r"the purity of the labeled rows is 1\.5"):
        value(key, part(f, ONE, "case-control", 0.6, positive_purity=1.5))


def test_what_must_be_known_of_a_value_is_said() -> None:
    f = np.concatenate([np.ones(30), np.zeros(70)])
    best = part(f + np.arange(100) / 1e6, np.arange(30), "case-control", 0.6)
    assert any("infeasible: the recovered AUC is" in line for line in value("recovered-auc", best).warnings)
    assert value("recovered-auc", best).details["infeasible"]
    assert value("recovered-auc", best).value == 1.0
    few = part(np.arange(50.0), np.array([3, 30]), "case-control", 0.1)
    assert any("2 labeled positives" in line for line in value("recovered-recall", few).warnings)
    constant = part(np.zeros(50), np.arange(25), "case-control", 0.3)
    assert value("pulp", constant).value == pytest.approx(random_value(50, 25), abs=1e-15)
    assert any("every score is the same" in line for line in value("pulp", constant).warnings)
    close = part(f, np.arange(30), "case-control", 0.95)
    assert any("errors are multiplied" in line for line in value("recovered-auc", close).warnings)


def test_no_row_above_the_threshold_has_no_precision_and_all_else_is_known() -> None:
    low = part(np.arange(-50.0, 0), np.arange(25), "case-control", 0.3)
    with pytest.raises(Undefined, match="no unlabeled row is above the threshold"):
        value("recovered-precision", low)
    assert value("recovered-recall", low).value == value("recovered-fpr", low).value == 0
    assert value("lee-liu", low).value == value("pseudo-f", low).value == 0


def test_the_threshold_that_was_asked_for_decides() -> None:
    scored = gaussians(2000)
    moved = gaussians(2000, threshold=1.0)
    assert value("recovered-recall", moved).value < value("recovered-recall", scored).value
    assert value("recovered-recall", gaussians(200, threshold=1.0, thorough=True)).details["threshold"] == 1.0
    assert value("recovered-auc", moved).value == value("recovered-auc", scored).value


def test_measures_against_labels_are_those_of_scikit_learn() -> None:
    scored = gaussians(1000, threshold=0.5, thorough=True)
    labels = np.zeros(1000, dtype=int)
    labels[scored.knowledge.labeled] = 1
    decided = scored.scores > 0.5
    assert value("pu-f1", scored).value == pytest.approx(f1_score(labels, decided))
    assert value("pu-correlation", scored).value == pytest.approx(matthews_corrcoef(labels, decided))
    assert value("pu-mutual-information", scored).value == pytest.approx(mutual_info_score(labels, decided))
    for key in ("pu-f1", "pu-correlation", "pu-mutual-information"):
        found = value(key, scored)
        assert found.interval is not None
        assert found.interval[0] < found.value < found.interval[1]
        assert 0 < found.details["mean_over_thresholds"] < 1
