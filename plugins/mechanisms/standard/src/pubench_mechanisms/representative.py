"""The labels of PULP's experiments: positives that are most, or least, representative of their class."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pubench_core.mechanism import Mechanism

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: Of the mixture, which the source does not name; the ridge keeps constant features usable.
COMPONENTS, RIDGE = 3, 1e-3


def density(x_pos: npt.NDArray[Any], rng: np.random.Generator) -> FloatArray:
    """(m,) log density of each positive under a Gaussian mixture of all (diagonal covariances)."""
    from sklearn.mixture import GaussianMixture

    rows = x_pos.reshape(len(x_pos), -1).astype(np.float64)
    mixture = GaussianMixture(
        min(COMPONENTS, len(rows)), covariance_type="diag", reg_covar=RIDGE, random_state=int(rng.integers(2**31))
    )
    found: FloatArray = mixture.fit(rows).score_samples(rows)
    return found


class MostRepresentative(Mechanism):
    """The n positives of highest density, deterministically up to the start of the mixture."""

    sign: ClassVar[int] = -1

    def choose(
        self, x_pos: npt.NDArray[Any], posterior_logit: FloatArray | None, n: int, rng: np.random.Generator
    ) -> IntArray:
        if len(x_pos) < 2:
            return np.arange(n)
        return np.argsort(self.sign * density(x_pos, rng), kind="stable")[:n]


class LeastRepresentative(MostRepresentative):
    """The n positives of lowest density."""

    sign: ClassVar[int] = 1
