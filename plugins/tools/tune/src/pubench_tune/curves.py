"""How a criterion went over the epochs of finished runs, and the bar that this sets for later ones."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from pubench_study.task import Bar

from pubench_core.records.files import TRACE

#: Best value so far after every epoch; None where there was none yet.
Course = tuple[float | None, ...]
#: No run is given up before so many of the same split have finished.
STARTUP = 5
#: Nor in the first part of its epochs: this share of how many finished runs had.
WARM_UP = 0.5


def course_in(folder: Path, criterion: str, *, higher_is_better: bool, stopped_at: int | None = None) -> Course:
    """Course of a record, by its trace; empty if it kept none.

    ``stopped_at``: epoch at which the patience of the criterion ran out. What it traced later could not be chosen.
    """
    try:
        with (folder / TRACE).open(newline="", encoding="utf-8") as file:
            texts = [row.get(f"criterion-{criterion}") for row in csv.DictReader(file)][:stopped_at]
    except (OSError, csv.Error):
        return ()
    best: float | None = None
    found: list[float | None] = []
    for text in texts:
        if text:
            value = float(text)
            best = value if best is None else max(best, value) if higher_is_better else min(best, value)
        found.append(best)
    return tuple(found)


def bar_of(courses: Sequence[Course], criterion: str, *, higher_is_better: bool) -> Bar | None:
    """The median of what finished runs had reached after every epoch; None while there are too few of them.

    A run that ended early keeps its last value. This is the median rule of Optuna's pruner, applied to the best value
    so far.

    >>> bar_of([(0.5, 0.6)] * 4 + [(0.1,)], "pa", higher_is_better=True).at
    (None, 0.6)
    """
    courses = [course for course in courses if course]
    if len(courses) < STARTUP:
        return None
    warm_up = max(1, int(WARM_UP * median(map(len, courses))))
    at: list[float | None] = []
    for epoch in range(max(map(len, courses))):
        reached = [value for c in courses if (value := c[min(epoch, len(c) - 1)]) is not None]
        at.append(median(reached) if epoch >= warm_up and len(reached) >= STARTUP else None)
    return Bar(criterion, higher_is_better, tuple(at))
