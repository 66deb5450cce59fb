"""Scores of every row by models that did not see it: the folds of a run, each a record that is kept and reused."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from pubench_study.durations import duration
from pubench_study.folds import folds_of

from pubench import PUTable
from pubench.running import plan_of
from pubench_core.data.dataset import data_root
from pubench_core.errors import PubenchError
from pubench_core.randomness import stream
from pubench_core.records.files import read_scores
from pubench_core.records.record import Record
from pubench_core.records.scores import scores_name
from pubench_core.records.store import RecordStore

from ..scored_rows import BoolArray, FloatArray, IntArray
from .choice import Candidate, Fit

if TYPE_CHECKING:
    from pubench_core.engine.plan import Plan

Say = Callable[[str], None]

#: Parts that the rows are cut into; more if few rows are labeled, so that a model trains on nearly all of them.
FOLDS, FOLDS_OF_FEW, FEW = 5, 10, 20
#: Seconds between two lines about a fit.
BEAT = 10.0


@dataclass(frozen=True)
class FitRows:
    """Features of a table and who is labeled."""

    x: npt.NDArray[np.float32]
    """(n, d), NaN if missing"""
    labeled: BoolArray
    table: PUTable
    seed: int = 0
    groups: IntArray | None = None
    """(n,) codes of rows that no fold parts"""

    @property
    def folds(self) -> int:
        """Number of parts, at most one for each group with labeled rows."""
        most = FOLDS if self.labeled.sum() >= FEW else FOLDS_OF_FEW
        return most if self.groups is None else min(most, len(np.unique(self.groups[self.labeled])))

    @property
    def scheme(self) -> str:
        """How labeled and unlabeled rows were drawn."""
        return self.table.scheme or "one-sample"

    def expected(self, candidates: Sequence[Candidate]) -> float:
        """Seconds of all fits of candidates, roughly."""
        return self.folds * sum(one.expected(*self.x.shape) for one in candidates)


@dataclass
class Clock:
    """A budget of seconds."""

    budget: float
    slower: float = 1.0
    """how much longer fits take than expected, of those so far"""
    began: float = field(default_factory=time.perf_counter)

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self.began

    @property
    def left(self) -> float:
        """Seconds until the budget is used up."""
        return self.budget - self.spent


def run_of(candidate: Candidate, rows: FitRows, kept: Path, prior: float | None, threads: int | None = None) -> Plan:
    """The joint run of a candidate, in its last epoch, whose records are kept in ``kept``; new rows are scored by one
    more model of all rows.
    """
    given = {
        "folds": rows.folds,
        "refit": "all",
        "criterion": "last",
        "seed": rows.seed,
        "results": kept,
        "prior": prior,
        "threads": threads,
        "config": candidate.config,
    }
    settings = {
        "selection.criteria": ["last"],
        "evaluation.metrics": [],
        "execution.artifacts": ["scores"],
        "execution.save_model": True,
        "execution.tracking": False,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the whole table are shown
        return plan_of(candidate.method, rows.table, {k: v for k, v in given.items() if v is not None}, settings)


def kept_record(plan: Plan) -> Record | Plan:
    """Record of a run, or its plan if it is to be carried out."""
    from pubench_core.engine.coverage import covered

    return covered(plan, RecordStore(plan.spec.execution.results), data_root(plan.spec.execution))


def kept_folds(plan: Plan) -> list[Record | Plan]:
    """Record of each fold, or its plan if it is to be carried out."""
    return [kept_record(one) for one in folds_of(plan)]


def trained(plan: Plan) -> Record:
    """Record of a run that had none."""
    from pubench_core.engine.execute import execute

    done = execute(plan)
    return Record(done.folder, done.result)


@contextmanager
def still_said(say: Say, text: str) -> Iterator[None]:
    """A block of which a line is said every ten seconds, with the time so far."""
    over, began = threading.Event(), time.perf_counter()

    def beat() -> None:
        while not over.wait(BEAT):
            say(f"{text}: {duration(time.perf_counter() - began)} so far")

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def fitted(
    candidate: Candidate,
    rows: FitRows,
    kept: Path,
    prior: float | None,
    clock: Clock,
    *,
    threads: int | None = None,
    say: Say = lambda text: None,
    must: bool = False,
) -> Fit:
    """Scores of all rows, each by a model that did not see it, or why there are none.

    Every finished fit is a record in the folder ``kept``, which always counts. ``must``: whatever time it takes.
    """
    folds = kept_folds(run_of(candidate, rows, kept, prior, threads))
    usual = candidate.expected(*rows.x.shape)
    ahead = sum(not isinstance(one, Record) for one in folds) * clock.slower * usual
    if ahead and not must and clock.left < ahead:
        return Fit(candidate, reason=f"would take about {duration(ahead)}, longer than was left")
    scores, fold, per_fit, total = np.zeros(len(rows.x)), np.zeros(len(rows.x), np.int64), [0.0], 0.0
    for k, one in enumerate(folds):
        if not isinstance(one, Record):
            if not must and clock.left < per_fit[-1]:
                done = f"{len(per_fit) - 1} of {len(folds)} fits"
                return Fit(candidate, reason=f"the time was up after {done}; the same command goes on")
            text = f"{candidate.name}: fit {k + 1} of {len(folds)}"
            try:
                with still_said(say, text):
                    one = trained(one)
            except PubenchError as error:
                return Fit(candidate, reason=f"failed: {error}")
            per_fit.append(one.result.seconds.total)
            left = per_fit[-1] * (len(folds) - k - 1)
            say(text + (f", about {duration(left)} left" if left >= 1 else ""))
        arrays = read_scores(one.folder)
        held_out = arrays["validation_rows"]
        scores[held_out] = arrays[scores_name("validation", one.result.chosen.snapshot)]
        fold[held_out] = k
        total += one.result.seconds.total
    if per_fit[1:] and total > 1:  # the first fit of a process compiles
        clock.slower = max(0.2, median(per_fit[1:]) / usual)
    return Fit(candidate, aligned(scores, fold, rows.labeled, rows.seed), total)


def aligned(scores: FloatArray, fold: IntArray, labeled: BoolArray, seed: int) -> FloatArray:
    """(n,) each score as the share of the unlabeled rows of its part that score lower, ties counting half.

    Scores of different models are on different scales; parts are random, so these shares are comparable. Rows of the
    same rank in different parts are put in a random order.
    """
    found = np.zeros(len(scores))
    order = stream(seed, "equal ranks").uniform(-0.25, 0.25, len(scores))
    for k in np.unique(fold):
        inside = fold == k
        unlabeled = np.sort(scores[inside & ~labeled])
        below, upto = (np.searchsorted(unlabeled, scores[inside], side) for side in ("left", "right"))
        found[inside] = ((below + upto) / 2 + order[inside]) / len(unlabeled)
    return found
