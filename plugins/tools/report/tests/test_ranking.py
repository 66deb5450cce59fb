"""Ranks with gaps in the comparison."""

from __future__ import annotations

import numpy as np
import pytest
from pubench_report.ranking import average_ranks, counted_in, ranking_of
from scipy.stats import rankdata


def values_of(scores: np.ndarray) -> dict[str, dict[str, dict[int, float]]]:
    """Of an array (data sets, methods, seeds)."""
    return {
        f"d{d}": {f"m{m}": dict(enumerate(row.tolist())) for m, row in enumerate(table)}
        for d, table in enumerate(scores)
    }


def ranks_of(scores: np.ndarray, *, higher_is_better: bool = True) -> list[tuple[str, float]]:
    values = values_of(scores)
    return average_ranks(values, list(values["d0"]), higher_is_better=higher_is_better).ranks


def test_a_comparison_without_gaps_is_complete() -> None:
    part = counted_in(values_of(np.ones((2, 3, 2))), ["m0", "m1", "m2"])
    assert (part.methods, part.columns, part.dropped) == (("m0", "m1", "m2"), ("d0", "d1"), ())


def test_what_lacks_most_is_left_out_and_named() -> None:
    values = values_of(np.ones((3, 4, 2)))
    for method in ("m1", "m2", "m3"):
        del values["d2"][method]
    part = counted_in(values, ["m0", "m1", "m2", "m3"])
    assert (part.methods, part.columns) == (("m0", "m1", "m2", "m3"), ("d0", "d1"))
    assert part.dropped == ("d2 (75 % of its cells lack values)",)
    for data in ("d0", "d1"):
        del values[data]["m3"]
    part = counted_in(values, ["m0", "m1", "m2", "m3"])
    assert (part.methods, part.columns) == (("m0", "m1", "m2"), ("d0", "d1"))


@pytest.mark.parametrize("gone", [[1], [1, 2], [1, 2, 3], [0, 1, 2, 4]])
def test_a_missing_seed_of_one_method_never_removes_another(gone: list[int]) -> None:
    """m0 lacks seeds of the first data set. All stay in the ranks; points leave m0 out at most, if it has one seed."""
    methods = ["m0", "m1", "m2", "m3"]
    values = values_of(np.random.default_rng(0).normal(size=(3, 4, 5)))
    values["d0"]["m0"] = {seed: value for seed, value in values["d0"]["m0"].items() if seed not in gone}
    found = average_ranks(values, methods, higher_is_better=True)
    assert (found.part.methods, found.part.columns) == (tuple(methods), ("d0", "d1", "d2"))
    few = len(gone) > 2
    counts = counted_in(values, methods)
    assert {*methods[1:]} <= {*counts.methods}
    assert counts.seeds["d0"] == ((0, 1, 2, 3, 4) if few else tuple(seed for seed in range(5) if seed not in gone))
    ranking = ranking_of(values, methods, counts, {data: data for data in values})
    assert {place.row for place in ranking.places} == {*counts.methods}


def test_methods_without_a_common_seed_are_compared_by_their_own() -> None:
    values = {"a": {"x": {1: 0.5}, "y": {2: 0.6}, "z": {3: 0.4}}, "b": {"x": {1: 0.5}, "y": {1: 0.6}, "z": {1: 0.4}}}
    found = average_ranks(values, ["x", "y", "z"], higher_is_better=True)
    assert found.part.columns == ("a", "b")
    assert found.ranks == [("y", 1.0), ("x", 2.0), ("z", 3.0)]


def test_a_method_with_few_seeds_does_not_take_them_from_the_others() -> None:
    """m3 has one seed of five and is best with it; the others are compared over all five."""
    values = values_of(np.random.default_rng(0).normal(size=(3, 4, 5)))
    for data in values.values():
        data["m3"] = {0: 9.0}
    found = average_ranks(values, ["m0", "m1", "m2", "m3"], higher_is_better=True)
    assert (found.part.dropped, found.ranks[0]) == ((), ("m3", 1.0))
    alone = average_ranks(values, ["m0", "m1", "m2"], higher_is_better=True)
    assert [method for method, _ in found.ranks[1:]] == [method for method, _ in alone.ranks]
    assert [rank - 1 for _, rank in found.ranks[1:]] == pytest.approx([rank for _, rank in alone.ranks])
    assert set(found.part.seeds.values()) == {(0, 1, 2, 3, 4)}


def test_average_ranks_are_those_of_scipy() -> None:
    scores = np.random.default_rng(1).normal(size=(5, 4, 3))
    found = dict(ranks_of(scores))
    expected = rankdata(-scores.mean(axis=2), axis=1).mean(axis=0)
    assert [found[f"m{m}"] for m in range(4)] == pytest.approx(expected)
    lower = dict(ranks_of(scores, higher_is_better=False))
    assert all(lower[method] == pytest.approx(5 - rank) for method, rank in found.items())


def test_tasks_of_a_source_and_settings_of_a_data_set_count_once() -> None:
    """Two of three data sets prefer m0; two tasks of one source do not outvote the third."""
    up, down = {"m0": {1: 0.9}, "m1": {1: 0.5}, "m2": {1: 0.1}}, {"m0": {1: 0.1}, "m1": {1: 0.5}, "m2": {1: 0.9}}
    for one, other in (("disdat/a", "disdat/b"), ("digits [c=0.1]", "digits [c=0.5]")):
        found = average_ranks({one: up, other: up, "imdb": down}, ["m0", "m1", "m2"], higher_is_better=True)
        assert {rank for _, rank in found.ranks} == {2.0}
        assert found.friedman is not None
        assert found.friedman.data == (one[: one.index("/") if "/" in one else one.index(" ")], "imdb")
        assert found.tasks == (f"2 tasks of {found.friedman.data[0]} count as one data set, by their mean",)
    alone = average_ranks({"disdat/a": up, "disdat/b": down}, ["m0", "m1", "m2"], higher_is_better=True)
    assert alone.friedman is not None
    assert alone.friedman.data == ("disdat/a", "disdat/b")
