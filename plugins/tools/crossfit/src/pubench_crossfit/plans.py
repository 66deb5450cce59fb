"""The runs that a joint run consists of: its folds, and the run on all rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

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
