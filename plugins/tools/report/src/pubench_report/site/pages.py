"""The pages of a site: which runs are on each, and what is said of them. How they look is in ``pages/templates``."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pubench.running import RunResult
from pubench_core.errors import counted

from ..numbers import percent, points
from ..pages.cards import data_card, method_card
from ..pages.names import criterion_text, in_order
from ..pages.report import page
from ..pages.template import rendered, script_json
from ..pages.view import View, seconds_of, seconds_text, shown_first, views_of
from ..rendering import RenderedTable, TableEntry
from ..report.model import ProblemColumn
from ..report.tables import entry
from .protocols import SiteProtocol, lacking, slugs
from .sources import Collected

#: Pages that every site has.
INDEX, RECORDS, CONTRIBUTE = "index.html", "records.html", "contribute.html"
#: Folder of the tables for programs.
TABLES = "tables"
MIB = 2**20
#: Bytes of the front page's values and its list of data sets, and of a line of that list. Values that do not fit are
#: on the pages of the tables.
BUDGET, DATA_SET = 60_000, 290
#: Most data sets of a setting on the front page; one of hundreds of species is on the page of its table.
MOST_DATA_SETS = 50


@dataclass(frozen=True)
class Site:
    """``records``: run id -> address of its record; ``files``: run id -> (name, address) of all its files. ``home``:
    address of the documentation; ``docs``: address of a plugin's page there, with ``{kind}`` (methods, data-sets) and
    ``{key}``.
    """

    title: str
    collected: Collected
    protocols: tuple[SiteProtocol, ...]
    notes: tuple[str, ...]
    records: Mapping[str, str]
    files: Mapping[str, tuple[tuple[str, str], ...]]
    home: str = ""
    docs: str = ""

    @cached_property
    def views(self) -> list[tuple[SiteProtocol, View]]:
        """The settings of the front page, the largest first."""
        return [(one, view) for one in self.protocols for view in views_of(one.model, one.name, _file(one.key))]

    @cached_property
    def methods(self) -> dict[str, str]:
        """Key -> its page."""
        return slugs(sorted({run.result.spec.method.key for run in self.collected.done}), "method")

    @cached_property
    def data(self) -> dict[str, str]:
        """Key -> its page."""
        return slugs(sorted({run.result.spec.data.key for run in self.collected.done}), "data")

    @cached_property
    def columns(self) -> dict[str, list[tuple[SiteProtocol, View, ProblemColumn]]]:
        """Key of a data set -> where it is."""
        found: dict[str, list[tuple[SiteProtocol, View, ProblemColumn]]] = {}
        for one, view in self.views:
            for column in view.setting.columns:
                found.setdefault(column.spec.data.key, []).append((one, view, column))
        return found

    @property
    def nav(self) -> list[tuple[str, str]]:
        """(address, text) of the links over every page."""
        links = [
            (INDEX, self.title),
            *([(_file(self.protocols[0].key), "Tables")]),
            (f"{INDEX}#data-sets", "Data sets"),
        ]
        links += [(RECORDS, "Runs"), (CONTRIBUTE, "Add your own")]
        return [*links, *([(self.home, "Documentation")] if self.home else [])]

    def docs_of(self, kind: str, key: str, installed: bool) -> str:
        """Address of a plugin's page of the documentation; empty if it has none."""
        return self.docs.format(kind=kind, key=key) if self.docs and installed else ""

    def runs_of(self, kind: str, key: str) -> list[RunResult]:
        """Finished runs of a method or on a data set."""
        return self._runs[kind].get(key, [])

    @cached_property
    def _runs(self) -> dict[str, dict[str, list[RunResult]]]:
        found: dict[str, dict[str, list[RunResult]]] = {"method": {}, "data": {}}
        for run in self.collected.done:
            found["method"].setdefault(run.result.spec.method.key, []).append(run)
            found["data"].setdefault(run.result.spec.data.key, []).append(run)
        return found


def pages_of(site: Site) -> Iterator[tuple[str, str]]:
    """(name of a file, its HTML)."""
    yield INDEX, _index(site)
    for one in site.protocols:
        title = (f"{site.title}: {one.name}", *_counts(one))
        yield (
            _file(one.key),
            page(one.model, one.tests, title, table=one.name, nav=site.nav, pages=site.methods, records=site.records),
        )
    for key, name in site.methods.items():
        yield _file(name), _method(site, key)
    for key, name in site.data.items():
        yield _file(name), _data(site, key)
    yield RECORDS, _records(site)
    yield CONTRIBUTE, rendered("contribute.html.j2", "Add your own runs", nav=site.nav)


def _file(key: str) -> str:
    return f"{key}.html"


def _counts(one: SiteProtocol) -> list[str]:
    gathered = one.model.gathered
    data = {run.result.spec.data.key for run in gathered.done}
    said = [counted(len(gathered.done), "run"), counted(len({*one.model.method_of.values()}), "method")]
    said += [counted(len(data), "data set")]
    said += [f"{gathered.missing:,} still to be run"] if gathered.missing else []
    said += [f"{len(gathered.failed):,} failed"] if gathered.failed else []
    studies = f"Studies: {', '.join(one.studies)}." if one.studies else ""
    return [f"{', '.join(said)}. {studies}".strip()]


# -------------------------------------------------------------------- the first page


def _index(site: Site) -> str:
    head = ("table", "methods", "data sets", "runs", "missing runs", "failed", "for programs")
    tables = RenderedTable("protocols", "", head, tuple(_line(one) for one in site.protocols))
    views = [view for _, view in site.views]
    shown = [view for view in views if len(view.columns) <= MOST_DATA_SETS] or views
    return rendered(
        "front.html.j2",
        site.title,
        ("page.js", "board.js"),
        nav=site.nav,
        lists={"Tables": tables, "Data sets": _data_sets(site)},
        sources=_sources(site),
        notes=[*site.notes, *site.collected.notes],
        **shown_first(shown, site.methods, BUDGET - DATA_SET * len(site.data)),
    )


def _line(one: SiteProtocol) -> tuple[TableEntry, ...]:
    gathered = one.model.gathered
    return (
        TableEntry(one.name, link=_file(one.key), why=one.title),
        TableEntry(str(len({*one.model.method_of.values()}))),
        TableEntry(str(len({run.result.spec.data.key for run in gathered.done}))),
        TableEntry(f"{len(gathered.done)}"),
        TableEntry(f"{sum(map(len, one.lacks.values()))}", why="".join(lacking([one])).removeprefix(f"{one.name}: ")),
        TableEntry(f"{len(gathered.failed)}"),
        TableEntry("CSV", link=f"{TABLES}/{one.key}.csv"),
    )


def _data_sets(site: Site) -> RenderedTable:
    rows = []
    for key, name in site.data.items():
        info, _ = data_card(key)
        mine = site.runs_of("data", key)
        called = info.name if info is not None else "not installed where this site was made"
        methods = {run.result.spec.method.key for run in mine}
        rows.append((TableEntry(key, link=_file(name)), *map(TableEntry, (called, str(len(methods)), str(len(mine))))))
    return RenderedTable("data", "", ("key", "data set", "methods", "runs"), tuple(rows), left=2)


def _sources(site: Site) -> RenderedTable:
    head = ("source", "kind", "studies", "runs that no source above has")
    of = site.collected.sources
    rows = [(one.path.resolve().name, one.kind, ", ".join(one.studies), str(one.runs)) for one in of]
    return replace(RenderedTable.of(head, rows, left=3), key="sources")


# -------------------------------------------------------------------- a method


def _method(site: Site, key: str) -> str:
    info, facts, presets = method_card(key)
    mine = site.runs_of("method", key)
    table, costs, standings = _of_method(site, key), _dumbbell(site, key), _standings(site, key)
    return rendered(
        "method.html.j2",
        f"{info.name} ({key})" if info is not None else key,
        ("page.js", "card.js"),
        nav=site.nav,
        info=info,
        facts=facts,
        docs=site.docs_of("methods", key, info is not None),
        headline=_headline(info.name.removesuffix(" (oracle)") if info is not None else key, standings),
        standings=standings,
        oracle=any(run.result.oracle for run in mine),
        table=table,
        costs=_costs(mine),
        presets=presets,
        charts=script_json(costs),
    )


def _standings(site: Site, key: str) -> RenderedTable:
    """Where a method is among the others, in each setting: the front page's numbers."""
    found = []
    for one, view in site.views:
        ranking = view.ranking(view.criterion)
        for place in ranking.places:
            if place.row in one.rows_of(key):
                tied = "shared " if sum(other.rank == place.rank for other in ranking.places) > 1 else ""
                found.append((
                    TableEntry(
                        f"{view.title}{_setup(view, place.row, key)}", link=_file(one.key), why=view.setting.words
                    ),
                    TableEntry(f"{tied}{place.rank} of {len(ranking.places)}"),
                    TableEntry("", below=place.below, interval=(place.low, place.high)),
                    TableEntry(percent(place.first)),
                    TableEntry(str(len(ranking.columns))),
                ))  # fmt: skip
    head = ("setting", "rank", "points below the best, 90 % interval", "first in", "data sets")
    return RenderedTable("standings", "", head, tuple(found))


def _headline(name: str, standings: RenderedTable) -> str:
    """The first line of the standings as a sentence."""
    if not standings.rows:
        return f"{name}: not ranked in any setting, as it lacks values or nothing is comparable"
    setting, rank, place, *_ = standings.rows[0]
    return f"{name}: rank {rank.text}, {points(place.below or 0.0)} points below the best ({setting.text})"


def _setup(view: View, row: str, key: str) -> str:
    """What tells a row from others of its method."""
    return "" if row == key else f", {view.names[row].partition(', ')[2] or view.names[row]}"


def _of_method(site: Site, key: str) -> RenderedTable:
    """One row for each data set and setting: its place, and values under every criterion."""
    criteria = in_order({c for one, _ in site.views if one.rows_of(key) for c in one.model.criteria})
    oracles = {c for one, _ in site.views for c in one.model.oracle_criteria}
    rows = []
    for one, view in site.views:
        for row in one.rows_of(key):
            for column in view.setting.columns:
                model, label = one.model, column.label
                runs = model.gathered.grid.cell(row, label)
                if not runs.seeds:
                    continue
                place = one.places(model.criterion, column).get(row)
                name = view.columns[label] + _setup(view, row, key)
                values = [
                    _elsewhere(entry(model.cells(model.measure, c)[row, label], model.measure, column), one)
                    if c in model.criteria
                    else TableEntry("")
                    for c in criteria
                ]
                ranked = [one.places(c, column).get(row) for c in criteria]
                values = [
                    replace(value, why=value.why or (f"rank {at.rank} of {at.of}" if at else ""))
                    for value, at in zip(values, ranked, strict=True)
                ]
                data = site.data.get(column.spec.data.key, "")
                rows.append((
                    TableEntry(name, link=_file(data) if data else "", why=label),
                    TableEntry(view.title, link=_file(one.key), why=view.setting.words),
                    TableEntry(f"{place.rank} of {place.of}" if place else "-"),
                    TableEntry("", below=view.below.get((row, label))),
                    *values,
                    TableEntry(_duration(runs)),
                ))  # fmt: skip
    chosen = [criterion_text(c)[0] + (" (oracle)" if c in oracles else "") for c in criteria]
    head = ("data set", "setting", "rank", "points below the best", *(f"by {name}" for name in chosen), "s / run")
    return RenderedTable("results", "", head, tuple(rows), left=2)


def _duration(runs: Any) -> str:
    seconds, shared = seconds_of(runs)
    return "" if seconds is None else f"{'○ ' if shared else ''}{seconds_text(seconds)}"


def _dumbbell(site: Site, key: str) -> dict[str, Any]:
    """Values at the epochs of an oracle and of the shown criterion, by data set, of the largest setting with both."""
    for one, view in site.views:
        model, oracle = one.model, view.oracle
        if not oracle or oracle == view.criterion or key not in one.rows_of(key):
            continue
        chosen, best = (model.cells(model.measure, c) for c in (view.criterion, oracle))
        rows = []
        for column in view.setting.columns:
            means = [cells[key, column.label].mean for cells in (best, chosen)]
            known = [round(model.measure.scale * mean, 2) for mean in means if mean is not None]
            if len(known) == 2:
                rows.append([view.columns[column.label], *known])
        if rows:
            names = [criterion_text(c)[0] for c in (oracle, view.criterion)]
            return {"dumbbell": {"rows": rows, "oracle": names[0], "chosen": names[1], "title": view.title}}
    return {}


def _costs(runs: Sequence[RunResult]) -> RenderedTable:
    groups: dict[tuple[str, str, str], list[RunResult]] = {}
    for run in runs:
        at_once = "-" if run.result.at_once is None else str(run.result.at_once)
        groups.setdefault((run.result.spec.data.key, at_once, str(run.result.threads)), []).append(run)
    rows = []
    for (data, at_once, threads), mine in sorted(groups.items()):
        seconds = [run.result.seconds.total for run in mine]
        memory = max(run.result.peak_memory.bytes for run in mine)
        epochs = statistics.median(run.result.epochs for run in mine)
        values = (f"{statistics.median(seconds):.1f}", f"{max(seconds):.1f}", f"{epochs:.0f}", f"{memory / MIB:.0f}")
        rows.append((data, *values, at_once, threads, str(len(mine))))
    head = ("data", "seconds, median", "seconds, most", "epochs, median", "peak MiB", "runs at once", "threads", "runs")
    note = (
        "Seconds and memory are a method's own only where it was alone on the machine (runs at once: 1); a hyphen says "
        "that no study carried the run out. An epoch is what the method calls one."
    )
    return replace(RenderedTable.of(head, rows, notes=(note,)), key="cost")


# -------------------------------------------------------------------- a data set


def _data(site: Site, key: str) -> str:
    info, facts = data_card(key)
    places = site.columns.get(key, [])
    sections = [(one, view, column, _of_data(site, one, view, column)) for one, view, column in places]
    return rendered(
        "data.html.j2",
        f"{info.name} ({key})" if info is not None else key,
        ("page.js", "card.js"),
        nav=site.nav,
        info=info,
        facts=[*facts, *_measured(site.runs_of("data", key))],
        docs=site.docs_of("data-sets", key, info is not None),
        sections=[
            {"title": _column_title(view, column), "link": _file(one.key), "by": criterion_text(view.criterion)[0],
             "verdict": _best_of(one, view, column), "table": table}
            for one, view, column, table in sections
        ],
        charts=script_json({"scatter": _times(places)}),
    )  # fmt: skip


def _column_title(view: View, column: ProblemColumn) -> str:
    return f"{view.columns[column.label]}: {view.title}"


def _measured(runs: Sequence[RunResult]) -> list[tuple[str, str]]:
    """Rows and share of positives of its runs, if records tell them."""
    tests = {part.rows for run in runs if (part := getattr(run.result.data, "test", None)) is not None}
    priors = sorted({round(p, 3) for run in runs if (p := getattr(run.result.data.prior, "true", None)) is not None})
    found = [("test rows", ", ".join(f"{n:,}" for n in sorted(tests)))] if tests else []
    ends = dict.fromkeys(f"{p:g}" for p in (priors[0], priors[-1])) if priors else {}
    return [*found, *([("share of positives, π", " to ".join(ends))] if ends else [])]


def _best_of(one: SiteProtocol, view: View, column: ProblemColumn) -> str:
    """The best methods of a data set, in a sentence."""
    places = one.places(view.criterion, column)
    if not places:
        return "No two methods can be compared here."
    first = [view.names[row] for row, place in places.items() if place.rank == 1]
    cell = view.model.cells(view.measure, view.criterion)[min(places, key=lambda row: places[row].rank), column.label]
    value = (
        ""
        if cell.mean is None
        else f" with {view.measure.name} {view.measure.text(cell.mean)}{' %' if view.measure.percent else ''}"
    )
    n = f" over {counted(len(cell.values), 'seed')}" if cell.mean is not None else ""
    return f"{' and '.join(first)} {'is' if len(first) == 1 else 'are'} first of {len(places)} methods{value}{n}."


def _of_data(site: Site, one: SiteProtocol, view: View, column: ProblemColumn) -> RenderedTable:
    """Methods by measures, the best first."""
    model, grid = one.model, one.model.gathered.grid
    ranks = one.places(model.criterion, column)
    rows = [row for row in view.rows if grid.cell(row, column.label).seeds]
    lines = []
    for row in sorted(rows, key=lambda row: (ranks[row].rank if row in ranks else len(rows) + 1, row)):
        found = [
            _elsewhere(entry(model.cells(m, model.criterion)[row, column.label], m, column), one)
            for m in model.measures
        ]
        place = site.methods.get(model.method_of[row], "")
        name = view.names[row] + (
            "" if row not in model.apart else f" ({'oracle' if row in model.oracles else 'baseline'})"
        )
        below = view.below.get((row, column.label))
        lines.append((
            TableEntry(name, link=_file(place) if place else "", why=row),
            TableEntry(f"{ranks[row].rank}" if row in ranks else "-"),
            TableEntry("", below=None if below is None or row in model.oracles else below),
            *found,
            TableEntry(_duration(grid.cell(row, column.label))),
        ))  # fmt: skip
    head = ("method", "rank", "points below the best", *(measure.label for measure in model.measures), "s / run")
    key = f"of-{one.key}-{view.setting.key}-{view.setting.columns.index(column) + 1}"
    return RenderedTable(key, "", head, tuple(lines))


def _times(places: Sequence[tuple[SiteProtocol, View, ProblemColumn]]) -> list[dict[str, Any]]:
    """Points below the best against seconds, of the first setting."""
    for _, view, column in places:
        dots = []
        for row in view.rows:
            seconds, shared = seconds_of(view.model.gathered.grid.cell(row, column.label))
            below = view.below.get((row, column.label))
            if seconds is not None and below is not None and row not in view.model.oracles:
                dots.append(
                    {"name": view.names[row], "seconds": seconds, "below": round(max(below, 0.0), 3), "shared": shared}
                )
        if len(dots) > 1:
            return dots
    return []


def _elsewhere(cell: TableEntry, one: SiteProtocol) -> TableEntry:
    """With the address of its runs on the table's own page."""
    return replace(cell, link=f"{_file(one.key)}#{cell.link}" if cell.link else "")


# -------------------------------------------------------------------- records


def _records(site: Site) -> str:
    shown = {run.run_id: (one, view) for one, view in site.views for run in one.model.gathered.done}
    measure = site.protocols[0].model.measure
    rows = []
    for run in site.collected.published:
        result, (one, view) = run.result, shown.get(run.run_id, site.views[0])
        files = dict(site.files.get(run.run_id, ()))
        chosen = result.criteria.get(one.model.criterion)
        found = chosen.measured("test").get(measure.key) if chosen is not None else None
        value = "" if found is None or found.value is None else measure.text(found.value)
        rows.append((
            TableEntry(run.run_id, link=site.records.get(run.run_id, "")),
            TableEntry(result.spec.method.key),
            TableEntry(result.spec.data.key),
            TableEntry(view.title),
            TableEntry(str(result.spec.seed)),
            TableEntry(value, alike=int(chosen is not None and chosen.decided_alike)),
            TableEntry("" if chosen is None or chosen.epoch is None else str(chosen.epoch)),
            TableEntry(", ".join(site.collected.studies.get(run.run_id, {}))),
            TableEntry(result.finished_at[:10]),
            TableEntry("yes" if result.oracle else ""),
            TableEntry("" if run.run_id in site.collected.runs else "another one was chosen"),
            TableEntry("specification", link=files["spec.yaml"]) if "spec.yaml" in files else TableEntry(""),
            TableEntry("scores", link=files["scores.npz"]) if "scores.npz" in files else TableEntry(""),
            TableEntry(result.code.hash),
        ))  # fmt: skip
    head = (
        "run", "method", "data", "setting", "seed", measure.label, "epoch", "studies", "finished", "oracle", "draw",
        "specification", "scores", "code",
    )  # fmt: skip
    drop = [k for k, _ in enumerate(head) if all(not row[k].text for row in rows)]
    table = RenderedTable(
        "records",
        "",
        tuple(name for k, name in enumerate(head) if k not in drop),
        tuple(tuple(cell for k, cell in enumerate(row) if k not in drop) for row in rows),
        left=4,
    )
    sources = site.collected.sources
    sums = [
        f"{folder}/SHA256SUMS"
        for folder, rows in (("records", False), ("rows", True))
        if any(s.rows is rows for s in sources)
    ]
    many = [len({row[k].text for row in rows}) for k in (1, 2)]
    title = f"{counted(len(rows), 'run')} of {counted(many[0], 'method')} on {counted(many[1], 'data set')}"
    return rendered("records.html.j2", title, nav=site.nav, table=table, sums=sums)
