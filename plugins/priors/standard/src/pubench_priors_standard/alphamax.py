"""AlphaMax: the share of one sample in another from one-dimensional scores.

Jain, White, Trosset, Radivojac, "Nonparametric semi-supervised learning of class proportions", 2016. Official code:
shajain/AlphaMax (MATLAB). The likelihood of each share is maximized exactly, by bisection on one multiplier, instead of
by a general solver; of the elbow search, both slopes are those of the candidate (the released script keeps the left
slope of an early candidate for all later ones).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

#: Density of the labeled sample where the other has no row.
EMPTY = 1e-14
#: Points of the grid in each of the two lines of an elbow.
POINTS = 10
#: Points in the median that smooths the curve.
SMOOTHED = 5
#: Share of the curve's whole slope below which no line of an elbow goes.
FLATTEST = 0.01
#: Height of the curve's 10th point from which on its left end is not flat.
FLAT = 0.005
#: Standard deviations above the mean of a χ² that samples of one distribution are taken not to exceed by chance.
BY_CHANCE = 3.0
#: Added to the height of the curve, so that a height of 0 divides.
HEIGHT = 0.01
_HALVINGS = 60


class Curve(NamedTuple):
    """``share``: its elbow; ``shares``, ``curve``: (G,); ``refined``: on a grid finer at its left end.

    ``flat``: whether the likelihood tells no share from another, so that there is no elbow.
    """

    share: float
    shares: Array
    curve: Array
    refined: bool
    flat: bool


class TwoSided(NamedTuple):
    """``share``: of true positives in U, α; ``purity``: of true positives among the labeled, β."""

    share: float
    purity: float


def grid() -> Array:
    """(99,) shares .01, .02, ..., .99."""
    return np.arange(1, 100) / 100


def low_grid() -> Array:
    """The grid, and 100 log-spaced shares from .001 up to .1 for what is rare."""
    return np.unique(np.concatenate([np.geomspace(0.001, 0.1, 100, endpoint=False), grid()]))


def bin_edges(labeled: npt.NDArray[Any], unlabeled: npt.NDArray[Any]) -> Array:
    """Edges of equal bins over both samples, as wide as NumPy's automatic rule has them for the labeled sample.

    There are 2 at least, and 10 or the square root of the labeled rows at most: probabilities heap up at an end, and
    the rule would have hundreds of bins then.

    Raises ValueError where all scores are the same.
    """
    low, high = min(labeled.min(), unlabeled.min()), max(labeled.max(), unlabeled.max())
    if low == high:
        raise ValueError("all scores are the same")
    own = np.histogram_bin_edges(labeled, "auto")
    most = max(10, math.isqrt(len(labeled)))
    bins = min(max(math.ceil((high - low) / (own[1] - own[0])), 2), most)
    return np.asarray(np.linspace(low, high, bins + 1), dtype=np.float64)


def masses(values: npt.NDArray[Any], edges: Array) -> Array:
    """(K,) shares of the values in the bins between the K + 1 edges, each half-open but the last."""
    return np.asarray(np.histogram(values, edges)[0] / len(values), dtype=np.float64)


def log_likelihoods(labeled: Array, unlabeled: Array, shares: Array) -> Array:
    """(G,) the largest mean log likelihood of both samples where ``shares``, (G,) in (0, 1), of U are like the labeled.

    ``labeled``, ``unlabeled``: (K,) masses q and w. Of bin i, u_i in [0, w_i] of U is positive, and their sum is the
    share c; the likelihood is Σ w ln(w - u + c q) + Σ q ln(u / c). In mass units: densities differ by a constant.
    """
    q, w, c = labeled[None, :], unlabeled[None, :], shares[:, None]
    low, high = np.full_like(c, -45.0), np.full_like(c, 45.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = _positive_part(q, w, c, np.sinh(middle)).sum(1, keepdims=True) > c
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    u = _positive_part(q, w, c, np.sinh((low + high) / 2))
    of_unlabeled = np.where(w > 0, w * np.log(np.maximum(w - u + c * q, np.finfo(float).tiny)), 0).sum(1)
    of_labeled = np.where(q > 0, q * np.log(np.where(w > 0, np.maximum(u / c, EMPTY), EMPTY)), 0).sum(1)
    return np.asarray(of_unlabeled + of_labeled, dtype=np.float64)


def _positive_part(q: Array, w: Array, c: Array, multiplier: Array) -> Array:
    """(G, K) the u_i at which -w / (w + c q - u) + q / u is the multiplier (G, 1), within [0, w]."""
    total = w + c * q
    b = q + w + multiplier * total
    root = np.sqrt(np.maximum(b * b - 4 * multiplier * q * total, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(b >= 0, 2 * q * total / (b + root), (b - root) / (2 * multiplier))
        without = np.where(multiplier < -1, w * (1 + 1 / multiplier), 0)
    return np.asarray(np.clip(np.where(q > 0, found, without), 0, w), dtype=np.float64)


def corrected(curve: Array) -> Array:
    """The curve with each value raised to the largest one to its right: likelihoods do not rise with the share."""
    return np.asarray(np.maximum.accumulate(curve[::-1])[::-1], dtype=np.float64)


def scaled(curve: Array) -> Array:
    """(G,) the negated curve, each value the median of the 5 nearest points, from 0 to 1; 0 where it is constant."""
    negated, reach = -curve, SMOOTHED // 2
    starts = np.clip(np.arange(len(curve)) - reach, 0, len(curve) - SMOOTHED)
    smooth = np.median(negated[starts[:, None] + np.arange(SMOOTHED)], axis=1)
    height = np.ptp(smooth)
    return np.asarray((smooth - smooth.min()) / height if height > 0 else np.zeros_like(smooth), dtype=np.float64)


def elbow(shares: Array, curve: Array, *, released: bool = False) -> int:
    """Where the curve turns up: the point whose lines to the left and to the right differ most in slope.

    ``shares``: (G,), increasing; ``curve``: (G,) as :func:`scaled` gives it. A line is fitted by least squares to 10
    points, lies nowhere above the curve, and rises by at least 1 % of the whole curve's slope. The difference of the
    two slopes is divided by the height of the curve on the left. ``released``: as in the released script, the left
    slope of later candidates is that of the 20th point.

    Raises ValueError for fewer than 21 points.
    """
    if len(shares) <= 2 * POINTS:
        raise ValueError(f"an elbow needs more than {2 * POINTS} points, given {len(shares)}")
    slopes = _slopes(shares, curve)
    left, right = slopes[:-POINTS], slopes[POINTS:]
    candidates = np.arange(POINTS - 1, len(shares) - POINTS)
    if released:
        left = np.where(candidates < 2 * POINTS, left, left[POINTS])
    heights = np.lib.stride_tricks.sliding_window_view(curve, POINTS)[: len(candidates)]
    return int(candidates[np.argmax((right - left) / (np.median(heights, axis=1) + HEIGHT))])


def _slopes(x: Array, y: Array) -> Array:
    """(G - 9,) slope of the line below the curve that fits each window of 10 points best.

    Some point of the curve touches the line: one that no line between two others lies above.
    """
    least = FLATTEST * (y[-1] - y[0]) / (x[-1] - x[0])
    windows = [np.lib.stride_tricks.sliding_window_view(values, POINTS) for values in (x, y)]
    best, slopes = np.full(len(windows[0]), np.inf), np.full(len(windows[0]), np.nan)
    for j in range(len(x)):
        before = (y[j] - y[:j]) / (x[j] - x[:j])
        after = (y[j + 1 :] - y[j]) / (x[j + 1 :] - x[j])
        low, high = max(least, before.max(initial=-np.inf)), after.min(initial=np.inf)
        if low > high + 1e-15:
            continue
        dx, dy = windows[0] - x[j], windows[1] - y[j]
        slope = np.clip((dx * dy).sum(1) / (dx * dx).sum(1), low, max(low, high))
        error = ((dy - slope[:, None] * dx) ** 2).sum(1)
        slopes = np.where(error < best, slope, slopes)
        best = np.minimum(error, best)
    return slopes


def alphamax(labeled: npt.NDArray[Any], unlabeled: npt.NDArray[Any]) -> Curve:
    """The largest share of U that can be like the labeled sample, and the curve that it is read from.

    ``labeled``, ``unlabeled``: (n,) scores. Where the curve over .01, ..., .99 is not flat at its left end, where an
    elbow is not defined, it is drawn again over a grid that is finer there. Where the likelihood of no share differs
    from that of another by more than chance, the share is the largest of the grid.

    Raises ValueError where all scores are the same.
    """
    edges = bin_edges(labeled, unlabeled)
    q, w = masses(labeled, edges), masses(unlabeled, edges)
    shares = grid()
    likelihoods = corrected(log_likelihoods(q, w, shares))
    if _alike(float(np.ptp(likelihoods)), int(np.count_nonzero(q + w)) - 1, len(labeled), len(unlabeled)):
        return Curve(float(shares[-1]), shares, np.zeros_like(shares), refined=False, flat=True)
    curve = scaled(likelihoods)
    found = elbow(shares, curve)
    if not (curve[POINTS - 1] > FLAT or found <= POINTS):
        return Curve(float(shares[found]), shares, curve, refined=False, flat=False)
    shares = low_grid()
    curve = scaled(corrected(log_likelihoods(q, w, shares)))
    return Curve(float(shares[elbow(shares, curve)]), shares, curve, refined=True, flat=False)


def _alike(height: float, freedom: int, n: int, m: int) -> bool:
    """Whether the curve of two samples of n and m rows is no higher than that of two samples of one distribution.

    From a share of 0 to one of 1 it is the sum of both Kullback-Leibler divergences, about χ² (n + m) / (n m).
    """
    return height * n * m / (n + m) < freedom + BY_CHANCE * math.sqrt(2 * freedom)


def two_sided(of_labeled: float, of_unlabeled: float) -> TwoSided:
    """The class prior and the purity of the labels behind two one-sided shares.

    ``of_labeled``: the largest share of U that is like the labeled sample, α / β; ``of_unlabeled``: the largest share
    of the labeled sample that is like U, (1 - β) / (1 - α).

    Raises ValueError where the product of the two is 1: the two samples are alike, and any class prior fits.
    """
    rest = 1 - of_labeled * of_unlabeled
    if rest < 1e-12:
        raise ValueError("the labeled and the unlabeled sample are alike, so that any class prior fits them")
    purity = (1 - of_unlabeled) / rest
    return TwoSided(of_labeled * purity, purity)
