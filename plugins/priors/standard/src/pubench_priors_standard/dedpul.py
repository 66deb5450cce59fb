"""DEDPUL: the share of positives in U from the ratio of two densities of a classifier's scores.

Ivanov, "DEDPUL: difference-of-estimated-densities-based positive-unlabeled learning", ICMLA 2020. Official code:
dimonenka/DEDPUL (MIT). There, everything is about the share of negatives; so it is inside of here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

#: Bandwidths of the two densities, relative to the standard deviation of the logits.
BANDWIDTH_UNLABELED, BANDWIDTH_LABELED = 0.05, 0.1
#: Keeps logarithms and divisions finite.
TINY = 1e-5
LARGEST_RATIO = 50.0
#: Half width of the first running median; the second one's is this part of U.
NEIGHBORS, PART_OF_U = 5, 20
#: Weight that a level of the ratio loses with each lower value after it, and gains one of with each that is not.
DECAY = 0.2
#: Change of the share at which the iteration ends, and the most steps that it takes.
TOLERANCE, STEPS = 1e-5, 1000
#: Distance of the shares among which an elbow is looked for, and the largest error there.
GRID_STEP, LARGEST_ERROR = 0.001, 0.05
#: Quantile of the ratio that the simple variant takes for its largest value.
QUANTILE = 0.95
_BLOCK = 1 << 22


class Share(NamedTuple):
    """``share``: of positives in U; ``posterior``: (n_u,) of being positive; ``converged``: not from the elbow."""

    share: float
    posterior: Array
    converged: bool


def threshold(labeled: npt.NDArray[Any], unlabeled: npt.NDArray[Any]) -> float:
    """Half way between the two mean scores; below it the ratio falls with the score."""
    return float(labeled.mean() / 2 + unlabeled.mean() / 2)


def neighbors(n_unlabeled: int) -> int:
    """Half width of the second running median."""
    return n_unlabeled // PART_OF_U


def density_ratio(labeled: npt.NDArray[Any], unlabeled: npt.NDArray[Any]) -> Array:
    """(n_u,) smoothed ratio of the density of P to that of U at the rows of U.

    ``labeled``, ``unlabeled``: (n,) held-out estimates of p(unlabeled | x), in [0, 1].

    Raises ValueError where all scores of a sample are the same: they have no density.
    """
    order = np.argsort(unlabeled, kind="stable")
    u = np.asarray(unlabeled, dtype=np.float64)[order]
    logit_u, logit_p = _logit(u), _logit(np.asarray(labeled, dtype=np.float64))
    jacobian = u * (1 - u) + TINY
    in_p = _density(logit_p, logit_u, BANDWIDTH_LABELED) / jacobian
    in_u = _density(logit_u, logit_u, BANDWIDTH_UNLABELED) / jacobian
    ratio = running_median(np.minimum(in_p / (in_u + TINY), LARGEST_RATIO), NEIGHBORS)
    low = u <= threshold(labeled, unlabeled)
    ratio[low] = np.maximum.accumulate(ratio[low][::-1])[::-1]
    ratio = running_median(ratio, neighbors(len(u)))
    ratio = np.sort(rising(ratio[::-1]))[::-1]
    found = np.empty_like(ratio)
    found[order] = ratio
    return found


def _logit(scores: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(scores / (1 - scores + TINY)), np.log(1e-300)), dtype=np.float64)


def _density(sample: Array, at: Array, bandwidth: float) -> Array:
    """(n,) Gaussian kernel density of a sample, its bandwidth relative to the sample's standard deviation."""
    width = bandwidth * float(sample.std(ddof=1))
    if not width > 0:
        raise ValueError("all scores of a sample are the same, so that they have no density")
    rows = max(_BLOCK // len(sample), 1)
    parts = [
        np.exp(-0.5 * ((at[start : start + rows, None] - sample[None, :]) / width) ** 2).sum(1)
        for start in range(0, len(at), rows)
    ]
    return np.asarray(np.concatenate(parts) / (len(sample) * width * np.sqrt(2 * np.pi)), dtype=np.float64)


def running_median(values: Array, half: int) -> Array:
    """(n,) medians of 2 half + 1 values; towards an end, of the 1, 3, 5, ... values nearest to it.

    ``half``: less than half of n; 0 changes nothing.
    """
    n, half = len(values), min(half, (len(values) - 1) // 2)
    found = np.array(values, dtype=np.float64)
    for i in range(half):
        found[i] = np.median(values[: 2 * i + 1])
        found[n - 1 - i] = np.median(values[n - 2 * i - 1 :])
    windows = np.lib.stride_tricks.sliding_window_view(values, 2 * half + 1)
    rows = max(_BLOCK // (2 * half + 1), 1)
    for start in range(0, len(windows), rows):
        found[half + start : half + min(start + rows, len(windows))] = np.median(windows[start : start + rows], axis=1)
    return found


def rising(values: Array) -> Array:
    """(n,) each value raised to the largest level still in force.

    A value sets a level, of weight 1. Each later value adds 1 to the weight of levels up to it and takes 0.2 from that
    of higher ones, which are in force while their weight is above 0.
    """
    levels, weights = np.empty(0), np.empty(0)
    found = np.empty(len(values))
    for i, value in enumerate(values):
        found[i] = max(value, levels[-1]) if len(levels) else value
        split = int(np.searchsorted(levels, value, side="right"))
        weights[:split] += 1
        weights[split:] -= DECAY
        if split < len(levels):
            kept = weights > 0
            levels, weights = levels[kept], weights[kept]
            split = int(np.searchsorted(levels, value, side="right"))
        if split == 0 or levels[split - 1] != value:
            levels, weights = np.insert(levels, split, value), np.insert(weights, split, 1.0)
    return found


def share_of(ratio: Array) -> Share:
    """The share of positives in U at which the mean posterior is the share itself, or, where that fails, its elbow.

    ``ratio``: (n_u,) as :func:`density_ratio` gives it.
    """
    ordered = np.sort(ratio)[::-1]
    sums = np.concatenate([[0.0], np.cumsum(ordered[::-1])])  # of the smallest k ratios

    def mean_posterior(negative: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Mean of max(0, 1 - r (1 - share)) over U, for several shares of negatives."""
        rest = 1 - np.asarray(negative, dtype=np.float64)
        below = np.searchsorted(ordered[::-1], 1 / rest, side="left")
        return np.asarray((below - rest * sums[below]) / len(ratio), dtype=np.float64)

    negative = 0.0
    for _ in range(STEPS):
        after = float(mean_posterior(np.array([negative]))[0])
        all_positive_somewhere = 1 - ordered[0] * (1 - negative) > 0
        if abs(after - negative) < TOLERANCE or all_positive_somewhere or after >= 1:
            break
        negative = after
    shares = np.arange(0, 1, GRID_STEP)
    errors = mean_posterior(shares) - shares
    inner, small = shares[1:-1], errors[1:-1] < LARGEST_ERROR
    bends = np.diff(np.diff(errors))[small]
    elbow = float(inner[small][int(np.argmax(bends))]) if len(bends) else 1.0
    converged = elbow >= negative or (int((errors < 0).sum()) > 1 and negative < 1 - GRID_STEP)
    chosen = negative if converged else elbow
    return Share(1 - chosen, 1 - np.maximum(0, 1 - ratio * (1 - chosen)), bool(converged))


def simple_share(ratio: Array) -> float:
    """1 / max(q, 1), q being the ratio that 5 % of U exceed."""
    return 1 / max(float(np.quantile(ratio, QUANTILE, method="higher")), 1.0)
