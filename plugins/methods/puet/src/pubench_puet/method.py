"""PUET: PU Extra Trees, randomized trees that greedily minimize the PU risk.

Paper: Wilton, Koay, Ko, Xu, Ye, NeurIPS 2022. Official code: jonathanwilton/PUExtraTrees.
Follows the official algorithm: every tree is grown on all of P and U; a node is cut at the best of a few random
thresholds, the one whose children have the smallest summed risk, until its risk cannot be lowered; the trees vote, and
a tie is negative. Differs in three places. Whether a node is pure is decided on integer counts, where a rounded risk
just above 0 lets the official code grow needless branches. The vote, which has only ``n_estimators`` + 1 values, is
refined by the mean posterior, so that the score ranks. Trees are grown on slices of row numbers rather than on masks
over the whole table. ``risk`` and ``loss`` choose the estimator of the risk; there is no gradient, hence no optimizer
and no epochs. The first run after an installation compiles the kernels for some seconds, before its time counts.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from pubench.method import Field, Method, MethodConfig, PUData, Run

from .trees import Array, Forest, Limits, Risk, warm_up


class Config(MethodConfig):
    n_estimators: int = Field(100, ge=1, description="number of trees")
    risk: Literal["nnpu", "upu"] = Field("nnpu", description="risk estimator: non-negative, or unbiased")
    loss: Literal["quadratic", "logistic"] = Field("quadratic", description="loss in the risk")
    max_depth: int | None = Field(None, ge=1, description="cuts above a leaf at most; none: no limit")
    min_samples_split: int = Field(2, ge=2, description="a node of fewer rows is not cut")
    max_features: int | None = Field(None, ge=1, description="features tried per cut; none: square root, rounded up")
    max_candidates: int = Field(1, ge=1, description="random thresholds tried per feature")


def vote_score(positive: Array, posterior: Array, trees: int) -> Array:
    """(n,) scores from the number of +1 votes, which decides, and the mean posterior in [0, 1], which breaks ties.

    Share of +1 votes minus 1/2, minus a third of a vote times (1 - posterior): above 0 exactly where most trees say
    +1, because half a vote is the smallest majority. Rows are ordered by votes, then by posterior.
    """
    score: Array = positive / trees - 0.5 - (1 - posterior) / (3 * trees)
    return score.astype(np.float32)


class PUET(Method[Config]):
    scored_by = ("forest",)

    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"})

    def check(self, data: PUData) -> None:
        warm_up()  # before the run's time counts

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c = self.config
        rows = torch.cat([data.labeled_rows, data.unlabeled_rows])
        columns = data.take(rows).flatten(1).T.contiguous().numpy()
        risk = Risk(data.n_labeled, data.n_unlabeled, data.unlabeled_prior, c.risk == "nnpu", c.loss == "logistic")
        limits = Limits(
            max_depth=len(data) if c.max_depth is None else c.max_depth,
            min_samples_split=c.min_samples_split,
            max_features=math.ceil(math.sqrt(len(columns))) if c.max_features is None else c.max_features,
            max_candidates=c.max_candidates,
        )
        for _ in run.epochs(1, patience=None):
            seeds = run.numpy_rng.integers(2**63, size=c.n_estimators)
            self.forest = Forest.grow(columns, risk, limits, seeds, run.threads)

    def decision_function(self, x: Tensor) -> Tensor:
        positive, posterior = self.forest.votes(x.flatten(1).contiguous().numpy())
        return torch.from_numpy(vote_score(positive, posterior, len(self.forest)))

    def feature_importances(self) -> Array:
        return self.forest.importances
