"""Intervals: labeled and other items are drawn again from themselves, with replacement and apart, their numbers kept.

The draws depend on the numbers of items alone, never on the scores: a measure is a function of its data, and two models
that are compared on the same rows are compared on the same draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .hypergeometric import FloatArray, Hypergeometric, IntArray, highest
from .recovered import Points, pu_average_precision

#: Resamples of an interval.
RESAMPLES = 1000
#: More rows than this are not resampled.
MOST_ROWS = 100_000
#: Ends of a 95 % interval.
ENDS = (0.025, 0.975)
#: Operating points at which a resampled ranking is looked at.
_GRID = 512


def interval_of(values: FloatArray) -> tuple[float, float]:
    """The 95 % percentile interval (quantiles by linear interpolation). (B,)."""
    low, high = np.quantile(values, ENDS)
    return float(low), float(high)


@lru_cache(maxsize=32)
def redrawn_counts(n: int, hits: int, other_n: int, purpose: int) -> IntArray:
    """(B,) how many of n redrawn items are hits, where ``hits`` of them were."""
    rng = np.random.default_rng([n, other_n, purpose])
    found = rng.binomial(n, hits / n, size=RESAMPLES) if n else np.zeros(RESAMPLES, dtype=np.int64)
    found.flags.writeable = False  # several measures are given the same draws
    return found


@dataclass(frozen=True)
class Sample:
    """Two groups of scores, sorted once. ``place``, ``other_place``: of each item's score among the distinct ones,

    from the highest down; ``distinct``: how many of those.
    """

    place: IntArray
    other_place: IntArray
    distinct: int

    @classmethod
    def of(cls, scores: FloatArray, other: FloatArray) -> Sample:
        """``scores``: (n1,) of labeled items; ``other``: (n,)."""
        values, place = np.unique(-np.concatenate([scores, other]), return_inverse=True)
        return cls(place[: len(scores)], place[len(scores) :], len(values))

    def redrawn(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Per resample: (distinct,) items at or above each distinct score, of the one group and of the other."""
        groups = self.place, self.other_place
        rng = np.random.default_rng([len(group) for group in groups])
        for _ in range(RESAMPLES):
            drawn = [group[rng.integers(0, len(group), len(group))] for group in groups]
            above = [np.cumsum(np.bincount(places, minlength=self.distinct)) for places in drawn]
            yield above[0], above[1]

    def redrawn_points(self) -> Iterator[Points]:
        """The ROC of one group against the other, for each resample; some points are there twice."""
        n_labeled, n = len(self.place), len(self.other_place)
        for found, taken in self.redrawn():
            eta, gamma = 1 - (n - taken) / n, 1 - (n_labeled - found) / n_labeled
            yield Points(np.append(0.0, eta), np.append(0.0, gamma))


@lru_cache(maxsize=2)
def redrawn_pu(labeled: bytes, unlabeled: bytes) -> tuple[FloatArray, FloatArray]:
    """(B,) of the AUC and of the average precision of labeled against unlabeled scores, (n1,) and (n,) as bytes."""
    groups = [np.frombuffer(group) for group in (labeled, unlabeled)]
    n_labeled, n = (len(group) for group in groups)
    drawn = [
        (auc_of(points), pu_average_precision(points, n_labeled, n)) for points in Sample.of(*groups).redrawn_points()
    ]
    areas, precisions = np.array(drawn).T
    return areas, precisions


def auc_of(points: Points) -> float:
    """Area under a ROC by trapezoids: the share of pairs in the right order."""
    return float(np.sum(np.diff(points.eta) * (points.gamma[1:] + points.gamma[:-1])) / 2)


# -------------------------------------------------------------------- PULP


def pulp_interval(value: float, scores: FloatArray, other: FloatArray) -> tuple[float, float]:
    """Interval of PULP, from its values under resampling at some 500 operating points, within [0, 1]."""
    sample, n, t = Sample.of(scores, other), len(scores) + len(other), len(scores)
    approximate = _approximate_pulp(n, t)
    counts = [
        np.cumsum(np.bincount(places, minlength=sample.distinct)) for places in (sample.place, sample.other_place)
    ]
    here = approximate(counts[0], counts[1])
    low, high = interval_of(np.array([approximate(found, taken) for found, taken in sample.redrawn()]))
    return max(0.0, value + low - here), min(1.0, value + high - here)


def _approximate_pulp(n: int, t: int) -> Callable[[IntArray, IntArray], float]:
    """PULP from labeled and other items above each distinct score, by a table of P(K_b < k) for some b."""
    b = np.unique(np.round(np.linspace(0, n, min(n, _GRID) + 1)).astype(np.int64))
    law = Hypergeometric.of(n, t)
    low, high = law.lowest(b), highest(n, t, b)
    width = int((high - low).max()) + 2
    k = low[:, None] + np.arange(-1, width - 1)
    pmf = law.pmf(np.repeat(b, width), k.ravel()).reshape(k.shape)
    table = np.minimum(np.cumsum(pmf, axis=1), 1.0)  # column j: P(K <= low - 1 + j)
    rows = np.arange(len(b))

    def approximate(found: IntArray, others: IntArray) -> float:
        hits = np.interp(b, np.append(0, found + others), np.append(0, found))  # equal scores: hits spread evenly
        whole = np.floor(hits).astype(np.int64)
        below = [table[rows, np.clip(whole + step - low, 0, width - 1)] for step in (0, 1)]
        below = [np.where(whole + step - 1 < low, 0.0, part) for step, part in zip((0, 1), below, strict=True)]
        return float(np.mean(below[0] + (hits - whole) * (below[1] - below[0])))

    return approximate
