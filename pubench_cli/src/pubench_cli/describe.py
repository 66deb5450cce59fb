"""``pubench info``: everything about one plugin, and of a data set what is on this machine."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from difflib import SequenceMatcher, get_close_matches
from typing import Any

from rich.text import Text

from pubench_core.errors import Hint, PluginError, RequestError
from pubench_core.plugins.info import DatasetInfo, MethodInfo
from pubench_core.plugins.registry import Entry, registry
from pubench_core.results import plain_data

from .columns import PrintedColumn, print_table
from .listing import plain_facts
from .machine import print_json

_LEFT_OUT = {"key", "name", "presets", "reference", "aliases", "load"}


def print_info(key: str, *, as_json: bool) -> None:
    """Prints every entry with this key, of whatever kind. RequestError if there is none, PluginError if broken."""
    from .data import facts_here, root_of

    entries = registry().named(key)
    if not entries and (separator := re.search("[/:]", key)):  # a task of a source: disdat/nsw14
        of_source = registry().named(key[: separator.start()])
        entries = [replace(e, info=registry().find(DatasetInfo, key)) for e in of_source if e.kind == "dataset"]
    if not entries:
        raise RequestError(f"unknown key '{key}'; {_nearest(key)}", value=key)
    descriptions = [describe(entry) for entry in entries]
    for entry, described in zip(entries, descriptions, strict=True):
        if isinstance(entry.info, DatasetInfo):
            described |= {"key": entry.info.address, **facts_here(entry.info, root_of())}
    if as_json:
        print_json(plain_data(descriptions if len(descriptions) > 1 else descriptions[0]))
    else:
        for description in descriptions:
            _print(description)


#: Keys whose likeness is so close to the best one's are suggested, too.
NEAR = 0.15


def _nearest(key: str) -> str:
    """The nearest key of every kind, the nearest of all first, each with its kind; else how to see them."""
    kinds: dict[str, set[str]] = {}
    for entry in registry().all():
        kinds.setdefault(entry.kind or "plugin", set()).update((entry.key, *(entry.info.aliases if entry.info else ())))
    near = [
        (SequenceMatcher(None, name, key.lower()).ratio(), kind, name)
        for kind, names in kinds.items()
        for name in get_close_matches(key.lower(), names, 1, 0.65)
    ]
    if not near:
        return "'pubench list methods', 'pubench list datasets' and so on list what there is"
    near.sort(reverse=True)
    best = near[0][0]
    named = [f"the {kind} '{name}'" for ratio, kind, name in near if ratio > best - NEAR]
    return f"did you mean {' or '.join(named)}?"


def describe(entry: Entry) -> dict[str, Any]:
    """Everything an entry says of itself, hyper-parameters with bounds included, as plain data."""
    info = entry.info
    if info is None or entry.status != "ok":
        raise PluginError(
            f"'{entry.key}' of {entry.distribution} {entry.version} is broken: {entry.reason}",
            hint=Hint("diagnose", entry.key),
        )
    facts = {name: value for name, value in plain_facts(info).items() if name not in _LEFT_OUT}
    described: dict[str, Any] = {
        "key": info.key,
        "kind": info.kind,
        "name": info.name,
        "aliases": list(info.aliases),
        **{name: plain_data(value) for name, value in facts.items()},
        "reference": asdict(info.reference) if info.reference else None,
        "load": info.load,
        "package": f"{entry.distribution} {entry.version}",
    }
    if isinstance(info, MethodInfo):
        described["hyper_parameters"] = _hyper_parameters(info)
        described["presets"] = {
            name: plain_data({"note": p.note, "values": p.values, "per_data": p.per_data})
            for name, p in info.presets.items()
        }
    return described


def _hyper_parameters(info: MethodInfo) -> list[dict[str, Any]]:
    from pubench_core.engine.explain import accepted
    from pubench_core.engine.resolve_method import method_class
    from pubench_core.specs.fields import about

    return [
        {
            "name": name,
            "default": field.get_default(call_default_factory=True),
            "values": accepted(field),
            "meaning": field.description or "",
            "search": str(search) if (search := about(field, "search")) is not None else None,
        }
        for name, field in method_class(info).Config.model_fields.items()
    ]


#: What is said in a way of its own.
_APART = {"key", "kind", "name", "reference", "hyper_parameters", "presets", "classes", "binarizations", "tasks"}
_APART |= {"positive", "negative", "files", "n_files", "copies", "missing", "size"}
_HYPER_PARAMETERS = (
    PrintedColumn("hyper-parameter"),
    PrintedColumn("default", wraps=True),
    PrintedColumn("values", wraps=True, rank=2),
    PrintedColumn("meaning", wraps=True, rank=1),
    PrintedColumn("search", wraps=True, rank=3),
)


def _print(described: dict[str, Any]) -> None:
    from .console import out

    console = out()
    console.print(Text(described["key"], "bold"), f"  {described['kind']}: {described['name']}", sep="", markup=False)
    reference = described["reference"]
    if reference:
        url = f"  {reference['url']}" if reference["url"] else ""
        cited = f"{reference['authors']}, {reference['title']}, {reference['venue']} {reference['year']}{url}"
        console.print(cited, markup=False)
    for name, value in described.items():
        if name not in _APART and value not in ("", [], (), {}, None):
            items = [f"{k}: {v}" for k, v in value.items()] if isinstance(value, dict) else value
            text = ", ".join(str(v) for v in items) if isinstance(items, (list, tuple)) else str(items)
            console.print(f"  {name.replace('_', ' ')}: {text}", markup=False)
    if "copies" in described:
        from .data import in_mib, print_facts_here

        if described["size"]:
            console.print(f"  size: {in_mib(described['size'])}", markup=False)
        print_facts_here(described)
    if "hyper_parameters" in described:
        rows = [
            [
                row["name"],
                "none" if row["default"] is None else str(row["default"]),
                row["values"],
                row["meaning"],
                row["search"] or "",
            ]
            for row in described["hyper_parameters"]
        ]
        console.print()
        print_table(console, _HYPER_PARAMETERS, rows, everything=f"pubench info {described['key']} --format json")
        for name, preset in described["presets"].items():
            console.print()
            console.print(Text(f"preset {name}", "bold"), f"  {preset['note']}", sep="", markup=False)
            console.print("  " + " ".join(f"{k}={v}" for k, v in preset["values"].items()), markup=False)
            for data, overrides in preset["per_data"].items():
                console.print(f"  {data}: " + " ".join(f"{k}={v}" for k, v in overrides.items()), markup=False)
