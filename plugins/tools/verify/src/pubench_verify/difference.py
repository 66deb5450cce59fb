"""Difference between a record and what was computed again, field by field: from its files, or by another run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pubench_report.grouping import by_path

from pubench_core.errors import shortened

#: Stored numbers and those that were computed again are equal except for the last digits.
_RELATIVE, _ABSOLUTE = 1e-9, 1e-12


@dataclass(frozen=True)
class Apart:
    """A field of a record that is not what was computed again; None if it has no value.

    ``gives``: what gives the other value, as in *its scores give*.
    """

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


def differences(stored: Mapping[str, Any], now: Mapping[str, Any], gives: str) -> Iterator[Apart]:
    """Fields of ``now``, at any depth, that are otherwise in a record. ``stored``: content of its ``result.json``.

    ``now``: dotted path -> a value, or all that is below the path.
    """
    for above, value in now.items():
        if (before := _at(stored, above)) == value:
            continue
        recorded, again = by_path({above: before}), by_path({above: value})
        for path in sorted({*recorded, *again}):
            if not alike(recorded.get(path), again.get(path)):
                yield Apart(path, recorded.get(path), again.get(path), gives)


def _at(stored: Any, path: str) -> Any:
    for name in path.split("."):
        stored = stored.get(name) if isinstance(stored, Mapping) else None
    return stored


def with_metrics(plain: Mapping[str, Any], metrics: Iterable[str]) -> dict[str, Any]:
    """Content of a ``result.json`` with the measures of some metrics."""
    wanted, criteria = frozenset(metrics), {}
    for name, criterion in plain["criteria"].items():
        criteria[name] = dict(criterion)
        for rule in {"measures", "at_prior"} & criterion.keys():
            criteria[name][rule] = {
                part: {metric: measure for metric, measure in measures.items() if metric in wanted}
                for part, measures in criterion[rule].items()
            }
    return {**plain, "criteria": criteria}


def alike(one: Any, other: Any) -> bool:
    """Whether two plain values are the same except for the last digits of their numbers."""
    if isinstance(one, float) and isinstance(other, (int, float)):
        return math.isclose(one, other, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(alike(one[name], other[name]) for name in one)
    if isinstance(one, Sequence) and isinstance(other, Sequence) and not isinstance(one, str):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other)
