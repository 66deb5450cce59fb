"""mkdocs hook: one page per installed method, made from its info record, its Config and its docstring when the site is
built. Nothing about a method is written by hand in this folder.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pubench_cli.describe import describe
from pubench_core.plugins.registry import registry

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

INTRODUCTION = """# Methods

One page per installed method, made from what the method says of itself. `pubench info KEY` prints the same.

| key | method | family | published | needs | setting |
|---|---|---|---|---|---|
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds ``methods/index.md`` and ``methods/<key>.md``."""
    from mkdocs.structure.files import File

    described = [describe(entry) for entry in registry().entries("method")]
    files.append(File.generated(config, "methods/index.md", content=index(described)))
    for method in described:
        files.append(File.generated(config, f"methods/{method['key']}.md", content=page(method)))
    return files


def index(methods: Iterable[Mapping[str, Any]]) -> str:
    """The table of all methods."""
    rows = []
    for m in methods:
        published = f"{m['reference']['venue']} {m['reference']['year']}" if m["reference"] else ""
        needs = ", ".join(m["needs"]) or "-"
        cells = (f"[`{m['key']}`]({m['key']}.md)", m["name"], m["family"], published, needs, m["setting"])
        rows.append(_row(cells))
    return INTRODUCTION + "\n".join(rows) + "\n"


def page(method: Mapping[str, Any]) -> str:
    """Everything about one method as Markdown."""
    reference = method["reference"]
    parts = [f"# {method['name']}", method["summary"][:1].upper() + method["summary"][1:] + "."]
    if reference:
        cited = f"{reference['authors']}: *{reference['title']}*. {reference['venue']} {reference['year']}."
        parts.append(f"{cited} [{reference['url']}]({reference['url']})" if reference["url"] else cited)
    parts.append(f"```\npubench run --method {method['key']} --data digits --mech scar --c 0.1\n```")
    facts = {
        "Key": f"`{method['key']}`" + "".join(f", `{alias}`" for alias in method["aliases"]),
        "Package": method["package"],
        "Needs": ", ".join(method["needs"]) or "nothing but labels",
        "Setting": method["setting"],
        "Devices": ", ".join(method["devices"]),
        "Follows": method["follows"],
    }
    parts.append(_table(("", ""), facts.items()))
    parts += ["## What it does", _docstring(method["load"])]
    parts.append("## Hyper-parameters")
    columns = ("name", "default", "values", "meaning", "search")
    parts.append(_table(columns, ([_text(row[name]) for name in columns] for row in method["hyper_parameters"])))
    parts.append("## Presets")
    for name, preset in method["presets"].items():
        parts.append(f"**`{name}`** {preset['note']}: {_settings(preset['values'])}")
        parts.append(_table(("data", "instead"), ((d, _settings(v)) for d, v in preset["per_data"].items())))
    if method["declared_failures"]:
        parts += ["## Declared failures", _table(("check", "reason"), method["declared_failures"].items())]
    return "\n\n".join(part for part in parts if part) + "\n"


def _docstring(load: str) -> str:
    module = importlib.import_module(load.split(":")[0])
    return inspect.cleandoc(module.__doc__ or "")


def _table(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A Markdown table; nothing where there is no row."""
    lines = [_row(row) for row in rows]
    columns = list(columns)
    return "\n".join([_row(columns), _row(["---"] * len(columns)), *lines]) if lines else ""


def _row(cells: Iterable[Any]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _settings(values: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}={_text(value)}`" for name, value in values.items()) or "the defaults"


def _text(value: Any) -> str:
    return "none" if value is None else str(value)
