"""Comparisons over tasks: worked out by hand, and the tests of scipy."""

from __future__ import annotations

import pytest
from pubench_report.over_tasks import over_tasks
from pubench_report.significance import friedman, once_per_source, ranks_of
from scipy import stats

#: Four tasks in two regions; c misses one.
VALUES = {
    "a": {"s/n1": 0.9, "s/n2": 0.8, "s/z1": 0.7, "s/z2": 0.6},
    "b": {"s/n1": 0.8, "s/n2": 0.9, "s/z1": 0.6, "s/z2": 0.5},
    "c": {"s/n1": 0.7, "s/n2": 0.7, "s/z1": 0.5},
}
REGION = {"s/n1": "n", "s/n2": "n", "s/z1": "z", "s/z2": "z"}


class TestOverTasks:
    def test_means_are_over_the_tasks_of_all_methods_by_group_and_overall(self) -> None:
        found = over_tasks(VALUES, REGION, "a")
        assert found.means["n"] == pytest.approx({"a": 0.85, "b": 0.85, "c": 0.7})
        assert found.means["overall"] == pytest.approx({"a": 0.8, "b": 2.3 / 3, "c": 1.9 / 3})

    def test_ranks_are_over_tasks_and_absent_for_a_group_of_one(self) -> None:
        found = over_tasks(VALUES, REGION, "a")
        assert set(found.ranks) == {"n", "overall"}
        assert dict(zip(found.ranks["overall"].methods, found.ranks["overall"].average_ranks, strict=True)) == (
            pytest.approx({"a": 4 / 3, "b": 5 / 3, "c": 3})
        )

    def test_pairs_are_tasks_tested_by_wilcoxon_and_adjusted_by_holm(self) -> None:
        values = {
            "a": {f"s/{k}": 0.5 + 0.01 * k for k in range(10)},
            "b": {f"s/{k}": 0.5 + 0.02 * k - 0.03 for k in range(10)},
            "c": {f"s/{k}": 0.4 + 0.001 * k for k in range(10)},
        }
        pairs = {pair.method: pair for pair in over_tasks(values, dict.fromkeys(values["a"], "r"), "a").pairs}
        differences = {m: [values[m][t] - values["a"][t] for t in values["a"]] for m in ("b", "c")}
        assert pairs["c"].p == pytest.approx(2 * stats.wilcoxon(differences["c"]).pvalue, rel=1e-6)
        assert (pairs["b"].wins, pairs["b"].tasks) == (6, 10)
        assert pairs["b"].difference == pytest.approx(0.015)

    def test_no_shared_task_is_refused(self) -> None:
        with pytest.raises(ValueError, match="no task has a value of all 2 methods"):
            over_tasks({"a": {"s/1": 0.5}, "b": {"s/2": 0.5}}, {"s/1": "r", "s/2": "r"}, "a")


class TestSourcesCountOnce:
    def test_tasks_of_a_source_become_their_mean(self) -> None:
        values = {"a": {"disdat/sa01": 0.5, "disdat/sa02": 0.7, "openml:61/class": 0.2, "digits": 0.9}}
        assert once_per_source(values)["a"] == pytest.approx({"disdat": 0.6, "openml": 0.2, "digits": 0.9})

    def test_one_source_alone_keeps_its_tasks(self) -> None:
        assert once_per_source(VALUES) == VALUES

    def test_ranks_of_a_report_count_a_source_once(self) -> None:
        """Ten tasks prefer b, two data sets prefer a: over sources, a is first."""
        values = {f"disdat/sa{k:02d}": {"a": {2: 0.5}, "b": {2: 0.6}, "c": {2: 0.4}} for k in range(10)}
        values |= {name: {"a": {2: 0.9}, "b": {2: 0.8}, "c": {2: 0.7}} for name in ("digits", "usps")}
        ranks, _, notes = ranks_of(values, ["a", "b", "c"], alpha=0.05, higher_is_better=True)
        assert ranks is not None
        assert ranks.data == ("disdat", "digits", "usps")
        assert ranks.average_ranks[0] < ranks.average_ranks[1]
        assert notes == ["10 tasks of disdat count as one data set, by their mean"]
        assert friedman({m: {d: v[m][2] for d, v in values.items()} for m in "abc"}).average_ranks[1] < 1.5
