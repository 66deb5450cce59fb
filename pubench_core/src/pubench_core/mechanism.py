"""The contract of a labeling mechanism: which positives get a label."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from .data.dataset import IntArray

FloatArray = npt.NDArray[np.float64]


class Mechanism(ABC):
    """One labeling mechanism in one of its variants.

    ``purity``: share of the labeled rows that are positive, β of Jain et al. (AAAI 2017), in (0, 1]. Below 1,
    :meth:`mislabel` draws the negatives that are labeled as well; no method is given this number.
    """

    purity: float = 1.0

    def __init__(self, variant: str) -> None:
        self.variant = variant

    @abstractmethod
    def choose(
        self,
        x_pos: npt.NDArray[Any],
        posterior_logit: FloatArray | None,
        n: int,
        rng: np.random.Generator,
    ) -> IntArray:
        """``n`` distinct positions among the positives ``x_pos`` (m, *shape).

        ``posterior_logit``: (m,) log-odds of the positive class under the simulator's auxiliary posterior, given to
        mechanisms whose info says ``needs_posterior``.
        """

    def mislabel(self, x_neg: npt.NDArray[Any], n: int, rng: np.random.Generator) -> IntArray:
        """``n`` distinct positions among the negatives ``x_neg`` (m, *shape) that get a label by mistake: at random."""
        return rng.choice(len(x_neg), size=n, replace=False)
