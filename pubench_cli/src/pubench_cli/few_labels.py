"""How many held-out labels a choice needs, from rows: ``benchmarks/results/validation-size.csv``."""

from __future__ import annotations

from pubench_core.errors import counted
from pubench_core.results import Result

#: Held-out labeled positives below which choosing an epoch by PA, or a method, loses two points of accuracy or more on
#: average (docs/pages/validation-size.md). PAUC needs several times as many.
FEW_HELD_OUT = 20
#: What such a choice cost.
LOST = f"with fewer than {FEW_HELD_OUT}, such a choice lost 2 points of accuracy or more"


def is_few(held_out: int | None) -> bool:
    """Whether a choice by so many held-out labeled positives is noise; without any there is none."""
    return held_out is not None and 0 < held_out < FEW_HELD_OUT


def few_held_out(result: Result) -> str:
    """A line if too few held-out labeled positives chose the epoch of a result; empty if not, or none was chosen."""
    held_out, epochs = result.data.validation.labeled or 0, result.epochs
    if result.chosen.oracle or result.selected == "last" or epochs < 2 or not is_few(held_out):
        return ""
    chosen_by = counted(held_out, "held-out labeled positive")
    return f"{chosen_by} chose this epoch; {LOST}; five folds hold out all {result.labeled} in turn"
