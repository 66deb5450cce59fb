"""The contract of a labeling mechanism: which positives get a label."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .data.dataset import IntArray
from .errors import PluginError

FloatArray = npt.NDArray[np.float64]


class Mechanism(ABC):
    """One labeling mechanism in one of its variants.

    ``counted``: whether exactly ``floor(c |P|)`` positives get a label; False if :meth:`label` draws how many.
    ``purity``: share of the labeled rows that are positive, β of Jain et al. (AAAI 2017), in (0, 1]. Below 1,
    :meth:`mislabel` draws the negatives that are labeled as well; no method is given this number.
    """

    purity: float = 1.0
    counted: bool = True

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
        """Draws ``n`` distinct positions among the positives ``x_pos`` (m, *shape): who gets a label.

        ``posterior_logit``: (m,) of :meth:`posterior_logit`, given to mechanisms whose info says ``needs_posterior``.
        """

    def label(
        self,
        x_pos: npt.NDArray[Any],
        posterior_logit: FloatArray | None,
        c: float,
        n: int,
        rng: np.random.Generator,
    ) -> IntArray:
        """Positions of the positives that get a label where the request has c; ``n`` = floor(c m) by :meth:`choose`."""
        return self.choose(x_pos, posterior_logit, n, rng)

    def posterior_logit(
        self,
        x: npt.NDArray[Any],
        y: npt.NDArray[np.int8],
        pool: IntArray,
        rows: IntArray,
        cache: Path,
        *,
        preprocess: str,
    ) -> FloatArray:
        """Log-odds of the positive class, (len(rows),), under an auxiliary posterior that no method sees.

        ``x``: (n, *shape) features after ``preprocess``. ``y``: (n,) true labels. ``pool``: the training pool, to fit
        on. ``cache``: folder for what was fitted. The one of PU-Bench is ``ByPosterior`` of the standard mechanisms.
        """
        raise PluginError(f"{type(self).__name__} needs an auxiliary posterior and defines no posterior_logit")

    def mislabel(self, x_neg: npt.NDArray[Any], n: int, rng: np.random.Generator) -> IntArray:
        """Draws ``n`` distinct positions among the negatives ``x_neg`` (m, *shape) that get a label by mistake."""
        return rng.choice(len(x_neg), size=n, replace=False)
