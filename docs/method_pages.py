"""mkdocs hook: one page per installed method, made when the site is built.

A page has what the method's info record, Config and docstring say, and what was measured, from the raw rows in
``benchmarks/results/``. Nothing about a method is written by hand in this folder.
"""

from __future__ import annotations

import importlib
import inspect
import statistics
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaderboard import board_link
from page_parts import BENCHMARKS, add_pages, capitalized, citation, expand_navigation, markdown_of

from benchmarks.pages import summary
from benchmarks.pages.parts import marked, origin, spread, table
from pubench_cli.describe import describe
from pubench_core.plugins.info import MechanismInfo, MetricInfo
from pubench_core.plugins.registry import registry

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

#: The test measures that a page shows.
MEASURES = ("accuracy", "f1", "auc")

INTRODUCTION = """# Methods

One page per installed method, made from what the method says of itself. `pubench info KEY` prints the same.

"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds ``methods/index.md`` and ``methods/<key>.md``, and them to the navigation."""
    described = [describe(entry) for entry in registry().entries("method")]
    pages = {f"methods/{method['key']}.md": page(method) for method in described}
    add_pages(files, config, {"methods/index.md": index(described), **pages})
    expand_navigation(config, "methods/index.md", zip((method["name"] for method in described), pages, strict=True))
    return files


def index(methods: Iterable[Mapping[str, Any]]) -> str:
    """The table of all methods."""
    rows = []
    for m in methods:
        published = f"{m['reference']['venue']} {m['reference']['year']}" if m["reference"] else ""
        needs = ", ".join(m["needs"]) or "-"
        cells = (f"[`{m['key']}`]({m['key']}.md)", m["name"], m["family"], published, needs, m["setting"])
        rows.append(cells)
    return f"{INTRODUCTION}{table(('key', 'method', 'family', 'published', 'needs', 'setting'), rows)}\n"


def page(method: Mapping[str, Any], results: Path = BENCHMARKS / "results") -> str:
    """Everything about one method as Markdown; ``results``: the folder of raw rows."""
    parts = [f"# {method['name']}", capitalized(method["summary"]), citation(method["reference"])]
    parts.append(board_link("method", method["key"]))
    parts.append(f"```\npubench run --method {method['key']} --data digits --mech scar --c 0.1\n```")
    facts = {
        "Key": f"`{method['key']}`" + "".join(f", `{alias}`" for alias in method["aliases"]),
        "Package": method["package"],
        "Needs": ", ".join(method["needs"]) or "nothing but labels",
        "Setting": method["setting"],
        "Devices": ", ".join(method["devices"]),
        "Follows": method["follows"],
    }
    parts.append(table(("", ""), facts.items()))
    parts += measured(method["key"], sorted(results.glob("*.csv")))
    parts += ["## What it does", _docstring(method["load"])]
    parts.append("## Hyper-parameters")
    columns = ("name", "default", "values", "meaning", "search")
    rows = ({**row, "search": row["search"] or ""} for row in method["hyper_parameters"])
    parts.append(table(columns, ([_text(row[name]) for name in columns] for row in rows)))
    parts.append("## Presets")
    for name, preset in method["presets"].items():
        parts.append(f"**`{name}`** {preset['note']}: {_settings(preset['values'])}")
        parts.append(table(("data", "instead"), ((d, _settings(v)) for d, v in preset["per_data"].items())))
    if method["declared_failures"]:
        parts += ["## Declared failures", table(("check", "reason"), method["declared_failures"].items())]
    return "\n\n".join(part for part in parts if part) + "\n"


# -------------------------------------------------------------------- measured scores and costs


#: What a page says if there is no row yet.
UNMEASURED = "Nothing yet: no row of this method lies in `benchmarks/results/`."


def measured(key: str, files: Iterable[Path]) -> list[str]:
    """The section of what was measured: PU-Bench's main comparison, other protocols in a fold, and the cost."""
    accuracy, costs = _by_method(tuple((path, path.stat().st_mtime_ns) for path in files))
    main = summary.CONVENTIONAL
    groups: dict[Any, list[Any]] = {}
    for row in accuracy.get(key, ()):
        groups.setdefault(row.protocol, []).append(row)
    ordered = sorted(groups.items(), key=lambda group: (group[0] != main, -len(group[1])))
    shown = [[_protocol(protocol), _scores(rows), origin(rows)] for protocol, rows in ordered]
    parts, more = (shown[0], shown[1:]) if shown else ([], [])
    if more:
        opening = f"<details markdown><summary>Other settings: {len(more)}</summary>"
        parts = [*parts, opening, *(part for each in more for part in each), "</details>"]
    parts += _costs(costs.get(key, ()))
    return ["## Measured", *(parts or [UNMEASURED])]


@lru_cache(maxsize=1)
def _by_method(files: tuple[tuple[Path, int], ...]) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """Rows of accuracy and of cost by method, read once for all pages. ``files``: with times of change."""
    paths = [path for path, _ in files]
    found: tuple[dict[str, list[Any]], dict[str, list[Any]]] = ({}, {})
    for rows, by_method in zip((summary.read_accuracy(paths), summary.read_costs(paths)), found, strict=True):
        for row in rows:
            by_method.setdefault(row.method, []).append(row)
    return found


def _protocol(protocol: Any) -> str:
    """How the runs of a table were labeled, trained and chosen, and what the table holds."""
    names = {info.key: info.name for info in registry().infos(MechanismInfo)}
    oracles = {info.key for info in registry().infos(MetricInfo) if info.oracle}
    words = [
        protocol.scheme,
        names.get(protocol.mechanism, protocol.mechanism),
        f"c = {protocol.c}" if protocol.c else f"positive rate {protocol.positive_rate}",
        f"preset `{protocol.preset}`",
        f"epoch by validation `{protocol.criterion}`" + (" (oracle)" if protocol.criterion in oracles else ""),
        "true prior" if protocol.prior == "true" else f"prior given as {protocol.prior}",
        *(f"`{text}`" for text in protocol.sets),
    ]
    said = ", ".join(words)
    return f"{said[:1].upper()}{said[1:]}. Test measures in percent, mean ± sample standard deviation over the seeds:"


def _scores(rows: list[Any]) -> str:
    """A line per data set."""
    method = rows[0].method
    found = {measure: summary.by_data(rows, measure) for measure in MEASURES}
    columns = ("data", "seeds", *(f"`{measure}` (oracle)" for measure in MEASURES))
    lines = []
    for data in sorted({row.data for row in rows}):
        mine = [row for row in rows if row.data == data]
        seeds = {row.seed for row in mine}
        values = (found[measure].get((method, data)) for measure in MEASURES)
        cells = (spread(each) if each else "undefined" for each in values)
        lines.append((marked(f"`{data}`", mine), len(seeds), *cells))
    return table(columns, lines)


def _costs(rows: Iterable[Any]) -> list[str]:
    """A paragraph per data set, preset and number of threads."""
    groups: dict[tuple[str, str, int], list[Any]] = {}
    for row in rows:
        groups.setdefault((row.data, row.preset, row.threads), []).append(row)
    return [_cost(f"`{d}`, preset `{p}`, {n} CPU threads", group) for (d, p, n), group in groups.items()]


def _cost(where: str, rows: list[Any]) -> str:
    """Seconds per epoch, and their ratio to the reference's."""
    said = f"Cost on {where}: {spread([row.seconds for row in rows])} s per epoch, training and scoring together"
    ratios = [row.ratio for row in rows if row.ratio is not None]
    if ratios:
        said += f", {statistics.mean(ratios):.2f} times that of `{summary.REFERENCE}` next to it"
    return f"{said}. An epoch is what the method calls one. {origin(rows)}"


# -------------------------------------------------------------------- Markdown


def _docstring(load: str) -> str:
    module = importlib.import_module(load.split(":")[0])
    return markdown_of(inspect.cleandoc(module.__doc__ or ""))


def _settings(values: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}={_text(value)}`" for name, value in values.items()) or "the defaults"


def _text(value: Any) -> str:
    return "none" if value is None else str(value)
