"""Two-step learning: reliable negatives among U, then a classifier of P against them.

Papers: Liu, Lee, Yu, Li, ICML 2002 (``spy``, ``em``); Li, Liu, IJCAI 2003 (``rocchio``, ``until-stable``); Yu, Han,
Chang, KDD 2002 (``1-dnf``). No official code. Step one by spies: a share of P is hidden in U, the base is fitted on the
rest of P against U with the spies, and a row of U that scores below nearly all spies is a reliable negative. Differs
from S-EM in that every score of step one is out of fold: no spy is scored by a model that had it as negative. Step two
is the base on P against the reliable negatives; iterated, it takes in further rows of U until nothing changes, and if
it comes to lose positives that it was not shown, the first classifier is kept, as the papers do. Known negatives are
reliable negatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from pubench_bases.fitting import (
    BaseConfig,
    Fit,
    array_of,
    at_prior,
    check,
    folds_of,
    in_part,
    on_classes,
    out_of_fold,
    prepared,
    weights_of,
)
from pubench_bases.models import Model
from torch import Tensor

from pubench.method import Field, Method, NetworkBuilder, PUData, RequestError, Run

Array = npt.NDArray[Any]

#: Iterations at most, and the mean change of EM's weights below which it has converged.
MOST, SETTLED = 10, 0.01
#: Share of held-out positives that an iteration may call negative.
LOST = 0.05
#: Li and Liu's weights of a prototype's own and of the other class.
ALPHA, BETA = 16.0, 4.0


class Config(BaseConfig):
    step_one: Literal["spy", "rocchio", "knn", "1-dnf"] = Field("spy", description="how reliable negatives are found")
    spies: float = Field(0.15, gt=0, lt=1, description="share of P that is hidden in U, for spy")
    noise: float = Field(
        0.05, ge=0, lt=1, description="share of spies (spy) or of P (knn) that may look like reliable negatives"
    )
    neighbors: int = Field(5, ge=1, description="the distance to this nearest labeled row counts, for knn")
    iterate: Literal["none", "em", "until-stable"] = Field("none", description="what becomes of the other rows of U")
    folds: int = Field(5, ge=2, description="folds of the scores of rows that are trained on")
    threshold: Literal["auto", "prior", "half"] = Field(
        "auto",
        description="a row is positive above the score that: leaves the prior's share of U positive (prior); is 1/2 "
        "(half). auto: prior if one is given, else half",
    )


# ---------------------------------------------------------------- step one without a classifier


def rocchio(positive: Array, unlabeled: Array) -> Array:
    """(n_U,) True for rows of U that are nearer, by cosine, to the prototype of U than to that of P."""
    p, u = (x / np.linalg.norm(x, axis=1, keepdims=True).clip(min=1e-12) for x in (positive, unlabeled))
    mean_p, mean_u = p.mean(axis=0), u.mean(axis=0)
    of_p, of_u = ALPHA * mean_p - BETA * mean_u, ALPHA * mean_u - BETA * mean_p
    return np.asarray(u @ (of_u / np.linalg.norm(of_u)) >= u @ (of_p / np.linalg.norm(of_p)))


def far(positive: Array, unlabeled: Array, neighbors: int, noise: float) -> Array:
    """(n_U,) True for rows of U that are farther from P than all but a share ``noise`` of P is from the rest of P."""
    from sklearn.neighbors import NearestNeighbors

    k = min(neighbors, len(positive) - 1)
    index = NearestNeighbors(n_neighbors=k).fit(positive)
    among = index.kneighbors()[0][:, -1]  # a row is no neighbor of itself
    return np.asarray(index.kneighbors(unlabeled)[0][:, -1] > np.quantile(among, 1 - noise))


def without_positive_features(positive: Array, unlabeled: Array) -> Array:
    """(n_U,) True for rows of U with none of the features that are there more often in P than in U (1-DNF)."""
    p, u = positive > 0, unlabeled > 0
    return np.asarray(~u[:, p.mean(axis=0) > u.mean(axis=0)].any(axis=1))


def quantile(scores: Array, share: float, data: PUData, rows: Array) -> float:
    """The quantile of the scores of these rows, by their weights if they have any."""
    if data.weight is None:
        return float(np.quantile(scores, share))
    return float(np.quantile(scores, share, weights=weights_of(data)[rows], method="inverted_cdf"))


class TwoStep(Method[Config]):
    scored_by = ("model", "threshold")

    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"} if config.threshold == "prior" else ())

    @classmethod
    def uses(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"} if config.threshold == "auto" else ())

    @classmethod
    def takes_gaps(cls, config: Config) -> bool:
        return config.step_one == "spy" and config.made.takes_gaps

    @classmethod
    def takes_sparse(cls, config: Config) -> bool:
        return config.step_one == "spy" and config.made.takes_sparse

    @classmethod
    def takes_weights(cls, config: Config) -> bool:
        return config.step_one == "spy"

    def assemble(self, build: NetworkBuilder) -> None:
        self.model = self.config.made.model.empty()

    def check(self, data: PUData) -> None:
        check(data, self.config.made)
        if self.config.step_one == "1-dnf" and bool((data.x < 0).any()):
            raise RequestError(
                "step_one 1-dnf looks at which features are there (above 0), and some are below 0; take counts of "
                "words, data.preprocess=none, or another step_one",
                field="method.config.step_one",
                value="1-dnf",
            )

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c, base = self.config, self.config.made
        x, labeled = prepared(data, base, run)
        fold = folds_of(data, c.folds, run.numpy_rng)

        def out_of_folds(fit: Fit) -> Array:
            return out_of_fold(fit, x, fold, run.numpy_rng.integers(2**31, size=c.folds), run.threads)

        watched, reliable = self._reliable(x, labeled, data, out_of_folds, run)
        classes = np.where(labeled > 0, 1, np.where(reliable, 0, -1))
        fit = on_classes(base, x, classes, data)
        first: tuple[Model, Array] | None = None
        before, ended = np.full(len(labeled), np.inf), False
        for epoch in run.epochs(1 if c.iterate == "none" else MOST, patience=None):
            if ended:
                break
            self.model = fit(np.arange(len(labeled)), int(run.numpy_rng.integers(2**31)))
            scores = out_of_folds(fit)
            scores[data.negative_rows.numpy()] = 0
            first = first or (self.model, scores)
            lost = float(np.average(scores[watched] < 0.5, weights=weights_of(data)[watched]))
            if lost > LOST and epoch.in_stage:
                run.warn(
                    f"iteration {epoch.in_stage + 1} calls {lost:.0%} of known positives negative; the first is kept"
                )
                self.model, scores = first
            self.threshold = self._threshold(scores, data)
            turned = (classes < 0) & (scores < 0.5)
            settled = np.abs(scores - before).mean() < SETTLED if c.iterate == "em" else not turned.any()
            ended = bool((lost > LOST and epoch.in_stage) or settled)
            classes, before = np.where(turned, 0, classes), scores
            fit = in_part(base, x, scores, data) if c.iterate == "em" else on_classes(base, x, classes, data)

    def _reliable(
        self,
        x: Array,
        labeled: Array,
        data: PUData,
        out_of_folds: Callable[[Fit], Array],
        run: Run[Config],
    ) -> tuple[Array, Array]:
        """Positions of the positives that watch step two, and (n,) True for reliable negatives."""
        c, n_p = self.config, int(labeled.sum())
        watched, reliable = np.arange(n_p), np.zeros(len(labeled), bool)
        if c.step_one == "spy":
            group = data.group.numpy()[:n_p]
            groups = np.unique(group)
            spies = groups[run.numpy_rng.permutation(len(groups))[: math.ceil(c.spies * len(groups))]]
            watched = np.flatnonzero(np.isin(group, spies))
            if len(watched) < 10:
                run.warn(f"{len(watched)} spies place the bound of reliable negatives; 10 or more make it steady")
            hidden = labeled.copy()
            hidden[watched] = 0
            scores = out_of_folds(on_classes(self.config.made, x, hidden, data))
            #: out-of-fold scores of the spies
            self.watched_scores = scores[watched]
            reliable[n_p:] = scores[n_p:] < quantile(scores[watched], c.noise, data, watched)
        elif c.step_one == "rocchio":
            reliable[n_p:] = rocchio(x[:n_p], x[n_p:])
        elif c.step_one == "knn":
            reliable[n_p:] = far(x[:n_p], x[n_p:], c.neighbors, c.noise)
        else:
            reliable[n_p:] = without_positive_features(x[:n_p], x[n_p:])
        if not reliable.any():
            run.warn("no row of U is a reliable negative; all of U is taken as negative")
            reliable[n_p:] = True
        reliable[data.negative_rows.numpy()] = True
        return watched, reliable

    def _threshold(self, scores: Array, data: PUData) -> float:
        if self.config.threshold == "prior" or (self.config.threshold == "auto" and data.knows_prior):
            return at_prior(scores, data)
        return 0.5

    def decision_function(self, x: Tensor) -> Tensor:
        return torch.from_numpy(self.model.probability(array_of(x)) - self.threshold)

    def feature_importances(self) -> Array | None:
        return self.model.importances()

    def coefficients(self) -> Array | None:
        return self.model.coefficients()
