"""PU bagging: the mean of classifiers that each separate P from a random draw of U.

Paper: Mordelet, Vert, Pattern Recognition Letters 37, 2014. No official code. Follows Algorithm 1: for t = 1..T, K rows
of U are drawn with replacement (K = |P| by default) and the base is fitted on P against them, both classes weighing the
same; a row of U is scored by the mean over the t that did not draw it, any other row by the mean over all. The paper's
base is an SVM; ``base: trees`` is what users take, and ``base: forest`` the down-sampled random forest of ecology
(Valavi et al., Ecography 2021). Differs if K is half of U or more: then half of U is drawn without replacement, because
otherwise a row would hardly ever be out of bag. Known negatives are in every draw.
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
    balanced,
    check,
    in_parallel,
    prepared,
    weights_of,
)
from pubench_bases.models import Mean, Model
from pydantic import model_validator
from torch import Tensor

from pubench.method import Field, Method, NetworkBuilder, PUData, Run

Array = npt.NDArray[Any]


class Config(BaseConfig):
    n_estimators: int = Field(200, ge=1, description="classifiers, T in the paper")
    sample_size: int | None = Field(None, ge=1, description="rows of U per draw, K in the paper; none: as many as P")
    bootstrap_positives: bool = Field(False, description="draw P with replacement too; the paper does not")
    threshold: Literal["auto", "prior", "posterior", "half"] = Field(
        "auto",
        description="a row is positive above the score that: leaves the prior's share of U positive (prior); means a "
        "posterior of 1/2 (posterior, for bootstrap_positives); is 1/2 (half). auto: prior if one is given, else half",
    )

    @model_validator(mode="after")
    def _out_of_bag(self) -> Config:
        if self.threshold == "posterior" and not self.bootstrap_positives:
            raise ValueError(
                "threshold posterior needs scores of P out of bag, and every draw holds all of P; set "
                "bootstrap_positives=true, or threshold=prior"
            )
        return self


class PUBagging(Method[Config]):
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
        self.model = Mean(self.config.made.model)

    def check(self, data: PUData) -> None:
        check(data, self.config.made)

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c, base = self.config, self.config.made.member
        x, labeled = prepared(data, base, run)
        group, n_p, n_u = data.group.numpy(), data.n_labeled, data.n_unlabeled
        of_row, negative = weights_of(data), data.negative_rows.numpy()
        size, half = c.sample_size or n_p, max(1, n_u // 2)
        if size >= n_u / 2:
            run.warn(
                f"a draw of {size} of {n_u} unlabeled rows leaves few out of bag: {half} are drawn without replacement"
            )

        def member(seed: int) -> tuple[Model, Array, Array]:
            """A classifier, the rows of whose group it saw none by chance, and its scores of all rows."""
            rng = np.random.default_rng(seed)
            drawn = n_p + (rng.choice(n_u, half, replace=False) if size >= n_u / 2 else rng.integers(n_u, size=size))
            positive = rng.integers(n_p, size=n_p) if c.bootstrap_positives else np.arange(n_p)
            rows = np.concatenate([positive, drawn, negative])
            weight = balanced(labeled[rows], of_row[rows])
            model = base.fit(x[rows], labeled[rows], weight, int(rng.integers(2**31)), data.categories)
            out = ~np.isin(group, group[rows if c.bootstrap_positives else np.r_[drawn, negative]])
            return model, out, model.probability(x)

        for _ in run.epochs(1, patience=None):
            total, times = np.zeros(len(labeled)), np.zeros(len(labeled), np.int64)
            members = []
            seeds = run.numpy_rng.integers(2**31, size=c.n_estimators).tolist()
            for model, out, scores in in_parallel(member, seeds, run.threads):
                members.append(model)
                total[out] += scores[out]
                times[out] += 1
            self.model = Mean(self.config.made.model, members)
            #: (n,) scores of the table LP ‖ U out of bag; NaN for a row that every classifier saw
            self.out_of_bag = np.divide(total, times, out=np.full(len(labeled), np.nan), where=times > 0)
            self.threshold = self._threshold(data)

    def _threshold(self, data: PUData) -> float:
        if self.config.threshold == "posterior":
            return at_posterior(self.out_of_bag, data.labeled.numpy().astype(np.int64), data)
        if self.config.threshold == "prior" or (self.config.threshold == "auto" and data.knows_prior):
            return at_prior(self.out_of_bag, data)
        return 0.5

    def decision_function(self, x: Tensor) -> Tensor:
        return torch.from_numpy(self.model.probability(array_of(x)) - self.threshold)

    def out_of_bag_scores(self) -> Tensor:
        return torch.from_numpy(self.out_of_bag - self.threshold)

    def feature_importances(self) -> Array | None:
        return self.model.importances()

    def coefficients(self) -> Array | None:
        return self.model.coefficients()
