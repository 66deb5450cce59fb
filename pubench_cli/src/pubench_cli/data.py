"""Data sets on this machine: what is here of each, for ``list`` and ``info``; ``pubench data fetch`` and ``remove``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pubench_core.data.dataset import DataRoot, data_root
from pubench_core.data.source import source_of
from pubench_core.data.store import located, open_dataset
from pubench_core.errors import RequestError
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import blamed, registry
from pubench_core.specs import ExecutionSpec

from .columns import PrintedColumn, print_table
from .console import err, out
from .copies import remove_copies
from .inventory import Availability, availability_of
from .machine import print_json
from .messages import said, say
from .progress import data_progress

#: Source files of a data set that are listed one by one.
LISTED_FILES = 20
_CLASSES = (
    PrintedColumn("index", right=True),
    PrintedColumn("class", wraps=True),
    PrintedColumn("rows", right=True),
    PrintedColumn("test", right=True),
)


def row_here(here: Availability) -> dict[str, Any]:
    """State, size, rows and prior of a data set, for a list of them."""
    train, test = here.counts("y"), here.counts("y_test")
    return {
        "state": here.state,
        "size": here.prepared_bytes or here.source_bytes or None,
        "rows": sum(train) if train else None,
        "test": sum(test) if test else None,
        "prior": round(here.prior, 4) if here.prior is not None else None,
    }


def facts_here(info: DatasetInfo, root: DataRoot) -> dict[str, Any]:
    """Classes with their rows, binarizations, files and copies of a data set; the tasks of a source if it is here."""
    here = availability_of(info, root)
    train, test = here.counts("y"), here.counts("y_test")
    listed = source_of(info).tasks(root) if info.tasks and here.state in ("files", "prepared") else ()
    tasks = [task for task in listed if info.task in ("", task.name)]
    return {
        **row_here(here),
        "classes": [
            {"index": k, "name": name, "rows": train[k] if train else None, "test": test[k] if test else None}
            for k, name in enumerate(info.classes)
        ],
        "binarizations": {
            name: {"positive": p, "negative": n}
            for name, (p, n) in {"default": (info.positive, info.negative), **info.binarizations}.items()
        },
        "files": [str(f) for f in here.files[:LISTED_FILES]],
        "n_files": len(here.files),
        "copies": [
            {"folder": str(f), "bytes": sum(a["bytes"] for a in m["arrays"].values()), "made_at": m["made_at"]}
            for f, m in here.copies
        ],
        "missing": said(here.reason),
        **({"tasks": [{"name": task.name, **task.facts} for task in tasks]} if info.tasks else {}),
    }


def print_facts_here(facts: dict[str, Any]) -> None:
    """The tables and lists among :func:`facts_here`."""
    console = out()
    names = ("index", "name", "rows", "test")
    print_table(console, _CLASSES, [["" if one[n] is None else str(one[n]) for n in names] for one in facts["classes"]])
    if tasks := facts["tasks"]:
        console.print(f"tasks: {len(tasks)}")
        print_table(
            console, [PrintedColumn(name) for name in tasks[0]], [[str(value) for value in t.values()] for t in tasks]
        )
    for name, lists in facts["binarizations"].items():
        sides = (", ".join(map(str, lists[side])) for side in ("positive", "negative"))
        console.print(f"{name}: positive {next(sides)}; negative {next(sides)}", markup=False)
    for text in facts["files"]:
        console.print(f"file: {text}", markup=False, soft_wrap=True)
    if facts["n_files"] > LISTED_FILES:
        console.print(f"... {facts['n_files'] - LISTED_FILES} more files")
    for copy in facts["copies"]:
        size = in_mib(copy["bytes"])
        console.print(f"copy: {copy['folder']} ({size}, {copy['made_at']})", markup=False, soft_wrap=True)
    if facts["missing"]:
        console.print(facts["missing"], style="yellow", markup=False)


def fetch(keys: list[str], given: Path | None, encoder: Path | None, offline: bool, *, as_json: bool) -> None:
    """Downloads what is absent and prepares the copy that a run with the set's own preprocessing opens."""
    root = root_of(given, encoder=encoder, offline=offline)
    ready = []
    for given_key in keys:
        info = registry().source(given_key)
        source = source_of(info)
        try:
            located(source, root)
        except RequestError as absent:
            if offline:  # held here for every plugin, whatever its source does
                raise RequestError(f"{absent}; nothing is downloaded with execution.offline") from absent
            err().print(f"{info.address}: fetching", markup=False)
            with blamed(info, "fetched"):
                source.fetch(root)
        info = registry().find(DatasetInfo, given_key)
        rows, folder = 0, None
        for part in source_of(info).parts(root):
            opened = open_dataset(part, root, preprocess=info.preprocess)
            rows += len(opened.data.x) + (len(opened.data.x_test) if opened.data.x_test is not None else 0)
            folder = opened.folder if info.task or not info.tasks else opened.folder and opened.folder.parent
        err().print(f"{info.address}: ready, {rows} rows, {folder or 'comes with its package'}", markup=False)
        ready.append({"key": info.address, "rows": rows, "folder": str(folder) if folder else None})
    if as_json:
        print_json(ready)


def remove(keys: list[str], given: Path | None, *, as_json: bool) -> None:
    """Deletes prepared copies; the files as distributed stay."""
    root, done = root_of(given), []
    for info in [registry().find(DatasetInfo, key) for key in keys]:
        freed = remove_copies(info.key, root.cache)
        err().print(
            f"{info.key}: {in_mib(freed)} freed; the files as distributed stay" if freed else f"{info.key}: no copy",
            markup=False,
        )
        done.append({"key": info.key, "freed_bytes": freed})
    if as_json:
        print_json(done)


def root_of(given: Path | None = None, *, encoder: Path | None = None, offline: bool = False) -> DataRoot:
    """The data root of a request."""
    execution = ExecutionSpec(data_root=given, encoder=encoder, offline=offline)
    return data_root(execution, say, progress=data_progress)


def in_mib(count: int) -> str:
    """Bytes for people."""
    return f"{count / 2**20:.1f} MiB"
