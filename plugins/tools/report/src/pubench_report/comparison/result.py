"""Result of a comparison with others' figures: its cells, what is left out, what is missing. Prints as text."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pubench_core.errors import shortened

from ..published import STANDINGS, Figure, Reason, Verdict, standard_error, standing_of, verdict_of
from ..rendering import Printed, RenderedTable

if TYPE_CHECKING:
    from pandas import DataFrame

#: Columns of the printed table.
HEAD = ("method", "data", "ours", "theirs", "difference ± SE", "within 2 SE", "reason")
#: Fields of a row of :meth:`SideBySide.to_rows`.
FIELDS = (
    "theirs", "method", "data", "oracle", "measure", "criterion", "ours_mean", "ours_std", "ours_n", "ours_alike",
    "theirs_mean", "theirs_std", "theirs_n", "theirs_alike", "difference", "standard_error",
    "verdict", "standing", "reason", "evidence",
)  # fmt: skip
#: Characters of a list of cells that are printed.
_LISTED = 400


@dataclass(frozen=True)
class ComparedCell:
    """One method on one data set. ``reason``: why ours is above or below, if that is known."""

    method: str
    data: str
    oracle: bool
    ours: Figure
    theirs: Figure
    reason: Reason | None = None

    @property
    def difference(self) -> float:
        """Ours minus theirs."""
        return self.ours.mean - self.theirs.mean

    @property
    def standard_error(self) -> float | None:
        """Standard error of the difference; None if a side has one run, and if neither side varies."""
        return standard_error(self.ours, self.theirs)

    @property
    def verdict(self) -> Verdict | None:
        """matched if the difference is less than two standard errors, else above or below; None without that error."""
        return verdict_of(self.ours, self.theirs)

    @property
    def standing(self) -> str:
        """matched, explained (its reason was run), known difference (was read), unexplained or not judged."""
        return standing_of(self.verdict, self.reason)

    def texts(self) -> list[str]:
        """The cell as it is printed, in the order of :data:`HEAD`."""
        reason = "unexplained" if self.standing == "unexplained" else ""
        if self.reason is not None:
            reason = f"{self.standing}: {self.reason.reason} ({self.reason.known}; {self.reason.evidence})"
        method = f"{self.method} (oracle)" if self.oracle else self.method
        return [method, self.data, str(self.ours), str(self.theirs), *difference_texts(self.ours, self.theirs), reason]


@dataclass(frozen=True)
class LeftOut:
    """A cell of ours that is not compared, and why."""

    method: str
    data: str
    why: str


def difference_texts(mine: Figure, theirs: Figure) -> list[str]:
    """The difference with its standard error, and whether it is within two of them."""
    error, verdict = standard_error(mine, theirs), verdict_of(mine, theirs)
    within = {"matched": "yes", None: "not judged"}.get(verdict, f"no, {verdict}")
    return [f"{mine.mean - theirs.mean:+.2f}" + ("" if error is None else f" ± {error:.2f}"), within]


class Beside(Printed):
    """Base of results next to those of others: a row per cell, as text, frame or plain data."""

    #: Columns of the printed table; those of them that are no numbers, from the third; fields of a row of plain data.
    head: ClassVar[tuple[str, ...]]
    text_columns: ClassVar[tuple[int, ...]]
    fields: ClassVar[tuple[str, ...]]
    cells: tuple[Any, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]

    def title(self) -> str:
        """Title of the table."""
        raise NotImplementedError

    def heading(self) -> list[str]:
        """Lines above the table."""
        raise NotImplementedError

    def remarks(self) -> list[str]:
        """Lines below the table."""
        raise NotImplementedError

    def _row(self, cell: Any) -> dict[str, Any]:
        """The fields of a cell."""
        raise NotImplementedError

    def to_rows(self) -> list[dict[str, Any]]:
        """One row per compared cell, as plain data."""
        rows = [self._row(cell) for cell in self.cells]
        return [
            {name: round(row[name], 6) if isinstance(row[name], float) else row[name] for name in self.fields}
            for row in rows
        ]

    def to_frame(self) -> DataFrame:
        """:meth:`to_rows` as a frame."""
        import pandas

        return pandas.DataFrame(self.to_rows(), columns=list(self.fields))

    def table(self) -> RenderedTable:
        """The cells as they are printed."""
        rows = [cell.texts() for cell in self.cells]
        wide = [k for k, name in enumerate(self.head) if name in ("reason", "best of the board")]
        return RenderedTable.of(self.head, rows, left=2, texts=self.text_columns, wraps=tuple(wide))

    def shown(self) -> tuple[list[str], RenderedTable, list[str]]:
        return [self.title(), *self.heading()], self.table(), self.remarks()

    def _left_out(self) -> list[str]:
        """Why cells are left out, a line per reason."""
        lines = []
        for why, number in Counter(one.why for one in self.left_out).items():
            cells = ", ".join(f"{one.method} on {one.data}" for one in self.left_out if one.why == why)
            lines.append(f"left out ({number}), {why}: {shortened(cells, _LISTED)}")
        return lines


def figure_fields(**figures: Figure) -> dict[str, Any]:
    """``ours_mean`` and so on, of figures by the prefix of their fields."""
    return {
        f"{side}{name}": getattr(figure, name)
        for side, figure in figures.items()
        for name in ("mean", "std", "n", "alike")
    }


@dataclass(frozen=True)
class SideBySide(Beside):
    """Our results next to those of others. Prints as text; in a notebook as a table.

    ``theirs``: what ours is compared with; ``alike``: what all compared runs have in common, in words; ``percent``:
    whether figures are in percent; ``missing``: (method, data) of theirs that nothing of ours is compared with.
    """

    head: ClassVar[tuple[str, ...]] = HEAD
    text_columns: ClassVar[tuple[int, ...]] = (5, 6)
    fields: ClassVar[tuple[str, ...]] = FIELDS

    theirs: str
    citation: str
    alike: str
    measure: str
    criterion: str
    percent: bool
    cells: tuple[ComparedCell, ...]
    left_out: tuple[LeftOut, ...]
    missing: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()

    def counts(self) -> dict[str, int]:
        """Number of cells that are matched, explained and so on, left out and missing."""
        standings = [cell.standing for cell in self.cells]
        known = {name: standings.count(name) for name in STANDINGS}
        return {**known, "left out": len(self.left_out), "missing": len(self.missing)}

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        return {
            "theirs": self.theirs,
            "citation": self.citation,
            "alike": self.alike,
            "counts": self.counts(),
            "cells": self.to_rows(),
            "left_out": [{"method": one.method, "data": one.data, "why": one.why} for one in self.left_out],
            "missing": [{"method": method, "data": data} for method, data in self.missing],
            "notes": list(self.notes),
        }

    def title(self) -> str:
        """Title of the table."""
        unit = ", percent" if self.percent else ""
        return f"{self.measure} (test{unit}) next to {self.theirs}: mean ± sample standard deviation (runs)"

    def heading(self) -> list[str]:
        """The publication, and what the compared runs have in common."""
        return [*([self.citation] if self.citation else []), f"compared: {self.alike}"]

    def remarks(self) -> list[str]:
        """Counts; why cells are left out; what is missing; notes."""
        counts = ", ".join(f"{number} {name}" for name, number in self.counts().items() if number)
        lines = [counts or "nothing to compare", *self._left_out()]
        if self.missing:
            listed = ", ".join(f"{method} on {data}" for method, data in self.missing)
            lines.append(f"missing ({len(self.missing)}), theirs and not run here alike: {shortened(listed, _LISTED)}")
        if any(cell.verdict is None for cell in self.cells):
            lines.append("not judged: one run on a side, or no spread on both, gives no standard error (SE)")
        if any(cell.ours.alike or cell.theirs.alike for cell in self.cells):
            lines.append("alike: runs that decide every test row alike")
        return [*lines, *(f"note: {note}" for note in self.notes)]

    def _row(self, cell: ComparedCell) -> dict[str, Any]:
        return {
            "theirs": self.theirs,
            "method": cell.method,
            "data": cell.data,
            "oracle": cell.oracle,
            "measure": self.measure,
            "criterion": self.criterion,
            **figure_fields(ours_=cell.ours, theirs_=cell.theirs),
            "difference": cell.difference,
            "standard_error": cell.standard_error,
            "verdict": cell.verdict,
            "standing": cell.standing,
            "reason": cell.reason.reason if cell.reason else None,
            "evidence": cell.reason.evidence if cell.reason else None,
        }
