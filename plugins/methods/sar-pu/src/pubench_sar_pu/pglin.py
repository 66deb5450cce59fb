"""PGlin: P(y=1|x) and the propensity from P(s=1|x) alone, if the propensity is proportional to the posterior.

Paper: Gerych, Hartvigsen, Buquicchio, Agu, Rundensteiner, AAAI 2022. No code of the authors; follows the one that
AISTATS 2025 compares, TimoM99/PUBiasCalibration, commit ae378c1. With e(x) = a P(y=1|x) and some row of posterior 1,
p(x) = P(s=1|x) = a P(y=1|x)^2 and its maximum M is a: P(y=1|x) = sqrt(p/M), positive if p > M/4. The ranking is that of
the classifier of P against U. Differs for p = 0, where that code has 0/0 and the closed form 0. Rows above M rank by p.

Under case-control U is the pool, as in :mod:`pubench_sar_pu.method`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pubench.method import Method, NetworkBuilder, PUData, RequestError, Run

from .weighted import ScoredConfig, learner, pool

Array = npt.NDArray[Any]


class Config(ScoredConfig):
    pass


# ---------------------------------------------------------------- the formulas


def propensity(p: Array, maximum: float) -> Array:
    """(n,) e(x) = sqrt(M p(x)) of a positive row."""
    return np.asarray(np.sqrt(maximum * p))


def probability(p: Array, maximum: float) -> Array:
    """(n,) P(y=1|x) = min(1, sqrt(p/M)) from (n,) probabilities p of a label; ``maximum``: M > 0."""
    return np.minimum(1, np.sqrt(p / maximum))


class PGlin(Method[Config]):
    scored_by = ("model", "maximum")

    @classmethod
    def takes_gaps(cls, config: Config) -> bool:
        return config.made.takes_gaps

    def assemble(self, build: NetworkBuilder) -> None:
        self.model = self.config.made.model.empty()

    def check(self, data: PUData) -> None:
        self.config.check(data)

    def fit(self, data: PUData, run: Run[Config]) -> None:
        _, x, labeled = pool(data)
        for line in self.config.made.notes(x.shape[1]):
            run.warn(line)
        for _ in run.epochs(1, patience=None):
            of_label = learner(self.config, self.config.made, data, run, np.arange(x.shape[1]))
            weights = labeled * 1.0, ~labeled * 1.0
            self.model = of_label.model(*weights)
            self.maximum = float(of_label.scores(*weights).max())
            if self.maximum == 0:
                raise RequestError("every training row has probability 0 of a label; take base=logistic")

    def decision_function(self, x: Tensor) -> Tensor:
        return torch.from_numpy(self.model.probability(x.flatten(1).numpy()) - self.maximum / 4)

    def auxiliary_scores(self, x: Tensor) -> dict[str, Tensor]:
        """``posterior``: P(y=1|x) in [0, 1]; ``propensity``: the probability that a positive row is labeled."""
        p = self.model.probability(x.flatten(1).numpy())
        return {
            "posterior": torch.from_numpy(probability(p, self.maximum)),
            "propensity": torch.from_numpy(propensity(p, self.maximum)),
        }
