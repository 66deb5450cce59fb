"""Methods by data sets: mean and sample standard deviation of a measure over seeds; and tests of differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from pubench_core.errors import counted

from .cells import MeasuredCell, ShownMeasure, grid_cells, not_compared, printed, signed
from .grouping import Grid, marked
from .ranking import AverageRanks, Complete, average_ranks
from .rendering import Printed, RenderedTable, TableEntry
from .significance import ALPHA, Friedman, Pair, Test, Values, p_text, pairs_of

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class MeasureTable(Printed):
    """A table of methods by data sets. Prints as text; in a notebook as a table.

    A cell says ``mean ± sample standard deviation (n)`` over the n seeds that have a value, ``(n of N)`` where fewer
    than were tried have one, and ``-`` where none has; ``!n`` where n of its runs decide every row alike. ``*`` (bold
    in a notebook) marks the best mean of a column, several where they are printed alike: not of oracle methods or
    baselines, and not of methods that lack a seed which others have.
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
    return TableEntry(f"{' ± '.join(numbers)} {n}", "best" if cell.best else "", cell.alike)


def measure_table(
    grid: Grid, measure: ShownMeasure, part: str, criterion: str, notes: Iterable[str] = ()
) -> MeasureTable:
    """Table of a grid. ``notes``: follow those of its cells."""
    cells = grid_cells(grid, measure, criterion, part)
    runs = [run.result for cell in grid.cells.values() for run in cell.runs.values()]
    oracle = any(run.criteria[criterion].oracle for run in runs if criterion in run.criteria)
    found = list(grid.notes)
    for (row, column), cell in cells.items():
        for reason in dict.fromkeys(cell.missing.values()):
            seeds = ", ".join(str(seed) for seed, why in cell.missing.items() if why == reason)
            found.append(f"{row} on {column}, seed {seeds}: no {measure.key}: {reason}")
        found += [f"{failure}" for failure in grid.cell(row, column).failures]
    if measure.higher_is_better is None:
        found.append(f"nothing is marked best: metric {measure.key} is not installed, so its direction is not known")
    for column in grid.columns if measure.higher_is_better is not None else ():
        out = not_compared({row: cells[row, column] for row in grid.rows}, grid.apart)
        found += [f"{column}: {out}"] if out else []
    return MeasureTable(
        metric=measure.key,
        part=part,
        criterion=f"{criterion} (oracle)" if oracle else criterion,
        percent=measure.percent,
        common=grid.common,
        rows=grid.rows,
        columns=grid.columns,
        oracles=grid.oracles,
        baselines=grid.baselines,
        cells=cells,
        notes=(*found, *notes),
    )


# -------------------------------------------------------------------- tests


@dataclass(frozen=True)
class Significance(Printed):
    """Tests of a comparison. Prints as text; in a notebook as tables."""

    metric: str
    criterion: str
    reference: str
    test: Test
    alpha: float
    pairs: tuple[Pair, ...]
    """per data set and method, against the reference"""
    no_pairs: str
    """why there are none"""
    average: AverageRanks
    """over data sets"""
    notes: tuple[str, ...] = ()
    """what was left out"""

    @property
    def ranks(self) -> Friedman | None:
        """Friedman's test over data sets; None if ``no_ranks`` says why there is none."""
        return self.average.friedman

    @property
    def no_ranks(self) -> str:
        """Why there is no test over data sets."""
        return self.average.why

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

    def table(self, ids: Mapping[tuple[str, str], str] | None = None) -> RenderedTable:
        """The pairs. ``ids``: (data, method) -> identifier of the cell's runs."""
        rows, measure = [], ShownMeasure.of(self.metric)
        for pair in self.pairs:
            text = "-" if math.isnan(pair.difference) else signed(pair.difference, measure)
            difference = TableEntry(text, link=(ids or {}).get((pair.data, pair.method), ""))
            decision: str = pair.decision
            if decision == "too few pairs" and not math.isnan(pair.smallest_p):
                decision += f" (an exact test has no adjusted p below {p_text(pair.smallest_p)})"
            rows.append(
                (pair.data, pair.method, str(pair.n), difference, p_text(pair.p), p_text(pair.adjusted), decision)
            )
        head = ("data", "method", "pairs", f"difference to {self.reference}", "p", "adjusted p", "decision")
        return RenderedTable.of(head, rows, left=2, texts=(6,))

    def shown(self) -> tuple[list[str], RenderedTable, list[str]]:
        below = [] if self.pairs else [f"no pairs to test: {self.no_pairs}"]
        below += [*([self.advice] if self.advice else []), ""]
        listed = ", ".join(f"{method} {rank:.2f}" for method, rank in self.average.ranks)
        below += [f"average ranks (1 is best): {listed}"] if listed else []
        below += self.average.lines()
        below += [f"note: {note}" for note in self.notes]
        kind = "paired t-test" if self.test == "t" else "Wilcoxon's signed-rank test"
        unit = ", points" if ShownMeasure.of(self.metric).percent else ""
        title = (
            f"{self.metric}, selected by {self.criterion}: difference to {self.reference} over seeds{unit}; {kind}, "
            f"two-sided, Holm's adjustment per data set, level {self.alpha:g}"
        )
        return [title], self.table(), below


def significance_of(
    values: Values,
    competing: Sequence[str],
    reference: str,
    measure: ShownMeasure,
    criterion: str,
    *,
    test: Test = "t",
    alpha: float = ALPHA,
    notes: Iterable[str] = (),
) -> Significance:
    """Tests of a comparison: pairs against the reference on every data set, and ranks of the competing methods.

    ``values``: of all methods; ``reference``: a method that may compete or not, empty if there is none.
    """
    mine = {*competing, reference}
    there = {
        data: {row: by_seed for row, by_seed in of.items() if row in mine and by_seed} for data, of in values.items()
    }
    without, no_pairs, higher = (
        [data for data, of in there.items() if reference not in of],
        "",
        measure.higher_is_better,
    )
    if not any(there.values()):
        no_pairs = "no method has a value here"
    elif len(without) == len(there):
        no_pairs = f"{reference} has no value here" if reference else "nnpu was not run"
        no_pairs += "; --baseline names another method"
    elif higher is None:
        no_pairs = f"metric {measure.key} is not installed, so whether higher is better is not known"
    said = [f"no tests on {data}: {reference} has no value there" for data in without] if not no_pairs else []
    pairs = [] if no_pairs else pairs_of(there, reference, test=test, alpha=alpha, higher_is_better=bool(higher))
    average = AverageRanks(Complete((), (), ()), why=no_pairs)
    if higher is not None:
        average = average_ranks(there, competing, higher_is_better=higher, alpha=alpha)
    return Significance(
        metric=measure.key,
        criterion=criterion,
        reference=reference,
        test=test,
        alpha=alpha,
        pairs=tuple(pairs),
        no_pairs=no_pairs or "no other method has a value here" * (not pairs),
        average=average,
        notes=(*notes, *said),
    )
