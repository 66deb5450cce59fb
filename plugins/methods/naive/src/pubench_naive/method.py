"""Unlabeled as negative: a classifier of P against U, both classes weighing the same.

No paper of its own; described by any survey (Bekker, Davis, Machine Learning 109, 2020, section 5). Under SCAR
p(s=1|x) rises with p(y=1|x), so its ranking is what a PU method has to beat. Its threshold is wrong unless the prior
places it: ``threshold: half`` is what people do by mistake, kept because it shows the mistake.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from pubench_bases.fitting import (
    BaseConfig,
    array_of,
    at_posterior,
    at_prior,
    check,
    folds_of,
    on_classes,
    out_of_fold,
    prepared,
)
from torch import Tensor

from pubench.method import Field, Method, NetworkBuilder, PUData, Run

Array = npt.NDArray[Any]


class Config(BaseConfig):
    folds: int = Field(5, ge=2, description="folds of the scores that place the threshold")
    threshold: Literal["auto", "prior", "posterior", "half"] = Field(
        "auto",
        description="a row is positive above the score that: leaves the prior's share of U positive (prior); means a "
        "posterior of 1/2 (posterior); is 1/2 (half). auto: prior if one is given, else half",
    )


class Naive(Method[Config]):
    scored_by = ("model", "threshold")

    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"} if config.threshold in ("prior", "posterior") else ())

    @classmethod
    def uses(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"} if config.threshold == "auto" else ())

    @classmethod
    def takes_gaps(cls, config: Config) -> bool:
        return config.made.takes_gaps

    @classmethod
    def takes_sparse(cls, config: Config) -> bool:
        return config.made.takes_sparse

    @classmethod
    def takes_weights(cls, config: Config) -> bool:
        return True

    def assemble(self, build: NetworkBuilder) -> None:
        self.model = self.config.made.model.empty()

    def check(self, data: PUData) -> None:
        check(data, self.config.made)

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c, base = self.config, self.config.made
        x, labeled = prepared(data, base, run)
        fit = on_classes(base, x, labeled, data)
        for _ in run.epochs(1, patience=None):
            seeds = run.numpy_rng.integers(2**31, size=c.folds + 1)
            fold = folds_of(data, c.folds, run.numpy_rng)
            self.model = fit(np.arange(len(labeled)), int(seeds[-1]))
            self.threshold = 0.5
            if c.threshold in ("prior", "posterior") or (c.threshold == "auto" and data.knows_prior):
                #: (n,) scores of the table LP ‖ U, each by a model that did not see the row
                self.out_of_fold = out_of_fold(fit, x, fold, seeds, run.threads)
                self.threshold = (
                    at_posterior(self.out_of_fold, labeled, data)
                    if c.threshold == "posterior"
                    else at_prior(self.out_of_fold, data)
                )

    def decision_function(self, x: Tensor) -> Tensor:
        return torch.from_numpy(self.model.probability(array_of(x)) - self.threshold)

    def feature_importances(self) -> Array | None:
        return self.model.importances()

    def coefficients(self) -> Array | None:
        return self.model.coefficients()
