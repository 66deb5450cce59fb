"""Folds of a run with ``validation.folds``: the runs that it joins, and values of criteria over them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pubench_core.data.dataset import IntArray
from pubench_core.metric import FloatArray, Knowledge, Measurer, Scored
from pubench_core.specs.run import run_id

if TYPE_CHECKING:
    from pubench_core.engine.plan import Plan


def folds_of(plan: Plan) -> list[Plan]:
    """The runs that a plan joins, each of which keeps the scores that are joined; empty for a run that joins none."""
    validation = plan.spec.validation
    return [_fold(plan, number) for number in range(1, (validation.folds or 0) + 1)] if validation.joint else []


def refit_of(plan: Plan) -> Plan | None:
    """The run on all rows whose model scores new ones; None if the mean of the folds does, and for other runs."""
    if plan.spec.validation.refit == "mean":
        return None
    selection = plan.spec.selection.model_copy(update={"criterion": "last", "criteria": ("last",), "goal": None})
    return _fold(plan, 0, selection=selection)


def parts_of(plan: Plan) -> list[Plan]:
    """The folds of a plan, then the run on all rows if there is one."""
    refit = refit_of(plan)
    return [*folds_of(plan), *([] if refit is None else [refit])]


def _fold(plan: Plan, number: int, **update: Any) -> Plan:
    spec = plan.spec
    artifacts = tuple(dict.fromkeys([*spec.execution.artifacts, "scores", "trace"]))
    scores_new_rows = number == 0 or spec.validation.refit == "mean"
    update["execution"] = spec.execution.model_copy(
        update={"artifacts": artifacts, "save_model": spec.execution.save_model and scores_new_rows}
    )
    update["validation"] = spec.validation.model_copy(update={"fold": number, "refit": "mean"})
    one = spec.model_copy(update=update)
    return replace(plan, spec=one, run_id=run_id(one, plan.method.config), joined_by=None)


# -------------------------------------------------------------------- criteria over folds


@dataclass(frozen=True)
class FoldPart:
    """Rows of one fold. ``positions``: of the rows of one fold among all rows; ``knowledge``: what is known of them."""

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
