"""Methods by data sets: mean and sample standard deviation of a measure over seeds; and tests of differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pubench_core.errors import counted

from .cells import MeasuredCell, ShownMeasure, competing_rows, signed
from .grouping import Grid
from .ranking import AverageRanks, Counted, average_ranks
from .rendering import Printed, RenderedTable, TableEntry
from .significance import ALPHA, Friedman, Pair, Values, p_text, pairs_of

if TYPE_CHECKING:
    from pandas import DataFrame


NO_CELL, NO_VALUE = "·", "-"


def entry(cell: MeasuredCell, measure: ShownMeasure, planned: int = 0) -> TableEntry:
    """``82.15 ± 3.32 (3 of 10)``: the count is there if a seed has no value that is planned, or that others have."""
    if not cell.seeds:
        return TableEntry(NO_CELL, why="not run")
    if not cell.tracked:
        return TableEntry("not tracked", link=cell.id, why="; ".join(cell.why))
    n, of = len(cell.values), max(cell.seeds, planned)
    count = "" if n == of else f" ({n} of {of})"
    why = "; ".join(cell.why)
    if cell.mean is None:
        return TableEntry(f"{NO_VALUE}{count or f' (0 of {of})'}", link=cell.id, alike=cell.alike, why=why)
    spread = "" if cell.std is None else f" ± {measure.text(cell.std)}"
    return TableEntry(f"{measure.text(cell.mean)}{spread}{count}", cell.mark, cell.alike, cell.id, why)


def methods_by_data(
    grid: Grid,
    cells: Mapping[tuple[str, str], MeasuredCell],
    measure: ShownMeasure,
    rows: Iterable[str],
    columns: Mapping[str, str],
    **more: Any,
) -> RenderedTable:
    """The table of a measure. ``columns``: label -> name."""
    planned = {label: len(grid.seeds[label]) for label in columns}
    head = ["method", *(f"{name} ({counted(planned[label], 'seed')})" for label, name in columns.items())]
    body = [(grid.marked(row), *(entry(cells[row, c], measure, planned[c]) for c in columns)) for row in rows]
    return RenderedTable.of(head, body, **more)


def uncompared(
    grid: Grid, cells: Mapping[tuple[str, str], MeasuredCell], measure: ShownMeasure, columns: Mapping[str, str]
) -> list[str]:
    """Notes on rows of one seed among others of several. ``columns``: label -> name."""
    found = []
    for label, name in columns.items() if measure.higher_is_better is not None else ():
        of = {row: cells[row, label] for row in grid.rows}
        competing = competing_rows(of, grid.apart)
        out = [row for row, cell in of.items() if row not in grid.apart and cell.values and row not in competing]
        if out and competing:
            found.append(f"{name}: not compared for best and second, as it is of one seed: {', '.join(out)}")
    return found


# -------------------------------------------------------------------- tests


@dataclass(frozen=True)
class Significance(Printed):
    """Tests of a comparison. Prints as text; in a notebook as tables."""

    metric: str
    criterion: str
    reference: str
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

    def table(self, ids: Mapping[tuple[str, str], str] | None = None, **more: Any) -> RenderedTable:
        """The pairs, and notes on them. ``ids``: (data, method) -> identifier of the cell's runs."""
        rows, measure = [], ShownMeasure.of(self.metric)
        for pair in self.pairs:
            text = "-" if math.isnan(pair.difference) else signed(pair.difference, measure)
            difference = TableEntry(text, link=(ids or {}).get((pair.data, pair.method), ""))
            p = (p_text(pair.p), p_text(pair.adjusted))
            rows.append((pair.data, pair.method, str(pair.n), difference, *p, pair.decision))
        head = ("data", "method", "pairs", f"difference to {self.reference}", "p", "adjusted p", "decision")
        notes = (f"no tests: {self.no_pairs}" if self.no_pairs else "", self.advice)
        return RenderedTable.of(head, rows, left=2, texts=(6,), notes=tuple(filter(None, notes)), **more)

    def shown(self) -> tuple[list[str], RenderedTable, list[str]]:
        listed = ", ".join(f"{method} {rank:.2f}" for method, rank in self.average.ranks)
        table = self.table()
        below = [*table.notes, "", *([f"average ranks (1 is best): {listed}"] if listed else [])]
        unit = ", points" if ShownMeasure.of(self.metric).percent else ""
        title = (
            f"{self.metric}, selected by {self.criterion}: difference to {self.reference} over seeds{unit}; paired "
            f"t-test, two-sided, Holm's adjustment per data set, level {ALPHA:g}"
        )
        return (
            [title],
            replace(table, notes=()),
            [*below, *self.average.lines(), *(f"note: {note}" for note in self.notes)],
        )


def significance_of(
    values: Values,
    competing: Sequence[str],
    reference: str,
    measure: ShownMeasure,
    criterion: str,
    notes: Iterable[str] = (),
) -> Significance:
    """Tests of a comparison: pairs against the reference on every data set, and ranks of the competing methods.

    ``values``: of all methods; ``reference``: a method that may compete or not, empty if there is none.
    """
    mine, higher = {*competing, reference}, measure.higher_is_better
    there = {
        data: {row: by_seed for row, by_seed in of.items() if row in mine and by_seed} for data, of in values.items()
    }
    without, no_pairs = [data for data, of in there.items() if reference not in of], ""
    if not any(there.values()):
        no_pairs = "no method has a value here"
    elif len(without) == len(there):
        no_pairs = f"{reference} has no value here" if reference else "nnpu was not run"
        no_pairs += "; --baseline names another method"
    elif higher is None:
        no_pairs = f"metric {measure.key} is not installed, so whether higher is better is not known"
    said = [f"no tests on {data}: {reference} has no value there" for data in without] if not no_pairs else []
    pairs = [] if no_pairs else pairs_of(there, reference, higher_is_better=bool(higher))
    average = AverageRanks(Counted((), (), (), {}), why=no_pairs)
    if higher is not None:
        average = average_ranks(there, competing, higher_is_better=higher)
    no_pairs = no_pairs or "no other method has a value here" * (not pairs)
    return Significance(measure.key, criterion, reference, tuple(pairs), no_pairs, average, (*notes, *said))
