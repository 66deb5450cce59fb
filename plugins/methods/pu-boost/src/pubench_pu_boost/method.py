"""Boosting on the PU risk.

``form: risk`` adds trees that follow the slope and curvature of the PU risk with the logistic loss, as gradient
boosting does (Friedman 2001; the leaves and their penalty as in LightGBM). What P subtracts from U's curvature is left
out, so that it stays positive. Where nnPU's max(0, ·), decided on the whole sample in every round, would cut the risk
of negatives off, training ends by default: cut off, later trees raise the scores of P alone, and soon all of them.
``form: adapu`` is AdaPU (Zhao et al., arXiv:2205.09485): stumps that minimize the exponential PU loss, in
which every labeled positive is also a negative with a negative weight; it ends where the estimated error of the best
stump, or the risk of negatives, is below 0, because the loss has no lower bound there. A round is an epoch.

Known negatives estimate the risk of negatives, too; ``eta`` averages both, the PNU risk of Sakai et al. (ICML 2017).
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from pubench_bases.bases import base_of
from pubench_bases.fitting import check, rows_of, weights_of
from pubench_bases.models import Boosted, Categories, LightGBM
from pubench_bases.trees import Trees, of_regression_tree, stump
from scipy.special import expit
from torch import Tensor

from pubench.method import Field, Method, MethodConfig, NetworkBuilder, PUData, Run

Array = npt.NDArray[Any]

#: Error that the first stump counts as having, at least.
LEAST = 0.01


class Config(MethodConfig):
    form: Literal["risk", "adapu"] = Field("risk", description="trees on the PU risk, or AdaPU's stumps")
    correction: Literal["stop", "clamp", "none"] = Field(
        "stop",
        description="if the risk of negatives falls below 0: training ends (stop), that part is cut off and rounds go "
        "on (clamp: nnPU), nothing (none: uPU); for risk",
    )
    learner: Literal["sklearn", "lightgbm"] = Field("sklearn", description="what grows the trees of risk")
    rounds: int = Field(200, ge=1, description="trees or stumps, one per epoch")
    learning_rate: float = Field(
        0.1, gt=0, le=1, description="factor of every tree; of AdaPU's stumps 1 is the paper's"
    )
    max_depth: int = Field(3, ge=1, description="splits above a leaf at most, for risk")
    min_samples_leaf: int = Field(20, ge=1, description="rows of a leaf at least, for risk")
    eta: float = Field(
        0.5,
        ge=0,
        le=1,
        description="if there are known negatives: share of P and U in the estimated risk of negatives, next to them",
        neutral=0.5,
    )
    l2: float = Field(1.0, ge=0, description="penalty of a leaf's value, in rows, for risk")
    patience: int | None = Field(
        None, ge=1, description="rounds without improvement after which a criterion stops; none: never"
    )


class Known(NamedTuple):
    """``n``: known negatives, the last rows of LP ‖ U ‖ N; ``eta``: share of P and U in the risk of negatives."""

    n: int = 0
    eta: float = 1.0


NONE = Known()


def risk_of_negatives(score: Array, n_p: int, prior: float, weight: Array, known: Known = NONE) -> float:
    """η (E_U[l(-f)] - π E_P[l(-f)]) + (1 - η) (1 - π) E_N[l(-f)], l(z) = log(1 + exp(-z)).

    ``score``, ``weight``: (n,) f on LP ‖ U ‖ N and weights of the rows, whose mean is 1 in each.
    """
    loss = weight * np.logaddexp(0, score)
    p, u, n = np.split(loss, [n_p, len(loss) - known.n])
    found = float(u.mean() - prior * p.mean())
    return known.eta * found + (1 - known.eta) * (1 - prior) * float(n.mean()) if known.n else found


class Slopes(NamedTuple):
    """(n,) slope and curvature of a risk by the score of each row of LP ‖ U ‖ N, times the number of rows of U."""

    slope: Array
    curvature: Array


def logistic_risk(
    score: Array, n_p: int, prior: float, of_row: Array, *, non_negative: bool, known: Known = NONE
) -> Slopes:
    """Derivatives of R = π E_P[l(f)] + risk of negatives by each score; ``of_row``: (n,) weights.

    If ``non_negative`` and the risk of negatives is below 0, it is cut off: R = π E_P[l(f)].
    """
    p, u, n = np.split(score, [n_p, len(score) - known.n])
    weight = prior * len(u) / n_p  # of a row of P in rows of U
    bend_p = expit(p) * expit(-p)
    if non_negative and risk_of_negatives(score, n_p, prior, of_row, known) < 0:
        return Slopes(of_row * np.r_[-weight * expit(-p), 0 * u, 0 * n], of_row * np.r_[weight * bend_p, 0 * u, 0 * n])
    weight_n = (1 - known.eta) * (1 - prior) * len(u) / max(len(n), 1)
    slope = np.r_[-weight * (known.eta + (1 - known.eta) * expit(-p)), known.eta * expit(u), weight_n * expit(n)]
    bend = np.r_[weight * bend_p, known.eta * expit(u) * expit(-u), weight_n * expit(n) * expit(-n)]
    return Slopes(of_row * slope, of_row * bend)


def exponential_weights(
    score: Array, n_p: int, prior: float, of_row: Array, known: Known = NONE
) -> tuple[Array, Array]:
    """(n,) weights of each row of LP ‖ U ‖ N as a positive, π E_P[e^-f], and as a negative, η (E_U[e^f] - π E_P[e^f]) +
    (1 - η) (1 - π) E_N[e^f]. The latter estimates a risk: if its sum is below 0, the loss has no lower bound.
    """
    n_u, (n, eta) = len(score) - n_p - known.n, known
    positive = np.where(np.arange(len(score)) < n_p, prior / n_p * np.exp(-score), 0)
    negative = np.repeat([-eta * prior / n_p, eta / n_u, (1 - eta) * (1 - prior) / max(n, 1)], [n_p, n_u, n])
    return of_row * positive, of_row * (negative * np.exp(score))


def best_stump(x: Array, order: Array, positive: Array, negative: Array) -> tuple[int, float, float, float]:
    """(feature, threshold, right, wrong) of the stump h = ±1 of which most weight is right.

    ``order``: (n, d) argsort of the columns of ``x``. ``positive``, ``negative``: (n,) weights of a row as a positive
    and as a negative, of which some are below 0. ``wrong``: the rest of the weight, which may be below 0, too. h is +1
    above the threshold if ``right`` is above 0, else below it.
    """
    gain = np.take_along_axis(np.broadcast_to((positive - negative)[:, None], x.shape), order, axis=0)
    sorted_x = np.take_along_axis(x, order, axis=0)
    margin = positive.sum() - negative.sum() - 2 * gain.cumsum(axis=0)  # right - wrong of h = +1 above row i
    margin[:-1][sorted_x[:-1] == sorted_x[1:]] = 0
    margin[-1] = 0  # a constant h
    i, feature = np.unravel_index(np.abs(margin).argmax(), margin.shape)
    total, edge = positive.sum() + negative.sum(), float(margin[i, feature])
    threshold = float(sorted_x[i : i + 2, feature].astype(np.float64).mean())
    return int(feature), threshold, float(np.copysign((total + abs(edge)) / 2, edge)), float(total - abs(edge)) / 2


class PUBoost(Method[Config]):
    scored_by = ("model",)
    model: Boosted | LightGBM

    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"})

    @classmethod
    def takes_gaps(cls, config: Config) -> bool:
        return config.form == "risk"

    @classmethod
    def takes_weights(cls, config: Config) -> bool:
        return True

    def assemble(self, build: NetworkBuilder) -> None:
        self.model = LightGBM.empty() if self.config.learner == "lightgbm" else Boosted.empty()

    def check(self, data: PUData) -> None:
        check(data, base_of("lightgbm", {}) if self.config.learner == "lightgbm" else None)

    def fit(self, data: PUData, run: Run[Config]) -> None:
        n_p, of_row = data.n_labeled, weights_of(data)
        self.known = Known(data.n_negative, self.config.eta) if data.n_negative else NONE
        parts = np.split(of_row, [n_p, len(of_row) - data.n_negative])
        self.of_row = np.concatenate([part / part.mean() for part in parts if len(part)])
        if self.config.form == "risk" and self.config.learner == "lightgbm":
            self._fit_lightgbm(data, run)
            return
        x = rows_of(data)
        trees: list[dict[str, Array]] = []
        score, none = np.zeros(len(x)), Categories((), x)
        order = np.argsort(x, axis=0, kind="stable") if self.config.form == "adapu" else None
        for _ in run.epochs(self.config.rounds, patience=self.config.patience):
            if order is not None:
                positive, negative = exponential_weights(score, n_p, data.unlabeled_prior, self.of_row, self.known)
                feature, threshold, right, wrong = best_stump(x, order, positive, negative)
                if trees and (wrong <= 0 or negative.sum() < 0):
                    break
                step = np.sign(right) * self.config.learning_rate * np.log(abs(right) / max(wrong, LEAST)) / 2
                trees.append(stump(feature, threshold, -step, step))
            elif self._ends(score, data):
                break
            else:
                trees.append(self._tree(x, score, n_p, data.unlabeled_prior, run))
            score += Trees(trees[-1:], x.shape[1]).sums(x)
            self.model = Boosted(Trees(trees, x.shape[1]), 0.0, none)

    def _ends(self, score: Array, data: PUData) -> bool:
        negative = risk_of_negatives(score, data.n_labeled, data.unlabeled_prior, self.of_row, self.known)
        return self.config.correction == "stop" and negative < 0

    def _tree(self, x: Array, score: Array, n_p: int, prior: float, run: Run[Config]) -> dict[str, Array]:
        """A regression tree on the Newton steps of the rows, whose leaves then take those of their sums."""
        from sklearn.tree import DecisionTreeRegressor

        c = self.config
        cut = c.correction == "clamp"
        found = logistic_risk(score, n_p, prior, self.of_row, non_negative=cut, known=self.known)
        weight = found.curvature + 1e-3 * self.of_row
        grower = DecisionTreeRegressor(
            max_depth=c.max_depth,
            min_samples_leaf=c.min_samples_leaf,
            random_state=int(run.numpy_rng.integers(2**31)),
        )
        grower.fit(x, -found.slope / weight, sample_weight=weight)
        leaf = grower.apply(x)
        n = grower.tree_.node_count
        slope, curvature = (np.bincount(leaf, values, n) for values in found)
        grower.tree_.value[:, 0, 0] = -c.learning_rate * slope / (curvature + c.l2)
        return of_regression_tree(grower)

    def _fit_lightgbm(self, data: PUData, run: Run[Config]) -> None:
        """The same rounds with LightGBM's trees."""
        import lightgbm

        c, x = self.config, rows_of(data).astype(np.float64)
        options = {
            "objective": "none",
            "learning_rate": c.learning_rate,
            "max_depth": c.max_depth,
            "num_leaves": 2**c.max_depth,
            "min_data_in_leaf": c.min_samples_leaf,
            "lambda_l2": c.l2,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": 1,
            "seed": int(run.numpy_rng.integers(2**31)),
            "verbose": -1,
        }

        scores = np.zeros(len(x))

        def objective(score: Array, rows: Any) -> Slopes:
            scores[:] = score
            cut, prior = c.correction == "clamp", data.unlabeled_prior
            found = logistic_risk(score, data.n_labeled, prior, self.of_row, non_negative=cut, known=self.known)
            return Slopes(found.slope, found.curvature + 1e-3 * self.of_row)

        booster = lightgbm.Booster(options, lightgbm.Dataset(x, np.zeros(len(x)), params=options))
        for _ in run.epochs(c.rounds, patience=c.patience):
            if self._ends(scores, data):
                break
            booster.update(fobj=objective)
            self.model = LightGBM(booster.model_to_string(), Categories((), x))

    def decision_function(self, x: Tensor) -> Tensor:
        return torch.from_numpy(self.model.margin(x.flatten(1).numpy()))

    def feature_importances(self) -> Array | None:
        return self.model.importances()
