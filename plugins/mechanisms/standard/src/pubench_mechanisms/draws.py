"""Which positives get a label: the four mechanisms of PU-Bench (S1 to S4).

Weighted draws without replacement are Gumbel-top-k on log weights: the same distribution as drawing one after another
with renormalized weights, without their underflow. p = sigmoid(z) is the simulator's auxiliary posterior.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy  # scipy.special is imported when it is first used: SCAR and S4 need nothing of it

from pubench_core.mechanism import Mechanism

from .posterior import ByPosterior

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: Power of the posterior in S2 and S3; variant ``k=5`` takes another one.
POWER = 10


def weighted_draw(log_weight: FloatArray, n: int, rng: np.random.Generator) -> IntArray:
    """``n`` distinct positions, drawn one after another with probability proportional to the weights left.

    A weight of zero (log weight minus infinity) is drawn only when nothing else is left, in random order.
    """
    keys = log_weight + rng.gumbel(size=len(log_weight))
    return np.lexsort((rng.random(len(keys)), -keys))[:n]


class SCAR(Mechanism):
    """S1: uniform without replacement; the propensity is e(x) = c."""

    def choose(
        self, x_pos: npt.NDArray[Any], posterior_logit: FloatArray | None, n: int, rng: np.random.Generator
    ) -> IntArray:
        return rng.choice(len(x_pos), size=n, replace=False)


class Weighted(ByPosterior):
    """A weighted draw without replacement. ``power``: k of its weights."""

    @property
    def power(self) -> float:
        return float(self.variant.removeprefix("k=")) if self.variant.startswith("k=") else POWER

    def choose(
        self, x_pos: npt.NDArray[Any], posterior_logit: FloatArray | None, n: int, rng: np.random.Generator
    ) -> IntArray:
        assert posterior_logit is not None
        return weighted_draw(self.log_weight(posterior_logit), n, rng)

    @abstractmethod
    def log_weight(self, logit: FloatArray) -> FloatArray:
        """Log of the weights, up to a constant."""


class TypicalFirst(Weighted):
    """S2: weight p^10; released: 0.9 p^10 / sum + 0.1 / |P|, which keeps every positive within reach."""

    def log_weight(self, logit: FloatArray) -> FloatArray:
        log_power: FloatArray = self.power * scipy.special.log_expit(logit)
        if self.variant != "released":
            return log_power
        total = scipy.special.logsumexp(log_power)
        smoothed: FloatArray = np.logaddexp(np.log(0.9) + log_power - total, np.log(0.1 / len(logit)))
        return smoothed


class AtypicalFirst(Weighted):
    """S3: weight (1 - p)^10, which concentrates without bound; released: (2.5 - p)^10, a ratio of at most 165."""

    def log_weight(self, logit: FloatArray) -> FloatArray:
        if self.variant != "released":
            weight: FloatArray = scipy.special.log_expit(-logit)
        else:
            weight = np.log(2.5 - scipy.special.expit(logit))
        return self.power * weight


class MostTypical(ByPosterior):
    """S4: the n positives of highest p; ties go to the earlier position, and positions are random."""

    def choose(
        self, x_pos: npt.NDArray[Any], posterior_logit: FloatArray | None, n: int, rng: np.random.Generator
    ) -> IntArray:
        assert posterior_logit is not None
        return np.argsort(-posterior_logit, kind="stable")[:n]
