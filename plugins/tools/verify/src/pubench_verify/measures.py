"""When a stored measure and one that was derived again are the same."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pubench_core.results import Measure

#: Stored measures and those derived from the stored scores are equal except for the last digits.
_RELATIVE, _ABSOLUTE = 1e-9, 1e-12


def same(old: Measure, new: Measure) -> bool:
    """Whether value, reason, interval, warnings and details are."""
    return old == new or all(alike(getattr(old, name), getattr(new, name)) for name in Measure.model_fields)


def alike(one: Any, other: Any) -> bool:
    """Whether two plain values are the same except for the last digits of their numbers."""
    if isinstance(one, float) and isinstance(other, (int, float)):
        return close(one, other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(alike(one[name], other[name]) for name in one)
    if isinstance(one, Sequence) and isinstance(other, Sequence) and not isinstance(one, str):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other)


def close(one: float | None, other: float | None) -> bool:
    """Whether two values are, which may both be None."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
