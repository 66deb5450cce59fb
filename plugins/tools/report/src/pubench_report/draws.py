"""Hyper-parameters chosen by a criterion: of several draws, the one whose validation value is best, on each split.

That is how Wang et al. report: ten draws, three splits, on each split the model that the criterion prefers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from pubench.running import RunResult

from .cells import metric_info
from .grouping import FailedRun, spec_of

NamedRun = tuple[str, RunResult | FailedRun]
#: What a note on chosen draws begins with.
DRAWS = "hyper-parameters: the best of"


def best_of_draws(named: Iterable[NamedRun], criterion: str) -> tuple[list[NamedRun], str]:
    """Best run, by its criterion, among those that differ in hyper-parameters alone; and a note.

    The first of equal ones. Where no run of a group has a value - every one failed, or the criterion has none, as
    ``last`` - the group's first run stands for it.
    """
    groups: dict[tuple[str, str], list[NamedRun]] = {}
    for name, run in named:
        groups.setdefault((name, but_for_config(run)), []).append((name, run))
    info = metric_info(criterion)
    sign = 1.0 if info is None or info.higher_is_better else -1.0

    def value(one: NamedRun) -> float:
        found = None if isinstance(one[1], FailedRun) else one[1].result.criteria.get(criterion)
        return -float("inf") if found is None or found.value is None else sign * found.value

    finished = [sum(isinstance(run, RunResult) for _, run in group) for group in groups.values()]
    counts, note = sorted({count for count in finished if count}), ""
    if counts and counts[-1] > 1:
        number = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        note = f"{DRAWS} {number} finished draws by {criterion}, on each split"
    return [max(group, key=value) for group in groups.values()], note


def left_out(named: Iterable[NamedRun], chosen: Iterable[NamedRun]) -> tuple[RunResult, ...]:
    """Finished runs of which another draw was chosen."""
    ids = {run.run_id for _, run in chosen}
    return tuple(run for _, run in named if isinstance(run, RunResult) and run.run_id not in ids)


def but_for_config(run: RunResult | FailedRun) -> str:
    """Equal for runs that differ in hyper-parameters alone."""
    spec = spec_of(run)
    identity = spec.identity()
    identity["method"] = {name: value for name, value in identity["method"].items() if name != "config"}
    return json.dumps({**identity, "preset": spec.method.preset}, sort_keys=True)
