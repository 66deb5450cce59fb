"""Weighted fits of a base on a pool of which some rows carry a label: what the methods of this package share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pubench_bases.bases import Base
from pubench_bases.fitting import BaseConfig, folds_of, out_of_fold, rows_of
from pubench_bases.fitting import check as check_base
from pubench_bases.models import Model

from pubench.method import Field, PUData, Run

Array = npt.NDArray[Any]


class ScoredConfig(BaseConfig):
    """A base, and which of its scores of its own rows are used."""

    scores: Literal["out-of-fold", "in-sample"] = Field(
        "out-of-fold",
        description="scores of the training rows: by models that did not see them, or as the published code has them; "
        "trees know the rows that they saw",
    )
    folds: int = Field(5, ge=2, description="folds of the out-of-fold scores")

    def check(self, data: PUData) -> None:
        """Raises RequestError for a base that is not installed, or too few labels for folds."""
        if self.scores == "out-of-fold":
            check_base(data, self.made)
        else:
            self.made.check()


def pool(data: PUData) -> tuple[Array, Array, Array]:
    """((m,) positions of one row per instance, (m, d) their features, (m,) bool: who is labeled).

    In case-control U holds the labeled rows too, so that U alone is the pool.
    """
    rows, instance = data.distinct_rows.numpy(), data.instance.numpy()
    labeled = np.isin(instance[rows], instance[data.labeled_rows.numpy()])
    return rows, rows_of(data)[rows], labeled


class Learner:
    """Fits a base on every row as positive with one weight and as negative with another; weights up to 0 drop out.

    The published code passes negative weights on, and liblinear drops them without a word. ``fold``: (n,) for scores
    out of fold, None for scores in sample. Seeds are the same in every fit: fits differ by their weights alone.
    """

    def __init__(
        self,
        base: Base,
        x: Array,
        seeds: Array,
        *,
        fold: Array | None = None,
        categories: Sequence[tuple[int, int]] = (),
        threads: int = 1,
    ) -> None:
        self.base, self.x, self.seeds, self.fold = base, x, seeds, fold
        self.categories, self.threads = categories, threads

    def model(self, positive: Array, negative: Array) -> Model:
        """The base fitted on all rows; ``positive``, ``negative``: (n,) weights."""
        return self._fit(np.arange(len(self.x)), positive, negative, int(self.seeds[-1]))

    def scores(self, positive: Array, negative: Array) -> Array:
        """(n,) probability of each row."""
        if self.fold is None:
            return self.model(positive, negative).probability(self.x)

        def fit(rows: Array, seed: int) -> Model:
            return self._fit(rows, positive, negative, seed)

        return out_of_fold(fit, self.x, self.fold, self.seeds, self.threads)

    def _fit(self, rows: Array, positive: Array, negative: Array, seed: int) -> Model:
        p, n = rows[positive[rows] > 0], rows[negative[rows] > 0]
        weight = np.concatenate([positive[p], negative[n]])
        classes = np.repeat([1, 0], [len(p), len(n)])
        return self.base.fit(self.x[np.concatenate([p, n])], classes, weight, seed, self.categories)


def learner(config: ScoredConfig, base: Base, data: PUData, run: Run[Any], columns: Array) -> Learner:
    """The learner of a base on these columns of the pool."""
    rows, x, _ = pool(data)
    fold = folds_of(data, config.folds, run.numpy_rng)[rows] if config.scores == "out-of-fold" else None
    runs = [run for run in data.categories if set(range(*run)) <= set(columns.tolist())]
    return Learner(
        base,
        x[:, columns],
        run.numpy_rng.integers(2**31, size=config.folds + 1),
        fold=fold,
        categories=[tuple(np.searchsorted(columns, run)) for run in runs],
        threads=run.threads,
    )
