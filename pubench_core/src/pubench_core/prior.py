"""The contract of a class-prior estimator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .data.dataset import IntArray
from .errors import PluginError
from .specs.run import PriorScorer

if TYPE_CHECKING:
    from .backbone import Backbone

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Samples:
    """Samples for an estimator: P and U, (n_P, *shape) and (n_U, *shape) features.

    ``positive_instance``, ``unlabeled_instance``: (n_P,) and (n_U,), which instance a row is. In case-control a labeled
    positive is also in U: two rows of one instance.
    """

    positive: npt.NDArray[Any]
    unlabeled: npt.NDArray[Any]
    positive_instance: IntArray
    unlabeled_instance: IntArray


@dataclass(frozen=True)
class PriorEstimate:
    """The estimate of one estimator.

    ``share``: share of positives among the unlabeled rows, in [0, 1]. ``interval``: if the estimator gives one.
    """

    share: float
    interval: tuple[float, float] | None = None
    diagnostics: Mapping[str, Any] = field(default_factory=dict)


class PriorEstimator(ABC):
    """Estimates the share of positives in U from features or from held-out scores (``PriorInfo.inputs``)."""

    @abstractmethod
    def estimate(
        self, positive: npt.NDArray[Any], unlabeled: npt.NDArray[Any], rng: np.random.Generator
    ) -> PriorEstimate:
        """Estimates the share of positives in U.

        ``positive``: (n_P, d) features or (n_P,) scores; ``unlabeled`` likewise.
        """

    def held_out_scores(
        self,
        samples: Samples,
        rng: np.random.Generator,
        scorer: PriorScorer = "logistic",
        network: Callable[[], Backbone] | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Held-out probabilities of being labeled, (n_P,) and (n_U,), for an estimator whose info says ``scores``.

        No model may have seen a row of the instance that it scores: a labeled positive's copy in U has the opposite
        label. ``scorer``: which classifier the run asks for; ``network``: makes an untrained one, for ``backbone``.
        Those of the standard estimators are ``ReadsScores`` in their package.
        """
        raise PluginError(f"{type(self).__name__} reads held-out scores and defines no held_out_scores")
