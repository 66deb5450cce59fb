"""When a stored measure and one that was derived again are the same."""

from __future__ import annotations

import math

from pubench_core.results import Measure

#: Stored measures and those derived from the stored scores are equal but for the last digits.
_RELATIVE, _ABSOLUTE = 1e-9, 1e-12


def same(old: Measure, new: Measure) -> bool:
    """Whether value and interval are."""
    if (old.interval is None) != (new.interval is None):
        return False
    ends = zip(old.interval or (), new.interval or (), strict=True)
    return close(old.value, new.value) and all(close(one, other) for one, other in ends)


def close(one: float | None, other: float | None) -> bool:
    """Whether two values are, which may both be None."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
