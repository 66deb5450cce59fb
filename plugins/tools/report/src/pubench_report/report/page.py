"""A report as one HTML file that needs nothing but itself: tables, figures, and the runs behind every number."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files

from pubench.running import RunResult
from pubench_core.errors import visible

from .figures import all_figures, inline_svg, no_costs
from .model import Model
from .recipe import SEED, Known, Recipe, recipe
from .statistics import Comparison
from .tables import Entry, Section, Table, sections
from .text import GAPS, LEGEND

#: What rows are filtered with; shown where the script runs.
FILTER = (
    '<div class="bar" data-script hidden><label for="filter">Show rows with</label>'
    '<input id="filter" type="search" placeholder="nnpu, vpu" autocomplete="off">'
    '<span id="count" role="status"></span></div>'
)


def page(
    model: Model,
    tests: Sequence[Comparison],
    title: Sequence[str],
    *,
    above: str = "",
    records: Mapping[str, str] | None = None,
    figures: bool = True,
) -> str:
    """The whole document. ``above``: HTML over its title; ``records``: run id -> address of its record, for links."""
    parts = sections(model, tests)
    drawn: dict[str, list[str]] = {}
    for one in all_figures(model, tests) if figures else ():
        text = f"{one.title}. {one.caption}"
        figure = (
            f'<figure id="f-{one.key}"><h3>{escaped(one.title)}</h3>{wide(one.title, inline_svg(one, escaped(text)))}'
            f"<figcaption>{escaped(one.caption)}</figcaption></figure>"
        )
        drawn.setdefault(one.section, []).append(figure)
    drawn.setdefault("results", []).extend(noted([missing] if (missing := no_costs(model)) else []))
    links = "".join(f'<li><a href="#{part.key}">{escaped(part.title)}</a></li>' for part in parts)
    body = [
        above,
        f"<h1>{escaped(title[0])}</h1>",
        *(f"<p>{escaped(line)}</p>" for line in title[1:]),
        f'<nav aria-label="Sections"><ul>{links}<li><a href="#runs">Runs and how to repeat them</a></li></ul></nav>',
        FILTER,
        *(noted(model.gathered.notes)),
        *(text for part in parts for text in _section(part, drawn.get(part.key, []))),
        *_runs(model, records or {}),
    ]
    return document(title[0], body)


def document(title: str, body: Sequence[str], style: str = "", script: str = "") -> str:
    """A page that runs its own script and no other. ``body``: HTML; ``style``, ``script``: instead of the report's."""
    style, script = style or _asset("page.css"), script or _asset("page.js")
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{_sha256(script)}'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{escaped(title)}</title>\n<link rel="icon" href="data:,">\n<style>\n{style}</style>\n</head>\n'
        "<body>\n<main>\n" + "\n".join(body) + f"\n</main>\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _asset(name: str) -> str:
    return (files(__package__ or "") / name).read_text(encoding="utf-8")


def _sha256(text: str) -> str:
    """As a content security policy has it: the page runs its own script and no other."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def escaped(text: str) -> str:
    """Escapes HTML, in text and in quoted attributes."""
    return escape(visible(text))


def noted(notes: Sequence[str]) -> list[str]:
    """A paragraph each."""
    return [f'<p class="note">{escaped(note)}</p>' for note in notes]


def wide(label: str, content: str) -> str:
    """Box that scrolls by itself, with the keyboard as well, for content wider than the page."""
    return f'<div class="wide" role="region" aria-label="{escaped(label)}" tabindex="0">{content}</div>'


# -------------------------------------------------------------------- tables


def _section(section: Section, figures: Sequence[str]) -> Iterator[str]:
    yield f'<section id="{section.key}"><h2>{escaped(section.title)}</h2><p>{escaped(section.text)}</p>'
    if section.key == "results":
        yield f'<p class="note">{escaped(LEGEND["html"])}; {escaped(GAPS)}. Every number leads to its runs.</p>'
    for table in section.tables:
        if table.rows or table.notes:
            yield f"<h3>{escaped(table.title)}</h3>"
        if table.rows:
            yield wide(f"{section.title}: {table.title}", html_table(table))
        yield from noted(table.notes)
    yield from figures
    yield "</section>"


def html_table(table: Table) -> str:
    """Sorted by its heads, where the script runs; an entry's link leads to its runs, or to another page."""
    head = "".join(
        f'<th scope="col"{" class=n" if k < table.left else ""}><button type="button">{escaped(name)}</button></th>'
        for k, name in enumerate(table.head)
    )
    rows = "\n".join(
        "<tr>"
        + "".join(
            f'<th scope="row" class=n>{_entry(entry)}</th>'
            if k == 0
            else f"<td{' class=n' if k < table.left else ''}>{_entry(entry)}</td>"
            for k, entry in enumerate(row)
        )
        + "</tr>"
        for row in table.rows
    )
    return f'<table id="{table.key}"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _entry(entry: Entry) -> str:
    title = f' title="{escaped(entry.why)}"' if entry.why else ""
    style = {"best": " class=b", "second": " class=s", "": ""}[entry.mark]
    alike = f" <span class=k>alike {entry.alike}</span>" if entry.alike else ""
    if entry.link:
        address = f'"{escaped(entry.link)}"' if "." in entry.link else f"#{entry.link}"
        return f"<a href={address}{style}{title}>{escaped(entry.text)}</a>{alike}"
    return f"<span{title}>{escaped(entry.text)}</span>" if title else escaped(entry.text)


# -------------------------------------------------------------------- runs


def _runs(model: Model, records: Mapping[str, str]) -> Iterator[str]:
    """What is behind each cell: record, value, warnings, and how to carry the run out again."""
    yield (
        '<section id="runs"><h2>Runs and how to repeat them</h2><p>A record is a folder of that name in the folder of '
        "records. Command and call are exact: with the code and versions that the record names, on the same kind of "
        "machine, they give the same scores. They show one seed; choosing another run puts its seed there.</p>"
    )
    known = Known()
    grid = model.gathered.grid
    for (row, column), name in model.ids().items():
        runs = list(grid.cell(row, column).runs.values())
        groups: dict[Recipe, list[RunResult]] = {}
        for run in runs:
            groups.setdefault(recipe(run.result, known), []).append(run)
        count = f"{len(runs)} run{'' if len(runs) == 1 else 's'}"
        blocks = "".join(_recipe(model, one, group, records) for one, group in groups.items())
        summary = f"{escaped(model.row_name(row))} on {escaped(column)}: {count}"
        yield f"<details id={name}><summary>{summary}</summary>{blocks}</details>"
    yield from noted([f"failed: {failure}" for failure in model.gathered.failed])
    yield "</section>"


def _recipe(model: Model, one: Recipe, runs: Sequence[RunResult], records: Mapping[str, str]) -> str:
    items = "".join(_run(model, run, records.get(run.run_id, ""), first=k == 0) for k, run in enumerate(runs))
    seed = f"<b class=seed>{runs[0].result.spec.seed}</b>"
    command, python = (escaped(text).replace(SEED, seed) for text in (one.command, one.python))
    first = f"<p>{escaped(one.first)}</p>" if one.first else ""
    return f"<div class=recipe><ul class=runs>{items}</ul>{first}<pre>{command}</pre><pre>{python}</pre></div>"


def _run(model: Model, run: RunResult, record: str, *, first: bool) -> str:
    result, name = run.result, escaped(run.run_id)
    chosen = result.criteria.get(model.criterion)
    measure = chosen.measured("test").get(model.measure.key) if chosen is not None else None
    value = "no value" if measure is None or measure.value is None else model.measure.text(measure.value)
    epoch = "" if chosen is None or chosen.epoch is None else f", epoch {chosen.epoch}"
    alike = " <span class=k>alike</span>" if chosen is not None and chosen.decided_alike else ""
    return (
        f'<li><button type=button id="r-{name}" data-seed={result.spec.seed} aria-pressed={str(first).lower()}>'
        f"seed {result.spec.seed}</button> {value}{epoch}{alike} {_link(record, name)}</li>"
    )


def _link(address: str, name: str) -> str:
    return f'<a href="{escaped(address)}"><code>{name}</code></a>' if address else f"<code>{name}</code>"
