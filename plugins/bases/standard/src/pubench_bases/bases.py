"""Bases: from a validated configuration to a classifier of class 1 against class 0, by name.

``trees`` (extremely randomized), ``forest`` (random), ``boosting``, ``logistic`` and ``unscaled-logistic`` are
scikit-learn's; ``kernel`` is its logistic regression on random Fourier features. ``lightgbm`` and ``xgboost`` need
their packages. ``package.module:callable`` is anybody's own: a callable that takes the configuration as keywords and
returns a scikit-learn classifier with ``predict_proba``, whose ``fit`` takes ``sample_weight``.

Defaults are smoother than scikit-learn's, because a part of class 0 is positive: leaves of 20 rows, 50 small trees, a
strong penalty. Every base computes in one thread: who has several fits several models at once, and gets the same bits.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict
from scipy.sparse import issparse
from scipy.sparse.linalg import norm
from threadpoolctl import ThreadpoolController, threadpool_limits

from pubench_core.errors import RequestError, counted
from pubench_core.specs.config import MethodConfig
from pubench_core.specs.fields import Field

from .models import Boosted, Categories, Forest, Fourier, LightGBM, Linear, Model, NormalScores, Skops, XGBoost
from .trees import Trees, of_decision_tree, of_histogram_boosting

Array = npt.NDArray[Any]

#: Features above which trees look at a random part of them at each split.
MANY_FEATURES = 2_000
#: Root mean square length that sparse rows are scaled to, so that a penalty means the same in any unit.
LENGTH = 10.0


class Base(ABC):
    """A kind of classifier. ``model``: what it learns; ``takes_gaps``: whether features may be NaN; ``takes_sparse``:
    whether rows may be a sparse matrix of scipy.
    """

    Config: ClassVar[type[MethodConfig]]
    model: ClassVar[type[Model]]
    takes_gaps: ClassVar[bool] = False
    takes_sparse: ClassVar[bool] = False
    needs: ClassVar[str] = ""

    def __init__(self, **config: Any) -> None:
        self.config: Any = self.Config.model_validate(config)
        #: Libraries with threads, when a first fit has loaded what it needs; to look for them takes as long as a tree
        self._pools: ThreadpoolController | None = None

    @property
    def member(self) -> Base:
        """The base of one member of an ensemble that draws its own rows: a tree rather than a forest."""
        return self

    def check(self) -> None:
        """Raises RequestError if a package that the base needs is not installed."""
        if self.needs and importlib.util.find_spec(self.needs) is None:
            raise RequestError(
                f"base {self.needs} is not installed; pip install 'pubench-bases[{self.needs}]'",
                field="method.config.base",
                value=self.needs,
            )

    def notes(self, d: int, categories: Sequence[tuple[int, int]] = ()) -> Iterator[str]:
        """Lines for the user on how the base treats rows of ``d`` features; ``categories`` as in :meth:`fit`."""
        yield from ()

    def fit(self, x: Array, y: Array, weight: Array, seed: int, categories: Sequence[tuple[int, int]] = ()) -> Model:
        """The model of (n, d) float32 rows ``x`` of class ``y`` (n,), 0 or 1, with (n,) weights.

        ``categories``: (first, stop) of the runs of features that are one-hot values of a category.
        """
        pools = self._pools
        with threadpool_limits(1) if pools is None else pools.limit(limits=1):
            found = self._fit(x, y, weight, seed, categories)
        self._pools = pools or ThreadpoolController()
        return found

    @abstractmethod
    def _fit(self, x: Array, y: Array, weight: Array, seed: int, categories: Sequence[tuple[int, int]]) -> Model: ...


class TreeConfig(MethodConfig):
    """Hyper-parameters of decision trees."""

    n_estimators: int = Field(100, ge=1, description="trees; a member of an ensemble that draws its own rows is one")
    max_features: Literal["auto", "sqrt", "third", "all"] = Field(
        "auto",
        description="features looked at per split; third: of all, one-hot values counted one by one. auto: sqrt; in a "
        "member of an ensemble that draws its own rows, if there are nominal columns, third of an ordinary tree",
    )
    max_depth: int | None = Field(None, ge=1, description="splits above a leaf at most; none: no limit")
    min_samples_leaf: int | None = Field(
        None,
        ge=1,
        description="rows of a leaf at least; more make a smaller model. none: 20, and 1 in a member of an ensemble "
        "that draws its own rows",
    )


class TreesBase(Base):
    """Extremely randomized trees: a random threshold per feature, the best of them splits."""

    Config = TreeConfig
    model = Forest
    takes_sparse = True
    alone = True
    by_columns = True
    _names = ("ExtraTreesClassifier", "ExtraTreeClassifier")

    @property
    def member(self) -> Base:
        one = type(self)(**self.config.model_dump())
        one.alone = False
        return one

    def notes(self, d: int, categories: Sequence[tuple[int, int]] = ()) -> Iterator[str]:
        if d > MANY_FEATURES and self.config.max_features in ("third", "all"):
            yield f"rows have {d:,} features, above {MANY_FEATURES:,}: trees look at their square root per split"
        if self._of_thirds(d, categories):
            columns = counted(len(categories), "nominal column")
            yield f"{columns}: bags grow ordinary trees, which look at a third of the features per split"

    def _of_thirds(self, d: int, categories: Sequence[tuple[int, int]]) -> bool:
        """Whether a member is an ordinary tree of a third of the features: a random threshold on one value of a rare
        category separates nothing, and most of the square root of the features are such values.
        """
        free = self.by_columns and self.config.max_features == "auto"
        return free and not self.alone and bool(categories) and d <= MANY_FEATURES

    def _fit(self, x: Array, y: Array, weight: Array, seed: int, categories: Sequence[tuple[int, int]]) -> Model:
        from sklearn import ensemble, tree

        c, d = self.config, x.shape[1]
        if self._of_thirds(d, categories):
            forest = ForestBase(**c.model_dump() | {"max_features": "third"})
            return forest.member.fit(x, y, weight, seed)
        per_split = {"third": max(1, round(d / 3)), "all": None} if d <= MANY_FEATURES else {}
        growth = {
            "max_depth": c.max_depth,
            "min_samples_leaf": c.min_samples_leaf or (20 if self.alone else 1),
            "max_features": per_split.get(c.max_features, "sqrt"),
            "random_state": seed,
        }
        several, one = self._names
        if self.alone:
            grown = getattr(ensemble, several)(c.n_estimators, n_jobs=1, **growth).fit(x, y, weight).estimators_
        else:
            grown = [getattr(tree, one)(**growth).fit(x, y, weight)]
        return Forest(Trees([of_decision_tree(each) for each in grown], x.shape[1]))


class ForestBase(TreesBase):
    """A random forest: the best threshold of few features; gaps go to the better side."""

    takes_gaps = True
    by_columns = False
    _names = ("RandomForestClassifier", "DecisionTreeClassifier")


class BoostingConfig(MethodConfig):
    """Hyper-parameters of gradient boosting."""

    n_estimators: int = Field(50, ge=1, description="trees, one per round")
    learning_rate: float = Field(0.1, gt=0, description="factor of every tree")
    max_leaf_nodes: int = Field(8, ge=2, description="leaves of a tree at most")
    min_samples_leaf: int = Field(20, ge=1, description="rows of a leaf at least")


class BoostingBase(Base):
    """Scikit-learn's histogram trees; categories are split into two sets, gaps go to the better side."""

    Config = BoostingConfig
    model = Boosted
    takes_gaps = True

    def _fit(self, x: Array, y: Array, weight: Array, seed: int, categories: Sequence[tuple[int, int]]) -> Model:
        from sklearn.ensemble import HistGradientBoostingClassifier

        c, coded = self.config, Categories(categories, x)
        values = coded.of(x)
        fitted = HistGradientBoostingClassifier(
            max_iter=c.n_estimators,
            learning_rate=c.learning_rate,
            max_leaf_nodes=c.max_leaf_nodes,
            min_samples_leaf=c.min_samples_leaf,
            early_stopping=False,
            categorical_features=list(range(len(categories))) or None,
            random_state=seed,
        ).fit(values, y, weight)
        trees, start = of_histogram_boosting(fitted)
        return Boosted(Trees(trees, values.shape[1]), start, coded)


class LogisticConfig(MethodConfig):
    """Hyper-parameters of logistic regression."""

    inverse_penalty: float = Field(0.01, gt=0, description="inverse of the L2 penalty (scikit-learn's C)")


class LogisticBase(Base):
    """Logistic regression with an L2 penalty, on standardized features, or on sparse rows of the length 10."""

    Config = LogisticConfig
    model = Linear
    takes_sparse = True

    def _fit(self, x: Array, y: Array, weight: Array, seed: int, categories: Sequence[tuple[int, int]]) -> Model:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        if issparse(x):  # one scale for all features: those of rare words would count most if each had its own
            length = float(norm(x)) / x.shape[0] ** 0.5 or 1.0
            mean, deviation = np.zeros(x.shape[1]), np.full(x.shape[1], length / LENGTH)
            scaled = x.astype(np.float64) * (LENGTH / length)
        else:
            mean, deviation = x.mean(axis=0, dtype=np.float64), x.std(axis=0, dtype=np.float64)
            deviation[deviation == 0] = 1
            scaled = (x - mean) / deviation
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # 1,000 steps: what is left moves no decision
            fitted = LogisticRegression(C=self.config.inverse_penalty, max_iter=1000)
            fitted.fit(scaled, y, weight)
        weights = fitted.coef_[0] / deviation
        return Linear(weights, float(fitted.intercept_[0] - weights @ mean))


class UnscaledLogisticConfig(MethodConfig):
    """Hyper-parameters of logistic regression on features as they are."""

    inverse_penalty: float = Field(1.0, gt=0, description="inverse of the L2 penalty (scikit-learn's C)")
    solver: Literal["lbfgs", "liblinear"] = Field(
        "lbfgs", description="liblinear penalizes the intercept too; both as scikit-learn has them"
    )
    tolerance: float = Field(
        1e-6, gt=0, description="of the solver; lbfgs stops here where scikit-learn 1.2 did at its default, 1e-4"
    )
    max_iter: int = Field(1000, ge=1, description="steps of the solver at most")


class UnscaledLogisticBase(Base):
    """Logistic regression on the features as they are, which published code of biased labels runs."""

    Config = UnscaledLogisticConfig
    model = Linear

    def _fit(self, x: Array, y: Array, weight: Array, seed: int, categories: Sequence[tuple[int, int]]) -> Model:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        c = self.config
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # where the published code stops is its result
            fitted = LogisticRegression(C=c.inverse_penalty, solver=c.solver, tol=c.tolerance, max_iter=c.max_iter)
            fitted.fit(x.astype(np.float64), y, weight)
        return Linear(fitted.coef_[0], float(fitted.intercept_[0]))


class KernelConfig(MethodConfig):
    """Hyper-parameters of logistic regression on random Fourier features."""

    inverse_penalty: float = Field(0.003, gt=0, description="inverse of the L2 penalty (scikit-learn's C)")
    features: int = Field(400, ge=1, description="random Fourier features")


class KernelBase(Base):
    """Logistic regression on random Fourier features of normal scores, which approximates a Gaussian kernel.

    Its width is the median distance of at most :data:`ROWS` rows. Weights are scaled to a sum of two for each row of
    class 1, so that the penalty means the same however many rows of U there are.
    """

    Config = KernelConfig
    model = Fourier
    ROWS = 400

    def _fit(self, x: Array, y: Array, weight: Array, seed: int, categories: Sequence[tuple[int, int]]) -> Model:
        from scipy.spatial.distance import pdist
        from sklearn.linear_model import LogisticRegression

        rng, c, columns = np.random.default_rng(seed), self.config, NormalScores(x)
        some = columns.of(x[rng.permutation(len(x))[: self.ROWS]])
        frequencies = rng.normal(size=(x.shape[1], c.features)) / (np.median(pdist(some)) or 1.0)
        phases = rng.uniform(0, 2 * np.pi, c.features)
        model = Fourier(columns, frequencies, phases, Linear(np.zeros(c.features), 0.0))
        weight = weight * (2 * np.count_nonzero(y) / weight.sum())
        fitted = LogisticRegression(C=c.inverse_penalty, max_iter=1000).fit(model.features(x), y, weight)
        model.linear = Linear(fitted.coef_[0], float(fitted.intercept_[0]))
        return model


class LightGBMBase(Base):
    """LightGBM's trees."""

    Config = BoostingConfig
    model = LightGBM
    takes_gaps = True
    needs = "lightgbm"

    def _fit(self, x: Array, y: Array, weight: Array, seed: int, categories: Sequence[tuple[int, int]]) -> Model:
        import lightgbm

        c, coded = self.config, Categories(categories, x)
        options = {
            "objective": "binary",
            "learning_rate": c.learning_rate,
            "num_leaves": c.max_leaf_nodes,
            "min_data_in_leaf": c.min_samples_leaf,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": 1,
            "seed": seed,
            "verbose": -1,
        }
        named = list(range(len(categories)))
        rows = lightgbm.Dataset(coded.of(x).astype(np.float64), y, weight=weight, categorical_feature=named)
        return LightGBM(lightgbm.train(options, rows, c.n_estimators).model_to_string(), coded)


class XGBoostConfig(MethodConfig):
    """Hyper-parameters of XGBoost."""

    n_estimators: int = Field(50, ge=1, description="trees, one per round")
    learning_rate: float = Field(0.1, gt=0, description="factor of every tree")
    max_depth: int = Field(3, ge=1, description="splits above a leaf at most")


class XGBoostBase(Base):
    """XGBoost's histogram trees."""

    Config = XGBoostConfig
    model = XGBoost
    takes_gaps = True
    needs = "xgboost"

    def _fit(self, x: Array, y: Array, weight: Array, seed: int, categories: Sequence[tuple[int, int]]) -> Model:
        import xgboost

        c = self.config
        options = {
            "objective": "binary:logistic",
            "tree_method": "hist",
            "max_depth": c.max_depth,
            "learning_rate": c.learning_rate,
            "nthread": 1,
            "seed": seed,
        }
        rows = xgboost.DMatrix(x, y, weight=weight, nthread=1)
        return XGBoost(xgboost.train(options, rows, c.n_estimators).save_raw("json").decode())


class AnyConfig(MethodConfig):
    """Hyper-parameters of your own base: any that its callable takes."""

    model_config = ConfigDict(extra="allow")


class OwnBase(Base):
    """A scikit-learn classifier that a callable makes; saved by skops."""

    Config = AnyConfig
    model = Skops
    takes_sparse = True

    def __init__(self, place: str, **config: Any) -> None:
        super().__init__(**config)
        self.place = place

    def check(self) -> None:
        module, _, name = self.place.partition(":")
        found = None
        if importlib.util.find_spec(module.partition(".")[0]) is not None and importlib.util.find_spec(module):
            found = getattr(importlib.import_module(module), name, None)
        if not callable(found):
            raise RequestError(
                f"base {self.place} cannot be imported; it must be package.module:callable of an installed package",
                field="method.config.base",
                value=self.place,
            )
        if importlib.util.find_spec("skops") is None:
            raise RequestError(
                f"base {self.place} is saved by skops, which is not installed; pip install 'pubench-bases[skops]'",
                field="method.config.base",
                value=self.place,
            )

    def _fit(self, x: Array, y: Array, weight: Array, seed: int, categories: Sequence[tuple[int, int]]) -> Model:
        made = _made({"class": self.place, **self.config.model_dump()})
        if "random_state" in made.get_params():
            made.set_params(random_state=seed)
        if not hasattr(made, "predict_proba"):
            raise RequestError(f"base {self.place} has no predict_proba", field="method.config.base", value=self.place)
        if hasattr(made, "steps"):  # a pipeline passes it on to its last step
            return Skops(made.fit(x, y, **{f"{made.steps[-1][0]}__sample_weight": weight}))
        return Skops(made.fit(x, y, sample_weight=weight))


def _made(value: Any) -> Any:
    """The value with every ``{"class": "package.module:callable", ...}`` in it called with the rest as keywords."""
    if isinstance(value, dict) and "class" in value:
        module, _, name = value["class"].partition(":")
        config = {key: _made(item) for key, item in value.items() if key != "class"}
        return getattr(importlib.import_module(module), name)(**config)
    return [_made(item) for item in value] if isinstance(value, list) else value


BASES: dict[str, type[Base]] = {
    "trees": TreesBase,
    "forest": ForestBase,
    "boosting": BoostingBase,
    "logistic": LogisticBase,
    "unscaled-logistic": UnscaledLogisticBase,
    "kernel": KernelBase,
    "lightgbm": LightGBMBase,
    "xgboost": XGBoostBase,
}
#: How a user's base is named.
PLACE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def base_of(name: str, config: dict[str, Any]) -> Base:
    """The base of this name. Raises ValueError for a configuration that it does not take."""
    return BASES[name](**config) if name in BASES else OwnBase(name, **config)
