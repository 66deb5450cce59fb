"""mkdocs hook: one page per installed method, made when the site is built.

A page has what the method's info record, Config and docstring say, and what was measured, from the raw rows in
``benchmarks/results/``. Nothing about a method is written by hand in this folder.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from leaderboard import board_link
from page_parts import ROWS, add_pages, capitalized, citation, expand_navigation, markdown_of, render

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
    return render("methods.md", table=table(("key", "method", "family", "published", "needs", "setting"), rows))


def page(method: Mapping[str, Any], results: Path = ROWS) -> str:
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
    parts += measured(method["key"], results)
    module = importlib.import_module(method["load"].split(":")[0])
    parts += ["## What it does", markdown_of(inspect.getdoc(module) or "")]
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


def measured(key: str, results: Path) -> list[str]:
    """The section of what was measured: PU-Bench's main comparison, other protocols in a fold, and the cost."""
    runs, costs = _read(results)
    shown = [
        [_protocol(protocol), _scores(mine), origin(mine)]
        for protocol, mine in summary.by_protocol(runs[runs.method == key])
    ]
    parts, more = (shown[0], shown[1:]) if shown else ([], [])
    if more:
        opening = f"<details markdown><summary>Other settings: {len(more)}</summary>"
        parts = [*parts, opening, *(part for each in more for part in each), "</details>"]
    parts += [_cost(threads, mine) for threads, mine in costs[costs.method == key].groupby("threads", sort=False)]
    return ["## Measured", *(parts or [UNMEASURED])]


@cache
def _read(results: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Runs and costs, read once for all pages."""
    paths = sorted(results.glob("*.csv"))
    return summary.runs(paths), summary.costs(paths)


def _protocol(protocol: Mapping[str, str]) -> str:
    """How the runs of a table were labeled, trained and chosen, and what the table holds."""
    names = {info.key: info.name for info in registry().infos(MechanismInfo)}
    oracles = {info.key for info in registry().infos(MetricInfo) if info.oracle}
    mechanism, criterion, prior = protocol["mechanism"], protocol["criterion"], protocol["prior"]
    words = [
        protocol["scheme"],
        names.get(mechanism, mechanism),
        f"c = {protocol['c']}" if protocol["c"] else f"positive rate {protocol['positive_rate']}",
        f"preset `{protocol['preset']}`",
        f"epoch by validation `{criterion}`" + (" (oracle)" if criterion in oracles else ""),
        "true prior" if prior == "true" else f"prior given as {prior}",
        *(f"`{text}`" for text in protocol["settings"].split()),
    ]
    said = ", ".join(words)
    return f"{said[:1].upper()}{said[1:]}. Test measures in percent, mean ± sample standard deviation over the seeds:"


def _scores(runs: pd.DataFrame) -> str:
    """A line per data set."""
    lines = []
    rows = runs[["data", "seed", "older", *MEASURES]].itertuples(index=False, name=None)
    for data, mine in groupby(sorted(rows, key=itemgetter(0)), itemgetter(0)):
        _, seeds, older, *measured = zip(*mine, strict=True)
        values = ([value for value in of if value == value] for of in measured)  # without NaN
        cells = (spread(each) if each else "undefined" for each in values)
        lines.append((marked(f"`{data}`", older), len({*seeds}), *cells))
    return table(("data", "seeds", *(f"`{measure}` (oracle)" for measure in MEASURES)), lines)


def _cost(threads: str, rows: pd.DataFrame) -> str:
    """Seconds per epoch, and their ratio to the reference's."""
    said = f"Cost on `fashion-mnist`, preset `pubench`, {threads} CPU threads: {spread(rows.seconds)} s per epoch"
    said += ", training and scoring together"
    if rows.ratio.notna().any():
        said += f", {rows.ratio.mean():.2f} times that of `{summary.REFERENCE}` next to it"
    return f"{said}. An epoch is what the method calls one. {origin(rows)}"


# -------------------------------------------------------------------- Markdown


def _settings(values: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}={_text(value)}`" for name, value in values.items()) or "the defaults"


def _text(value: Any) -> str:
    return "none" if value is None else str(value)
