"""Result of checking a folder of records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

#: The method that is granted the true labels, by which a problem's difficulty is measured.
ORACLE = "pn"


@dataclass(frozen=True)
class RecordProblem:
    """``of``: the run, or the file that lists checksums; ``again``: whether carrying the run out again has shown it."""

    of: str
    what: str
    again: bool = False

    def __str__(self) -> str:
        return f"{self.of}: {self.what}"


@dataclass(frozen=True)
class Again:
    """A run carried out again without a problem.

    ``identical``: every score is the same bits; ``largest``: difference of a measure; ``other_epochs``: criteria that
    chose another epoch now, whose measures were not compared; ``recorded_better``: measure -> whether the record has
    the higher one on test rows, of those that differ. ``seconds``: that it took here.
    """

    run_id: str
    identical: bool
    largest: float
    seconds: float
    other_epochs: tuple[str, ...] = ()
    recorded_better: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class Blind:
    """A run whose scores did not change with its hidden labels. ``scores``: how many were compared.

    ``as_recorded``: they are those of its record; else those of a training here with its own labels.
    """

    run_id: str
    scores: int
    as_recorded: bool = True

    def __str__(self) -> str:
        whose = "" if self.as_recorded else " as with its own, on this machine"
        return f"with other hidden labels the same {self.scores:,} scores to the last bit{whose}"


@dataclass(frozen=True)
class Fresh:
    """A test measure of a method and of the oracle, in the record and on a fresh problem: the one that falls furthest.

    ``oracle_recorded``: of the oracle on the record's own split. ``positive``: classes that were positive.
    """

    run_id: str
    method: str
    data: str
    measure: str
    recorded: float
    oracle_recorded: float
    now: float
    oracle: float
    seed: int
    positive: tuple[int, ...]

    @property
    def drop(self) -> float:
        """How much further below the oracle the method is on the fresh problem than in its record."""
        return (self.oracle - self.now) - (self.oracle_recorded - self.recorded)

    def __str__(self) -> str:
        return (
            f"{self.method} on {self.data}, seed {self.seed}, positive {list(self.positive)}: {self.measure} "
            f"{self.now:.4f} ({ORACLE} {self.oracle:.4f}); in the record {self.recorded:.4f} ({ORACLE} "
            f"{self.oracle_recorded:.4f})"
        )


@dataclass(frozen=True)
class Verification:
    """``records``: how many were looked at; ``without_scores``: of them, those whose measures could not be derived
    again; ``checksums``: how many files were compared with a list of checksums; ``unchecked``: run id -> data that are
    not here, so that its rows were not compared and it was not carried out again; ``fresh``: methods that were tried on
    problems that nobody could know; ``blind``: runs that were trained with other hidden labels.
    """

    folder: Path
    records: int
    without_scores: int
    checksums: int
    problems: tuple[RecordProblem, ...]
    notes: tuple[str, ...]
    again: tuple[Again, ...]
    unchecked: Mapping[str, str]
    fresh: tuple[Fresh, ...] = ()
    blind: tuple[Blind, ...] = ()

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
