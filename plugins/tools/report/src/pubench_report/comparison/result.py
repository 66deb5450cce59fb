"""Result of a comparison with others' figures: its cells, what is left out, what is missing. Prints as text."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from pubench_core.errors import shortened

from ..published import STANDINGS, Figure, Reason, Verdict, standard_error, standing_of, verdict_of
from ..rendering import Printed, RenderedTable

if TYPE_CHECKING:
    from pandas import DataFrame

#: Columns of the printed table.
HEAD = ("method", "data", "ours", "theirs", "difference ± SE", "within 2 SE", "reason")
BOARD_HEAD = ("method", "data", "ours", "rank", "best of the board", "difference ± SE", "within 2 SE")
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
    """One method on one data set."""

    method: str
    data: str
    oracle: bool
    ours: Figure
    theirs: Figure
    reason: Reason | None = None
    """why ours is above or below, if that is known"""
    rank: int = 0
    """of ours among the methods of a board, 1 is best; 0 next to anything else"""
    of: int = 0
    """methods that are ranked, ours included"""
    best_method: str = ""
    """the method of the board that ``theirs`` is of: the best of the others"""

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
        """The cell as it is printed, in the order of :data:`HEAD`, or of :data:`BOARD_HEAD` next to a board."""
        error = self.standard_error
        within = {"matched": "yes", None: "not judged"}.get(self.verdict, f"no, {self.verdict}")
        difference = [f"{self.difference:+.2f}" + ("" if error is None else f" ± {error:.2f}"), within]
        if self.rank:
            rank = "oracle, not ranked" if self.oracle else f"{self.rank} of {self.of}"
            return [self.method, self.data, str(self.ours), rank, f"{self.best_method} {self.theirs}", *difference]
        reason = "unexplained" if self.standing == "unexplained" else ""
        if self.reason is not None:
            reason = f"{self.standing}: {self.reason.reason} ({self.reason.known}; {self.reason.evidence})"
        method = f"{self.method} (oracle)" if self.oracle else self.method
        return [method, self.data, str(self.ours), str(self.theirs), *difference, reason]


@dataclass(frozen=True)
class LeftOut:
    """A cell of ours that is not compared, and why."""

    method: str
    data: str
    why: str


@dataclass(frozen=True)
class SideBySide(Printed):
    """Our results next to those of others. Prints as text; in a notebook as a table."""

    theirs: str
    """what ours is compared with"""
    alike: str
    """what all compared runs have in common, in words"""
    measure: str
    criterion: str
    cells: tuple[ComparedCell, ...]
    left_out: tuple[LeftOut, ...]
    missing: tuple[tuple[str, str], ...]
    """(method, data) of theirs that nothing of ours is compared with"""
    notes: tuple[str, ...]
    citation: str = ""
    percent: bool = True
    """whether figures are in percent"""
    board: bool = False
    """whether theirs is a board, among whose methods ours are ranked"""

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields of a row of plain data."""
        return (*FIELDS, "rank", "of", "best_method") if self.board else FIELDS

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

    def to_rows(self) -> list[dict[str, Any]]:
        """One row per compared cell, as plain data."""
        rows = []
        for cell in self.cells:
            sides = {"ours": cell.ours, "theirs": cell.theirs}
            row = {name: getattr(cell, name) for name in self.fields if hasattr(cell, name)}
            row |= {f"{side}_{name}": value for side, figure in sides.items() for name, value in vars(figure).items()}
            row |= {name: getattr(self, name) for name in ("theirs", "measure", "criterion")}
            row |= {name: getattr(cell.reason, name, None) for name in ("reason", "evidence")}
            row |= {"rank": None if cell.oracle else cell.rank}
            rows.append({n: round(row[n], 6) if isinstance(row[n], float) else row[n] for n in self.fields})
        return rows

    def to_frame(self) -> DataFrame:
        """:meth:`to_rows` as a frame."""
        import pandas

        return pandas.DataFrame(self.to_rows(), columns=list(self.fields))

    def table(self) -> RenderedTable:
        """The cells as they are printed."""
        head = BOARD_HEAD if self.board else HEAD
        texts = (4, 6) if self.board else (5, 6)
        rows = [cell.texts() for cell in self.cells]
        return RenderedTable.of(head, rows, left=2, texts=texts, wraps=(4,) if self.board else (6,))

    def shown(self) -> tuple[list[str], RenderedTable, list[str]]:
        return [self.title(), *self.heading()], self.table(), self.remarks()

    def title(self) -> str:
        """Title of the table."""
        unit = ", percent" if self.percent else ""
        return f"{self.measure} (test{unit}) next to {self.theirs}: mean ± sample standard deviation (runs)"

    def heading(self) -> list[str]:
        """The publication or each method's rank, and what the compared runs have in common."""
        lines = [self.citation] if self.citation else []
        ranked = [cell for cell in self.cells if self.board and not cell.oracle]
        for method in dict.fromkeys(cell.method for cell in ranked):
            mine = [cell for cell in ranked if cell.method == method]
            ranks = ", ".join(f"{cell.rank} of {cell.of} on {cell.data}" for cell in mine)
            if len(mine) > 3:
                ranks = f"{median(cell.rank for cell in mine):g} (median of {len(mine)} problems)"
            below = fmean(cell.difference for cell in mine)
            lines.append(f"{method}: rank {ranks}; {below:+.2f} points to the best of the board on average")
        return [*lines, f"compared: {self.alike}"]

    def remarks(self) -> list[str]:
        """Counts; why cells are left out; what is missing; notes."""
        counts = {} if self.board else self.counts()
        said = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
        lines = [said] if said else [] if self.cells else ["nothing to compare"]
        for why, number in Counter(one.why for one in self.left_out).items():
            cells = ", ".join(f"{one.method} on {one.data}" for one in self.left_out if one.why == why)
            lines.append(f"left out ({number}), {why}: {shortened(cells, _LISTED)}")
        if self.missing:
            listed = ", ".join(f"{method} on {data}" for method, data in self.missing)
            lines.append(f"missing ({len(self.missing)}), theirs and not run here alike: {shortened(listed, _LISTED)}")
        if any(cell.verdict is None for cell in self.cells):
            lines.append("not judged: one run on a side, or no spread on both, gives no standard error (SE)")
        if any(cell.ours.alike or cell.theirs.alike for cell in self.cells):
            lines.append("alike: runs that decide every test row alike")
        return [*lines, *(f"note: {note}" for note in self.notes)]
