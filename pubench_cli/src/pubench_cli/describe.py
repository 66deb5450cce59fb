"""``pubench info``: everything about one plugin."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from pubench_core.errors import Hint, PluginError, unknown
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import Entry, registry

_LEFT_OUT = {"key", "name", "presets", "reference", "aliases", "load"}


def print_info(key: str, *, as_json: bool) -> None:
    """Prints every entry with this key, of whatever kind. RequestError if there is none, PluginError if broken."""
    entries = registry().named(key)
    if not entries:
        known = {e.key for e in registry().all()}
        raise unknown("key", key, known, hint=Hint("list", "method"))
    descriptions = [describe(entry) for entry in entries]
    if as_json:
        print(json.dumps(descriptions if len(descriptions) > 1 else descriptions[0], indent=2, default=list))
    else:
        for description in descriptions:
            _print(description)


def describe(entry: Entry) -> dict[str, Any]:
    """Everything an entry says of itself, hyper-parameters with bounds included, as plain data."""
    info = entry.info
    if info is None or entry.status != "ok":
        raise PluginError(
            f"'{entry.key}' of {entry.distribution} {entry.version} is broken: {entry.reason}",
            hint=Hint("diagnose", entry.key),
        )
    facts = {f.name: getattr(info, f.name) for f in fields(info) if f.name not in _LEFT_OUT}
    described: dict[str, Any] = {
        "key": info.key,
        "kind": info.kind,
        "name": info.name,
        "aliases": list(info.aliases),
        **{name: _plain(value) for name, value in facts.items()},
        "reference": asdict(info.reference) if info.reference else None,
        "load": info.load,
        "package": f"{entry.distribution} {entry.version}",
    }
    if isinstance(info, MethodInfo):
        described["hyper_parameters"] = _hyper_parameters(info)
        described["presets"] = {
            name: {
                "note": p.note,
                "values": dict(p.values),
                "per_data": {k: dict(v) for k, v in p.per_data.items()},
            }
            for name, p in info.presets.items()
        }
    return described


def _plain(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    return (
        {name: list(lists) if isinstance(lists, tuple) else lists for name, lists in value.items()}
        if isinstance(value, Mapping)
        else value
    )


def _hyper_parameters(info: MethodInfo) -> list[dict[str, Any]]:
    from pubench_core.request.explain import accepted
    from pubench_core.request.resolve import method_class
    from pubench_core.specs.fields import about

    return [
        {
            "name": name,
            "default": field.default,
            "values": accepted(field),
            "meaning": field.description or "",
            "search": str(search) if (search := about(field, "search")) is not None else None,
        }
        for name, field in method_class(info).Config.model_fields.items()
    ]


def _print(described: dict[str, Any]) -> None:
    from rich.table import Table

    from .console import out

    console = out()
    console.print(f"[bold]{described['key']}[/]  {described['kind']}: {described['name']}")
    reference = described["reference"]
    if reference:
        url = f"  {reference['url']}" if reference["url"] else ""
        console.print(f"{reference['authors']}, {reference['title']}, {reference['venue']} {reference['year']}{url}")
    for name, value in described.items():
        if name not in {"key", "kind", "name", "reference", "hyper_parameters", "presets"} and value not in (
            "",
            [],
            (),
            {},
        ):
            items = [f"{k}: {v}" for k, v in value.items()] if isinstance(value, dict) else value
            text = ", ".join(str(v) for v in items) if isinstance(items, (list, tuple)) else str(items)
            console.print(f"  {name.replace('_', ' ')}: {text}", markup=False)
    if "hyper_parameters" in described:
        table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left")
        for column in ("hyper-parameter", "default", "values", "meaning", "search"):
            table.add_column(column, overflow="fold")
        for row in described["hyper_parameters"]:
            default = "none" if row["default"] is None else str(row["default"])
            table.add_row(row["name"], default, row["values"], row["meaning"], row["search"] or "")
        console.print()
        console.print(table)
        for name, preset in described["presets"].items():
            values = " ".join(f"{k}={v}" for k, v in preset["values"].items())
            console.print(f"\n[bold]preset {name}[/]  {preset['note']}\n  {values}")
            for data, overrides in preset["per_data"].items():
                console.print(f"  {data}: " + " ".join(f"{k}={v}" for k, v in overrides.items()))
