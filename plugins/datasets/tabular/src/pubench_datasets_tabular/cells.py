"""A file's content before it is encoded: columns of cells, and how to say that one of them is wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pubench_core.errors import Hint, RequestError

Column = Sequence[object]


@dataclass(frozen=True)
class Remedy:
    """Advice about a damaged file, in words and, if pubench can carry it out, as a hint."""

    text: str
    hint: Hint | None = None

    def error(self, wrong: str) -> RequestError:
        """The error for what is wrong, which says what to do."""
        return RequestError(f"{wrong}; {self.text}", hint=self.hint)


@dataclass(frozen=True)
class Cells:
    """``columns``: in the file's order, each (n,) of text or numbers, None where a value is missing.

    ``label``: which column holds the class. ``places``: the line of each row, counted from 1; empty in a file without
    lines. ``remedy``: what to do about a damaged file.
    """

    path: Path
    columns: list[Column]
    label: int
    remedy: Remedy
    places: Sequence[int] = field(default=(), repr=False)

    @property
    def rows(self) -> int:
        """How many rows, n."""
        return len(self.columns[self.label])

    @property
    def feature_columns(self) -> list[int]:
        """Every column but the label."""
        return [j for j in range(len(self.columns)) if j != self.label]

    def wrong(self, row: int, column: int, text: str) -> RequestError:
        """The error for a cell; row and column count from 0."""
        place = f"line {self.places[row]}" if self.places else f"row {row + 1}"
        return self.remedy.error(f"{self.path}, {place}, column {column + 1}: {text}")

    def damaged(self, text: str) -> RequestError:
        """The error for the whole file: ``text`` continues a sentence whose first word is its path."""
        return self.remedy.error(f"{self.path} {text}")


def short(value: object) -> str:
    """A value of a file for a message: quoted, in one line, never long."""
    shown = repr(value)
    return shown if len(shown) <= 30 else f"{shown[:26]}...{shown[0]}"


def as_number(cell: object) -> float:
    """The number that a cell is or that its text says; NaN if it is none."""
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


def token(cell: object) -> str:
    """How a cell of a typed file is written as text: no value is ``?``, a whole number has no decimal point."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "?"
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)
