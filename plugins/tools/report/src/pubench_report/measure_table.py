"""Methods by data sets: the mean of a measure over seeds, with its sample standard deviation."""

from __future__ import annotations

import html
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pubench_core.results import NO_THRESHOLD, Result, metric_and_rule

from .grouping import Grid, marked
from .text import aligned, html_table

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class Measured:
    """One cell. ``values``: by seed, where the measure has one; ``seeds``: how many were tried, failed ones included.

    ``alike``: runs that decide every row alike; ``best``: the best mean of its column.
    """

    values: Mapping[int, float]
    seeds: int
    alike: int = 0
    best: bool = False

    @property
    def mean(self) -> float | None:
        """Mean of the values; None if there are none."""
        return statistics.fmean(self.values.values()) if self.values else None

    @property
    def std(self) -> float | None:
        """Sample standard deviation (n - 1); None for fewer than two values."""
        return statistics.stdev(self.values.values()) if len(self.values) > 1 else None


@dataclass(frozen=True)
class MeasureTable:
    """A table of methods by data sets. Prints as text; in a notebook as a table.

    A cell says ``mean ± sample standard deviation (n)`` over the n seeds that have a value, ``(n of N)`` where fewer
    than were tried have one, and ``-`` where none has; ``!n`` where n of its runs decide every row alike. ``*`` (bold
    in a notebook) marks the best mean of a column, several where they are printed alike: not of oracle methods or
    baselines, and only where the methods that have values have them for the same seeds. ``repeated``: data sets that
    several columns are of, in other settings.
    """

    metric: str
    part: str
    criterion: str
    percent: bool
    common: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    oracles: frozenset[str]
    cells: Mapping[tuple[str, str], Measured]
    notes: tuple[str, ...]
    repeated: tuple[str, ...] = ()
    baselines: frozenset[str] = frozenset()

    @property
    def apart(self) -> dict[str, list[str]]:
        """Kind of reference -> its rows, which are never best or ranked; kinds without any are left out."""
        kinds = {"oracle methods": self.oracles, "baselines": self.baselines}
        found = {kind: [row for row in self.rows if row in rows] for kind, rows in kinds.items()}
        return {kind: rows for kind, rows in found.items() if rows}

    def to_frame(self) -> DataFrame:
        """One row per cell: method, data, oracle, mean, std, n, seeds, alike, best. Values are not in percent."""
        import pandas

        rows = [
            {
                "method": row,
                "data": column,
                "oracle": row in self.oracles,
                "mean": cell.mean,
                "std": cell.std,
                "n": len(cell.values),
                "seeds": cell.seeds,
                "alike": cell.alike,
                "best": cell.best,
            }
            for (row, column), cell in self._in_order()
        ]
        names = ["method", "data", "oracle", "mean", "std", "n", "seeds", "alike", "best"]
        return pandas.DataFrame(rows, columns=names).astype({"mean": float, "std": float})

    def __str__(self) -> str:
        rows = [[self._row_name(row), *(self._text(row, column) for column in self.columns)] for row in self.rows]
        lines = [self._title(), *aligned(["method", *(f"{column} " for column in self.columns)], rows)]
        if any(cell.best for cell in self.cells.values()):
            lines.append("* best of its column" + (f", {' and '.join(self.apart)} apart" if self.apart else ""))
        if any(cell.alike for cell in self.cells.values()):
            lines.append("!n: n of its runs decide every row alike")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [
            [self._row_name(row), *(self._text(row, column).rstrip(" *") for column in self.columns)]
            for row in self.rows
        ]
        bold = [
            (r, c + 1)
            for r, row in enumerate(self.rows)
            for c, column in enumerate(self.columns)
            if self.cells[row, column].best
        ]
        table = html_table(self._title(), ["method", *self.columns], rows, bold)
        return table + "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)

    def _in_order(self) -> Iterator[tuple[tuple[str, str], Measured]]:
        return (((row, column), self.cells[row, column]) for row in self.rows for column in self.columns)

    def _title(self) -> str:
        unit = ", percent" if self.percent else ""
        setting = f"; {self.common}" if self.common else ""
        return f"{self.metric} ({self.part}{unit}), mean ± std over seeds, selected by {self.criterion}{setting}"

    def _row_name(self, row: str) -> str:
        return marked(row, self.oracles, self.baselines)

    def _text(self, row: str, column: str) -> str:
        """A cell; the last character is the mark's place."""
        cell = self.cells[row, column]
        mark = "*" if cell.best else " "
        n = f"({len(cell.values)})" if len(cell.values) == cell.seeds else f"({len(cell.values)} of {cell.seeds})"
        n += f" !{cell.alike}" if cell.alike else ""
        if cell.mean is None:
            return f"- {n}{mark}"
        spread = "" if cell.std is None else f" ± {self._number(cell.std)}"
        return f"{self._number(cell.mean)}{spread} {n}{mark}"

    def _number(self, value: float) -> str:
        return _printed(value, percent=self.percent)


def _printed(value: float, *, percent: bool) -> str:
    return f"{100 * value:.2f}" if percent else f"{value:.4f}"


def measured_cells(
    grid: Grid, metric: str, part: str, criterion: str | None, higher_is_better: bool | None, *, percent: bool
) -> tuple[dict[tuple[str, str], Measured], list[str]]:
    """Every cell with the best of each column marked, and what a reader must know of them.

    ``criterion``: None means the one that names each result. ``higher_is_better``: None where that is not known, and
    nothing is marked then. ``percent``: means are printed so.
    """
    cells, notes = {}, []
    for row in grid.rows:
        for column in grid.columns:
            cell = grid.cell(row, column)
            found = {seed: _measured(run.result, metric, part, criterion) for seed, run in cell.runs.items()}
            alike = sum(_alike(run.result, criterion) for run in cell.runs.values())
            cells[row, column] = Measured({s: v for s, v in found.items() if isinstance(v, float)}, cell.seeds, alike)
            for reason in dict.fromkeys(value for value in found.values() if isinstance(value, str)):
                seeds = ", ".join(str(seed) for seed, value in found.items() if value == reason)
                notes.append(f"{row} on {column}, seed {seeds}: no {metric}: {reason}")
            notes += [f"{failure}" for failure in cell.failures]
    if higher_is_better is None:
        notes.append(f"nothing is marked best: metric {metric} is not installed, so its direction is not known")
        return cells, notes
    for column in grid.columns:
        competing = [row for row in grid.rows if row not in grid.apart and cells[row, column].values]
        if len({frozenset(cells[row, column].values) for row in competing}) > 1:
            counts = ", ".join(f"{row} {_seeds(cells[row, column].values)}" for row in competing)
            notes.append(f"{column}: nothing is marked best, because the methods have different seeds: {counts}")
        elif len(competing) > 1:
            means = {row: float(_printed(cells[row, column].mean or 0.0, percent=percent)) for row in competing}
            best = max(means.values()) if higher_is_better else min(means.values())
            cells |= {(row, column): replace(cells[row, column], best=means[row] == best) for row in competing}
    return cells, notes


def _measured(result: Result, metric: str, part: str, criterion: str | None) -> float | str:
    """A value, or why there is none."""
    chosen = result.criteria.get(criterion or result.selected)
    if chosen is None:
        return f"criterion {criterion} was not tracked"
    measure = chosen.measured(part).get(metric)
    if measure is not None:
        return measure.undefined if measure.value is None else measure.value
    if metric_and_rule(metric)[1] == "prior" and chosen.threshold is None and not chosen.undefined:
        return NO_THRESHOLD
    if not chosen.undefined and part == "test" and result.data.test is None:
        return "there are no test rows with true labels"
    return chosen.undefined or "it was not measured"


def _alike(result: Result, criterion: str | None) -> bool:
    chosen = result.criteria.get(criterion or result.selected)
    return chosen is not None and chosen.decided_alike


def _seeds(values: Mapping[int, float]) -> str:
    return ",".join(str(seed) for seed in sorted(values))
