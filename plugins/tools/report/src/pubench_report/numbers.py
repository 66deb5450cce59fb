"""Numbers as sentences and pages have them."""

from __future__ import annotations

import math

#: Numbers that differ by less are equal.
EQUAL = 1e-9


def percent(share: float) -> str:
    """``63 %``; half a percent is rounded up, as the page does."""
    return f"{math.floor(100 * share + 0.5 + EQUAL)} %"


def points(value: float) -> str:
    """``1.7``; half of the last digit is rounded up, as the page does."""
    return f"{math.floor(10 * value + 0.5 + EQUAL) / 10:.1f}"


def duration(seconds: float) -> str:
    """``0.5``, ``12``, as a browser rounds."""
    return points(seconds) if seconds < 10 else f"{math.floor(seconds + 0.5)}"
