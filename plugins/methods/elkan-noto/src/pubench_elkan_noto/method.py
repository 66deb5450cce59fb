"""Elkan-Noto: p(y=1|x) from a classifier of labeled against unlabeled rows and the label frequency.

Paper: Elkan, Noto, KDD 2008. No official code. Follows its sections 2 (``form: scaling``) and 3 (``form: weighting``):
g(x) = p(s=1|x), and under SCAR p(y=1|x) = g(x) / c with c = p(s=1|y=1), estimated by e1, e2 or e3. Every g that enters
an estimate is out of fold, calibrated. Case-control data, which the paper does not have, are covered by the same
odds: a row of U is positive with probability (1-c)/c g/(1-g), where c = n_P / (n_P + π n_U) if π is known. What
exceeds 1 is clipped, and reported if a quarter of the posterior's sum is lost: SCAR or the calibration fails then.
Known negatives are rows without a label whose posterior is 0.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from pubench_bases.fitting import (
    BaseConfig,
    array_of,
    at_prior,
    check,
    first_above,
    folds_of,
    in_part,
    is_population,
    out_of_fold,
    prepared,
    weights_of,
)
from pubench_bases.models import Model
from scipy.special import expit, logit
from torch import Tensor

from pubench.method import Field, Method, NetworkBuilder, PUData, Run

Array = npt.NDArray[Any]
Calibrate = Literal["none", "sigmoid", "isotonic"]

#: Share of the posterior's sum over U that lies above 1, from which on it is reported. How many rows lie there says
#: nothing: a sure positive does in half of the cases. Trees, c from .05 to .5: .06 to .15 on Spambase and Letter with
#: SCAR labels, .2 on 400 rows; on Spambase .16 to .65 with labels by S2, S3 and S4.
TOO_MUCH = 0.25


class Config(BaseConfig):
    form: Literal["scaling", "weighting"] = Field(
        "scaling",
        description="scaling divides by the label frequency; weighting refits on U as positive and negative in part",
    )
    calibrate: Calibrate = Field("sigmoid", description="how scores become probabilities of being labeled")
    frequency: Literal["auto", "e1", "e2", "e3"] = Field(
        "auto",
        description="label frequency: mean over P (e1), share of the sum of all (e2), largest (e3). auto: by the prior "
        "if U is a draw of the population and the prior is given, else e1",
    )
    folds: int = Field(5, ge=2, description="folds of the scores that everything is estimated with")
    threshold: Literal["auto", "prior", "posterior", "half"] = Field(
        "auto",
        description="a row is positive above the score that: leaves the prior's share of U positive (prior); means a "
        "posterior of 1/2 (posterior); is 1/2 (half). auto: prior if one is given, else posterior",
    )


# ---------------------------------------------------------------- the formulas


def label_frequency(g: Array, labeled: Array, estimator: str, weight: Array) -> float:
    """The paper's e1, e2 or e3 from (n,) probabilities g of being labeled; ``labeled``: (n,) bool; ``weight``: (n,)."""
    if estimator == "e3":
        return float(g.max())
    sum_p = (weight * g)[labeled].sum()
    return float(sum_p / (weight[labeled].sum() if estimator == "e1" else (weight * g).sum()))


def unlabeled_posterior(g: Array, c: float) -> Array:
    """(n,) p(y=1 | x, s=0) = (1-c)/c g/(1-g) of rows of U, not clipped; infinite if g is 1 and c is not."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(c >= 1, 0.0, (1 - c) / c * g / (1 - g)))


def population_posterior(g: Array, c: float, *, population: bool) -> Array:
    """(n,) p(y=1 | x) of a draw of the population, not clipped.

    ``population``: U itself is such a draw, so that its rows are of it (case-control); else P and U together are.
    """
    return unlabeled_posterior(g, c) if population else g / c


def calibration(scores: Array, labeled: Array, kind: Calibrate, weight: Array) -> Array:
    """Numbers of the map from scores in [0, 1] to probabilities; see :func:`calibrated`. ``weight``: (n,) of rows."""
    from sklearn.isotonic import IsotonicRegression
    from sklearn.linear_model import LogisticRegression

    if kind == "sigmoid":
        fitted = LogisticRegression(C=1e6).fit(_log_odds(scores)[:, None], labeled, weight)
        return np.array([fitted.coef_[0, 0], fitted.intercept_[0]])
    if kind == "isotonic":
        steps = IsotonicRegression(y_min=0, y_max=1).fit(scores, labeled, weight)
        return np.stack([steps.X_thresholds_, steps.y_thresholds_])
    return np.zeros(0)


def calibrated(scores: Array, kind: Calibrate, numbers: Array) -> Array:
    """(n,) probabilities of being labeled."""
    if kind == "sigmoid":
        return np.asarray(expit(numbers[0] * _log_odds(scores) + numbers[1]))
    return np.interp(scores, *numbers) if kind == "isotonic" else scores


def _log_odds(scores: Array) -> Array:
    """A tree's share may be 0 or 1."""
    return np.asarray(logit(np.clip(scores, 1e-3, 1 - 1e-3)))


class ElkanNoto(Method[Config]):
    scored_by = ("model", "threshold", "calibration", "c", "population")

    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"} if config.threshold == "prior" else ())

    @classmethod
    def uses(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"})

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
        x, classes = prepared(data, base, run)
        labeled, everything, of_row = classes > 0, np.arange(len(classes)), weights_of(data)

        def labeled_or_not(rows: Array, seed: int) -> Model:
            return base.fit(x[rows], classes[rows], of_row[rows], seed, data.categories)

        for _ in run.epochs(1, patience=None):
            seeds = run.numpy_rng.integers(2**31, size=(2, c.folds + 1))
            fold = folds_of(data, c.folds, run.numpy_rng)
            scores = out_of_fold(labeled_or_not, x, fold, seeds[0], run.threads)
            self.calibration = calibration(scores, classes, c.calibrate, of_row)
            self.population = is_population(data)
            g = calibrated(scores, c.calibrate, self.calibration)
            self.c = self._frequency(g, labeled, data)
            weight = unlabeled_posterior(g, self.c)
            weight[data.negative_rows.numpy()] = 0
            self._report_above_1(weight[~labeled], run)
            if c.form == "weighting":
                refit = in_part(base, x, np.minimum(np.nan_to_num(weight, nan=0.0), 1), data)
                self.model = refit(everything, int(seeds[1, -1]))
                scores = out_of_fold(refit, x, fold, seeds[1], run.threads)
            else:
                self.model = labeled_or_not(everything, int(seeds[0, -1]))
            self.threshold = self._threshold(scores, data)

    def _frequency(self, g: Array, labeled: Array, data: PUData) -> float:
        weight = weights_of(data)
        if self.config.frequency == "auto" and self.population and data.knows_prior:
            p, u = float(weight[labeled].sum()), float(weight[data.unlabeled_rows.numpy()].sum())
            return p / (p + data.unlabeled_prior * u)
        found = label_frequency(g, labeled, "e1" if self.config.frequency == "auto" else self.config.frequency, weight)
        return float(np.clip(found, 1e-9, 1))

    def _report_above_1(self, posterior: Array, run: Run[Config]) -> None:
        clipped = np.minimum(np.nan_to_num(posterior, nan=0.0), 1)
        excess = 1 - clipped.sum() / max(np.nan_to_num(posterior, nan=0.0, posinf=np.inf).sum(), 1e-12)
        if excess > TOO_MUCH:
            run.warn(
                f"{100 * (posterior > 1).mean():.3g} % of the unlabeled rows have a posterior above 1, clipped there, "
                f"and {100 * excess:.3g} % of its sum is lost: the order of the scores may still be right, "
                "probabilities are not; labels may not be a random draw of the positives, or the calibration "
                f"({self.config.calibrate}) may fail"
            )

    def _threshold(self, scores: Array, data: PUData) -> float:
        wanted, ascending = self.config.threshold, np.unique(scores)
        if wanted == "prior" or (wanted == "auto" and data.knows_prior):
            return at_prior(scores, data)
        if self.config.form == "weighting":
            return 0.5  # the refitted base's probability is the posterior
        g = calibrated(ascending, self.config.calibrate, self.calibration)
        found = g if wanted == "half" else population_posterior(g, self.c, population=self.population)
        return first_above(ascending, found > 0.5)

    def decision_function(self, x: Tensor) -> Tensor:
        """The base's own score above the threshold: calibration would make ties."""
        return torch.from_numpy(self.model.probability(array_of(x)) - self.threshold)

    def feature_importances(self) -> Array | None:
        return self.model.importances()

    def coefficients(self) -> Array | None:
        return self.model.coefficients()

    def auxiliary_scores(self, x: Tensor) -> dict[str, Tensor]:
        """``posterior``: p(y=1|x) in [0, 1]."""
        scores = self.model.probability(array_of(x))
        if self.config.form == "weighting":
            return {"posterior": torch.from_numpy(scores)}
        g = calibrated(scores, self.config.calibrate, self.calibration)
        posterior = population_posterior(g, self.c, population=self.population)
        return {"posterior": torch.from_numpy(np.clip(np.nan_to_num(posterior, nan=0.0), 0, 1))}
