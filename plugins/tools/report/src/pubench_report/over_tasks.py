"""Comparisons over the tasks of one source: pairs by task, ranks by group and overall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from .significance import Friedman, Means, friedman, holm, wilcoxon


@dataclass(frozen=True)
class TaskPair:
    """A method against the reference over tasks.

    ``difference``: mean of method - reference. ``wins``: tasks on which the method is better, of ``tasks``. ``p``: of
    Wilcoxon's signed-rank test over tasks, Holm-adjusted over the methods.
    """

    method: str
    reference: str
    tasks: int
    difference: float
    wins: int
    p: float


@dataclass(frozen=True)
class OverTasks:
    """``means``: group -> method -> mean over the group's tasks; ``overall`` is over all tasks.

    ``ranks``: the same groups -> Friedman's and Nemenyi's tests over tasks, for groups of two tasks and three methods
    at least. ``pairs``: each method against the reference, over all tasks.
    """

    means: Mapping[str, Mapping[str, float]]
    ranks: Mapping[str, Friedman]
    pairs: tuple[TaskPair, ...]


def over_tasks(
    values: Means, groups: Mapping[str, str], reference: str, *, higher_is_better: bool = True, alpha: float = 0.05
) -> OverTasks:
    """The comparison of methods over the tasks that all of them have a value on.

    ``groups``: task -> its group (the region, say). Raises ValueError if no task has a value of every method.
    """
    tasks = [task for task in values[reference] if all(task in found for found in values.values())]
    if not tasks:
        raise ValueError(f"no task has a value of all {len(values)} methods")
    members = {group: [t for t in tasks if groups[t] == group] for group in dict.fromkeys(groups[t] for t in tasks)}
    members["overall"] = tasks
    return OverTasks(
        means={
            group: {method: fmean(found[t] for t in inside) for method, found in values.items()}
            for group, inside in members.items()
        },
        ranks={
            group: friedman(
                {method: {t: found[t] for t in inside} for method, found in values.items()},
                higher_is_better=higher_is_better,
                alpha=alpha,
            )
            for group, inside in members.items()
            if len(inside) > 1 and len(values) > 2
        },
        pairs=tuple(_pairs(values, tasks, reference, higher_is_better)),
    )


def _pairs(values: Means, tasks: Sequence[str], reference: str, higher_is_better: bool) -> list[TaskPair]:
    theirs, sign = [values[reference][task] for task in tasks], 1 if higher_is_better else -1
    others = [method for method in values if method != reference]
    tested = [wilcoxon([values[method][task] for task in tasks], theirs)[1] for method in others]
    return [
        TaskPair(
            method,
            reference,
            len(tasks),
            fmean(values[method][task] - other for task, other in zip(tasks, theirs, strict=True)),
            sum(sign * (values[method][task] - other) > 0 for task, other in zip(tasks, theirs, strict=True)),
            p,
        )
        for method, p in zip(others, holm(tested), strict=True)
    ]
