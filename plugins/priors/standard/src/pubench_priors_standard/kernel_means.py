"""KM1 and KM2: the share of one sample in another from distances of mixed kernel means to a convex hull.

Ramaswamy, Scott, Tewari, "Mixture proportion estimation via kernel embedding of distributions", ICML 2016. Official
code: the script on the authors' page. The distance to the hull, there a quadratic program, is here a non-negative
least squares problem: min ||C v||² over v >= 0, Σ v = 1 has the solution of min ||C w||² + (Σ w - 1)² over w >= 0,
scaled to sum to 1. SciPy solves it in the rank of the kernel matrix where that is low; where it is not, few exchanges
of rows between support and rest do (block principal pivoting: Portugal, Júdice, Vicente, Mathematics of Computation
1994; Kim, Park, SIAM Journal on Scientific Computing 2011).

KM2's threshold is of the slope (d(1.05) - d(1)) / .05 of the distance d. At λ = 1 the point is in the hull and d is 0;
the official solver leaves about 1e-4 there, which lowers its threshold by up to .007 of the distance of the means.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lapack
from scipy.optimize import nnls

Array = npt.NDArray[np.float64]

#: Multiples of the median distance that are tried as the kernel's width.
WIDTHS = np.logspace(-1, 1, 5)
#: λ is searched from 1 up to here; the estimate (λ - 1) / λ cannot exceed .875.
LARGEST = 8.0
#: Width of the interval of λ in which the search ends; half of it is the step of a difference.
RESOLUTION = 0.04
#: Step of the difference that is the slope of the distance at λ = 1.
FIRST_STEP = 0.05
#: Weight of the distance of the means, against the slope at 1, in KM2's threshold.
WEIGHT = 0.2
#: KM1's threshold, relative to the distance of the means, above which KM2's is taken.
TOO_STEEP = 0.9
#: Diagonal of the rest of the kernel matrix, of 1 at first, below which its rank is reached: its root is the error of a
#: distance, and KM2's threshold reads distances of 1e-5.
_RANK = 1e-10
#: Exchanges of block principal pivoting before SciPy solves the problem instead, and how often they may not help.
_EXCHANGES, _SETBACKS = 50, 3


class Embedding(NamedTuple):
    """``kernel``: (n + m, n + m), mixture rows first; ``factor``: (n + m, r), L of L Lᵀ; ``distance``: of the means."""

    kernel: Array
    factor: Array
    n_mixture: int
    width: float
    distance: float


def embed(mixture: npt.NDArray[Any], component: npt.NDArray[Any]) -> Embedding:
    """The Gaussian kernel of both samples, (n, d) and (m, d), at the width that sets their means farthest apart.

    Raises ValueError where the two samples have the same mean at every width, or all rows are the same.
    """
    rows = np.concatenate([mixture, component]).astype(np.float64)
    squared = (rows * rows).sum(1)
    distances = np.maximum(squared[:, None] + squared[None, :] - 2 * rows @ rows.T, 0)
    median = math.sqrt(float(np.median(distances)))
    if median == 0:
        raise ValueError("most rows are the same, so that there is no distance to set the width of a kernel by")
    weights = np.concatenate([np.full(len(mixture), 1 / len(mixture)), np.full(len(component), -1 / len(component))])
    best = (-math.inf, 0.0)
    for width in WIDTHS * median:
        between = float(weights @ np.exp(distances / (-2 * width * width)) @ weights)
        best = max(best, (between, float(width)), key=lambda found: found[0])
    if best[0] <= 0:
        raise ValueError("the labeled and the unlabeled rows have the same mean in the kernel's space")
    kernel = np.exp(distances / (-2 * best[1] ** 2))
    return Embedding(kernel, _factor(kernel), len(mixture), best[1], math.sqrt(best[0]))


def _factor(kernel: Array) -> Array:
    """(N, r) a Cholesky factor with pivoting, cut where the rest has no diagonal element above the tolerance."""
    packed, pivots, rank, _ = lapack.dpstrf(kernel, tol=_RANK, lower=1)
    factor = np.zeros((len(kernel), rank))
    factor[pivots - 1] = np.tril(packed)[:, :rank]
    return factor


def hull_distance(embedding: Embedding, multiplier: float) -> float:
    """Distance of λ mean(mixture) + (1 - λ) mean(component) to the convex hull of all rows, in the kernel's space.

    ``multiplier``: λ, at least 1; there the point is in the hull.
    """
    n, (total, rank) = embedding.n_mixture, embedding.factor.shape
    if multiplier == 1:
        return 0.0
    point = np.where(np.arange(total) < n, multiplier / n, (1 - multiplier) / (total - n))
    nearest = _pivoting(embedding.kernel, point, n) if 2 * rank > total else None
    if nearest is None:
        nearest = _by_scipy(embedding.factor, point)
    away = point - nearest
    return math.sqrt(max(float(away @ embedding.kernel @ away), 0.0))


def _by_scipy(factor: Array, point: Array) -> Array:
    """(N,) weights of the hull's nearest point to the one of weights ``point``."""
    system = np.vstack([(factor - point @ factor).T, np.ones(len(factor))])
    target = np.zeros(len(system))
    target[-1] = 1
    weights = nnls(system, target, maxiter=20 * len(factor))[0]
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _pivoting(kernel: Array, point: Array, n_mixture: int) -> Array | None:
    """As :func:`_by_scipy`; None where the exchanges do not end. At first the support is all of the mixture."""
    at_point = kernel @ point
    constant = float(point @ at_point) + 1
    support = np.arange(len(point)) < n_mixture
    fewest, setbacks = len(point) + 1, 0
    for _ in range(_EXCHANGES):
        rows = np.flatnonzero(support)
        inner = kernel[np.ix_(rows, rows)] - at_point[rows, None] - at_point[None, rows] + constant
        try:
            solved = cho_solve(cho_factor(inner, lower=True, overwrite_a=True), np.ones(len(rows)))
        except LinAlgError:
            return None
        weights = np.zeros(len(point))
        weights[rows] = solved
        total = solved.sum()
        slope = kernel @ weights - at_point * total - at_point @ weights + constant * total - 1
        wrong = np.where(support, weights < -1e-12, slope < -1e-9)
        count = int(wrong.sum())
        if not count:
            return np.asarray(weights / total, dtype=np.float64)
        setbacks = 0 if count < fewest else setbacks + 1
        fewest = min(fewest, count)
        if setbacks > _SETBACKS:
            return None
        support = support ^ wrong
    return None


class Thresholds(NamedTuple):
    """Slopes of the hull distance in λ, relative to the distance of the means."""

    km1: float
    km2: float


def thresholds(embedding: Embedding) -> Thresholds:
    """KM1's 1 / sqrt(min(n, m)), and KM2's from the slope at λ = 1."""
    n, m = embedding.n_mixture, len(embedding.factor) - embedding.n_mixture
    slope = hull_distance(embedding, 1 + FIRST_STEP) / FIRST_STEP
    return Thresholds(
        1 / math.sqrt(min(n, m)) / embedding.distance,
        (1 - WEIGHT) * slope / embedding.distance + WEIGHT,
    )


def share(embedding: Embedding, threshold: float) -> float:
    """(λ - 1) / λ at the λ where the slope of the hull distance passes the threshold, found by bisection."""
    low, high = 1.0, LARGEST
    while high - low > RESOLUTION:
        middle, step = (low + high) / 2, RESOLUTION / 2
        slope = (hull_distance(embedding, middle + step) - hull_distance(embedding, middle)) / step
        if slope > threshold * embedding.distance:
            high = middle
        else:
            low = middle
    found = (low + high) / 2
    return (found - 1) / found


def km(embedding: Embedding, which: Literal["km1", "km2"]) -> tuple[float, Thresholds]:
    """The estimate of KM1 or KM2, and both thresholds; KM1 takes KM2's where its own is too steep to be passed."""
    both = thresholds(embedding)
    used = both.km2 if which == "km2" or both.km1 > TOO_STEEP else both.km1
    return share(embedding, used), both
