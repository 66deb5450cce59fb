"""The contract of a class-prior estimator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class PriorEstimate:
    """``share``: share of positives among the unlabeled rows; ``interval`` where the estimator gives one."""

    share: float
    interval: tuple[float, float] | None = None
    diagnostics: Mapping[str, Any] = field(default_factory=dict)


class PriorEstimator(ABC):
    """Estimates the share of positives in U from features or from held-out scores (``PriorInfo.inputs``)."""

    @abstractmethod
    def estimate(
        self, positive: npt.NDArray[Any], unlabeled: npt.NDArray[Any], rng: np.random.Generator
    ) -> PriorEstimate:
        """``positive``: (n_P, d) features or (n_P,) scores; ``unlabeled`` likewise."""
