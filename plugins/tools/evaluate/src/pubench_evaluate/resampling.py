"""Metrics on resampled rows: intervals where a metric gives none, and two models on the same resampled rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pubench_core.errors import Undefined
from pubench_core.metric import Knowledge, MetricPlugin, Scored, measure
from pubench_core.randomness import stream

from .scored_rows import FloatArray, IntArray, ScoredRows

#: PU-only metrics that are resampled here, and by which two models are compared.
COMPARED = ("pauc", "pa", "pulp", "lee-liu", "pseudo-f", "pu-ap")
#: So many rows at most -> resamples: one of PULP takes time that grows with the rows.
RESAMPLES = ((2_000, 1000), (20_000, 400), (100_000, 100))
#: The most resamples that can be asked for.
MOST_RESAMPLES = 100_000
_LEVEL = 0.95


@dataclass(frozen=True)
class Resampling:
    """``times``: how often rows are drawn again; ``seed``: of the draws."""

    times: int
    seed: int


def resamples_for(n: int) -> int:
    """How many resamples a table of ``n`` rows gets; 0 where intervals would take too long."""
    return next((resamples for most, resamples in RESAMPLES if n <= most), 0)


def picks(rows: ScoredRows, drawn: Resampling) -> Iterator[IntArray]:
    """Rows drawn with replacement, labeled and others apart, so that both counts stay: labeled ones first."""
    rng = stream(drawn.seed, "evaluation")
    labeled, others = np.flatnonzero(rows.labeled), np.flatnonzero(~rows.labeled)
    for _ in range(drawn.times):
        yield np.concatenate([rng.choice(labeled, len(labeled)), rng.choice(others, len(others))])


def knowledge_of_pick(rows: ScoredRows, knowledge: Knowledge, pick: IntArray, prior: float | None) -> Knowledge:
    """Knowledge of the rows of a pick, which has the labeled rows first."""
    n_labeled = rows.n_labeled
    everything = np.arange(len(pick))
    return replace(
        knowledge,
        truth=None if knowledge.truth is None else knowledge.truth[pick],
        labeled=everything[:n_labeled],
        unlabeled=everything if rows.scheme == "case-control" else everything[n_labeled:],
        prior=prior,
        prior_interval=None,
        thorough=False,
    )


def resampled(
    models: Sequence[tuple[FloatArray, Knowledge]],
    rows: ScoredRows,
    metrics: Mapping[str, MetricPlugin],
    drawn: Resampling,
) -> FloatArray:
    """(times, models, metrics) values, NaN where one is undefined; every model on the same rows.

    Where the prior lies in an interval, it is drawn from it uniformly, once per resample.
    """
    found = np.full((drawn.times, len(models), len(metrics)), np.nan)
    rng = stream(drawn.seed, "evaluation prior")
    interval, prior = models[0][1].prior_interval, models[0][1].prior
    for b, pick in enumerate(picks(rows, drawn)):
        told = prior if interval is None else float(rng.uniform(*interval))
        for m, (scores, knowledge) in enumerate(models):
            scored = Scored.of(scores[pick], knowledge_of_pick(rows, knowledge, pick, told))
            for k, plugin in enumerate(metrics.values()):
                found[b, m, k] = _value(plugin, scored)
    return found


def _value(plugin: MetricPlugin, scored: Scored) -> float:
    try:
        return measure(plugin.function, plugin.info, scored).value
    except Undefined:
        return float("nan")


def interval_of(values: FloatArray) -> tuple[float, float] | None:
    """95 % percentile interval of (resamples,) values; None where more than one in twenty is undefined."""
    known = values[np.isfinite(values)]
    if not len(values) or len(known) < 0.95 * len(values):
        return None
    low, high = np.percentile(known, [50 * (1 - _LEVEL), 50 * (1 + _LEVEL)])
    return float(low), float(high)
