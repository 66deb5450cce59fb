"""Scores of every row by models that did not see it: the joint run of a candidate, whose parts are kept and reused."""

from __future__ import annotations

import math
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from pubench_datasets_tables.held import held
from pubench_study.durations import duration
from pubench_study.folds import parts_of

from pubench import PUTable
from pubench.running import plan_of
from pubench_core.data.dataset import data_root
from pubench_core.errors import PubenchError, RunFailed
from pubench_core.randomness import stream
from pubench_core.records.files import read_scores
from pubench_core.records.record import Record
from pubench_core.records.scores import scores_of
from pubench_core.records.store import RecordStore

from ..scored_rows import BoolArray, FloatArray, IntArray
from .choice import Candidate, Fit

if TYPE_CHECKING:
    from pubench_core.data.labeled import LabeledData
    from pubench_core.engine.plan import Plan

Say = Callable[[str], None]

#: Parts that the rows are cut into; more if few rows are labeled, so that a model trains on nearly all of them.
FOLDS, FOLDS_OF_FEW, FEW = 5, 10, 20
#: Parts if so many rows are labeled that half of them train a model as well.
FOLDS_OF_MANY, MANY = 2, 5_000
#: Most seconds between two lines.
BEAT = 10.0


def folds_for(labeled: BoolArray, groups: IntArray | None = None) -> int:
    """Number of parts, at most one for each group with labeled rows. ``groups``: (n,) codes that no fold parts."""
    n = labeled.sum()
    most = FOLDS_OF_MANY if n >= MANY else FOLDS if n >= FEW else FOLDS_OF_FEW
    return most if groups is None else min(most, len(np.unique(groups[labeled])))


def with_answers(table: PUTable, read: LabeledData, rows: IntArray, positive: BoolArray) -> PUTable:
    """The table in which checked ``positive`` rows are labeled and the others known negatives; ``read``: its rows.

    It is in memory: a model of it takes new rows as one of the table does.
    """
    labeled, negative = read.labeled.copy(), read.negative.copy()
    labeled[rows[positive]] = negative[rows[~positive]] = True
    known = held(table.name, b"", replace(read, labeled=labeled, known_negative=negative))
    return PUTable({"path": known.path, "label_col": "labeled"}, table.scheme, (known,))


def run_of(
    candidate: Candidate,
    table: PUTable,
    folds: int,
    kept: Path,
    prior: float | None = None,
    *,
    threads: int | None = None,
    seed: int = 0,
) -> Plan:
    """The joint run of a candidate, in its last epoch, whose records are kept in ``kept``; new rows are scored by one
    more model of all rows.
    """
    given = {
        "folds": folds,
        "refit": "all",
        "criterion": "last",
        "seed": seed,
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
        return plan_of(candidate.method, table, {k: v for k, v in given.items() if v is not None}, settings)


def kept_record(plan: Plan) -> Record | None:
    """Record of a run; None if it is to be carried out."""
    from pubench_core.engine.coverage import covered

    found = covered(plan, RecordStore(plan.spec.execution.results), data_root(plan.spec.execution))
    return found if isinstance(found, Record) else None


def trained(plan: Plan, seconds: float = math.inf) -> Record:
    """Record of a run that had none. Raises RunFailed if it takes longer than ``seconds``."""
    from pubench_core.engine.execute import execute

    execution = plan.spec.execution.model_copy(update={"timeout": seconds if math.isfinite(seconds) else None})
    done = execute(replace(plan, spec=plan.spec.model_copy(update={"execution": execution})))
    return Record(done.folder, done.result)


@contextmanager
def never_silent(say: Say) -> Iterator[Say]:
    """A ``say`` after whose last line another one comes every ten seconds, with the time since."""
    over, text, since = threading.Event(), "", time.perf_counter()

    def line(said: str) -> None:
        nonlocal text, since
        text, since = said, time.perf_counter()
        say(said)

    def beat() -> None:
        beats = 1
        while not over.wait(max(since + beats * BEAT - time.perf_counter(), 0)):
            silent = time.perf_counter() - since
            beats = 1 + int(silent / BEAT + 0.01)
            if beats > 1:
                say(f"{text}: {duration(silent)} so far")

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield line
    finally:
        over.set()
        thread.join()


def fitted(
    candidate: Candidate,
    plan: Plan,
    labeled: BoolArray,
    say: Say = lambda text: None,
    left: Callable[[], float] = lambda: math.inf,
    out_of_bag: bool = False,
    quick: bool = False,
) -> Fit:
    """Scores of all rows, each by a model that did not see it, or why there are none; NaN for known negatives.

    Every finished fit is a record, which always counts. ``left``: gives the seconds that are left for fits; none begins
    if the one before took longer. ``out_of_bag``: rows of U are scored by members of the model of all rows, if it has
    them. ``quick``: nothing else is fitted then, and labeled rows have no score.
    """
    bag, parts, done, took = out_of_bag and plan.method.info.out_of_sample, parts_of(plan), 0, 0.0
    quick = bag and quick
    plan, parts = (parts[-1], parts[-1:]) if quick else (plan, parts)
    record = kept_record(plan)
    try:
        for done, part in enumerate(() if record else parts):
            if kept_record(part) is None:
                if (seconds := left()) <= took:
                    raise RunFailed("", cause="timeout")
                say(f"{candidate.name}: {'all rows' if quick else f'fit {done + 1} of {len(parts)}'}")
                trained(part, seconds)
                took = seconds - left()
        record = record or kept_record(plan) or trained(plan)
    except PubenchError as error:
        if isinstance(error, RunFailed) and error.cause == "timeout":
            reason = f"the time was up after {done} of {len(parts)} fits; the same command with more time goes on"
            return Fit(candidate, reason=reason)
        return Fit(candidate, reason=f"failed: {error}")
    found, result, among = np.full(len(labeled), np.nan), record.result, ~labeled
    if not quick:
        arrays = read_scores(record.folder)
        scores, rows = scores_of(arrays, result.chosen.snapshot)["validation"], arrays["validation_rows"]
        found[rows] = aligned(scores, arrays["validation_fold"], labeled[rows], plan.spec.seed)
        among = among & np.isfinite(found)
    if bag and (whole := kept_record(parts[-1])):
        arrays = read_scores(whole.folder)
        kept = among[arrays["unlabeled_rows"]]
        scores = scores_of(arrays, whole.result.chosen.snapshot)["unlabeled"][kept]
        none = np.zeros(len(scores), bool)
        found[arrays["unlabeled_rows"][kept]] = aligned(scores, none, none, plan.spec.seed)
    return Fit(candidate, found, result.seconds.total, folder=record.folder)


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
