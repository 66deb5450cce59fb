"""SAR-EM: a classifier f(x) = P(y=1|x) and the propensity e(x) = P(s=1|y=1,x), by expectation maximization.

Paper: Bekker, Robberechts, Davis, ECML PKDD 2019. Official code: ML-KULeuven/SAR-PU, commit 6e4fc3d. A copy that
clips, TimoM99/PUBiasCalibration, commit ae378c1, is what AISTATS 2025 compares and what this follows. In both, the last
fit has rows of negative weight, which liblinear drops: it is labeled rows with weight 1/e against unlabeled rows
with weight 1, and so it is here for every base. Own: bases other than logistic regression, scores out of fold in the
E-step, and a constant propensity that divides by the positives (the official one divides by all rows and never moves).

With all columns for both, only the product f e = P(s=1|x) is determined by the data; the rest is the start and the
penalty. The pool is one sample of which a part is labeled: under case-control U, without labels of a second sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import torch
from pubench_bases.fitting import BaseConfig
from pubench_bases.models import Linear
from scipy.special import logit
from torch import Tensor

from pubench.method import Field, Method, NetworkBuilder, PUData, RequestError, Run

from .weighted import ScoredConfig, learner, pool

Array = npt.NDArray[Any]
#: Likelihoods and propensities of so many rounds decide whether it stops, and by how much they may move.
WINDOW, TOLERANCE = 10, 1e-4


class Config(ScoredConfig):
    propensity: BaseConfig = Field(
        BaseConfig(base="logistic"), description="base of the propensity, as base and base_config"
    )
    propensity_columns: Literal["all", "none"] | tuple[int, ...] = Field(
        "all", description="features that the propensity may depend on: all, none, or their positions from 0"
    )
    constant: Literal["positives", "official"] = Field(
        "positives", description="a constant propensity is the labeled share of the positives, or, as published, of all"
    )
    rounds: int = Field(10, ge=1, description="rounds of expectation and maximization at most")
    clip: float = Field(1e-4, gt=0, lt=0.5, description="f and e are kept this far from 0 and 1")
    reweighted: bool = Field(True, description="end with labeled rows of weight 1/e against unlabeled rows")

    @property
    def takes_gaps(self) -> bool:
        """Whether both bases take NaN."""
        return self.made.takes_gaps and self.propensity.made.takes_gaps

    def columns(self, d: int) -> Array:
        """Positions of the propensity's features among ``d``. Raises RequestError for one beyond them."""
        if isinstance(self.propensity_columns, str):
            return np.arange(d if self.propensity_columns == "all" else 0)
        found = np.unique(np.array(self.propensity_columns, np.int64))
        if len(found) and not (found[0] >= 0 and found[-1] < d):
            raise RequestError(
                f"propensity_columns must be in 0 to {d - 1}, got {', '.join(map(str, self.propensity_columns))}",
                field="method.config.propensity_columns",
                value=self.propensity_columns,
            )
        return found


# ---------------------------------------------------------------- the formulas


def posterior(f: Array, e: Array, labeled: Array) -> Array:
    """(n,) P(y=1 | x, s): 1 for labeled rows, f (1-e) / (1 - f e) for the others."""
    return np.asarray(np.where(labeled, 1.0, f * (1 - e) / (1 - f * e)))


def expected_log_likelihood(f: Array, e: Array, labeled: Array, clip: float) -> float:
    """Mean expected complete log-likelihood, which need not rise: what the published code watches."""
    hidden, negative = (np.clip(p, clip, 1 - clip) if clip else p for p in (f * (1 - e), 1 - f))
    share = hidden / (hidden + negative)
    return float(np.where(labeled, np.log(f * e), share * np.log(hidden) + (1 - share) * np.log(negative)).mean())


def refit_weights(e: Array, labeled: Array) -> tuple[Array, Array]:
    """(n,) weights of every row as positive and as negative after the last round; negative for labeled rows."""
    return labeled / e, (1 - labeled) + labeled * (1 - 1 / e)


def slopes(rows: Array) -> Array:
    """(n,) least-squares slope of each row of (n, k) numbers against their position."""
    position = np.arange(rows.shape[1]) - (rows.shape[1] - 1) / 2
    return np.asarray(rows @ position / (position @ position))


def movement(likelihoods: Sequence[float], propensities: Sequence[Array], labeled: Array) -> tuple[float, float]:
    """(rise of the likelihood, mean steepness of the propensities of unlabeled rows) over the last rounds."""
    recent = likelihoods[-WINDOW:]
    steepness = np.abs(slopes(np.stack(propensities[-WINDOW:], axis=1)[~labeled])).mean()
    return max(recent) - recent[0], float(steepness)


class Scored(Protocol):
    """Learner of one half of the algorithm."""

    def scores(self, positive: Array, negative: Array) -> Array: ...


@dataclass
class Constant:
    """A propensity without columns; ``official``: the labeled share of all rows, whatever the weights."""

    official: bool

    def scores(self, positive: Array, negative: Array) -> Array:
        total = len(positive) if self.official else positive.sum() + negative.sum()
        return np.full(len(positive), positive.sum() / total)


@dataclass(frozen=True)
class Round:
    """State after a round, in which rows were positive with ``weight``; see :func:`movement` for the last two."""

    f: Array
    e: Array
    weight: Array
    posterior: Array
    log_likelihood: float
    rise: float = np.nan
    steepness: float = np.nan


def maximize(f: Scored, e: Scored, labeled: Array, *, rounds: int, clip: float) -> Iterator[Round]:
    """The start, then a state for each round until nothing moves; ``labeled``: (n,) bool."""

    likelihoods: list[float] = []
    propensities: list[Array] = []

    def state(f_now: Array, weight: Array) -> Round:
        f_now, e_now = (np.clip(p, clip, 1 - clip) for p in (f_now, e.scores(labeled * weight, ~labeled * weight)))
        likelihoods.append(expected_log_likelihood(f_now, e_now, labeled, clip))
        propensities.append(e_now)
        watched = len(likelihoods) > WINDOW + 2
        moved = movement(likelihoods, propensities, labeled) if watched else (np.nan, np.nan)
        return Round(f_now, e_now, weight, posterior(f_now, e_now, labeled), likelihoods[-1], *moved)

    share = labeled.mean()
    start = f.scores(labeled * (1 - share), ~labeled * share)
    now = state(start, np.where(labeled, 1.0, start))
    yield now
    for _ in range(rounds):
        q = now.posterior
        now = state(f.scores(q, 1 - q), q)
        yield now
        if now.rise < TOLERANCE and now.steepness < TOLERANCE:
            return


class SarEM(Method[Config]):
    scored_by = ("model", "propensity", "columns")

    @classmethod
    def takes_gaps(cls, config: Config) -> bool:
        return config.takes_gaps

    def assemble(self, build: NetworkBuilder) -> None:
        self.model = self.config.made.model.empty()
        constant = self.config.propensity_columns in ("none", ())
        self.propensity = Linear.empty() if constant else self.config.propensity.made.model.empty()

    def check(self, data: PUData) -> None:
        self.config.check(data)
        self.config.propensity.made.check()
        self.config.columns(int(np.prod(data.shape)))

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c = self.config
        _, x, labeled = pool(data)
        for line in c.made.notes(x.shape[1]):
            run.warn(line)
        for _ in run.epochs(1, patience=None):
            self.columns = c.columns(x.shape[1])
            f = learner(c, c.made, data, run, np.arange(x.shape[1]))
            e = learner(c, c.propensity.made, data, run, self.columns)
            constant = Constant(c.constant == "official")
            *_, last = maximize(f, e if len(self.columns) else constant, labeled, rounds=c.rounds, clip=c.clip)
            q = last.weight
            self.model = f.model(*refit_weights(last.e, labeled)) if c.reweighted else f.model(q, 1 - q)
            if len(self.columns):
                self.propensity = e.model(labeled * q, ~labeled * q)
            else:
                self.propensity = Linear(np.zeros(0), float(logit(last.e[0])))

    def decision_function(self, x: Tensor) -> Tensor:
        return torch.from_numpy(self.model.probability(x.flatten(1).numpy()) - 0.5)

    def auxiliary_scores(self, x: Tensor) -> dict[str, Tensor]:
        """``propensity``: e(x), the estimated probability that a positive row is labeled."""
        return {"propensity": torch.from_numpy(self.propensity.probability(x.flatten(1).numpy()[:, self.columns]))}
