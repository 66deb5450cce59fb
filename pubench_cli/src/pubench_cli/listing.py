"""``pubench list``: one row per plugin, from info records alone."""

from __future__ import annotations

import csv
from typing import Any

from pubench_core.plugins.info import (
    BackboneInfo,
    DatasetInfo,
    ExecutorInfo,
    Info,
    MechanismInfo,
    MethodInfo,
    MetricInfo,
    PriorInfo,
    SinkInfo,
)
from pubench_core.plugins.registry import Entry, registry

from .machine import print_json
from .visible import rows_out


def rows(kind: str) -> list[dict[str, Any]]:
    """Plain rows of one kind (``method`` ...), usable ones first; each has at least key and status."""
    return [_row(entry) for entry in registry().entries(kind)]


def _row(entry: Entry) -> dict[str, Any]:
    info = entry.info
    row: dict[str, Any] = {"key": entry.key, "name": info.name if info else ""}
    if info is not None:
        row["family"] = info.family
        row["aliases"] = list(info.aliases)
        row["venue"] = info.reference.venue if info.reference else ""
        row["year"] = info.reference.year if info.reference else None
        row |= _particulars(info)
    row["package"] = entry.distribution
    row["version"] = entry.version
    row["status"] = entry.status
    if entry.reason:
        row["reason"] = entry.reason
    return row


def _particulars(info: Info) -> dict[str, Any]:
    match info:
        case MethodInfo():
            return {
                "needs_prior": "prior" in info.needs,
                "oracle": "truth" in info.needs,
                "setting": info.setting,
            }
        case DatasetInfo():
            return {"modality": info.modality, "classes": len(info.classes), "backbone": info.backbone}
        case MechanismInfo():
            return {"assumption": info.assumption, "variants": list(info.variants)}
        case MetricInfo():
            return {
                "oracle": info.oracle,
                "needs": sorted(info.needs),
                "assumes": sorted(info.assumes),
                "criterion": info.criterion,
            }
        case PriorInfo() | BackboneInfo():
            return {"inputs": info.inputs}
        case SinkInfo():
            return {"automatic": info.automatic, "address": info.address}
        case ExecutorInfo():
            return {"here": info.here, "address": info.address}
        case _:
            return {}


def print_listing(kinds: str, format: str) -> None:
    """Prints the listing of a plural kind in the given format."""
    found = rows(kinds.removesuffix("s"))
    if format == "json":
        print_json(found)
    elif format == "csv":
        columns = list(dict.fromkeys(name for row in found for name in row)) or ["key", "status"]
        writer = csv.DictWriter(rows_out(), columns)
        writer.writeheader()
        writer.writerows({k: ";".join(v) if isinstance(v, list) else v for k, v in row.items()} for row in found)
    else:
        _print_table(kinds, found)


#: What a listing shows to the last; the later in this list, the sooner it is left out if there is no room.
_KEEP = ("key", "status", "name", "family", "modality", "assumption", "oracle", "needs prior", "criterion", "published")


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
        rows.append(
            [*(_cell(row.get(name, "")) for name in own), published, f"{row['package']} {row['version']}", status]
        )
    ranks = {name: k for k, name in enumerate(_KEEP)} | {"status": 0}
    columns = [PrintedColumn(name, wraps=name != "key", rank=ranks.get(name, len(_KEEP))) for name in names]
    styles = ["" if row["status"] == "ok" else "red" for row in found]
    print_table(out(), columns, rows, styles, everything=f"pubench list {kinds} --format csv")


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)
