"""``pubench list``: one row per plugin, from info records alone; of data sets also what is on this machine."""

from __future__ import annotations

import csv
from dataclasses import fields
from typing import Any

from pubench_core.errors import RequestError
from pubench_core.plugins.info import DatasetInfo, Info, MethodInfo, MetricInfo
from pubench_core.plugins.registry import Entry, part, registry

from .machine import print_json
from .visible import rows_out


def rows(kind: str) -> list[dict[str, Any]]:
    """Plain rows of one kind (``method`` ...), usable ones first; each has at least key and status."""
    if kind == "protocol":
        return list(part("pubench_protocols", "list protocols")())
    return [_row(entry) for entry in registry().entries(kind)]


def _row(entry: Entry) -> dict[str, Any]:
    info = entry.info
    row: dict[str, Any] = {"key": entry.key, "name": info.name if info else ""}
    if info is not None:
        row["family"] = info.family
        row["aliases"] = list(info.aliases)
        row["venue"] = info.reference.venue if info.reference else ""
        row["year"] = info.reference.year if info.reference else None
        facts = plain_facts(info)
        row |= {name: facts[name] for name in _SHOWN if name in facts}
        if isinstance(info, MethodInfo):
            row |= {"needs_prior": "prior" in info.needs, "oracle": "truth" in info.needs}
        if isinstance(info, MetricInfo):
            row["oracle"] = info.oracle
        if isinstance(info, DatasetInfo):
            row["classes"] = len(info.classes)
    row |= {"package": entry.distribution, "version": entry.version, "status": entry.status}
    return row | ({"reason": entry.reason} if entry.reason else {})


#: Fields of info records that a listing shows.
_SHOWN = (
    *("setting", "modality", "classes", "backbone", "assumption", "variants"),
    *("needs", "assumes", "criterion", "inputs", "automatic", "address", "here"),
)


def plain_facts(info: Info) -> dict[str, Any]:
    """Fields of an info record as texts, numbers and lists."""
    return {f.name: _plain(getattr(info, f.name)) for f in fields(info)}


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, frozenset) else list(value) if isinstance(value, tuple) else value


def rows_here() -> list[dict[str, Any]]:
    """Rows of the data sets, with what is on this machine of each; a broken plugin has none of that."""
    from .data import root_of, row_here
    from .inventory import availability_of

    root, found = root_of(), []
    for entry in registry().entries("dataset"):
        row = _row(entry)
        if entry.status == "ok" and isinstance(entry.info, DatasetInfo):
            row |= {**row_here(availability_of(entry.info, root)), "license": entry.info.license}
        found.append(row)
    return found


def print_listing(kinds: str, format: str, *, here: bool = False) -> None:
    """Prints the listing of a plural kind in the given format. ``here``: with what is on this machine."""
    if here and kinds != "datasets":
        raise RequestError(f"--here lists what is here of data sets: pubench list datasets --here, got list {kinds}")
    found = rows_here() if here else rows(kinds.removesuffix("s"))
    if format == "json":
        print_json(found)
    elif format == "csv":
        columns = list(dict.fromkeys(name for row in found for name in row)) or ["key", "status"]
        writer = csv.DictWriter(rows_out(), columns)
        writer.writeheader()
        writer.writerows({k: ";".join(v) if isinstance(v, list) else v for k, v in row.items()} for row in found)
    elif not here:
        _print_table(kinds, found)
    else:
        from .console import out
        from .data import in_mib, root_of
        from .messages import in_flags

        _print_table(kinds, [{**row, "size": in_mib(row["size"]) if row.get("size") else None} for row in found])
        root = root_of()
        folders = f"files: {root.path} (from {in_flags(root.said_by)}); prepared copies: {root.cache / 'prepared'}"
        out().print(folders, markup=False, soft_wrap=True)


#: What a listing shows to the last; the later in this list, the sooner it is left out if there is no room.
_KEEP = (
    *("key", "status", "state", "rows", "prior", "name", "family", "modality", "assumption", "oracle"),
    *("needs prior", "criterion", "published"),
)


def _print_table(kinds: str, found: list[dict[str, Any]]) -> None:
    from .columns import PrintedColumn, print_table
    from .console import out

    if not found:
        out().print(f"no {kinds} installed")
        return
    hidden = {"reason", "venue", "year", "package", "version", "status", "oracle"}
    own = [name for name in dict.fromkeys(n for row in found for n in row) if name not in hidden]
    own = [name for name in own if any(row.get(name) not in ("", [], None) for row in found)]
    names = [*(name.replace("_", " ") for name in own), "published", "package", "status"]
    rows = []
    for row in found:
        published = f"{row.get('venue', '')} {row.get('year') or ''}".strip()
        status = "ok" if row["status"] == "ok" else f"{row['status']}: {row.get('reason', '')}"
        package = f"{row['package']} {row['version']}"
        rows.append([*(_cell(row.get(name, "")) for name in own), published, package, status])
    ranks = {name: k for k, name in enumerate(_KEEP)} | {"status": 0}
    columns = [PrintedColumn(name, wraps=name != "key", rank=ranks.get(name, len(_KEEP))) for name in names]
    styles = ["" if row["status"] == "ok" else "red" for row in found]
    everything = f"pubench list {kinds}{' --here' if 'state' in own else ''} --format csv"
    print_table(out(), columns, rows, styles, everything=everything)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)
