"""PULSCAR and PULSNAR: the share of positives in U from kernel densities of scores on [0, 1].

Kumar, Lambert, "PULSNAR: class proportion estimation without the selected completely at random assumption", PeerJ
Computer Science cs-2451. Official code: unmtransinfo/PULSNAR (MIT), commit 603be23, with its optimizer ``local``. If
labels are a random draw, f_U = α f_P + (1-α) f_N, and f_U - a f_P turns negative above α: its minimum's logarithm bends
there. Without that assumption, each cluster of P has a share of its own, and the shares add up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import betaln, expit, logit, xlog1py, xlogy

Array = npt.NDArray[np.float64]
Rule = Literal["scott", "fd", "rice", "square_root", "sturges"]

#: Bandwidths that are searched, and bins at most.
LOW, HIGH, MOST_BINS = 0.01, 0.5, 512
#: Score above which densities are compared, and shares that are tried.
HALF, SHARES = 0.5, np.arange(10_000) / 10_000
#: Rows of a cluster below which it is passed over, and the most clusters.
FEWEST, MOST_CLUSTERS = 10, 25


def balanced(scores: npt.NDArray[Any], n_labeled: int, n_unlabeled: int) -> Array:
    """(n,) probabilities of a label as if P and U weighed the same: densities are compared above 1/2 only."""
    with np.errstate(divide="ignore"):
        return np.asarray(expit(logit(scores) + np.log(n_unlabeled / n_labeled)))


def bins(scores: Array, rule: Rule = "scott") -> float:
    """Number of bins of (n,) scores; all but sturges' are rounded to a power of two."""
    n = len(scores)
    if rule == "sturges":
        return float(np.ceil(np.log2(n)) + 1)
    if rule in ("rice", "square_root"):
        number = 2 * n ** (1 / 3) if rule == "rice" else np.sqrt(n)
    else:
        quarters = np.quantile(scores, [0.25, 0.75])
        spread = 3.5 * scores.std() if rule == "scott" else 2 * (quarters[1] - quarters[0])
        number = np.ptp(scores) / (spread * n ** (-1 / 3))
    below = 2.0 ** np.floor(np.log2(number))
    return float(below if number - below < 2 * below - number else 2 * below)


def density(scores: Array, n_bins: int, bandwidth: float) -> Array:
    """(n_bins,) beta kernel density on equally spaced points of [0, 1], scaled to a sum of 1."""
    point = np.linspace(0, 1, n_bins)[:, None] / bandwidth
    a, b = point + 1, 1 / bandwidth - point + 1
    found = np.exp(xlogy(a - 1, scores) + xlog1py(b - 1, -scores) - betaln(a, b)).mean(axis=1)
    return np.asarray(found / found.sum())


def histogram(scores: Array, n_bins: int) -> Array:
    """(n_bins,) shares of scores in equal bins of [0, 1]."""
    return np.histogram(scores, n_bins, (0, 1))[0] / len(scores)


def misfit(scores: Array, n_bins: int, bandwidth: float) -> float:
    """Mean squared difference of density and histogram."""
    return float(((density(scores, n_bins, bandwidth) - histogram(scores, n_bins)) ** 2).mean())


def bandwidth_of(scores: Array, n_bins: int, low: float = LOW, high: float = HIGH) -> float:
    """The bandwidth of least misfit that a bounded search finds."""
    return float(minimize_scalar(lambda b: misfit(scores, n_bins, b), bounds=(low, high), method="bounded").x)


def differences(density_p: Array, density_u: Array, shares: Array = SHARES) -> Array:
    """(len(shares),) least f_U - a f_P above a score of 1/2."""
    above = np.linspace(0, 1, len(density_p)) > HALF
    return np.asarray((density_u[above] - shares[:, None] * density_p[above]).min(axis=1))


def smallest(density_p: Array) -> float:
    """Least density of P, or 1e-10: it keeps the logarithm finite."""
    return float(density_p.min()) or 1e-10


def bend(density_p: Array, density_u: Array) -> float:
    """The share at which the logarithm of the least difference bends most, the first on ties."""
    curve = np.log10(np.abs(differences(density_p, density_u)) + smallest(density_p))
    return float(SHARES[np.argmax(np.abs(np.diff(curve, 2))) + 1])


def share_of(p: Array, u: Array, rule: Rule = "scott", low: float = LOW, high: float = HIGH) -> float:
    """PULSCAR's share of positives in U from (n_P,) and (n_U,) held-out scores in [0, 1], balanced.

    Raises ValueError if all scores are equal, or none is above 1/2: there is nothing to compare then.
    """
    both = np.concatenate([p, u])
    if np.ptp(both) == 0:
        raise ValueError("all scores are the same, so that they have no density")
    if both.max() <= HALF:
        raise ValueError("no score is above 1/2, where densities are compared")
    n_bins = min(MOST_BINS, int(bins(both, rule)))
    if n_bins < 2:
        raise ValueError("the scores fill one bin, so that densities cannot be compared")
    bandwidth = bandwidth_of(both, n_bins, low, high)
    return bend(density(p, n_bins, bandwidth), density(u, n_bins, bandwidth))


def number_of_clusters(criterion: Array) -> int:
    """Clusters from BIC for 1, 2, ... of them: the least, the first local minimum, or 3 after the sharpest bend."""
    knee = int(np.argmax(np.diff(criterion, 2))) if len(criterion) > 2 else 0
    local = np.flatnonzero((criterion[1:-1] < criterion[:-2]) & (criterion[1:-1] < criterion[2:])) + 1
    return 1 + (min(int(criterion.argmin()), int(local[0]), knee + 3) if len(local) else knee)


def clusters_of(rows: Array) -> npt.NDArray[np.int64]:
    """(n,) cluster of each row of P, by Gaussian mixtures with full covariances."""
    from sklearn.mixture import GaussianMixture

    def mixture(k: int) -> GaussianMixture:
        return GaussianMixture(k, random_state=100 + k, reg_covar=1e-3).fit(rows)

    most = min(MOST_CLUSTERS, len(rows) // FEWEST)
    if most < 2:
        return np.zeros(len(rows), np.int64)
    chosen = number_of_clusters(np.array([mixture(k).bic(rows) for k in range(1, most + 1)]))
    return np.asarray(mixture(chosen).predict(rows), np.int64)


def shares_of_clusters(
    cluster: npt.NDArray[np.int64], scores: Callable[[npt.NDArray[np.int64], int], tuple[Array, Array]]
) -> dict[int, float]:
    """PULSCAR's share for each cluster of at least :data:`FEWEST` rows; ``scores(rows, k)``: of rows of P, and of U."""
    sizes = {int(k): np.flatnonzero(cluster == k) for k in np.unique(cluster)}
    return {k: share_of(*scores(rows, k)) for k, rows in sizes.items() if len(rows) >= FEWEST}
