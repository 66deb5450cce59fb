"""Timings of measures without negatives and of class-prior estimators, by number of rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from pubench_metrics_evaluation import pubench_metrics
from pubench_priors_standard.held_out import held_out_scores

from benchmarks.timing.turns import Case
from pubench_core.metric import Scored, measure
from pubench_core.plugins.info import PriorInfo
from pubench_core.plugins.registry import load, registry
from pubench_core.prior import Samples

#: From here on, a report has no resampled intervals.
MOST_REPORTED = 100_000


def measure_time(sizes: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)) -> Iterator[Case]:
    """Every measure on two Gaussians (π = .3, a tenth of the rows labeled, one-sample).

    ``rounded`` scores have one decimal, so nearly all are tied. ``of``: ``record`` (values, and intervals that every
    record has) or ``report`` (1,000 resamples and curves). What one leaves for the next is kept, as in a report.
    """
    functions = {info.key: (info, load(info)) for info in pubench_metrics()}
    for rows in sizes:
        for of in ("record", "report") if rows <= MOST_REPORTED else ("record",):
            for rounded in (False, True):
                scored = _scored(rows, rounded=rounded, thorough=of == "report")
                facts = {"rows": rows, "scores": "rounded" if rounded else "distinct", "of": of}
                yield Case(facts, {k: partial(_measured, f, info, scored) for k, (info, f) in functions.items()})


def _measured(function: Any, info: Any, scored: Scored) -> None:
    measure(function, info, scored)


def _scored(rows: int, *, rounded: bool, thorough: bool) -> Scored:
    rng = np.random.default_rng(rows)
    y = rng.random(rows) < 0.3
    scores = rng.normal(np.where(y, 1.0, -1.0))
    labeled = np.flatnonzero(y)[: rows // 10]
    unlabeled = np.setdiff1d(np.arange(rows), labeled, assume_unique=True)
    known = {"labeled": labeled, "unlabeled": unlabeled, "prior": 0.3, "scheme": "one-sample", "thorough": thorough}
    return Scored.of(scores.round(1) if rounded else scores, **known)


def prior_time(only: tuple[str, ...] = (), sizes: tuple[int, ...] = (1_000, 10_000, 100_000)) -> Iterator[Case]:
    """Every estimator with its interval, and the scorers ``logistic`` and ``bagged-nets`` by themselves.

    A fifth of the rows is labeled, a third of the others positive; two Gaussians of 20 dimensions, four apart.
    Estimators that read scores get those of the logistic scorer.
    """
    torch.set_num_threads(1)
    estimators = {info.key: info for info in registry().infos(PriorInfo)}
    for n in sizes:
        given, rng = _samples(n), np.random.default_rng(0)
        for what in ("logistic", *estimators, "bagged-nets"):
            if only and what not in only:
                continue
            info = estimators.get(what)
            work = partial(_scorer, given, what) if info is None else partial(_estimated, given, info, rng)
            yield Case({"rows": n, "labeled": n // 5}, {what: work})


def _scorer(given: Samples, what: Any) -> dict[str, Any]:
    torch.manual_seed(0)
    held_out_scores(given, np.random.default_rng(0), what)
    return {"share": ""}


def _estimated(given: Samples, info: PriorInfo, rng: np.random.Generator) -> dict[str, Any]:
    torch.manual_seed(0)
    read = held_out_scores(given, rng) if info.inputs == "scores" else (given.positive, given.unlabeled)
    started, worked = time.perf_counter(), time.process_time()
    found = load(info)().estimate(*read, rng)
    spent = {"seconds": time.perf_counter() - started, "cpu_seconds": time.process_time() - worked}
    return {**spent, "share": round(found.share, 4)}


def _samples(n: int) -> Samples:
    rng, n_labeled = np.random.default_rng(n), n // 5
    x = rng.normal(size=(n, 20))
    x[: n_labeled + round((n - n_labeled) / 3), 0] += 4.0
    rows = np.arange(n)
    return Samples(x[:n_labeled], x[n_labeled:], rows[:n_labeled], rows[n_labeled:])
