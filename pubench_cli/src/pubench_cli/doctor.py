"""``pubench doctor``: does everything that is installed load, and what would a run use."""

from __future__ import annotations

import platform
import traceback
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

from pubench_core.data.dataset import data_root
from pubench_core.errors import PluginError, RequestError, unknown
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import Entry, load, registry, tools
from pubench_core.specs import ExecutionSpec

from .console import err
from .copies import folders_of_copies, verify_copy
from .machine import print_json
from .messages import in_flags, said
from .visible import show


def check_all(*, as_json: bool) -> None:
    """Prints the environment and every plugin that does not load; exit code 0 whatever it finds."""
    facts, lines = _machine()
    root = data_root(ExecutionSpec())
    found = _rows([*registry().all(), *tools().all()])
    broken = [one for one in found if one["problem"]]
    if as_json:
        place = {"path": str(root.path), "said_by": in_flags(root.said_by), "exists": root.path.is_dir()}
        print_json({**facts, "data_root": place, "plugins": found})
        return
    for line in lines:
        show(line)
    show(
        f"data root   {root.path} (from {in_flags(root.said_by)}){'' if root.path.is_dir() else ': no such folder yet'}"
    )
    show(f"plugins     {len(found) - len(broken)} ok, {len(broken)} broken")
    for one in broken:
        show(f"  {one['key']}  {one['package']} {one['version']}: {one['problem'].strip().splitlines()[-1]}")
        show(f"    pubench doctor {one['key']}")


def _machine() -> tuple[dict[str, Any], list[str]]:
    """The environment of a run as plain data, and in lines; without torch, what is known without it."""
    facts: dict[str, Any] = {"python": platform.python_version(), "platform": platform.platform(), "gpus": []}
    lines = [f"python      {facts['python']} on {facts['platform']}"]
    if not find_spec("torch"):
        return facts, [*lines, "torch       not installed: nothing can be trained; pip install 'pubench-core[train]'"]
    import torch

    from pubench_core.engine.machine import capture

    cpu = capture(torch.device("cpu"))
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    facts |= {**cpu.model_dump(mode="json"), "gpus": [torch.cuda.get_device_name(k) for k in range(count)]}
    return facts, [
        *lines,
        f"processor   {cpu.cpu}, {cpu.cpu_count} logical, {cpu.threads} threads",
        f"torch       {torch.__version__}; CUDA {', '.join(facts['gpus']) or 'not available'}",
    ]


def check_one(key: str, *, as_json: bool) -> None:
    """Prints whether the plugins of this key load, with the traceback of one that does not; exit code 1 then.

    Of a data set, compares its prepared copies (see :func:`check_copies`).
    """
    entries = [*registry().named(key), *tools().named(key)]
    if not entries:
        raise unknown("key", key, {e.key for e in (*registry().all(), *tools().all())})
    found = _rows(entries)
    for one in found if not as_json else ():
        show(f"{one['kind']} {one['key']}  {one['package']} {one['version']}: {one['status']}")
        if one["problem"]:
            show(one["problem"])
    if any(one["problem"] for one in found) or not any(entry.kind == "dataset" for entry in entries):
        if as_json:
            print_json({"plugins": found})
        raise typer.Exit(int(any(one["problem"] for one in found)))
    check_copies([entry.key for entry in entries if entry.kind == "dataset"], found, as_json=as_json)


def check_copies(keys: Sequence[str | None] = (None,), plugins: Sequence[Any] = (), *, as_json: bool) -> None:
    """Compares every byte of prepared copies and their sources with the checksums; prints an outcome for each copy.

    ``keys``: of data sets; None means all. ``plugins``: rows about them, for JSON. Raises PluginError if a file
    differs, after all others were printed.
    """
    cache = data_root(ExecutionSpec()).cache
    copies, wrong = [], []
    for folder in [folder for key in keys for folder in folders_of_copies(key, cache)]:
        differences = verify_copy(folder)
        wrong += differences
        copies.append({"key": folder.parent.name, "folder": str(folder), "wrong": list(map(said, differences))})
        if not as_json:
            outcome = f"{len(differences)} of its files differ" if differences else "as prepared"
            show(f"{folder.parent.name}: {folder}: {outcome}")
    if as_json:
        print_json({"plugins": plugins, "copies": copies})
    elif not copies and not plugins:
        show(f"no prepared copies in {cache / 'prepared'}")
    for error in wrong[1:]:
        err().print(f"error: {said(error)}", markup=False)
    if wrong:
        raise PluginError(str(wrong[0]), hint=wrong[0].hint)


def check_locks(results: Path, *, as_json: bool) -> None:
    """Prints how claims work in a folder of records. Raises RequestError if there is none."""
    from pubench_core.records.staging import file_system
    from pubench_core.records.store import RecordStore

    if not results.is_dir():
        raise RequestError(f"--results must be a folder of records, got {results}", value=results)
    network, mount = file_system(results)
    leased = RecordStore(results).leased
    if as_json:
        print_json({"results": str(results), "file_system": mount, "network": network, "leases": leased})
    else:
        kinds = "leases, which need no locks" if leased else "locks of the operating system"
        show(f"results     {results} on {mount or 'a file system that this system does not name'}")
        show(f"claims      {kinds}")
        if network and not leased:
            show("            other machines may not see these locks; 'pubench study run --lock soft' takes leases")


def _rows(entries: Iterable[Entry]) -> list[dict[str, str]]:
    """Each once: a distribution whose metadata cannot be read is in both registries."""
    return list({tuple(row.items()): row for row in map(_plain, entries)}.values())


def _plain(entry: Entry) -> dict[str, str]:
    text = problem(entry)
    return {
        "kind": entry.kind or "plugin",
        "key": entry.key,
        "package": entry.distribution,
        "version": entry.version,
        "status": "broken" if text else "ok",
        "problem": text,
    }


def problem(entry: Entry) -> str:
    """Why an entry cannot be used, as a traceback or a reason; empty if it can."""
    if entry.status != "ok" or entry.info is None:
        return entry.traceback or entry.reason
    try:
        if isinstance(entry.info, MethodInfo):
            from pubench_core.engine.resolve_method import method_class

            method_class(entry.info)
        elif entry.info.load:  # a group of commands has none
            load(entry.info)
    except PluginError:
        return traceback.format_exc()
    return ""
