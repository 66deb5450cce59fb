"""``pubench doctor``: does everything that is installed load, and what would a run use."""

from __future__ import annotations

import traceback

import typer

from pubench_core.errors import PluginError, unknown
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import Entry, load, registry

from .messages import in_flags


def check_all() -> None:
    """Prints the environment and every plugin that does not load; exit code 0 whatever it finds."""
    import torch

    from pubench_core.data.roots import data_root
    from pubench_core.execution.environment import capture
    from pubench_core.specs import ExecutionSpec

    facts = capture(torch.device("cpu"))
    root = data_root(ExecutionSpec())
    print(f"python      {facts.python} on {facts.platform}")
    print(f"processor   {facts.cpu}, {facts.cpu_count} logical, {facts.threads} threads")
    print(f"torch       {torch.__version__}; CUDA " + (_gpus() if torch.cuda.is_available() else "not available"))
    print(
        f"data root   {root.path} (from {in_flags(root.said_by)}){'' if root.path.is_dir() else ': no such folder yet'}"
    )
    entries = registry().all()
    broken = [(entry, text) for entry in entries if (text := problem(entry))]
    print(f"plugins     {len(entries) - len(broken)} ok, {len(broken)} broken")
    for entry, text in broken:
        print(f"  {entry.key}  {entry.distribution} {entry.version}: {text.strip().splitlines()[-1]}")
        print(f"    pubench doctor {entry.key}")


def check_one(key: str) -> None:
    """Prints whether the plugins of this key load, with the traceback of one that does not; exit code 1 then."""
    entries = registry().named(key)
    if not entries:
        raise unknown("key", key, {e.key for e in registry().all()})
    failed = False
    for entry in entries:
        text = problem(entry)
        failed |= bool(text)
        print(
            f"{entry.kind or 'plugin'} {entry.key}  {entry.distribution} {entry.version}: {'broken' if text else 'ok'}"
        )
        if text:
            print(text)
    if failed:
        raise typer.Exit(1)


def problem(entry: Entry) -> str:
    """Why an entry cannot be used, as a traceback or a reason; empty if it can."""
    if entry.status != "ok" or entry.info is None:
        return entry.traceback or entry.reason
    try:
        if isinstance(entry.info, MethodInfo):
            from pubench_core.request.resolve import method_class

            method_class(entry.info)
        else:
            load(entry.info)
    except PluginError:
        return traceback.format_exc()
    return ""


def _gpus() -> str:
    import torch

    return ", ".join(torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count()))
