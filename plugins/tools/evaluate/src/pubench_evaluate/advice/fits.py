"""Scores of every row by models that did not see it: the folds of a run, each a record that is kept and reused."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from pubench_crossfit.plans import folds_of

from pubench import PUTable
from pubench.running import plan_of
from pubench_core.data.dataset import data_root
from pubench_core.randomness import stream
from pubench_core.records.files import read_scores
from pubench_core.records.record import Record
from pubench_core.records.scores import scores_name
from pubench_core.records.store import RecordStore

from .portfolio import Candidate

if TYPE_CHECKING:
    from pubench_core.engine.plan import Plan

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

#: Parts that the rows are cut into; more if few rows are labeled, so that a model trains on nearly all of them.
FOLDS, FOLDS_OF_FEW, FEW = 5, 10, 20


@dataclass(frozen=True)
class FitRows:
    """Features of a table and who is labeled. ``x``: (n, d) float32, NaN if missing; ``labeled``: (n,) bool;
    ``groups``: (n,) codes of rows that no fold parts.
    """

    x: npt.NDArray[np.float32]
    labeled: BoolArray
    table: PUTable
    seed: int = 0
    groups: IntArray | None = None

    @property
    def folds(self) -> int:
        """Number of parts, at most one for each group with labeled rows."""
        most = FOLDS if self.labeled.sum() >= FEW else FOLDS_OF_FEW
        return most if self.groups is None else min(most, len(np.unique(self.groups[self.labeled])))

    @property
    def scheme(self) -> str:
        """How labeled and unlabeled rows were drawn."""
        return self.table.scheme or "one-sample"


@dataclass(frozen=True)
class OutOfFoldScores:
    """Out-of-fold scores of one candidate. ``scores``: (n,); ``seconds``: what its fits took; ``prior``: what it was
    given, None if nothing.
    """

    candidate: Candidate
    scores: FloatArray
    seconds: float
    prior: float | None = None


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


def kept_folds(plan: Plan) -> list[Record | Plan]:
    """Record of each fold, or its plan if it is to be carried out."""
    from pubench_core.engine.coverage import covered

    store, root = RecordStore(plan.spec.execution.results), data_root(plan.spec.execution)
    return [covered(one, store, root) for one in folds_of(plan)]


def trained(fold: Plan) -> Record:
    """Record of a fold that had none."""
    from pubench_core.engine.execute import execute

    done = execute(fold)
    return Record(done.folder, done.result)


def out_of_fold(
    candidate: Candidate,
    rows: FitRows,
    kept: Path,
    *,
    prior: float | None = None,
    threads: int | None = None,
    done: Callable[[int, float], bool] = lambda k, seconds: True,
) -> OutOfFoldScores | None:
    """Scores of all rows, each by a model that did not see it. Every finished fit is a record in the folder ``kept``.

    ``done(k, seconds)`` is called after a new fit k; None is returned if it says that there is no time and another is
    missing. Kept fits always count.
    Raises PubenchError if a fit fails.
    """
    from pubench_core.engine.plan import Plan

    told = prior if candidate.prior else None
    scores, fold, total, goes_on = np.zeros(len(rows.x)), np.zeros(len(rows.x), np.int64), 0.0, True
    for k, one in enumerate(kept_folds(run_of(candidate, rows, kept, told, threads))):
        if isinstance(one, Plan):
            if not goes_on:
                return None
            one = trained(one)
            goes_on = done(k, one.result.seconds.total)
        arrays = read_scores(one.folder)
        held_out = arrays["validation_rows"]
        scores[held_out] = arrays[scores_name("validation", one.result.chosen.snapshot)]
        fold[held_out] = k
        total += one.result.seconds.total
    return OutOfFoldScores(candidate, aligned(scores, fold, rows.labeled, rows.seed), total, told)


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
