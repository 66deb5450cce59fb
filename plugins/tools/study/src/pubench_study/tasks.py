"""Entries of a study's data that name many tasks of one source, as one entry per task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pubench_core.data.dataset import DataRoot
from pubench_core.data.source import Task, source_of
from pubench_core.errors import RequestError, shown, unknown
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import Registry


def each_task(entries: Sequence[Mapping[str, Any]], registry: Registry, root: DataRoot) -> Iterator[dict[str, Any]]:
    """The entries, those of a source with tasks replaced by one for each task.

    ``tasks`` of an entry chooses by facts: ``{min_presences: 30, region: [nsw, nz]}``; without it all are meant.

    Raises RequestError for an unknown fact, a choice that no task meets, and files that are absent.
    """
    sources = [info for info in registry.infos(DatasetInfo) if info.tasks]
    for given in entries:
        entry = dict(given)
        chosen = entry.pop("tasks", None)
        info = next((info for info in sources if entry.get("key") in (info.key, *info.aliases)), None)
        if info is None:
            if chosen is not None:
                raise RequestError(f"data: {shown(entry.get('key'))} has no tasks to choose from", field="data")
            yield entry
            continue
        found = source_of(info).tasks(root)
        tasks = found if chosen is None else [task for task in found if _meets(task, chosen, info)]
        if not tasks:
            raise RequestError(
                f"data: none of the {len(found)} tasks of {info.key} meets {shown(chosen)}", field="data"
            )
        separator = info.tasks[len(info.key)]
        yield from ({**entry, "key": f"{info.key}{separator}{task.name}"} for task in tasks)


def brings_labels(entry: Mapping[str, Any], registry: Registry) -> bool:
    """Whether an entry's labels are given: a table of the user's own, or a data set that brings them."""
    key = str(entry.get("key", "")).replace(":", "/").partition("/")[0]
    infos = registry.infos(DatasetInfo)
    return "own" in entry or any(i.labels != "simulated" and key in (i.key, *i.aliases) for i in infos)


def _meets(task: Task, chosen: Any, info: DatasetInfo) -> bool:
    """Whether a task has the facts that are asked for: a value, one of a list, or ``min_``/``max_`` a number."""
    if not isinstance(chosen, Mapping):
        raise RequestError(
            f"data.tasks must be a mapping such as {{min_presences: 30}}, got {shown(chosen)}", field="data"
        )
    for name, wanted in chosen.items():
        bound, fact = str(name)[:4], str(name)[4:] if str(name)[:4] in ("min_", "max_") else str(name)
        if fact not in task.facts:
            raise unknown(f"fact of {info.key}'s tasks", fact, task.facts, field="data")
        value = task.facts[fact]
        if fact == name:
            met = value in (wanted if isinstance(wanted, (list, tuple)) else (wanted,))
        elif isinstance(value, str) or not isinstance(wanted, (int, float)):
            raise RequestError(
                f"data.tasks.{name} must be a number, of a fact that is a number, got {shown(wanted)}", field="data"
            )
        else:
            met = value >= wanted if bound == "min_" else value <= wanted
        if not met:
            return False
    return True
