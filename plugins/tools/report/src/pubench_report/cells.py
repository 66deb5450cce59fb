"""Cells of comparisons: a measure of a method on a data set over seeds, with its mean and deviation."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pubench_study.measure_names import metric_and_rule

from pubench_cli.few_labels import LOST, few_held_out
from pubench_core.errors import counted
from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import registry
from pubench_core.results import Result

from .grouping import Grid, RunGroup
from .ranking import LEAST_SEEDS, ranks_of
from .rendering import Mark


def metric_info(metric: str) -> MetricInfo | None:
    """Info of an installed metric, by its name, also at the prior; None if it is not installed."""
    key = metric_and_rule(metric)[0]
    return next((info for info in registry().infos(MetricInfo) if key in (info.key, *info.aliases)), None)


def few_in_all(results: Sequence[Result]) -> str:
    """A line on those results whose epoch was chosen by too few held-out labeled positives; empty if there are none."""
    few = [result.data.validation.labeled or 0 for result in results if few_held_out(result)]
    if not few:
        return ""
    several = " to ".join(dict.fromkeys(map(str, (min(few), max(few)))))
    return (
        f"{len(few):,} of {counted(len(results), 'run')} chose the epoch by {several} held-out labeled positives: "
        f"{LOST}; five folds hold out every label in turn"
    )


def mean_and_std(values: Iterable[float]) -> tuple[float | None, float | None]:
    """Mean, and sample standard deviation (n - 1); None for too few values.

    >>> mean_and_std([1.0, 3.0])
    (2.0, 1.4142135623730951)
    """
    found = list(values)
    if len(found) < 2:
        return (found[0] if found else None), None
    mean = statistics.fmean(found)
    # statistics.stdev adds fractions: of ten thousand cells it takes seconds
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in found) / (len(found) - 1))


@dataclass(frozen=True)
class MeasuredCell:
    """A measure of a method on a data set."""

    values: Mapping[int, float]
    """by seed"""
    seeds: int
    """planned or tried; 0 if the method is not run there"""
    alike: int = 0
    """runs that decide every row alike"""
    missing: Mapping[int, str] = field(default_factory=dict)
    """seed -> why a finished run has no value"""
    failures: tuple[str, ...] = ()
    """why others have none"""
    tracked: bool = True
    """whether any of the finished runs has the criterion"""
    id: str = ""
    """of its place in a page"""
    mark: Mark = ""
    rank: int = 0
    """among the rows compared on the data set, equal ones as printed share it; 0 if it is not compared"""
    among: int = 0
    """rows that are compared there"""

    @cached_property
    def mean(self) -> float | None:
        """Mean of the values; None without any."""
        return mean_and_std(self.values.values())[0]

    @cached_property
    def std(self) -> float | None:
        """Sample standard deviation (n - 1); None for fewer than two values."""
        return mean_and_std(self.values.values())[1]

    @property
    def why(self) -> tuple[str, ...]:
        """Reasons why values are missing, each once."""
        return tuple(dict.fromkeys([*self.missing.values(), *self.failures]))


def cell_of(runs: RunGroup, measure: str, criterion: str | None, part: str = "test", name: str = "") -> MeasuredCell:
    """The cell of some runs. ``criterion``: None means the one that names each result; ``name``: its identifier."""
    values: dict[int, float] = {}
    missing: dict[int, str] = {}
    alike, tracked, rule = 0, not runs.runs, metric_and_rule(measure)[1]
    for seed, run in runs.runs.items():
        chosen = run.result.criteria.get(criterion or run.result.selected)
        alike += chosen is not None and rule == "zero" and chosen.decided_alike
        tracked |= chosen is not None
        found = _measured(run.result, measure, part, criterion)
        if isinstance(found, str):
            missing[seed] = found
        else:
            values[seed] = found
    failures = tuple(failure.short for failure in runs.failures)
    return MeasuredCell(values, runs.seeds, alike, missing, failures, tracked=tracked, id=name)


def _measured(result: Result, measure: str, part: str, criterion: str | None) -> float | str:
    """A value, or why there is none."""
    chosen = result.criteria.get(criterion or result.selected)
    if chosen is None:
        return f"criterion {criterion} was not tracked"
    found = chosen.measured(part).get(measure)
    if found is not None:
        return found.undefined if found.value is None else found.value
    if metric_and_rule(measure)[1] == "prior" and chosen.threshold is None and not chosen.undefined:
        return "no decision at the prior: no prior is known, or the record is older than such decisions"
    if not chosen.undefined and part == "test" and getattr(result.data, "test", "") is None:
        return "there are no test rows with true labels"
    return chosen.undefined or "it was not measured"


@dataclass(frozen=True)
class ShownMeasure:
    """A metric as tables show it. ``higher_is_better``: None where it is not installed, and nothing is marked."""

    key: str
    name: str
    percent: bool
    higher_is_better: bool | None

    @classmethod
    def of(cls, key: str) -> ShownMeasure:
        """Measure of an installed metric."""
        info = metric_info(key)
        if info is None:
            return cls(key, key, False, None)
        name = f"{info.name} at the prior" if metric_and_rule(key)[1] == "prior" else info.name
        return cls(key, name, bool(info.headline), info.higher_is_better)

    @property
    def unranked(self) -> str:
        """Why methods are not ranked by it; empty if they are."""
        if self.higher_is_better is not True:
            return f"{self.name} names no best value, so methods are not ranked by it."
        if self.key.startswith(("precision", "recall")):
            return f"A method that decides every row alike can have the best {self.name}, so none is ranked by it."
        return ""

    @property
    def scale(self) -> float:
        """Factor by which a value is shown."""
        return 100.0 if self.percent else 1.0

    @property
    def label(self) -> str:
        """Name and unit."""
        return f"{self.name}, %" if self.percent else self.name

    def text(self, value: float, sign: str = "") -> str:
        """A value as tables have it: ``86.70`` of a percentage, else ``0.8670``. ``sign``: ``+`` of a difference, which
        shows its sign unless it is zero as printed.
        """
        text = f"{self.scale * value:{sign}.{2 if self.percent else 4}f}"
        return text if not sign or float(text) else text[1:]

    def points(self, value: float) -> float:
        """A value as it is printed, in points."""
        return round(float(self.text(value)) * (1.0 if self.percent else 100.0), 2)


def grid_cells(
    grid: Grid, measure: ShownMeasure, criterion: str | None, part: str = "test"
) -> dict[tuple[str, str], MeasuredCell]:
    """Every cell of a grid, with ranks, and with best and second of each column marked.

    Values that are printed alike share rank and mark. A reference is not compared, nor a row of one seed, which has no
    spread. A run that decides every row alike is not to be imitated: its cell has no mark.
    """
    found = {
        (row, column): cell_of(grid.cell(row, column), measure.key, criterion, part, grid.ids.get((row, column), ""))
        for column in grid.columns
        for row in grid.rows
    }
    for column in grid.columns if measure.higher_is_better is not None else ():
        cells, larger = {row: found[row, column] for row in grid.rows}, measure.higher_is_better
        rows = [row for row, cell in cells.items() if row not in grid.apart and len(cell.values) >= LEAST_SEEDS]
        means = {row: float(measure.text(cells[row].mean or 0.0)) for row in rows}
        ranks = ranks_of(means.values(), larger_is_better=bool(larger))
        marked = {row: mean for row, mean in means.items() if not cells[row].alike}
        best = sorted({*marked.values()}, reverse=bool(larger))[:2] if len(marked) > 1 else []
        for (row, mean), rank in zip(means.items(), ranks, strict=True):
            mark: Mark = ("best", "second")[best.index(mean)] if row in marked and mean in best else ""
            found[row, column] = replace(cells[row], mark=mark, rank=rank, among=len(means))
    return found
