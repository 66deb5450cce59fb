"""Scores of every row by models that did not see it, kept fit by fit, so that an interrupted command goes on."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from pubench import PUClassifier, PUKFold, PUTable
from pubench.running import plan_of
from pubench_core.randomness import stream
from pubench_core.specs.canonical import short_hash

from .portfolio import Candidate

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

#: Parts that the rows are cut into; more if few rows are labeled, so that a model trains on nearly all of them.
FOLDS, FOLDS_OF_FEW, FEW = 5, 10, 20


@dataclass(frozen=True)
class Rows:
    """Features of a table and who is labeled, with the part that each row is held out in.

    ``x``: (n, d) float32, NaN if missing; ``labeled``: (n,) bool; ``fold``: (n,) from 0. ``table``: what names it.
    """

    x: npt.NDArray[np.float32]
    labeled: BoolArray
    fold: IntArray
    scheme: str
    seed: int
    table: PUTable

    @classmethod
    def of(cls, x: npt.NDArray[np.float32], labeled: BoolArray, table: PUTable, seed: int = 0) -> Rows:
        """Rows cut into parts by instance: equal rows are in one part. Raises ValueError for too few different rows."""
        fold = np.zeros(len(x), np.int64)
        n = FOLDS if labeled.sum() >= FEW else FOLDS_OF_FEW
        for k, (_, held_out) in enumerate(PUKFold(n, random_state=seed).split(x, labeled)):
            fold[held_out] = k
        return cls(x, labeled, fold, table.scheme or "one-sample", seed, table)

    @property
    def folds(self) -> int:
        """Number of parts."""
        return int(self.fold.max()) + 1


@dataclass(frozen=True)
class Scored:
    """Out-of-fold scores of one candidate. ``scores``: (n,); ``seconds``: what its fits took; ``prior``: what it was
    given, None if nothing.
    """

    candidate: Candidate
    scores: FloatArray
    seconds: float
    prior: float | None = None


def fit_fold(candidate: Candidate, rows: Rows, k: int, prior: float | None, threads: int | None) -> FloatArray:
    """Scores of the rows of part k by a model that was trained on all other rows.

    The last epoch counts: nothing is held out of a part's training rows. Raises PubenchError, ValueError.
    """
    held_out = rows.fold == k
    model = PUClassifier(
        candidate.method,
        prior=prior if candidate.prior else None,
        scheme=rows.scheme,
        criterion="last",
        validation=0.0,
        threads=threads,
        **candidate.config,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fold's warnings are about its rows; those of the whole table are shown
        model.fit(rows.x[~held_out], rows.labeled[~held_out])
        return model.decision_function(rows.x[held_out])


def out_of_fold(
    candidate: Candidate,
    rows: Rows,
    kept: Path,
    *,
    prior: float | None = None,
    threads: int | None = None,
    done: Callable[[int, float], bool] = lambda k, seconds: True,
) -> Scored | None:
    """Scores of all rows, each by a model that did not see it. Every finished fit is kept in the folder ``kept``.

    ``done(k, seconds)`` is called after a new fit k; None is returned if it says that there is no time and another is
    missing. Kept fits always count.
    Raises PubenchError if a fit fails.
    """
    scores, total, goes_on = np.zeros(len(rows.x)), 0.0, True
    for k, path in enumerate(paths_of(candidate, rows, kept, prior)):
        stored = _stored(path, int((rows.fold == k).sum()))
        if stored is None:
            if not goes_on:
                return None
            began = time.perf_counter()
            found = fit_fold(candidate, rows, k, prior, threads)
            stored = found, time.perf_counter() - began
            _keep(path, *stored)
            goes_on = done(k, stored[1])
        scores[rows.fold == k] = stored[0]
        total += stored[1]
    return Scored(candidate, aligned(scores, rows), total, prior if candidate.prior else None)


def aligned(scores: FloatArray, rows: Rows) -> FloatArray:
    """(n,) each score as the share of the unlabeled rows of its part that score lower, ties counting half.

    Scores of different models are on different scales; parts are random, so these shares are comparable. Rows of the
    same rank in different parts are put in a random order.
    """
    found = np.zeros(len(scores))
    order = stream(rows.seed, "equal ranks").uniform(-0.25, 0.25, len(scores))
    for k in range(rows.folds):
        inside = rows.fold == k
        unlabeled = np.sort(scores[inside & ~rows.labeled])
        below, upto = (np.searchsorted(unlabeled, scores[inside], side) for side in ("left", "right"))
        found[inside] = ((below + upto) / 2 + order[inside]) / len(unlabeled)
    return found


def paths_of(candidate: Candidate, rows: Rows, kept: Path, prior: float | None) -> list[Path]:
    """Where the fits of a candidate are kept, named by all that decides their scores: table, method, settings, prior,
    code, parts.
    """
    given = {f"config.{name}": value for name, value in candidate.config.items()}
    if candidate.prior:
        given["prior"] = prior
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = plan_of(candidate.method, rows.table, {**given, "validation": 0.0, "criterion": "last"}, {})
    name = f"{candidate.method}-{short_hash([plan.run_id, plan.code.hash, rows.folds, rows.seed])}"
    return [kept / f"{name}-{k}.npz" for k in range(rows.folds)]


def _stored(path: Path, n: int) -> tuple[FloatArray, float] | None:
    """Scores and seconds of a finished fit; None if there is none, or no whole one."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
            scores, seconds = found["scores"], float(found["seconds"])
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None
    return (scores, seconds) if scores.shape == (n,) else None


def _keep(path: Path, scores: FloatArray, seconds: float) -> None:
    """Writes a fit aside and renames it when it is complete: a killed command leaves no half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.stem}.{os.getpid()}.npz")
    np.savez(aside, scores=scores, seconds=seconds)
    aside.replace(path)
