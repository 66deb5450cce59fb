"""Tests of a comparison: pairs of methods on every data set, and ranks over data sets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pubench_core.errors import counted

from ..cells import ShownMeasure, signed
from ..ranking import AverageRanks
from ..rendering import Printed, RenderedTable, TableEntry
from ..significance import ALPHA, Friedman, Pair, p_text

if TYPE_CHECKING:
    from pandas import DataFrame


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
        notes = (f"note: {note}" for note in self.notes)
        return [title], replace(table, notes=()), [*below, *self.average.lines(), *notes]
