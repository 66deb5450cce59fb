"""Findings of checks: problems, fields that are not what was computed again, runs that were carried out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pubench_report.grouping import by_path

from pubench_core.errors import counted, shortened

if TYPE_CHECKING:
    from pubench_report.comparison import SideBySide

#: Takes a line for the user.
Say = Callable[[str], None]
#: Stored numbers and those that were computed again are equal except for the last digits.
_RELATIVE, _ABSOLUTE = 1e-9, 1e-12
#: Share of an interval's width by which its ends may differ if another version of NumPy drew the resamples. The two
#: quantiles of 1,000 draws have a standard error of some .03 of it, counts of few rows one more.
RESAMPLED = 0.2


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
    """A run that was carried out again without a problem."""

    run_id: str
    what: str
    identical: bool = False
    """every score is the same bits"""
    recorded_better: Mapping[str, bool] = field(default_factory=dict)
    """measure that differs on test rows -> whether the record has the higher one"""

    def __str__(self) -> str:
        return f"{self.run_id}: {self.what}"


@dataclass(frozen=True)
class Verification:
    """Result of :func:`pubench.verify`."""

    folder: Path
    """what was checked: a folder, or the archive of a submission"""
    records: int = 0
    without_scores: int = 0
    """of the records, those whose measures could not be derived again"""
    checksums: int = 0
    """files that were compared with a list of checksums"""
    problems: tuple[RecordProblem, ...] = ()
    notes: tuple[str, ...] = ()
    again: tuple[Again, ...] = ()
    """runs that were carried out again"""
    unchecked: Mapping[str, str] = field(default_factory=dict)
    """run id -> data that are not here, so that its rows were not compared and it was not carried out again"""
    sha256: str = ""
    """of the archive of a submission"""
    standing: SideBySide | None = None
    """of a sound submission: on the board that it is compared with"""

    @property
    def carried_out(self) -> int:
        """How many runs were carried out again, those with a problem included."""
        return len(self.again) + sum(problem.again for problem in self.problems)

    @property
    def ok(self) -> bool:
        """Whether no problem was found in what was checked."""
        return not self.problems

    def __str__(self) -> str:
        """Findings, a line each, and counts; without notes."""
        lines = [*map(str, (*self.problems, *self.again))]
        for what, count in Counter(self.unchecked.values()).items():
            lines.append(f"not checked as a whole: {counted(count, 'run')}: {what}")
        lines += [] if self.standing is None else [str(self.standing)]
        lines += [f"{self.folder.name}: SHA-256 {self.sha256}"] if self.sha256 else []
        unchecked = f", {len(self.unchecked)} not checked as a whole" if self.unchecked else ""
        lines.append(
            f"{counted(self.records, 'record')}, {counted(len(self.problems), 'problem')}{unchecked}; measures "
            f"derived again from the scores of {self.records - self.without_scores}; "
            f"{counted(self.checksums, 'checksum')} compared; {counted(self.carried_out, 'run')} carried out again"
        )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        standing = None if self.standing is None else self.standing.to_dict()
        plain = {**asdict(replace(self, standing=None)), "folder": str(self.folder), "standing": standing}
        return {**plain, "carried_out": self.carried_out, "ok": self.ok}


# -------------------------------------------------------------------- fields, stored and computed again


class Derived(NamedTuple):
    """Fields of a record as something else gives them."""

    gives: str
    """what gives them, as in *its scores give*"""
    fields: Mapping[str, Any]
    """dotted path -> a value, or all that is below the path"""


@dataclass(frozen=True)
class FieldDifference:
    """A field of a record that is not what was computed again; None if it has no value."""

    path: str
    recorded: Any
    now: Any
    gives: str

    def __str__(self) -> str:
        return f"{self.path} is {_in_words(self.recorded)}; {self.gives} {_in_words(self.now)}"


def _in_words(value: Any) -> str:
    if value is None:
        return "no value"
    return f"{value:.6g}" if isinstance(value, float) else shortened(str(value))


def differences(
    stored: Mapping[str, Any], now: Mapping[str, Any], gives: str, *, redrawn: bool = False
) -> Iterator[FieldDifference]:
    """Fields of ``now``, at any depth, that are otherwise in a record. ``stored``: content of its ``result.json``.

    ``now``: dotted path -> a value, or all that is below the path. ``redrawn``: another version of NumPy computed the
    record, whose resamples are others.
    """
    for above, value in now.items():
        before: Any = stored
        for name in above.split("."):
            before = before.get(name) if isinstance(before, Mapping) else None
        if before == value:
            continue
        recorded, again = by_path({above: before}), by_path({above: value})
        for path in sorted({*recorded, *again}):
            one, other = recorded.get(path), again.get(path)
            within = RESAMPLED * (other[1] - other[0]) if redrawn and path.endswith("interval") and other else 0.0
            if not close(one, other, within):
                yield FieldDifference(path, one, other, gives)


def close(one: Any, other: Any, within: float = 0.0) -> bool:
    """Whether two plain values are the same except for the last digits of their numbers, or by ``within``."""
    if isinstance(one, float) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=_RELATIVE, abs_tol=max(_ABSOLUTE, within))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(close(one[name], other[name], within) for name in one)
    if isinstance(one, Sequence) and isinstance(other, Sequence) and not isinstance(one, str):
        return len(one) == len(other) and all(close(*pair, within) for pair in zip(one, other, strict=True))
    return bool(one == other)
