"""Labels drawn independently of each other: the four mechanisms of Teisseyre et al. (AISTATS 2025).

Every positive gets a label with its propensity e(x), a function of the auxiliary posterior p = p(y=1|x); all are drawn
again until one has a label. How many are labeled is random. c is the largest propensity; its published values are .1,
.1, sigmoid(-1.5) = .18242552380635635 and .5. Follows the published code, TimoM99/PUBiasCalibration, commit ae378c1.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from .draws import weighted_draw
from .posterior import ByPosterior

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: What a posterior of exactly 0 becomes, and 1 minus it.
END = 1e-3
#: Draws without a label after which the likeliest way to have one is taken: one label, by propensity.
ENOUGH = 1000


def posterior_of(z: FloatArray) -> FloatArray:
    """(m,) probabilities of log-odds, none of them exactly 0 or 1."""
    p = expit(z)
    return np.where(p == 1, 1 - END, np.where(p == 0, END, p))


class Independent(ByPosterior):
    """One draw per positive. Where a scheme fixes the number of labels, they go by weight e without replacement."""

    counted = False

    @abstractmethod
    def propensity(self, p: FloatArray, c: float) -> FloatArray:
        """(m,) probability of a label of positives with posterior p."""

    def choose(
        self, x_pos: npt.NDArray[Any], posterior_logit: FloatArray | None, n: int, rng: np.random.Generator
    ) -> IntArray:
        return weighted_draw(np.log(self._propensity(len(x_pos), posterior_logit, 1.0)), n, rng)

    def label(
        self,
        x_pos: npt.NDArray[Any],
        posterior_logit: FloatArray | None,
        c: float,
        n: int,
        rng: np.random.Generator,
    ) -> IntArray:
        e = self._propensity(len(x_pos), posterior_logit, c)
        for _ in range(ENOUGH):
            found = np.flatnonzero(rng.random(len(e)) < e)
            if len(found):
                return found
        return weighted_draw(np.log(e), 1, rng)

    def _propensity(self, m: int, z: FloatArray | None, c: float) -> FloatArray:
        return self.propensity(np.ones(m) if z is None else posterior_of(z), c)


class Even(Independent):
    """S1: e = c, labels completely at random."""

    def propensity(self, p: FloatArray, c: float) -> FloatArray:
        return np.full(len(p), c)


class Proportional(Independent):
    """S2: e = c p."""

    def propensity(self, p: FloatArray, c: float) -> FloatArray:
        return c * p


class Falling(Independent):
    """S3: e = c sigmoid(-p/2 - 3/2) / sigmoid(-3/2), from c at p = 0 to .65 c at p = 1."""

    def propensity(self, p: FloatArray, c: float) -> FloatArray:
        return np.asarray(c * expit(-0.5 * p - 1.5) / expit(-1.5))


class FallingToZero(Independent):
    """S4: e = c sigmoid(-z/2) of the log-odds z of p: c/2 at p = 1/2, near 0 for sure positives."""

    def propensity(self, p: FloatArray, c: float) -> FloatArray:
        return np.asarray(c * expit(-0.5 * logit(p)))
