"""The pages of a site: which runs are on each, and what is said of them. How they look is in ``pages/templates``."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

from pubench.running import RunResult
from pubench_core.errors import counted
from pubench_core.plugins.info import DatasetInfo, MethodInfo
from pubench_core.plugins.registry import registry

from ..cells import ShownMeasure
from ..grouping import RunGroup
from ..numbers import percent, points
from ..pages.names import criterion_text, in_order
from ..pages.report import page
from ..pages.template import rendered
from ..pages.view import View, kind_of, seconds_of, seconds_text, shown_first, views_of
from ..rendering import RenderedTable, TableEntry
from ..report.model import ProblemColumn
from ..report.tables import entry
from .protocols import SiteProtocol, lacking, slugs
from .sources import Collected

Info = TypeVar("Info", MethodInfo, DatasetInfo)
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
        links = [(INDEX, self.title), (_file(self.protocols[0].key), "Tables"), (f"{INDEX}#data-sets", "Data sets")]
        links += [(RECORDS, "Runs"), (CONTRIBUTE, "Add your own")]
        return [*links, *([(self.home, "Documentation")] if self.home else [])]

    def docs_of(self, kind: str, key: str, installed: bool) -> str:
        """Address of a plugin's page of the documentation; empty if it has none."""
        return self.docs.format(kind=kind, key=key) if self.docs and installed else ""

    @cached_property
    def runs_of(self) -> Mapping[tuple[str, str], list[RunResult]]:
        """(method or data, key) -> finished runs of a method or on a data set."""
        found: dict[tuple[str, str], list[RunResult]] = {}
        for run in self.collected.done:
            for place in (("method", run.result.spec.method.key), ("data", run.result.spec.data.key)):
                found.setdefault(place, []).append(run)
        return found


def pages_of(site: Site) -> Iterator[tuple[str, str]]:
    """(name of a file, its HTML)."""
    yield INDEX, _index(site)
    for one in site.protocols:
        title = (f"{site.title}: {one.name}", _counts(one))
        of = page(one.model, one.tests, title, table=one.name, nav=site.nav, pages=site.methods, records=site.records)
        yield _file(one.key), of
    for key, name in site.methods.items():
        yield _file(name), _method(site, key)
    for key, name in site.data.items():
        yield _file(name), _data(site, key)
    yield RECORDS, _records(site)
    yield CONTRIBUTE, rendered("contribute.html.j2", "Add your own runs", nav=site.nav)


def _file(key: str) -> str:
    return f"{key}.html"


def _counts(one: SiteProtocol) -> str:
    gathered = one.model.gathered
    data = {run.result.spec.data.key for run in gathered.done}
    said = [counted(len(gathered.done), "run"), counted(len({*one.model.method_of.values()}), "method")]
    said += [counted(len(data), "data set")]
    said += [f"{gathered.missing:,} still to be run"] if gathered.missing else []
    said += [f"{len(gathered.failed):,} failed"] if gathered.failed else []
    return f"{', '.join(said)}." + (f" Studies: {', '.join(one.studies)}." if one.studies else "")


# -------------------------------------------------------------------- the first page


def _index(site: Site) -> str:
    head = ("table", "methods", "data sets", "runs", "missing runs", "failed", "for programs")
    lines = []
    for one in site.protocols:
        gathered, lacks = one.model.gathered, "".join(lacking([one])).removeprefix(f"{one.name}: ")
        counts = [{*one.model.method_of.values()}, {run.result.spec.data.key for run in gathered.done}, gathered.done]
        lines.append((
            TableEntry(one.name, link=_file(one.key), why=one.title),
            *map(len, counts),
            TableEntry(f"{sum(map(len, one.lacks.values()))}", why=lacks),
            f"{len(gathered.failed)}",
            TableEntry("CSV", link=f"{TABLES}/{one.key}.csv"),
        ))  # fmt: skip
    views = [view for _, view in site.views]
    shown = [view for view in views if len(view.columns) <= MOST_DATA_SETS] or views
    of = site.collected.sources
    sources = [(one.path.resolve().name, one.kind, ", ".join(one.studies), str(one.runs)) for one in of]
    source_head = ("source", "kind", "studies", "runs that no source above has")
    return rendered(
        "front.html.j2",
        site.title,
        ("page.js", "board.js"),
        nav=site.nav,
        lists={"Tables": RenderedTable.of(head, lines, key="protocols"), "Data sets": _data_sets(site)},
        sources=RenderedTable.of(source_head, sources, key="sources", left=3),
        notes=[*site.notes, *site.collected.notes],
        **shown_first(shown, site.methods, BUDGET - DATA_SET * len(site.data)),
    )


def _data_sets(site: Site) -> RenderedTable:
    rows = []
    for key, name in site.data.items():
        info, mine = _info(DatasetInfo, key), site.runs_of["data", key]
        called = info.name if info is not None else "not installed where this site was made"
        methods = {run.result.spec.method.key for run in mine}
        rows.append((TableEntry(key, link=_file(name)), called, str(len(methods)), str(len(mine))))
    return RenderedTable.of(("key", "data set", "methods", "runs"), rows, key="data", left=2)


def _info(kind: type[Info], key: str) -> Info | None:
    """Info record of an installed plugin."""
    return next((info for info in registry().infos(kind) if info.key == key), None)


# -------------------------------------------------------------------- a method


def _method(site: Site, key: str) -> str:
    info = _info(MethodInfo, key)
    mine, standings = site.runs_of["method", key], _standings(site, key)
    name = info.name.removesuffix(" (oracle)") if info is not None else key
    headline = f"{name}: not ranked in any setting, as it lacks values or nothing is comparable"
    if standings.rows:
        setting, rank, place, *_ = standings.rows[0]
        headline = f"{name}: rank {rank.text}, {points(place.below or 0.0)} points below the best ({setting.text})"
    return rendered(
        "method.html.j2",
        f"{info.name} ({key})" if info is not None else key,
        nav=site.nav,
        info=info,
        key=key,
        docs=site.docs_of("methods", key, info is not None),
        headline=headline,
        standings=standings,
        oracle=any(run.result.oracle for run in mine),
        table=_of_method(site, key),
        costs=_costs(mine),
    )


def _standings(site: Site, key: str) -> RenderedTable:
    """Where a method is among the others, in each setting: the front page's numbers."""
    found = []
    for one, view in site.views:
        ranking = view.ranking(view.criterion)
        for place in (place for place in ranking.places if place.row in one.rows_of(key)):
            tied = "shared " if sum(other.rank == place.rank for other in ranking.places) > 1 else ""
            title = f"{view.title}{_setup(view, place.row, key)}"
            found.append((
                TableEntry(title, link=_file(one.key), why=view.setting.words),
                f"{tied}{place.rank} of {len(ranking.places)}",
                TableEntry("", below=place.below, interval=(place.low, place.high)),
                percent(place.first),
                str(len(ranking.columns)),
            ))  # fmt: skip
    head = ("setting", "rank", "points below the best, 90 % interval", "first in", "data sets")
    return RenderedTable.of(head, found, key="standings")


def _setup(view: View, row: str, key: str) -> str:
    """What tells a row from others of its method."""
    return "" if row == key else f", {view.names[row].partition(', ')[2] or view.names[row]}"


def _of_method(site: Site, key: str) -> RenderedTable:
    """One row for each data set and setting: its place, and values under every criterion."""
    criteria = in_order({c for one, _ in site.views if one.rows_of(key) for c in one.model.criteria})
    oracles = {c for one, _ in site.views for c in one.model.oracle_criteria}
    rows = []
    places = ((one, view, row, c) for one, view in site.views for row in one.rows_of(key) for c in view.setting.columns)
    for one, view, row, column in places:
        model, label = one.model, column.label
        runs = model.gathered.grid.cell(row, label)
        if not runs.seeds:
            continue
        values = []
        for criterion in criteria:
            at = one.places(criterion, column).get(row)
            why = f"rank {at.rank} of {at.of}" if at else ""
            there = criterion in model.criteria
            values.append(_cell(one, row, column, model.measure, criterion, why) if there else TableEntry("", why=why))
        place, data = one.places(model.criterion, column).get(row), site.data.get(column.spec.data.key, "")
        rows.append((
            TableEntry(view.columns[label] + _setup(view, row, key), link=_file(data) if data else "", why=label),
            TableEntry(view.title, link=_file(one.key), why=view.setting.words),
            f"{place.rank} of {place.of}" if place else "-",
            TableEntry("", below=view.below.get((row, label))),
            *values,
            _duration(runs),
        ))  # fmt: skip
    chosen = [criterion_text(c)[0] + (" (oracle)" if c in oracles else "") for c in criteria]
    head = ("data set", "setting", "rank", "points below the best", *(f"by {name}" for name in chosen), "s / run")
    return RenderedTable.of(head, rows, key="results", left=2)


def _cell(
    one: SiteProtocol, row: str, column: ProblemColumn, measure: ShownMeasure, criterion: str, why: str = ""
) -> TableEntry:
    """A mean that leads to its runs, on the page of its table. ``why``: tooltip if the cell itself has none."""
    cell = entry(one.model.cells(measure, criterion)[row, column.label], measure, column)
    return replace(cell, link=f"{_file(one.key)}#{cell.link}" if cell.link else "", why=cell.why or why)


def _duration(runs: RunGroup) -> str:
    seconds, shared = seconds_of(runs)
    return "" if seconds is None else f"{'○ ' if shared else ''}{seconds_text(seconds)}"


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
    return RenderedTable.of(head, rows, key="cost", notes=(note,))


# -------------------------------------------------------------------- a data set


def _data(site: Site, key: str) -> str:
    info, facts = _info(DatasetInfo, key), list[tuple[str, str]]()
    places, runs = site.columns.get(key, []), site.runs_of["data", key]
    tests = {part.rows for run in runs if (part := getattr(run.result.data, "test", None)) is not None}
    priors = sorted({round(p, 3) for run in runs if (p := getattr(run.result.data.prior, "true", None)) is not None})
    facts += [("test rows", ", ".join(f"{n:,}" for n in sorted(tests)))] if tests else []
    ends = dict.fromkeys(f"{p:g}" for p in (priors[0], priors[-1])) if priors else {}
    facts += [("share of positives, π", " to ".join(ends))] if ends else []
    return rendered(
        "data.html.j2",
        f"{info.name} ({key})" if info is not None else key,
        nav=site.nav,
        info=info,
        facts=facts,
        key=key,
        docs=site.docs_of("data-sets", key, info is not None),
        sections=[
            {"title": f"{view.columns[column.label]}: {view.title}", "link": _file(one.key),
             "by": criterion_text(view.criterion)[0], "verdict": _best_of(one, view, column),
             "table": _of_data(site, one, view, column)}
            for one, view, column in places
        ],
    )  # fmt: skip


def _best_of(one: SiteProtocol, view: View, column: ProblemColumn) -> str:
    """The best methods of a data set, in a sentence."""
    places = one.places(view.criterion, column)
    if not places:
        return "No two methods can be compared here."
    first = [view.names[row] for row, place in places.items() if place.rank == 1]
    cell = view.model.cells(view.measure, view.criterion)[min(places, key=lambda row: places[row].rank), column.label]
    value = ""
    if cell.mean is not None:
        unit = " %" if view.measure.percent else ""
        value = (
            f" with {view.measure.name} {view.measure.text(cell.mean)}{unit} over {counted(len(cell.values), 'seed')}"
        )
    return f"{' and '.join(first)} {'is' if len(first) == 1 else 'are'} first of {len(places)} methods{value}."


def _of_data(site: Site, one: SiteProtocol, view: View, column: ProblemColumn) -> RenderedTable:
    """Methods by measures, the best first."""
    model, grid = one.model, one.model.gathered.grid
    ranks = one.places(model.criterion, column)
    rows = [row for row in view.rows if grid.cell(row, column.label).seeds]
    lines = []
    for row in sorted(rows, key=lambda row: (ranks[row].rank if row in ranks else len(rows) + 1, row)):
        place, kind = site.methods.get(model.method_of[row], ""), kind_of(model, row)
        lines.append((
            TableEntry(view.names[row] + (f" ({kind})" if kind else ""), link=_file(place) if place else "", why=row),
            f"{ranks[row].rank}" if row in ranks else "-",
            TableEntry("", below=None if row in model.oracles else view.below.get((row, column.label))),
            *(_cell(one, row, column, measure, model.criterion) for measure in model.measures),
            _duration(grid.cell(row, column.label)),
        ))  # fmt: skip
    head = ("method", "rank", "points below the best", *(measure.label for measure in model.measures), "s / run")
    key = f"of-{one.key}-{view.setting.key}-{view.setting.columns.index(column) + 1}"
    return RenderedTable.of(head, lines, key=key)


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
        links = {"specification": files.get("spec.yaml"), "scores": files.get("scores.npz")}
        rows.append({
            "run": TableEntry(run.run_id, link=site.records.get(run.run_id, "")),
            "method": result.spec.method.key,
            "data": result.spec.data.key,
            "setting": view.title,
            "seed": str(result.spec.seed),
            measure.label: TableEntry(value, alike=int(chosen is not None and chosen.decided_alike)),
            "epoch": "" if chosen is None or chosen.epoch is None else str(chosen.epoch),
            "studies": ", ".join(site.collected.studies.get(run.run_id, {})),
            "finished": result.finished_at[:10],
            "oracle": "yes" if result.oracle else "",
            "draw": "" if run.run_id in site.collected.runs else "another one was chosen",
            **{name: TableEntry(name, link=link) if link else "" for name, link in links.items()},
            "code": result.code.hash,
        })  # fmt: skip
    head = [name for name in rows[0] if any(row[name] not in ("", TableEntry("")) for row in rows)]
    folders = (("records", False), ("rows", True))
    many = [len({row[name] for row in rows}) for name in ("method", "data")]
    return rendered(
        "records.html.j2",
        f"{counted(len(rows), 'run')} of {counted(many[0], 'method')} on {counted(many[1], 'data set')}",
        nav=site.nav,
        table=RenderedTable.of(head, [[row[name] for name in head] for row in rows], key="records", left=4),
        sums=[
            f"{folder}/SHA256SUMS" for folder, rows in folders if any(s.rows is rows for s in site.collected.sources)
        ],
    )
