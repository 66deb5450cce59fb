"""Oracle measures against their definitions, by brute force over scores with many ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pubench_metrics_oracle import pubench_metrics

from pubench_core.errors import PluginError
from pubench_core.metric import Measurer, MetricPlugin, MetricView, Scored, measure
from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import load

INFOS = {info.key: info for info in pubench_metrics()}

rows = st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=12)


def scored_of(found: list[tuple[int, bool]]) -> Scored:
    scores, truth = zip(*found, strict=True)
    return Scored.of(np.array(scores, dtype=float), truth=np.array(truth, dtype=np.int8))


def value(key: str, scored: Scored) -> float:
    return measure(load(INFOS[key]), INFOS[key], scored).value


@settings(deadline=None)
@given(rows)
def test_the_counts_are_those_of_the_decisions(found: list[tuple[int, bool]]) -> None:
    expected = [sum((score > 0, y) == cell for score, y in found) for cell in ((1, 1), (1, 0), (0, 1), (0, 0))]
    assert list(scored_of(found).counts) == expected


@settings(deadline=None)
@given(rows)
def test_the_curve_counts_what_lies_at_or_above_each_distinct_score(found: list[tuple[int, bool]]) -> None:
    taken, positives = scored_of(found).curve
    distinct = sorted({score for score, _ in found}, reverse=True)
    assert taken.tolist() == [sum(score >= limit for score, _ in found) for limit in distinct]
    assert positives.tolist() == [sum(y and score >= limit for score, y in found) for limit in distinct]


@settings(deadline=None)
@given(rows)
def test_auc_is_the_share_of_pairs_in_order_with_ties_as_halves(found: list[tuple[int, bool]]) -> None:
    found = [*found, (0, True), (0, False)]  # both classes
    pairs = [(p > n) + 0.5 * (p == n) for p, y in found if y for n, other in found if not other]
    assert value("auc", scored_of(found)) == pytest.approx(np.mean(pairs), rel=1e-14)


@settings(deadline=None)
@given(rows)
def test_average_precision_adds_precision_where_recall_grows(found: list[tuple[int, bool]]) -> None:
    found = [*found, (0, True)]
    total, before, expected = sum(y for _, y in found), 0, 0.0
    for limit in sorted({score for score, _ in found}, reverse=True):
        above = [y for score, y in found if score >= limit]
        expected += (sum(above) - before) / total * sum(above) / len(above)
        before = sum(above)
    assert value("average-precision", scored_of(found)) == pytest.approx(expected, rel=1e-14)


def test_large_parts_are_counted_in_exact_integers() -> None:
    """Half of 200,000 rows positive and every score the same: a half, though the pairs are ten thousand million."""
    truth = np.arange(200_000) % 2
    assert value("auc", Scored.of(np.zeros(len(truth)), truth=truth.astype(np.int8))) == 0.5


def test_all_measures_together_sort_the_scores_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, sorts = np.random.default_rng(0), []

    def noting(name: str, real: Any) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            sorts.append(name)
            return real(*args, **more)

        return call

    for name in ("sort", "argsort", "lexsort", "unique"):
        monkeypatch.setattr(np, name, noting(name, getattr(np, name)))
    scored = Scored.of(rng.normal(size=500), truth=rng.integers(0, 2, 500).astype(np.int8))
    measurer = Measurer({key: MetricPlugin(info, load(info), "") for key, info in INFOS.items()})
    found = measurer.measure_all(INFOS, scored)
    assert all(one.value is not None for one in found.values())
    assert sorts == ["argsort"]


def test_what_metrics_share_cannot_be_written_to() -> None:
    scored = scored_of([(1, True), (2, False)])
    for array in scored.curve:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7


@pytest.mark.parametrize("what", ["counts", "curve"])
def test_a_metric_that_does_not_declare_the_truth_gets_nothing_made_of_it(what: str) -> None:
    scored = scored_of([(1, True), (2, False)])
    assert getattr(scored, what) is getattr(MetricView(scored, INFOS["f1"]), what)
    blind = MetricInfo(key="blind", name="b", summary="b", load="a.b:c", needs=frozenset({"labeled"}))
    with pytest.raises(PluginError, match="reads truth without declaring it"):
        getattr(MetricView(scored, blind), what)
