"""Ranks with gaps in the comparison, and their intervals over seeds."""

from __future__ import annotations

import numpy as np
import pytest
from pubench_report.ranking import Complete, RankInterval, complete_part, rank_intervals
from pubench_report.significance import friedman
from scipy.stats import rankdata


def values_of(scores: np.ndarray) -> dict[str, dict[str, dict[int, float]]]:
    """Of an array (data sets, methods, seeds)."""
    return {
        f"d{d}": {f"m{m}": dict(enumerate(row.tolist())) for m, row in enumerate(table)}
        for d, table in enumerate(scores)
    }


def intervals_of(scores: np.ndarray, *, higher_is_better: bool = True) -> list[RankInterval]:
    values = values_of(scores)
    part = complete_part(values, list(values["d0"]))
    return rank_intervals(values, part, higher_is_better=higher_is_better)


def test_a_comparison_without_gaps_is_complete() -> None:
    part = complete_part(values_of(np.ones((2, 3, 2))), ["m0", "m1", "m2"])
    assert part == Complete(("m0", "m1", "m2"), ("d0", "d1"), ())


def test_what_lacks_most_is_left_out_and_named() -> None:
    values = values_of(np.ones((3, 4, 2)))
    for method in ("m1", "m2", "m3"):
        del values["d2"][method]
    part = complete_part(values, ["m0", "m1", "m2", "m3"])
    assert (part.methods, part.data) == (("m0", "m1", "m2", "m3"), ("d0", "d1"))
    assert part.dropped == ("d2 (75 % of its cells have no value)",)
    for data in ("d0", "d1"):
        del values[data]["m3"]
    part = complete_part(values, ["m0", "m1", "m2", "m3"])
    assert (part.methods, part.data) == (("m0", "m1", "m2"), ("d0", "d1"))


def test_a_data_set_without_a_common_seed_is_left_out() -> None:
    values = {"a": {"x": {1: 0.5}, "y": {2: 0.5}}, "b": {"x": {1: 0.5}, "y": {1: 0.6}}}
    part = complete_part(values, ["x", "y"])
    assert part.data == ("b",)
    assert part.dropped == ("a (no seed was run by all methods)",)


def test_the_same_values_on_other_seeds_share_a_rank() -> None:
    shares = np.array([0.1, 0.2, 0.3])
    scores = np.array([[shares, shares[::-1], shares - 0.05]] * 2)
    assert scores[0, 0].mean() != scores[0, 1].mean()  # by one bit
    ranks = {one.method: one.rank for one in intervals_of(scores)}
    assert ranks == {"m0": 1.5, "m1": 1.5, "m2": 3.0}


def test_intervals_draw_the_same_seeds_for_all_methods() -> None:
    """A method that is better with every seed is first in every draw, however much seeds differ."""
    hard = np.linspace(0.1, 0.9, 5)
    found = intervals_of(np.array([[hard, hard - 0.001, hard - 0.002]] * 2))
    assert [(one.rank, one.interval) for one in found] == [(1, (1, 1)), (2, (2, 2)), (3, (3, 3))]


def test_an_interval_holds_the_middle_95_percent_of_the_draws() -> None:
    """m1 is first where the third seed is drawn three times of three: in one draw of 27, which is 3.7 %."""
    found = intervals_of(np.array([[[0.9, 0.9, 0.5], [0.1, 0.1, 0.51]]]))
    assert [(one.method, one.interval) for one in found] == [("m0", (1, 2)), ("m1", (1, 2))]


def test_average_ranks_are_those_of_scipy_and_of_friedman() -> None:
    scores = np.random.default_rng(1).normal(size=(5, 4, 3))
    found = {one.method: one.rank for one in intervals_of(scores)}
    expected = rankdata(-scores.mean(axis=2), axis=1).mean(axis=0)
    assert [found[f"m{m}"] for m in range(4)] == pytest.approx(expected)
    means = {f"m{m}": {f"d{d}": float(scores[d, m].mean()) for d in range(5)} for m in range(4)}
    assert [found[f"m{m}"] for m in range(4)] == pytest.approx(friedman(means).average_ranks)
    lower = {one.method: one.rank for one in intervals_of(scores, higher_is_better=False)}
    assert all(lower[method] == pytest.approx(5 - rank) for method, rank in found.items())


def test_intervals_are_narrow_where_seeds_agree_and_wide_where_they_do_not() -> None:
    base = np.array([0.9, 0.7, 0.5])[None, :, None] + np.zeros((4, 3, 5))
    sure = intervals_of(base)
    assert [(one.method, one.rank, one.interval) for one in sure] == [(f"m{k - 1}", k, (k, k)) for k in (1, 2, 3)]
    noisy = base + np.random.default_rng(0).normal(size=base.shape)
    wide = intervals_of(noisy)
    for one in wide:
        assert one.interval is not None
        assert one.interval[0] <= one.rank <= one.interval[1]
        assert one.interval[1] - one.interval[0] > 0.2
    assert wide == intervals_of(noisy)


def test_one_seed_gives_ranks_without_intervals() -> None:
    found = intervals_of(np.arange(6.0).reshape(2, 3, 1))
    assert [(one.method, one.interval) for one in found] == [("m2", None), ("m1", None), ("m0", None)]
