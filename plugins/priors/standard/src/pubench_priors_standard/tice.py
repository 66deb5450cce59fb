"""TIcE: a lower bound of the label frequency from the purest parts of the feature space, and the class prior behind it.

Bekker, Davis, "Estimating the class prior in positive and unlabeled data through decision tree induction", AAAI 2018.
Official code: the authors' page. Of the settings that its copies differ in, these are the paper's: 5 folds, k = 5, two
passes, 500 splits, parts of at least 10 rows, cuts at a quarter, half and three quarters of a feature's range.
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pubench_core.data.dataset import IntArray

FOLDS = 5
CUTS = (0.25, 0.5, 0.75)
#: Rows that are added to a part when its share of labeled rows is compared with that of others.
PSEUDO_COUNT = 5
SPLITS = 500
SMALLEST = 10
#: Label frequency that the first pass supposes.
FIRST = 0.5


class LabelFrequency(NamedTuple):
    """``frequency``: the estimate of c; ``first``: after the first pass; ``by_fold``: bounds of the last pass."""

    frequency: float
    first: float
    by_fold: tuple[float, ...]


def scaled_features(rows: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """(n, d) each column from 0 to 1; 0 where it is constant."""
    x = np.asarray(rows, dtype=np.float64)
    low, span = x.min(0), np.ptp(x, axis=0)
    return np.asarray((x - low) / np.where(span > 0, span, 1), dtype=np.float64)


def folds_of(n: int, rng: np.random.Generator) -> IntArray:
    """(n,) a fold for each row, evenly and at random."""
    return rng.permutation(np.arange(n) % FOLDS)


def risk(n: int) -> float:
    """δ, the probability that a bound from n rows does not hold."""
    return max(0.025, 1 / (1 + 0.004 * n))


def label_frequency(rows: npt.NDArray[Any], labeled: npt.NDArray[Any], folds: IntArray) -> LabelFrequency:
    """c = p(labeled | positive), bounded from below.

    ``rows``: (n, d) features in [0, 1]; ``labeled``: (n,) 0/1; ``folds``: (n,) from 0. Trees grow on one fold and
    bounds are those of the other folds; the largest bound of all parts of a tree is averaged over the folds.
    """
    codes = np.searchsorted(CUTS, np.asarray(rows).T, side="right").astype(np.int64)
    is_labeled = np.asarray(labeled).astype(np.int64)
    frequency, passes = FIRST, []
    for _ in range(2):
        bounds = tuple(_largest_bound(codes, is_labeled, folds == fold, frequency) for fold in range(folds.max() + 1))
        frequency = sum(bounds) / len(bounds)
        passes.append((frequency, bounds))
    return LabelFrequency(passes[1][0], passes[0][0], passes[1][1])


@dataclass(frozen=True)
class _Bound:
    """L / T - sqrt(c (1 - c) (1 - δ) / (δ T)) of T rows with L labeled ones."""

    frequency: float
    delta: float

    def of(self, total: npt.NDArray[Any], labeled: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Of several parts, none empty."""
        slack = np.sqrt(self.frequency * (1 - self.frequency) * (1 - self.delta) / (self.delta * total))
        return np.asarray(labeled / total - slack, dtype=np.float64)

    def labeled_to_exceed(self, best: float) -> float:
        """Labeled rows that a part needs if its bound is to exceed ``best``."""
        if best >= 1:
            return math.inf
        return self.frequency * (1 - self.frequency) * (1 - self.delta) / (self.delta * (1 - best) ** 2)


def _largest_bound(
    codes: npt.NDArray[Any], labeled: npt.NDArray[Any], grows: npt.NDArray[np.bool_], frequency: float
) -> float:
    """Best-first tree on the rows of ``grows``; the largest bound, on the other rows, of any part that was tried.

    ``codes``: (d, n) the quarter that a feature is in. Parts are split in the order of their own bounds, then of their
    labeled rows, then as bit sets of rows compare.
    """
    n = len(labeled)
    train, rest = np.flatnonzero(grows), np.flatnonzero(~grows)
    bound = _Bound(frequency, risk(len(rest)))
    best = float(labeled[rest].mean())
    order = itertools.count()
    queue: list[tuple[Any, ...]] = []

    def offer(inside: IntArray, outside: IntArray, free: frozenset[int]) -> None:
        count = int(labeled[inside].sum())
        value = float(bound.of(np.array([len(inside)]), np.array([count]))[0])
        bits = (n - inside).astype(">u4").tobytes()
        heapq.heappush(queue, (-value, -count, bits, next(order), inside, outside, free))

    offer(train, rest, frozenset(range(len(codes))))
    needed = 1.0
    for _ in range(SPLITS):
        if not queue:
            break
        *_, inside, outside, free = heapq.heappop(queue)
        features = np.array(sorted(free), dtype=np.int64)
        if not len(features):
            continue
        totals, counts = _quarters(codes, labeled, inside, features)
        out_totals, out_counts = _quarters(codes, labeled, outside, features)
        useful = out_counts.max(1) >= needed
        scores = np.where(useful, np.where(totals > 0, counts / (totals + PSEUDO_COUNT), 0).max(1), -1)
        taken = int(np.argmax(scores))
        if scores[taken] <= 0 or (out_totals[taken] > 0).sum() == 1:
            continue
        enough = out_totals[taken] >= SMALLEST
        if enough.any():
            best = max(best, float(bound.of(out_totals[taken][enough], out_counts[taken][enough]).max()))
        needed = bound.labeled_to_exceed(best)
        free = frozenset(features[useful].tolist()) - {int(features[taken])}
        impure = 0 < labeled[inside].sum() < len(inside)
        for quarter in range(len(CUTS) + 1):
            if impure and out_counts[taken, quarter] > needed and totals[taken, quarter] > SMALLEST:
                column = codes[features[taken]]
                offer(inside[column[inside] == quarter], outside[column[outside] == quarter], free)
    return best


def _quarters(
    codes: npt.NDArray[Any], labeled: npt.NDArray[Any], rows: IntArray, features: IntArray
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(f, 4) and (f, 4): rows, and labeled ones, in each quarter of each feature."""
    quarters = len(CUTS) + 1
    place = codes[np.ix_(features, rows)] + quarters * np.arange(len(features))[:, None]
    size = quarters * len(features)
    totals = np.bincount(place.ravel(), minlength=size)
    counts = np.bincount(place[:, labeled[rows] > 0].ravel(), minlength=size)
    return totals.reshape(-1, quarters), counts.reshape(-1, quarters)
