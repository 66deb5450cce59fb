"""Values that change over steps: linearly, or along half a cosine."""

from __future__ import annotations

import math


def linear(step: float, steps: int, start: float, end: float) -> float:
    """From ``start`` at step 0 to ``end`` at step ``steps``, and constant before and after."""
    return start + (end - start) * min(max(step / steps, 0), 1)


def cosine(step: float, steps: int, start: float, end: float) -> float:
    """From ``start`` at step 0 to ``end`` at step ``steps``, slowly at both ends.

    Past ``steps`` the cosine goes on, back towards ``start``, as in torch's ``CosineAnnealingLR`` (Loshchilov and
    Hutter, ICLR 2017, Equation 5, without restarts).
    """
    return end + (start - end) * (1 + math.cos(math.pi * step / steps)) / 2
