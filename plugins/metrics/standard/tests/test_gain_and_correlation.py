"""AUC-PRG and correlation against values worked out by hand, definitions, and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pubench_metrics import pubench_metrics
from pubench_metrics.oracle import auc_prg, correlation
from scipy import stats

from pubench_core.errors import Undefined
from pubench_core.metric import MetricView, Scored

INFOS = {info.key: info for info in pubench_metrics()}
rows = st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=0, max_size=30)


def view(key: str, truth: list[int], scores: list[float]) -> MetricView:
    return MetricView(Scored.of(np.array(scores, dtype=float), truth=np.array(truth, dtype=np.int8)), INFOS[key])


def prg(truth: list[int], scores: list[float]) -> float:
    return auc_prg(view("auc-prg", truth, scores))


class TestAucPrg:
    def test_the_example_of_the_authors_software_worked_out_by_hand(self) -> None:
        """n_P = n_N = 3, so the curve starts at TP = 1.5 with gains (0, 1), and goes on through (.5, 1), (.5, .5) and
        (1, 1/3): 1/2 + (1/2 + 1/3) / 4 = 17/24."""
        assert prg([1, 1, 0, 0, 1, 0], [0.8, 0.8, 0.6, 0.4, 0.4, 0.2]) == pytest.approx(17 / 24, abs=1e-15)

    def test_a_curve_that_crosses_the_axis_within_an_edge(self) -> None:
        """One positive of four, tied with one of three negatives below another: TP = 1/4, FP = 1 + 1/4 at recall gain
        0, where precision gain is 1 - 1.25 / .75 = -2/3; it ends at (1, 1/3) before two more negatives come."""
        assert prg([0, 1, 0, 0], [3, 2, 2, 1]) == pytest.approx((-2 / 3 + 1 / 3) / 2, abs=1e-15)

    @settings(deadline=None, max_examples=50)
    @given(rows)
    def test_auc_prg_is_the_integral_of_precision_gain_over_recall_gain(self, found: list[tuple[int, bool]]) -> None:
        found = [*found, (0, True), (1, False)]
        y, s = np.array([label for _, label in found]), np.array([score for score, _ in found])
        n_p, n_n = y.sum(), (~y).sum()
        limits = np.unique(s)[::-1]
        tp = np.array([0, *((s >= limit)[y].sum() for limit in limits)])
        fp = np.array([0, *((s >= limit)[~y].sum() for limit in limits)])
        edges = [k for k in range(1, len(tp)) if tp[k] > tp[k - 1]]
        gains = (np.arange(20_000) + 0.5) / 20_000
        hits = n_p / (1 + n_n / n_p * (1 - gains))  # TP at a recall gain
        at = np.array(edges)[np.searchsorted(tp[edges], hits)]
        false = fp[at - 1] + (hits - tp[at - 1]) / (tp[at] - tp[at - 1]) * (fp[at] - fp[at - 1])
        expected = np.mean(1 - n_p * false / (n_n * hits))
        assert prg(y.astype(int).tolist(), s.astype(float).tolist()) == pytest.approx(expected, abs=1e-3)


class TestCorrelation:
    def test_cor_is_the_point_biserial_correlation(self) -> None:
        rng = np.random.default_rng(0)
        truth = rng.integers(0, 2, 200)
        scores = rng.normal(size=200) + truth
        found = correlation(view("correlation", truth.tolist(), scores.tolist()))
        assert found == pytest.approx(stats.pointbiserialr(truth, scores).statistic, abs=1e-12)

    def test_equal_scores_have_none(self) -> None:
        with pytest.raises(Undefined, match="all scores are equal"):
            correlation(view("correlation", [0, 1], [3, 3]))


@pytest.mark.parametrize("key", ["auc-prg", "correlation"])
@pytest.mark.parametrize("truth", [[0, 0], [1, 1]])
def test_one_class_alone_has_neither(key: str, truth: list[int]) -> None:
    with pytest.raises(Undefined, match="only one class"):
        (auc_prg if key == "auc-prg" else correlation)(view(key, truth, [1, 2]))
