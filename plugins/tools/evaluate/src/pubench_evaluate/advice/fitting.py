"""Step 4: the portfolio, cheap methods first, until all are fitted or the time is up."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from pubench_study.durations import duration

from pubench_core.errors import PubenchError

from .fits import FitRows, OutOfFoldScores, kept_folds, out_of_fold, run_of
from .look import FEW_FOR_NETWORKS, FEW_TO_CHOOSE
from .portfolio import DEFAULT, PORTFOLIO, Candidate


@dataclass(frozen=True)
class NotFitted:
    """A method without scores, and why."""

    candidate: Candidate
    reason: str


@dataclass
class Clock:
    """A budget of seconds. ``slower``: how much longer fits take than expected, of those so far."""

    budget: float
    slower: float = 1.0

    def __post_init__(self) -> None:
        self.began = time.perf_counter()

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self.began

    @property
    def left(self) -> float:
        """Seconds until the budget is used up."""
        return self.budget - self.spent


def suited(n_labeled: int, prior: float | None, wanted: Sequence[Candidate] = PORTFOLIO) -> list[Candidate | NotFitted]:
    """The methods that this table is enough for, and why the others are not fitted."""
    found: list[Candidate | NotFitted] = []
    for one in wanted:
        if n_labeled < FEW_TO_CHOOSE and one is not DEFAULT:
            found.append(NotFitted(one, f"needs {FEW_TO_CHOOSE} labeled rows"))
        elif n_labeled < FEW_FOR_NETWORKS and not one.classic:
            found.append(NotFitted(one, f"needs {FEW_FOR_NETWORKS} labeled rows"))
        elif one.prior and prior is None:
            found.append(NotFitted(one, "needs a class prior, and none is known"))
        else:
            found.append(one)
    return found


def expected(candidates: Sequence[Candidate], rows: FitRows, slower: float = 1.0) -> float:
    """Seconds of all their fits, roughly."""
    n, d = rows.x.shape
    return slower * rows.folds * sum(one.expected(n, d) for one in candidates)


def fitted(
    candidate: Candidate,
    rows: FitRows,
    kept: Path,
    prior: float | None,
    clock: Clock,
    *,
    threads: int | None,
    say: Callable[[str], None],
    must: bool = False,
) -> OutOfFoldScores | NotFitted:
    """Out-of-fold scores of one method, or why there are none. ``must``: whatever time it takes."""
    from pubench_core.engine.plan import Plan

    one, per_fit = clock.slower * candidate.expected(*rows.x.shape), []
    told = prior if candidate.prior else None
    missing = sum(isinstance(fold, Plan) for fold in kept_folds(run_of(candidate, rows, kept, told, threads)))
    ahead = missing * one

    def done(k: int, seconds: float) -> bool:
        per_fit.append(seconds)
        left = seconds * (rows.folds - k - 1)
        say(f"{candidate.name}: fit {k + 1} of {rows.folds}" + (f", about {duration(left)} left" if left >= 1 else ""))
        return must or clock.left > seconds

    if missing and not must and clock.left < ahead:
        return NotFitted(candidate, f"would take about {duration(ahead)}, longer than was left")
    if missing:
        say(f"{candidate.name}: {missing} fits, about {duration(ahead)}")
    try:
        found = out_of_fold(candidate, rows, kept, prior=prior, threads=threads, done=done)
    except PubenchError as error:
        return NotFitted(candidate, f"failed: {error}")
    if found is None:
        return NotFitted(
            candidate, f"the time was up after {len(per_fit)} of {rows.folds} fits; the same command goes on"
        )
    if candidate.classic and per_fit and found.seconds > 1:  # the first fit of a process compiles
        clock.slower = max(0.2, median(per_fit) / candidate.expected(*rows.x.shape))
    return found
