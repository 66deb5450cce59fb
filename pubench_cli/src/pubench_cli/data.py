"""``pubench data``: what is here of every data set, and what can be done about it."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pubench_core.data.dataset import DataRoot, data_root
from pubench_core.data.source import blamed, source_of
from pubench_core.data.store import located, open_dataset
from pubench_core.errors import Hint, PluginError, RequestError
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import registry
from pubench_core.specs import ExecutionSpec

from .columns import PrintedColumn, print_table
from .console import err, out
from .copies import folders_of_copies, remove_copies, verify_copy
from .inventory import Availability, availability_of
from .machine import print_json
from .messages import in_flags, said, say
from .progress import data_progress
from .visible import rows_out

#: Of the machine-readable listings; the table leaves the citation to ``pubench data info``.
COLUMNS = ("key", "state", "size", "rows", "test", "classes", "prior", "license", "citation")
_LISTED = (
    PrintedColumn("key"),
    PrintedColumn("state"),
    PrintedColumn("size", right=True, rank=2),
    PrintedColumn("rows", right=True, rank=1),
    PrintedColumn("test", right=True, rank=3),
    PrintedColumn("classes", right=True, rank=5),
    PrintedColumn("prior", right=True, rank=4),
    PrintedColumn("license", wraps=True, rank=6),
)


def print_list(given: Path | None, format: str) -> None:
    """One row per installed data set."""
    root = _root(given)
    found = [_row(availability_of(info, root)) for info in registry().infos(DatasetInfo)]
    if format == "json":
        print_json(found)
    elif format == "csv":
        writer = csv.DictWriter(rows_out(), COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)
    else:
        shown = [{**row, "size": _size(row["size"]) if row["size"] else None} for row in found]
        cells = [["" if row[c.name] is None else str(row[c.name]) for c in _LISTED] for row in shown]
        print_table(out(), _LISTED, cells, everything="pubench data list --format csv")
        out().print(
            f"files: {root.path} (from {in_flags(root.said_by)}); prepared copies: {root.cache / 'prepared'}",
            markup=False,
            soft_wrap=True,
        )


def _row(here: Availability) -> dict[str, Any]:
    train, test = here.counts("y"), here.counts("y_test")
    return {
        "key": here.info.address,
        "state": here.state,
        "size": here.prepared_bytes or here.source_bytes or None,
        "rows": sum(train) if train else None,
        "test": sum(test) if test else None,
        "classes": len(here.info.classes),
        "prior": round(here.prior, 4) if here.prior is not None else None,
        "license": here.info.license,
        "citation": str(here.info.reference or ""),
    }


#: Source files of a data set that are listed one by one.
LISTED_FILES = 20


def print_one(key: str, given: Path | None, *, as_json: bool) -> None:
    """Everything about one data set."""
    root = _root(given)
    here = availability_of(registry().find(DatasetInfo, key), root)
    facts = _facts(here, root)
    if as_json:
        print_json(facts)
    else:
        _print_facts(here, facts)


def _facts(here: Availability, root: DataRoot) -> dict[str, Any]:
    """The row of the listing and whatever else is known, as plain data; the tasks of a source whose files are here."""
    info, train, test = here.info, here.counts("y"), here.counts("y_test")
    listed = source_of(info).tasks(root) if info.tasks and here.state in ("files", "prepared") else ()
    tasks = [task for task in listed if info.task in ("", task.name)]
    return {
        **_row(here),
        "name": info.name,
        "summary": info.summary,
        "modality": info.modality,
        "backbone": info.backbone,
        "preprocess": info.preprocess,
        "source": info.source,
        "classes": [
            {"index": k, "name": name, "rows": train[k] if train else None, "test": test[k] if test else None}
            for k, name in enumerate(info.classes)
        ],
        "binarizations": {
            "default": {"positive": info.positive, "negative": info.negative},
            **{name: {"positive": p, "negative": n} for name, (p, n) in info.binarizations.items()},
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


def _print_facts(here: Availability, facts: Mapping[str, Any]) -> None:
    info, console = here.info, out()
    console.print(f"{info.address}: {info.name}", style="bold", markup=False)
    for line in (
        info.summary,
        f"{info.modality}; backbone {info.backbone}, preprocess {info.preprocess}",
        f"citation: {facts['citation']}",
        f"license or terms: {info.license or 'not stated'}",
        f"source: {info.source}",
        f"state: {here.state}" + (f", {_size(facts['size'])}" if facts["size"] else ""),
    ):
        console.print(line, markup=False)
    names = ("index", "name", "rows", "test")
    print_table(console, _CLASSES, [["" if one[n] is None else str(one[n]) for n in names] for one in facts["classes"]])
    if tasks := facts.get("tasks"):
        console.print(f"tasks, {info.tasks}: {len(tasks)}", markup=False)
        print_table(
            out(), [PrintedColumn(name) for name in tasks[0]], [[str(value) for value in t.values()] for t in tasks]
        )
    for name, lists in facts["binarizations"].items():
        sides = (", ".join(map(str, lists[side])) for side in ("positive", "negative"))
        console.print(f"{name}: positive {next(sides)}; negative {next(sides)}", markup=False)
    for text in facts["files"]:
        console.print(f"file: {text}", markup=False, soft_wrap=True)
    if len(here.files) > LISTED_FILES:
        console.print(f"... {len(here.files) - LISTED_FILES} more files")
    for copy in facts["copies"]:
        console.print(
            f"copy: {copy['folder']} ({_size(copy['bytes'])}, {copy['made_at']})", markup=False, soft_wrap=True
        )
    if here.reason:
        console.print(facts["missing"], style="yellow", markup=False)


_CLASSES = (
    PrintedColumn("index", right=True),
    PrintedColumn("class", wraps=True),
    PrintedColumn("rows", right=True),
    PrintedColumn("test", right=True),
)


def fetch(keys: list[str], given: Path | None, encoder: Path | None, offline: bool, *, as_json: bool) -> None:
    """Downloads what is absent and prepares the copy that a run with the set's own preprocessing opens."""
    root = _root(given, encoder=encoder, offline=offline)
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


def verify(keys: list[str], given: Path | None, *, as_json: bool) -> None:
    """Full check of prepared copies. Raises PluginError naming the first difference after all were printed."""
    root = _root(given)
    folders = [] if keys else folders_of_copies(None, root.cache)
    for info in [registry().find(DatasetInfo, key) for key in keys]:
        found = folders_of_copies(info.key, root.cache)
        if not found and not located(source_of(info), root):
            raise RequestError(f"{info.key} comes with its package and has no prepared copy to verify")
        if not found:
            raise RequestError(f"{info.key} has no prepared copy to verify", hint=Hint("fetch", info.key))
        folders += found
    wrong, found_out = [], []
    for folder in folders:
        differences = verify_copy(folder)
        outcome = f"{len(differences)} of its files differ" if differences else "as prepared"
        if not as_json:
            out().print(f"{folder.parent.name}: {folder}: {outcome}", markup=False, soft_wrap=True)
        found_out.append({"key": folder.parent.name, "folder": str(folder), "wrong": list(map(said, differences))})
        wrong += differences
    if as_json:
        print_json(found_out)
    elif not folders:
        out().print(f"no prepared copies in {root.cache / 'prepared'}", markup=False, soft_wrap=True)
    for error in wrong[1:]:
        err().print(f"error: {said(error)}", markup=False)
    if wrong:
        raise PluginError(str(wrong[0]), hint=wrong[0].hint)


def print_path(key: str, given: Path | None, *, as_json: bool) -> None:
    """The folder of the prepared copy, or of the source files. Raises RequestError where there is neither."""
    info, root = registry().find(DatasetInfo, key), _root(given)
    here = availability_of(info, root)
    if here.state == "broken":
        raise PluginError(here.reason, hint=here.reason.hint)
    if here.state in ("absent", "damaged"):
        raise RequestError(here.reason, hint=here.reason.hint)
    if here.state == "packaged":
        raise RequestError(f"{info.key} comes with its package and has no files")
    folder = here.folder if here.state == "prepared" else here.files[0].parent
    if as_json:
        print_json({"key": info.key, "state": here.state, "folder": str(folder)})
    else:
        print(folder, file=rows_out())


def remove(keys: list[str], given: Path | None, *, as_json: bool) -> None:
    """Deletes prepared copies; the files as distributed stay."""
    root, done = _root(given), []
    for info in [registry().find(DatasetInfo, key) for key in keys]:
        freed = remove_copies(info.key, root.cache)
        err().print(
            f"{info.key}: {_size(freed)} freed; the files as distributed stay" if freed else f"{info.key}: no copy",
            markup=False,
        )
        done.append({"key": info.key, "freed_bytes": freed})
    if as_json:
        print_json(done)


def _root(given: Path | None, *, encoder: Path | None = None, offline: bool = False) -> DataRoot:
    execution = ExecutionSpec(data_root=given, encoder=encoder, offline=offline)
    return data_root(execution, say, progress=data_progress)


def _size(count: int) -> str:
    return f"{count / 2**20:.1f} MiB"
