"""The contract of a labeling mechanism: which positives get a label."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from .data.dataset import IntArray

FloatArray = npt.NDArray[np.float64]


class Mechanism(ABC):
    """One labeling mechanism in one of its variants."""

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
