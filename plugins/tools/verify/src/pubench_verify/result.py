"""Result of checking a folder of records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class RecordProblem:
    """Something that is wrong with a record."""

    of: str
    """the run, or the file that lists checksums"""
    what: str
    again: bool = False
    """whether carrying the run out again has shown it"""

    def __str__(self) -> str:
        return f"{self.of}: {self.what}"


@dataclass(frozen=True)
class Again:
    """A run carried out again without a problem."""

    run_id: str
    identical: bool
    """every score is the same bits"""
    largest: float
    """the largest difference of a measure"""
    seconds: float
    """that it took here"""
    other_epochs: tuple[str, ...] = ()
    """criteria that chose another epoch now, whose measures were not compared"""
    recorded_better: Mapping[str, bool] = field(default_factory=dict)
    """measure that differs on test rows -> whether the record has the higher one"""

    def __str__(self) -> str:
        same = "the same scores to the last bit" if self.identical else f"test measures within {self.largest:.4g}"
        others = f"; another epoch, and not compared, by {', '.join(self.other_epochs)}" if self.other_epochs else ""
        return f"{self.run_id}: carried out again in {self.seconds:.1f} s: {same}{others}"


@dataclass(frozen=True)
class Tried:
    """A run that was tried on a fresh problem, or with other hidden labels, without a problem."""

    run_id: str
    what: str

    def __str__(self) -> str:
        return f"{self.run_id}: {self.what}"


@dataclass(frozen=True)
class Verification:
    """Result of :func:`pubench.verify`."""

    folder: Path
    records: int
    without_scores: int
    """of the records, those whose measures could not be derived again"""
    checksums: int
    """files that were compared with a list of checksums"""
    problems: tuple[RecordProblem, ...]
    notes: tuple[str, ...]
    again: tuple[Again, ...]
    unchecked: Mapping[str, str]
    """run id -> data that are not here, so that its rows were not compared and it was not carried out again"""
    fresh: tuple[Tried, ...] = ()
    """methods that were tried on problems that nobody could know"""
    blind: tuple[Tried, ...] = ()
    """runs that were trained with other hidden labels"""

    @property
    def carried_out(self) -> int:
        """How many runs were carried out again, those with a problem included."""
        return len(self.again) + sum(problem.again for problem in self.problems)

    @property
    def ok(self) -> bool:
        """Whether no problem was found in what was checked."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        return {**asdict(self), "folder": str(self.folder), "carried_out": self.carried_out, "ok": self.ok}
