"""Methods by data sets: mean and sample standard deviation of a measure over seeds; and tests of differences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from pubench_core.errors import counted

from .cells import MeasuredCell, ShownMeasure, cell_of, marked_cells, printed, signed
from .grouping import Grid, marked
from .rendering import Printed, RenderedTable, TableEntry
from .significance import Friedman, Pair, Test, p_text

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class MeasureTable(Printed):
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
    cells: Mapping[tuple[str, str], MeasuredCell]
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
            for row, column in product(self.rows, self.columns)
            for cell in [self.cells[row, column]]
        ]
        return pandas.DataFrame(rows).astype({"mean": float, "std": float})

    def shown(self) -> tuple[list[str], RenderedTable, list[str]]:
        rows = [
            (
                marked(row, self.oracles, self.baselines),
                *(_entry(self.cells[row, c], self.percent) for c in self.columns),
            )
            for row in self.rows
        ]
        below = []
        if any(cell.best for cell in self.cells.values()):
            below.append("* best of its column" + (f", {' and '.join(self.apart)} apart" if self.apart else ""))
        if any(cell.alike for cell in self.cells.values()):
            below.append("!n: n of its runs decide every row alike")
        unit, setting = ", percent" if self.percent else "", f"; {self.common}" if self.common else ""
        title = f"{self.metric} ({self.part}{unit}), mean ± std over seeds, selected by {self.criterion}{setting}"
        table = RenderedTable.of(("method", *self.columns), rows)
        return [title], table, [*below, *(f"note: {note}" for note in self.notes)]


def _entry(cell: MeasuredCell, percent: bool) -> TableEntry:
    n = f"({len(cell.values)})" if len(cell.values) == cell.seeds else f"({len(cell.values)} of {cell.seeds})"
    if cell.mean is None:
        return TableEntry(f"- {n}", alike=cell.alike)
    numbers = [printed(value, percent=percent) for value in (cell.mean, cell.std) if value is not None]
    return TableEntry(f"{' ± '.join(numbers)} {n}", cell.mark, cell.alike)


def measured_cells(
    grid: Grid, measure: ShownMeasure, part: str, criterion: str | None
) -> tuple[dict[tuple[str, str], MeasuredCell], list[str]]:
    """Every cell with the best of each column marked, and what a reader must know of them.

    ``criterion``: None means the one that names each result.
    """
    cells, notes = {}, []
    for row in grid.rows:
        for column in grid.columns:
            runs = grid.cell(row, column)
            cell = cells[row, column] = cell_of(runs, measure.key, criterion, part)
            for reason in dict.fromkeys(cell.missing.values()):
                seeds = ", ".join(str(seed) for seed, why in cell.missing.items() if why == reason)
                notes.append(f"{row} on {column}, seed {seeds}: no {measure.key}: {reason}")
            notes += [f"{failure}" for failure in runs.failures]
    if measure.higher_is_better is None:
        notes.append(f"nothing is marked best: metric {measure.key} is not installed, so its direction is not known")
        return cells, notes
    for column in grid.columns:
        competing = {row: cell for row in grid.rows if row not in grid.apart and (cell := cells[row, column]).values}
        if len({frozenset(cell.values) for cell in competing.values()}) > 1:
            counts = ", ".join(f"{row} {','.join(map(str, sorted(cell.values)))}" for row, cell in competing.items())
            notes.append(f"{column}: nothing is marked best, because the methods have different seeds: {counts}")
            continue
        for row, mark in marked_cells(competing, measure, second=False).items():
            cells[row, column] = replace(competing[row], mark=mark)
    return cells, notes


# -------------------------------------------------------------------- tests


@dataclass(frozen=True)
class Significance(Printed):
    """Tests of a comparison. Prints as text; in a notebook as tables.

    ``pairs``: per data set and method, against ``reference``. ``ranks``: over data sets; None where ``no_ranks`` says
    why there are none. ``notes``: what was left out.
    """

    metric: str
    criterion: str
    reference: str
    test: Test
    alpha: float
    pairs: tuple[Pair, ...]
    ranks: Friedman | None
    no_ranks: str
    notes: tuple[str, ...]

    def to_frame(self) -> DataFrame:
        """The pairs as a frame, one row each."""
        import pandas

        return pandas.DataFrame([vars(pair) for pair in self.pairs], columns=list(Pair.__dataclass_fields__))

    @property
    def advice(self) -> str:
        """Advice if no pair is decided; empty if one is, and without pairs."""
        if not self.pairs or any(pair.decision in ("better", "worse") for pair in self.pairs):
            return ""
        most = max(pair.n for pair in self.pairs)
        return (
            f"nothing is decided over {counted(most, 'seed')}: more seeds (such as {max(10, 2 * most)}) tell smaller "
            "differences from chance"
        )

    def shown(self) -> tuple[list[str], RenderedTable, list[str]]:
        rows, measure = [], ShownMeasure.of(self.metric)
        for pair in self.pairs:
            difference = "-" if math.isnan(pair.difference) else signed(pair.difference, measure)
            decision: str = pair.decision
            if decision == "too few pairs" and not math.isnan(pair.smallest_p):
                decision += f" (an exact test has no adjusted p below {p_text(pair.smallest_p)})"
            rows.append(
                (pair.data, pair.method, str(pair.n), difference, p_text(pair.p), p_text(pair.adjusted), decision)
            )
        head = ("data", "method", "pairs", "difference", "p", "adjusted p", "decision")
        below = [] if self.pairs else ["no pairs to test"]
        below += [*([self.advice] if self.advice else []), ""]
        if self.ranks is None:
            below.append(f"no ranks over data sets: {self.no_ranks}")
        else:
            order = sorted(zip(self.ranks.average_ranks, self.ranks.methods, strict=True))
            listed = ", ".join(f"{method} {rank:.2f}" for rank, method in order)
            below.append(f"average ranks over {len(self.ranks.data)} data sets (1 is best): {listed}")
            below += self.ranks.lines()
        below += [f"note: {note}" for note in self.notes]
        kind = "paired t-test" if self.test == "t" else "Wilcoxon's signed-rank test"
        unit = ", points" if measure.percent else ""
        title = (
            f"{self.metric}, selected by {self.criterion}: difference to {self.reference} over seeds{unit}; {kind}, "
            f"two-sided, Holm's adjustment per data set, level {self.alpha:g}"
        )
        return [title], RenderedTable.of(head, rows, left=2, texts=(6,)), below
