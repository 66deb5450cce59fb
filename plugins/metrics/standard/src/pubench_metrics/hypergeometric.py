"""The hypergeometric law: of N items t are labeled, b are drawn; K counts the labeled ones among them.

Its probabilities come from Stirling's formula with the remainder kept apart, so that the large logarithms cancel before
anything is rounded (Loader, Fast and Accurate Computation of Binomial Probabilities, 2000): about 1e-13 relative at
N = 20,000 and 1e-11 at N = 10^7, where differences of log-gamma have lost six digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: Below this the remainder is taken from the factorial itself, above it from its series (error below 1e-16).
_SMALL = 16
#: Probabilities that are worked on at once.
_CHUNK = 1 << 20
#: Beyond mean ± (this many standard deviations + SLACK) a probability is taken as 0.
SPREAD, SLACK = 14.0, 6.0


def _remainder(n: int) -> FloatArray:
    """(n + 1,) of h(m) = ln m! - m ln m + m for m = 0..n."""
    m = np.arange(max(n + 1, _SMALL), dtype=np.float64)
    m[0] = 1.0
    inverse = 1.0 / m
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))))
    h = 0.5 * np.log(2 * math.pi * m) + series
    h[:_SMALL] = [0.0, *(math.lgamma(k + 1) - k * math.log(k) + k for k in range(1, _SMALL))]
    return h[: n + 1]


@dataclass(frozen=True)
class Hypergeometric:
    """Probabilities for one N and t, and any b and k. ``remainder``: (N + 1,) of ln m! - m ln m + m."""

    n: int
    t: int
    remainder: FloatArray

    @classmethod
    def of(cls, n: int, t: int) -> Hypergeometric:
        """``n`` items, ``t`` of them labeled, 0 <= t <= n."""
        return cls(n, t, _remainder(n))

    def log_pmf(self, b: IntArray, k: IntArray) -> FloatArray:
        """ln P(K_b = k), elementwise; -inf outside the support. ``b``: 0..N."""
        return log_pmf(self.remainder, self.n, self.t, b, k)

    def pmf(self, b: IntArray, k: IntArray) -> FloatArray:
        """P(K_b = k), elementwise; 0 where :meth:`log_pmf` would be far in a tail (below 1e-40)."""
        found = np.zeros(len(b))
        near = np.flatnonzero(np.abs(k - self.mean(b)) <= SPREAD * self.deviation(b) + 2 * SLACK)
        for start in range(0, len(near), _CHUNK):
            some = near[start : start + _CHUNK]
            found[some] = np.exp(self.log_pmf(b[some], k[some]))
        return found

    def mean(self, b: IntArray) -> FloatArray:
        """Expectation of K_b."""
        return np.asarray(b * (self.t / self.n), dtype=np.float64)

    def deviation(self, b: IntArray) -> FloatArray:
        """Standard deviation of K_b."""
        return deviation(self.n, self.t, b)

    def lowest(self, b: IntArray) -> IntArray:
        """The least k whose probability is not taken as 0."""
        return lowest(self.n, self.t, b)


def log_pmf(remainder: FloatArray, n: int | IntArray, t: int | IntArray, b: IntArray, k: IntArray) -> FloatArray:
    """ln of the probability of k labeled among b of n items of which t are labeled; -inf outside the support.

    ``remainder``: of at least the largest n. ln m! = m ln m - m + h(m), and the terms m ln m leave a deviance per cell.
    """
    h, least = remainder, np.maximum(0, b - (n - t))
    inside = (k >= least) & (k <= np.minimum(t, b))
    k = np.where(inside, k, least)
    away = (n * k - t * b) / n  # from the mean; the products are exact
    found: FloatArray = (h[t] + h[n - t] - h[n]) + (h[b] + h[n - b])
    cells = (
        (k, t * b, away),
        (t - k, t * (n - b), -away),
        (b - k, (n - t) * b, -away),
        (n - t - b + k, (n - t) * (n - b), away),
    )
    for count, product, deviation in cells:
        found -= h[count] + _deviance(count, product / n, deviation)
    found[~inside] = -np.inf
    return found


def deviation(n: int | IntArray, t: int | IntArray, b: IntArray) -> FloatArray:
    """Standard deviation of the labeled among b of n items of which t are labeled."""
    share = np.true_divide(t, n)
    found: FloatArray = np.sqrt(share * (1 - share) * b * (np.subtract(n, b) / np.maximum(np.subtract(n, 1), 1)))
    return found


def lowest(n: int | IntArray, t: int | IntArray, b: IntArray) -> IntArray:
    """The least number of labeled among b of n whose probability is not taken as 0."""
    spread = b * np.true_divide(t, n) - SPREAD * deviation(n, t, b) - SLACK
    found: IntArray = np.maximum(np.floor(spread).astype(np.int64), np.maximum(0, b - np.subtract(n, t)))
    return found


def highest(n: int | IntArray, t: int | IntArray, b: IntArray) -> IntArray:
    """The largest number of labeled among b of n whose probability is not taken as 0."""
    spread = b * np.true_divide(t, n) + SPREAD * deviation(n, t, b) + SLACK
    found: IntArray = np.minimum(np.ceil(spread).astype(np.int64), np.minimum(t, b))
    return found


def log_tails(n: int, t: int, b: int, k: int) -> tuple[float, float]:
    """(ln P(K <= k), ln P(K > k)), exact far into both tails: the smaller one is summed, the other follows from it."""
    low, high = max(0, b - (n - t)), min(t, b)
    if k < low:
        return -math.inf, 0.0
    if k >= high:
        return 0.0, -math.inf
    law = Hypergeometric.of(n, t)
    support = np.arange(low, high + 1)
    logs = law.log_pmf(np.full(len(support), b), support)
    below, above = (float(np.logaddexp.reduce(part)) for part in (logs[: k - low + 1], logs[k - low + 1 :]))
    if below < above:
        return below, _log_of_rest(below)
    return _log_of_rest(above), above


def _log_of_rest(log: float) -> float:
    """ln(1 - e^log) for e^log <= 1/2 and rounding."""
    return math.log1p(-math.exp(log))


def _deviance(count: IntArray, expected: FloatArray, away: FloatArray) -> FloatArray:
    """x ln(x/m) + m - x for a count x and its expectation m, where ``away`` is x - m."""
    ratio = np.divide(away, expected, out=np.zeros_like(expected), where=expected > 0)
    logs = np.log1p(ratio, out=np.zeros_like(expected), where=(count > 0) & (expected > 0))
    found: FloatArray = count * logs - away
    return found
