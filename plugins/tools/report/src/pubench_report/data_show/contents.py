"""Content of the pictures of ``pubench data show``, as arrays and counts, which :mod:`.figures` draws."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench_core.data.dataset import IntArray
from pubench_core.plugins.info import DatasetInfo

if TYPE_CHECKING:
    from pubench_core.engine.problem import Problem

#: Images of one block: rows by columns.
GRID = (4, 12)


@dataclass(frozen=True)
class Block:
    """Some images of one group of rows, drawn at random without replacement.

    ``rows``: row numbers in the data set's array. ``images``: (len(rows), channels, height, width) as the pool stores
    them. ``positive``: how many of them are positive. ``total``: size of the group.
    """

    name: str
    rows: IntArray
    images: npt.NDArray[Any]
    positive: int
    total: int


@dataclass(frozen=True)
class ClassCount:
    """Rows of one class in the training pool; ``labeled`` of them carry a label."""

    name: str
    positive: bool
    rows: int
    labeled: int


@dataclass(frozen=True)
class Posterior:
    """The simulator's auxiliary posterior of every positive in the pool.

    ``logit``: (n_positive,) log-odds. ``labeled``: (n_positive,) bool.
    """

    logit: npt.NDArray[np.float64]
    labeled: npt.NDArray[np.bool_]

    @property
    def means(self) -> tuple[float, float]:
        """Mean of p(y = 1 | x) over all positives and over the labeled ones."""
        from scipy.special import expit

        p = expit(self.logit)
        return float(p.mean()), float(p[self.labeled].mean())


def blocks(problem: Problem, per_block: int = GRID[0] * GRID[1]) -> tuple[Block, Block, Block]:
    """Labeled positives, rows of U, positives without a label: at most ``per_block`` of each, by the problem's seed.

    In case-control, U contains the labeled positives once more.
    """
    from pubench_core.randomness import stream

    train, truth = problem.split.train, problem.truth_train
    assert truth is not None  # labels are simulated, so the truth is known
    groups = {
        "labeled positives": np.flatnonzero(train.labeled),
        "unlabeled rows U": train.unlabeled(problem.scheme),
        "hidden positives": np.flatnonzero((truth == 1) & ~train.labeled),
    }
    found = []
    for k, (name, group) in enumerate(groups.items()):
        drawn = stream(problem.seed, "show", k).choice(group, size=min(per_block, len(group)), replace=False)
        rows = train.rows[drawn]
        found.append(Block(name, rows, np.array(problem.data.x[rows]), int(truth[drawn].sum()), len(group)))
    return found[0], found[1], found[2]


def class_counts(problem: Problem, info: DatasetInfo) -> tuple[ClassCount, ...]:
    """Positive classes, then negative ones, in index order, of a problem made from a data set."""
    train, code, y = problem.split.train, problem.data.y, problem.data.classes
    assert code is not None
    assert y is not None
    counts = np.bincount(y[train.rows], minlength=len(info.classes))
    labeled = np.bincount(y[train.rows[train.labeled]], minlength=len(info.classes))
    return tuple(
        ClassCount(info.classes[k], side == 1, int(counts[k]), int(labeled[k]))
        for side in (1, 0)
        for k in np.unique(y[code == side])
    )


def posterior(problem: Problem, cache: Path | None) -> Posterior:
    """The auxiliary posterior, fitted on the training pool as the mechanisms that need it have it fitted."""
    from pubench_mechanisms.posterior import auxiliary_logit

    train, y = problem.split.train, problem.data.y
    assert y is not None
    positive = y[train.rows] == 1
    x = problem.preprocessing.apply(problem.data.x)
    kind = problem.preprocessing.kind
    logit = auxiliary_logit(x, y, train.rows, train.rows[positive], cache, preprocess=kind)
    return Posterior(logit, train.labeled[positive])
