"""Difference between a record and what was computed again, field by field: from its files, or by another run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pubench_report.grouping import by_path

from pubench_core.errors import shortened

#: Stored numbers and those that were computed again are equal except for the last digits.
_RELATIVE, _ABSOLUTE = 1e-9, 1e-12


@dataclass(frozen=True)
class FieldDifference:
    """A field of a record that is not what was computed again; None if it has no value."""

    path: str
    recorded: Any
    now: Any
    gives: str
    """what gives the other value, as in *its scores give*"""

    def __str__(self) -> str:
        return f"{self.path} is {_in_words(self.recorded)}; {self.gives} {_in_words(self.now)}"


def _in_words(value: Any) -> str:
    if value is None:
        return "no value"
    return f"{value:.6g}" if isinstance(value, float) else shortened(str(value))


def differences(stored: Mapping[str, Any], now: Mapping[str, Any], gives: str) -> Iterator[FieldDifference]:
    """Fields of ``now``, at any depth, that are otherwise in a record. ``stored``: content of its ``result.json``.

    ``now``: dotted path -> a value, or all that is below the path.
    """
    for above, value in now.items():
        before: Any = stored
        for name in above.split("."):
            before = before.get(name) if isinstance(before, Mapping) else None
        if before == value:
            continue
        recorded, again = by_path({above: before}), by_path({above: value})
        for path in sorted({*recorded, *again}):
            if not close(recorded.get(path), again.get(path)):
                yield FieldDifference(path, recorded.get(path), again.get(path), gives)


def close(one: Any, other: Any) -> bool:
    """Whether two plain values are the same except for the last digits of their numbers."""
    if isinstance(one, float) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(close(one[name], other[name]) for name in one)
    if isinstance(one, Sequence) and isinstance(other, Sequence) and not isinstance(one, str):
        return len(one) == len(other) and all(map(close, one, other))
    return bool(one == other)
