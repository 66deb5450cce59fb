"""Tools of methods around a base: configuration, honest scores of the rows they train on, thresholds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError, ValidationInfo, field_validator
from scipy.sparse import csr_matrix

from pubench_core.errors import RequestError
from pubench_core.specs.config import MethodConfig
from pubench_core.specs.fields import Field
from pubench_core.training.run import Run
from pubench_core.training.views import PUData, PUPart

from .bases import BASES, PLACE, Base, base_of
from .models import Model

if TYPE_CHECKING:
    from torch import Tensor

Array = npt.NDArray[Any]
Item = TypeVar("Item")
Found = TypeVar("Found")
#: (positions of rows, seed) -> the model of those rows.
Fit = Callable[[Array, int], Model]

#: Labeled rows below which no method of this kind begins.
FEWEST = 10
#: Base -> names of its hyper-parameters.
SETTINGS = {name: ", ".join(base.Config.model_fields) for name, base in BASES.items()}


class BaseConfig(MethodConfig):
    """Which base a method trains."""

    base: str = Field(
        "trees",
        description="classifier that is trained: trees, forest, boosting, logistic, unscaled-logistic, kernel; "
        "lightgbm, xgboost (extras); or package.module:callable",
    )
    base_config: dict[str, Any] = Field(
        default_factory=dict,
        description="hyper-parameters of the base, such as base_config.max_features=all; of "
        + "; ".join(f"{base}: {names}" for base, names in SETTINGS.items()),
    )

    @field_validator("base")
    @classmethod
    def _known(cls, given: str) -> str:
        if given not in BASES and not PLACE.fullmatch(given):
            raise ValueError(f"base must be {', '.join(BASES)} or package.module:callable, got {given}")
        return given

    @field_validator("base_config")
    @classmethod
    def _complete(cls, given: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        """Every hyper-parameter of the base, so that a record says them all."""
        if "base" not in info.data:
            return given
        try:
            made: dict[str, Any] = base_of(info.data["base"], given).config.model_dump(mode="json")
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(map(str, first["loc"]))
            known = SETTINGS.get(info.data["base"], "")
            if first["type"] == "extra_forbidden" and known:
                raise ValueError(f"{info.data['base']} has no '{name}'; known: {known}") from None
            raise ValueError(f"{info.data['base']} cannot take {name}: {first['msg']}") from None
        return made

    @property
    def made(self) -> Base:
        """The base, so configured."""
        return base_of(self.base, self.base_config)


def check(data: PUData, base: Base | None = None) -> None:
    """Raises RequestError for fewer than :data:`FEWEST` labeled rows, or a base whose package is not installed."""
    if base is not None:
        base.check()
    if data.n_labeled < FEWEST:
        enough = data.n_labeled + data.validation.n_labeled >= FEWEST
        instead = ", or hold out none (no folds): validation.fraction=0 selection.criterion=last" if enough else ""
        raise RequestError(
            f"{data.n_labeled} labeled rows are left to train on, and at least {FEWEST} are needed; label more rows"
            f"{instead}",
            field="mechanism.c",
            value=data.n_labeled,
        )


def array_of(x: Tensor) -> Array:
    """(n, d) float32 rows, flattened; a sparse matrix of scipy if they are sparse."""
    if not x.is_sparse_csr:
        return x.flatten(1).contiguous().numpy()
    parts = x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy()
    found: Array = csr_matrix(parts, tuple(x.shape))  # of the same words, as far as they are used here
    return found


def rows_of(data: PUPart) -> Array:
    """(n, d) float32: every row of the table LP ‖ U, as :func:`array_of` gives them."""
    return array_of(data.x)


def prepared(data: PUData, base: Base, run: Run[Any]) -> tuple[Array, Array]:
    """(n, d) rows and (n,) 1 for the labeled ones, with what the base has to say of such rows passed on."""
    x = rows_of(data)
    for line in base.notes(x.shape[1], data.categories):
        run.warn(line)
    return x, data.labeled.numpy().astype(np.int64)


def is_population(data: PUData) -> bool:
    """Whether U is a draw of the population, rather than what was left unlabeled of one."""
    drawn = data.scheme in ("case-control", "two-sample")
    return drawn or len(data.distinct_rows) == data.n_unlabeled  # U holds the labeled rows too


def weights_of(data: PUData) -> Array:
    """(n,) weights of the rows of LP ‖ U; their mean is 1."""
    return np.ones(len(data)) if data.weight is None else (data.weight / data.weight.mean()).numpy()


def balanced(y: Array, weight: Array | None = None) -> Array:
    """(n,) weights with which both classes weigh the same; their sum is that of ``weight``, by default 1 for a row."""
    weight = np.ones(len(y)) if weight is None else weight
    totals = np.bincount(y, weight, minlength=2)
    return np.asarray(weight * (weight.sum() / (2 * totals[y])))


def in_parallel(work: Callable[[Item], Found], items: Sequence[Item], threads: int) -> Iterator[Found]:
    """Results of ``work`` for each item, in their order; few results wait at a time."""
    with ThreadPoolExecutor(threads) as pool:
        for start in range(0, len(items), 4 * threads):
            yield from pool.map(work, items[start : start + 4 * threads])


# -------------------------------------------------------------------- scores of rows by models that did not see them


def folds_of(data: PUData, folds: int, rng: np.random.Generator) -> Array:
    """(n,) the fold of each row. All rows of a group are in one; groups with labels, those with known negatives and the
    others are dealt evenly.

    Raises RequestError if all labeled rows are of one group.
    """
    group, labeled = data.group.numpy(), data.labeled.numpy()
    positive, negative = np.unique(group[labeled]), np.unique(group[data.negative_rows.numpy()])
    if len(positive) < 2:
        raise RequestError(
            "the labeled rows to train on are of one group, and folds need two; label rows of other groups, or leave "
            "out data.own.groups",
            field="data.own.groups",
        )
    fold = np.empty(group.max() + 1, np.int64)
    others = np.setdiff1d(group, np.concatenate([positive, negative]))
    for groups in (positive, others, np.setdiff1d(negative, positive)):
        fold[rng.permutation(groups)] = np.arange(len(groups)) % folds
    return np.asarray(fold[group])


def out_of_fold(fit: Fit, x: Array, fold: Array, seeds: Array, threads: int = 1) -> Array:
    """(n,) probability of each row by the model that ``fit(rows, seed)`` made of the rows of all other folds."""

    def held_out(k: int) -> tuple[Array, Array]:
        rows = np.flatnonzero(fold == k)
        return rows, fit(np.flatnonzero(fold != k), int(seeds[k])).probability(x[rows])

    scores = np.empty(x.shape[0])
    for rows, found in in_parallel(held_out, range(fold.max() + 1), threads):
        scores[rows] = found
    return scores


# -------------------------------------------------------------------- thresholds


def at_share(scores: Array, share: float, weight: Array | None = None) -> float:
    """The threshold above which a share of the scores lies that is the nearest to ``share``; ties stay together.

    ``weight``: (n,) of the scores, by default 1.
    """
    values, which = np.unique(scores, return_inverse=True)
    counts = np.bincount(which, weight)
    above = counts.sum() - np.cumsum(counts)
    k = int(np.abs(above - share * counts.sum()).argmin())
    return float(values[k : k + 2].mean())


def at_prior(scores: Array, data: PUData) -> float:
    """The threshold above which the prior's share of U lies, by the rows' weights.

    ``scores``: (n,) of the table LP ‖ U; rows of U without one (NaN) are left out.
    """
    rows = slice(data.n_labeled, data.n_labeled + data.n_unlabeled)
    of_unlabeled, weight = scores[rows], weights_of(data)[rows]
    known = np.isfinite(of_unlabeled)
    return at_share(of_unlabeled[known], data.unlabeled_prior, weight[known])


def at_posterior(scores: Array, labeled: Array, data: PUData) -> float:
    """The threshold above which p(y = 1 | x) of the population exceeds 1/2, by isotonic regression.

    With r(x) = p(x | s=1) / p(x | U), the odds of scores with both classes weighing the same: p(y=1|x) is π r if U is a
    draw of the population, and (n_P + π_U n_U) r / (n_P r + n_U) if U is what was left unlabeled.
    """
    from sklearn.isotonic import IsotonicRegression

    n_p, n_u, share = data.n_labeled, data.n_unlabeled, data.unlabeled_prior
    odds = 1 / (2 * share) if is_population(data) else n_u / (n_p + 2 * share * n_u)
    known = np.isfinite(scores)
    known[n_p + n_u :] = False  # of known negatives
    weight = balanced(labeled[known], weights_of(data)[known])
    values = np.unique(scores[known])
    fitted = IsotonicRegression(y_min=0, y_max=1).fit(scores[known], labeled[known], weight)
    return first_above(values, fitted.predict(values) > odds / (1 + odds))


def first_above(values: Array, above: Array) -> float:
    """The threshold on ascending ``values`` from which on they are ``above``; the largest if none is."""
    found = np.flatnonzero(above)
    return float(values[max(found[0] - 1, 0) : found[0] + 1].mean()) if len(found) else float(values[-1])


def on_classes(base: Base, x: Array, classes: Array, data: PUData) -> Fit:
    """Function that fits a base on rows of known class, both weighing the same; ``classes``: (n,) 1 or 0, else -1."""
    weight = weights_of(data)

    def fit(rows: Array, seed: int) -> Model:
        rows = rows[classes[rows] >= 0]
        return base.fit(x[rows], classes[rows], balanced(classes[rows], weight[rows]), seed, data.categories)

    return fit


def in_part(base: Base, x: Array, weight: Array, data: PUData) -> Fit:
    """Function that fits a base on every row of U as positive with its weight and as negative with the rest of 1.

    ``weight``: (n,) in [0, 1]. Labeled rows are positive with weight 1.
    """
    unlabeled, of_row = ~data.labeled.numpy(), weights_of(data)

    def fit(rows: Array, seed: int) -> Model:
        p, u = rows[~unlabeled[rows]], rows[unlabeled[rows]]
        classes = np.repeat([1, 1, 0], [len(p), len(u), len(u)])
        share = np.concatenate([np.ones(len(p)), weight[u], 1 - weight[u]])
        taken = np.concatenate([p, u, u])
        return base.fit(x[taken], classes, share * of_row[taken], seed, data.categories)

    return fit
