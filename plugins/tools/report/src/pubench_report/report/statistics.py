"""Comparison of the differences that a report shows: paired, per data set; ranks, over the data sets of a setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pubench_core.errors import counted, unknown

from ..ranking import Complete, RankInterval, complete_part, rank_intervals
from ..significance import Friedman, Pair, friedman, means_of, pairs_of
from .model import Model, Setting

#: Level of all tests.
ALPHA = 0.05
_NO_VALUE = "no method has a value here"


@dataclass(frozen=True)
class SettingTests:
    """Tests of one setting, oracle methods and baselines apart.

    ``pairs``: every method against the baseline, per data set, by (data, method). ``no_pairs``: why there are none.
    ``part``: the methods and data sets that ranks are of. ``friedman``: None where ``no_friedman`` says why.
    """

    setting: Setting
    baseline: str
    pairs: Mapping[tuple[str, str], Pair]
    no_pairs: str
    part: Complete
    ranks: tuple[RankInterval, ...]
    friedman: Friedman | None
    no_friedman: str

    @property
    def groups(self) -> list[tuple[str, ...]]:
        """Largest groups of methods that Nemenyi's test does not tell apart, each from best to worst."""
        if self.friedman is None:
            return []
        order = [one.method for one in self.ranks]
        average = dict(zip(self.friedman.methods, self.friedman.average_ranks, strict=True))
        found: list[tuple[str, ...]] = []
        last = -1
        for first, method in enumerate(order):
            difference = self.friedman.critical_difference
            end = max(k for k, other in enumerate(order) if average[other] - average[method] < difference)
            if end > last and end > first:
                found.append(tuple(order[first : end + 1]))
            last = max(last, end)
        return found


def check_baseline(model: Model, given: str | None, default: str) -> str:
    """The row that others are tested against; empty where none was asked for and the default is not there.

    Of a method that was run with several settings, the row that has runs on the most data sets.

    Raises RequestError for one that is not there.
    """
    found = row_called(model, default if given is None else given)
    if given is not None and not found:
        raise unknown("baseline", given, model.rows)
    return found


def row_called(model: Model, name: str) -> str:
    """The row of this name, or the fullest one of this method in one of several settings; empty if there is none."""
    if name in model.rows:
        return name
    rows = [row for row in model.rows if row.startswith(f"{name} [")]
    runs = model.gathered.grid.cell
    return max(rows, key=lambda row: sum(bool(runs(row, c.label).runs) for c in model.columns), default="")


def comparisons_of(model: Model, baseline: str) -> list[SettingTests]:
    """One for each setting."""
    return [_tests(model, setting, baseline) for setting in model.settings]


def _tests(model: Model, setting: Setting, baseline: str) -> SettingTests:
    measure = model.measure
    cells = model.cells(measure, model.criterion)
    rows = [row for row in model.rows_of(setting) if row not in model.apart or row == baseline]
    values = {
        column.name: {row: cells[row, column.label].values for row in rows if cells[row, column.label].values}
        for column in setting.columns
    }
    higher = bool(measure.higher_is_better)
    pairs: dict[tuple[str, str], Pair] = {}
    no_pairs = ""
    if not any(values.values()):
        no_pairs = _NO_VALUE
    elif not baseline or not any(baseline in methods for methods in values.values()):
        without = f"{baseline} has no value here" if baseline else "nnpu was not run"
        no_pairs = f"{without}; --baseline names another method"
    elif measure.higher_is_better is None:
        no_pairs = f"metric {measure.key} is not installed, so whether higher is better is not known"
    else:
        found = pairs_of(values, baseline, test="t", alpha=ALPHA, higher_is_better=higher)
        pairs = {(pair.data, pair.method): pair for pair in found}
    competing = [row for row in rows if row not in model.apart]
    part = complete_part(values, competing)
    ranked = measure.higher_is_better is not None and len(part.methods) > 1 and len(part.data) > 0
    ranks = tuple(rank_intervals(values, part, higher_is_better=higher)) if ranked else ()
    unranked = "no two methods have values in common" if any(values.values()) else _NO_VALUE
    if ranked:
        unranked = (
            f"3 methods and 2 data sets are needed at least; complete are {len(part.methods)} methods on "
            f"{counted(len(part.data), 'data set')}"
        )
    tested = None
    if ranked and len(part.methods) > 2 and len(part.data) > 1:
        means = means_of(values, part.methods, part.data)
        tested, unranked = friedman(means, higher_is_better=higher, alpha=ALPHA), ""
    return SettingTests(setting, baseline, pairs, no_pairs, part, ranks, tested, unranked)
