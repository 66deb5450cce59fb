"""Ranks of methods over data sets: on which part of a comparison everything is there, and how sure the ranks are.

Friedman's and Nemenyi's tests (:mod:`pubench_report.significance`) take data sets as the sample. The intervals
here take the seeds: they say how far average ranks would move with other splits, labels and first weights of the same
data sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .significance import Values, shared_seeds, without_rounding

#: Resamples, and the level of the intervals.
RESAMPLES, LEVEL = 2000, 0.95


@dataclass(frozen=True)
class Complete:
    """Methods and data sets of which every cell has values; ``dropped``: what was left out, in words."""

    methods: tuple[str, ...]
    data: tuple[str, ...]
    dropped: tuple[str, ...]


@dataclass(frozen=True)
class RankInterval:
    """Average rank over data sets (1 is best), with the ends of its interval; None where seeds cannot be resampled."""

    method: str
    rank: float
    interval: tuple[float, float] | None


def complete_part(values: Values, methods: Sequence[str]) -> Complete:
    """The largest part of a comparison that has no gap, found greedily.

    ``values``: data set -> method -> seed -> value. Whatever lacks the largest share of its cells is left out first, a
    data set before a method where the shares are equal. A cell counts as there where the method shares a seed with all
    others that are there, once the gaps are out.

    >>> complete_part({"a": {"x": {2: 1.0}, "y": {2: 2.0}}, "b": {"x": {2: 1.0}}}, ["x", "y"]).data
    ('a',)
    """
    rows, columns = list(methods), list(values)
    dropped: list[str] = []
    while True:
        gaps = [(sum(not values[column].get(row) for row in rows) / len(rows), 1, column) for column in columns if rows]
        gaps += [(sum(not values[c].get(row) for c in columns) / len(columns), 0, row) for row in rows if columns]
        worst = max(gaps, default=(0.0, 0, ""), key=lambda gap: gap[:2])
        if not worst[0]:
            break
        (columns if worst[1] else rows).remove(worst[2])
        dropped.append(f"{worst[2]} ({100 * worst[0]:.0f} % of its cells have no value)")
    for column in [column for column in columns if rows and not shared_seeds(values, rows, column)]:
        columns.remove(column)
        dropped.append(f"{column} (no seed was run by all methods)")
    return Complete(tuple(rows), tuple(columns), tuple(dropped))


def rank_intervals(values: Values, part: Complete, *, higher_is_better: bool, seed: int = 0) -> list[RankInterval]:
    """Average ranks over the data sets of a part, best first, with percentile bootstrap intervals over seeds.

    A method's value on a data set is its mean over the seeds that all methods ran there; equal means share the mean of
    their ranks. A resample draws, on every data set, as many of these seeds with replacement, the same for all methods.
    No interval where no data set has two seeds. ``seed``: of the resampling.
    """
    from scipy.stats import rankdata

    rng = np.random.default_rng(seed)
    sign = -1.0 if higher_is_better else 1.0
    average = np.zeros(len(part.methods))
    resampled = np.zeros((len(part.methods), RESAMPLES))
    several = False
    for data in part.data:
        seeds = shared_seeds(values, part.methods, data)
        scores = sign * np.array([[values[data][method][s] for s in seeds] for method in part.methods])
        drawn = rng.integers(len(seeds), size=(RESAMPLES, len(seeds)))
        several |= len(seeds) > 1
        average += rankdata(_means(scores))
        resampled += rankdata(_means(scores[:, drawn]), axis=0)
    average, resampled = average / len(part.data), resampled / len(part.data)
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=1)
    found = [
        RankInterval(method, float(average[k]), (float(low[k]), float(high[k])) if several else None)
        for k, method in enumerate(part.methods)
    ]
    return sorted(found, key=lambda one: one.rank)


def _means(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Over the last axis; numbers in another order, or others with the same mean, have the same to the last bit."""
    return without_rounding(np.asarray(scores.mean(axis=-1)))
