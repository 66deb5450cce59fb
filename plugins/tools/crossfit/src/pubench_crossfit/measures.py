"""Values of criteria over the folds of a run: each row is measured with the rows that were held out with it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pubench_core.data.dataset import IntArray
from pubench_core.metric import FloatArray, Knowledge, Measurer, Scored


@dataclass(frozen=True)
class FoldPart:
    """``positions``: of the rows of one fold among all rows; ``knowledge``: what is known of them."""

    positions: IntArray
    knowledge: Knowledge

    def scored(self, scores: FloatArray) -> Scored:
        """The fold's rows with their scores. ``scores``: (n,) of all rows."""
        return Scored.of(scores[self.positions], self.knowledge)


def parts_of_folds(known: Knowledge, fold: IntArray) -> list[FoldPart]:
    """Knowledge of each fold. ``fold``: (n,) number of the fold of each row."""
    found = []
    for number in np.unique(fold):
        positions = np.flatnonzero(fold == number)
        place = np.full(len(fold), -1)
        place[positions] = np.arange(len(positions))
        of_fold = {
            name: place[rows][place[rows] >= 0]
            for name in ("labeled", "unlabeled")
            if (rows := getattr(known, name)) is not None
        }
        truth = None if known.truth is None else known.truth[positions]
        found.append(FoldPart(positions, replace(known, truth=truth, **of_fold)))
    return found


def value_over_folds(name: str, scores: FloatArray, parts: Sequence[FoldPart], measurer: Measurer) -> float | None:
    """Value of a criterion under cross-fitting, its mean over the folds. ``scores``: (n,) out of fold, of all rows."""
    return mean_over_folds([measurer.measure(name, part.scored(scores)).value for part in parts])


def mean_over_folds(values: Sequence[float | None]) -> float | None:
    """Mean of the values of the folds; None if one has none."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if len(known) == len(values) else None
