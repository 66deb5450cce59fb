"""NTC-tMI: P against U, with the threshold that maximizes the mutual information of scores and decisions in U.

Paper: Teisseyre, Martens, Bekker, Davis, AISTATS 2025. Official code: TimoM99/PUBiasCalibration, commit ae378c1, which
this follows (``neighbors: boundary``). The estimate is Ross's (2014), of log-odds z and the decision z > t, with k
neighbors; as no score lies between k rows of a side, only the 2k rows around t are looked at. Equal scores break that:
``neighbors: all`` counts them in full. Own: bases other than logistic regression, scores out of fold.

The decision is a function of z, so what is estimated is the entropy of the share above t, largest at one half: the
threshold stays near the median of U, whatever the class prior. Differs in prediction for probabilities of exactly 0
and 1, which the published code puts at .01 and .99, above and below less extreme ones: here they stay at the ends.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from pubench_bases.fitting import BaseConfig, check, folds_of, out_of_fold, prepared
from pubench_bases.models import Model
from scipy.special import digamma, logit
from torch import Tensor

from pubench.method import Field, Method, NetworkBuilder, PUData, RequestError, Run

Array = npt.NDArray[Any]
Neighbors = Literal["boundary", "all"]
#: What a probability of exactly 0 becomes in training, and 1 minus it.
TRAINING = 1e-3


class Config(BaseConfig):
    scores: Literal["out-of-fold", "in-sample"] = Field(
        "out-of-fold", description="scores of U that place the threshold: by models that did not see them, or in sample"
    )
    folds: int = Field(5, ge=2, description="folds of the out-of-fold scores")
    neighbors: Neighbors = Field("all", description="rows whose neighbors are counted: all, or the 2k around the cut")
    k: int = Field(3, ge=1, description="neighbors of the estimate")
    n_candidates: int = Field(100, ge=2, description="thresholds that are tried")


# ---------------------------------------------------------------- the formulas


def log_odds(p: Array, end: float) -> Array:
    """(n,) logit of probabilities; exact 0 becomes ``end``, exact 1 becomes 1 - ``end``."""
    return np.asarray(logit(np.where(p == 0, end, np.where(p == 1, 1 - end, p))))


def upper_bound(share: Array, size: int) -> Array:
    """Largest estimate with this share of ``size`` rows on one side, without a constant."""
    of_sides = share * digamma(share * size) + (1 - share) * digamma((1 - share) * size)
    return np.asarray(digamma(size) - of_sides)


def lower_bound(share: Array, size: int, k: int) -> Array:
    """Smallest estimate with this share, without a constant: rows at the cut have a whole side around them."""
    at_cut = 2 * digamma(k) - digamma(share * size + k) - digamma((1 - share) * size + k)
    return np.asarray(upper_bound(share, size) + at_cut * k / size)


def candidate_range(size: int, k: int) -> tuple[float, int, int]:
    """(share, first, last position in ascending scores) beyond which no threshold can be the best.

    Raises RequestError for fewer rows than the estimate needs.
    """
    goal = lower_bound(np.array(0.5), size, k)
    low, high = 1e-10, 0.5
    while (high - low) / 10 >= 1e-10:
        grid = np.linspace(low, high, 10)
        above = max(1, int(np.argmax(upper_bound(grid, size) >= goal)))
        low, high = grid[above - 1], grid[above]
    first = int(size * low)
    if first == 0:
        raise RequestError(f"{size} unlabeled rows are too few for a threshold with k={k}; lower k, or add rows")
    return float(low), first, size - first


class Neighborhoods:
    """Ascending scores (T,), and how many of them are as near to a row as its k-th neighbor on its own side."""

    def __init__(self, ordered: Array, k: int) -> None:
        self.ordered, self.k = ordered, k
        self.values, counts = np.unique(ordered, return_counts=True)
        self.before = np.concatenate([[0], np.cumsum(counts)])

    def count(self, rows: Array, below: int) -> Array:
        """(len(rows),) other rows of both sides in the closed ball; the first ``below`` rows are one side."""
        size, at = len(self.ordered), self.ordered[rows]
        begin, end = np.where(rows < below, 0, below), np.where(rows < below, below, size)
        window = rows[:, None] + np.arange(-self.k, self.k + 1)
        distance = np.abs(self.ordered[np.clip(window, 0, size - 1)] - at[:, None])
        distance[(window < begin[:, None]) | (window >= end[:, None])] = np.inf
        radius = np.sort(distance, axis=1)[:, self.k]
        last = len(self.values) - 1
        low = np.searchsorted(self.values, at - radius)  # rounding may put it next to the value that is meant
        low -= at - self.values[np.maximum(low - 1, 0)] <= radius
        low = np.maximum(low, 0)
        low += at - self.values[low] > radius
        high = np.minimum(np.searchsorted(self.values, at + radius), last)
        high += self.values[np.minimum(high + 1, last)] - at <= radius
        high = np.minimum(high, last)
        high -= self.values[high] - at > radius
        return np.asarray(self.before[high + 1] - self.before[low] - 1)


def objective(ordered: Array, candidates: Array, k: int, neighbors: Neighbors) -> Array:
    """(c,) mutual information without psi(T) + psi(k), at each candidate; NaN if a side has k rows or fewer."""
    near, size = Neighborhoods(ordered, k), len(ordered)
    every = near.count(np.arange(size), size) if neighbors == "all" else np.full(size, k)
    apart = digamma(every)
    found = np.full(len(candidates), np.nan)
    for number, below in enumerate(np.searchsorted(ordered, candidates, side="right").tolist()):
        if k < below < size - k:
            rows = np.arange(below - k, below + k)
            of_balls = apart.sum() - apart[rows].sum() + digamma(near.count(rows, below)).sum()
            above = size - below
            found[number] = -(of_balls + below * digamma(below) + above * digamma(above)) / size
    return found


def threshold(scores: Array, k: int, n_candidates: int, neighbors: Neighbors) -> float:
    """The lowest of the best candidates for (T,) log-odds of U; their median if the scores leave no candidate."""
    ordered = np.sort(scores)
    _, first, last = candidate_range(len(ordered), k)
    candidates = np.linspace(ordered[first], ordered[last], n_candidates)
    found = objective(ordered, candidates, k, neighbors)
    return float(candidates[np.nanargmax(found)]) if np.isfinite(found).any() else float(np.median(ordered))


class NtcTMI(Method[Config]):
    scored_by = ("model", "threshold")

    @classmethod
    def takes_gaps(cls, config: Config) -> bool:
        return config.made.takes_gaps

    def assemble(self, build: NetworkBuilder) -> None:
        self.model = self.config.made.model.empty()

    def check(self, data: PUData) -> None:
        candidate_range(data.n_unlabeled, self.config.k)
        if self.config.scores == "out-of-fold":
            check(data, self.config.made)
        else:
            self.config.made.check()

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c, base = self.config, self.config.made
        x, labeled = prepared(data, base, run)

        def fit(rows: Array, seed: int) -> Model:
            return base.fit(x[rows], labeled[rows], np.ones(len(rows)), seed, data.categories)

        for _ in run.epochs(1, patience=None):
            seeds = run.numpy_rng.integers(2**31, size=c.folds + 1)
            self.model = fit(np.arange(len(x)), int(seeds[-1]))
            if c.scores == "in-sample":
                p = self.model.probability(x)
            else:
                p = out_of_fold(fit, x, folds_of(data, c.folds, run.numpy_rng), seeds, run.threads)
            self.threshold = threshold(log_odds(p[labeled == 0], TRAINING), c.k, c.n_candidates, c.neighbors)

    def decision_function(self, x: Tensor) -> Tensor:
        p = np.clip(self.model.probability(x.flatten(1).numpy()), 1e-12, 1 - 1e-12)
        return torch.from_numpy(logit(p) - self.threshold)
