"""The pages of a site: which runs are on each. What is said of them, and how they look, is in ``pages/templates``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pubench.running import RunResult
from pubench_core.errors import counted
from pubench_core.plugins.info import DatasetInfo, MethodInfo
from pubench_core.plugins.registry import InfoT

from ..pages.names import criterion_text, in_order, info_of
from ..pages.report import page
from ..pages.template import rendered
from ..pages.view import shown_first
from ..ranking import MethodPlace, Ranking
from ..report.model import ProblemColumn
from ..report.write import title_lines
from .protocols import SiteProtocol, slugs
from .sources import Collected, SiteRequest

#: Pages that every site has.
INDEX, RECORDS, CONTRIBUTE = "index.html", "records.html", "contribute.html"
#: Bytes of the front page's values and its list of data sets, and of a line of that list. Values that do not fit are
#: on the pages of the tables.
BUDGET, DATA_SET = 60_000, 290
#: Most data sets of a setting on the front page; one of hundreds of species is on the page of its table.
MOST_DATA_SETS = 50


@dataclass(frozen=True)
class Site:
    """Runs, tables and files that pages are made of."""

    request: SiteRequest
    collected: Collected
    protocols: tuple[SiteProtocol, ...]
    notes: tuple[str, ...]
    files: Mapping[str, tuple[tuple[str, str], ...]]
    """run id -> (name, address) of its files, the record first"""

    @cached_property
    def records(self) -> dict[str, str]:
        """Run id -> address of its record."""
        return {run_id: mine[0][1] for run_id, mine in self.files.items()}

    @cached_property
    def runs_of(self) -> dict[tuple[str, str], list[RunResult]]:
        """(method or data, key) -> finished runs of a method or on a data set."""
        found: dict[tuple[str, str], list[RunResult]] = {}
        for run in self.collected.done:
            for place in (("method", run.result.spec.method.key), ("data", run.result.spec.data.key)):
                found.setdefault(place, []).append(run)
        return found

    @cached_property
    def pages(self) -> dict[str, dict[str, str]]:
        """method or data -> key -> its page."""
        kinds = ("method", "data")
        named = {kind: slugs(sorted(key for other, key in self.runs_of if other == kind), kind) for kind in kinds}
        return {kind: {key: f"{name}.html" for key, name in of.items()} for kind, of in named.items()}

    @property
    def nav(self) -> list[tuple[str, str]]:
        """(address, text) of the links over every page."""
        links = [(INDEX, self.request.title), (self.protocols[0].page, "Tables"), (f"{INDEX}#data-sets", "Data sets")]
        links += [(RECORDS, "Runs"), (CONTRIBUTE, "Add your own")]
        return [*links, *([(self.request.home, "Documentation")] if self.request.home else [])]

    def rendered(self, template: str, title: str, **given: Any) -> str:
        """A page under the links of the site."""
        return rendered(template, title, nav=self.nav, pages=self.pages, **given)

    def described(self, kind: type[InfoT], folder: str, key: str) -> dict[str, Any]:
        """Title, info and page of the documentation of a plugin, for pages of methods and data sets."""
        info = info_of(kind, key)
        docs = self.request.docs.format(kind=folder, key=key) if self.request.docs and info is not None else ""
        return {"title": f"{info.name} ({key})" if info is not None else key, "info": info, "key": key, "docs": docs}


def pages_of(site: Site) -> Iterator[tuple[str, str]]:
    """(name of a file, its HTML)."""
    yield INDEX, _index(site)
    for one in site.protocols:
        studies = f"; studies: {', '.join(one.studies)}" if one.studies else ""
        title = (f"{site.request.title}: {one.name}", f"{title_lines(one.model.gathered)[1]}{studies}.")
        methods, records = site.pages["method"], site.records
        yield one.page, page(one.model, one.tests, title, table=one.name, nav=site.nav, pages=methods, records=records)
    for key, name in site.pages["method"].items():
        yield name, _method(site, key)
    for key, name in site.pages["data"].items():
        places = [(one, c) for one in site.protocols for c in one.view.setting.columns if c.spec.data.key == key]
        described = site.described(DatasetInfo, "data-sets", key)
        yield (
            name,
            site.rendered("data.html.j2", **described, places=places, best=best_of, criterion_text=criterion_text),
        )
    yield RECORDS, _records(site)
    yield CONTRIBUTE, site.rendered("contribute.html.j2", "Add your own runs")


def _index(site: Site) -> str:
    views = [one.view for one in site.protocols]
    shown = [view for view in views if len(view.columns) <= MOST_DATA_SETS] or views
    data = []
    for key, address in site.pages["data"].items():
        info, mine = info_of(DatasetInfo, key), site.runs_of["data", key]
        called = info.name if info is not None else "not installed where this site was made"
        data.append((key, address, called, len({run.result.spec.method.key for run in mine}), len(mine)))
    return site.rendered(
        "front.html.j2",
        site.request.title,
        scripts=("page.js", "board.js"),
        tables=site.protocols,
        data=data,
        sources=site.collected.sources,
        notes=[*site.notes, *site.collected.notes],
        **shown_first(shown, site.pages["method"], BUDGET - DATA_SET * len(data)),
    )


def _method(site: Site, key: str) -> str:
    """Where a method is among the others in each setting, and its values on each data set by every criterion."""
    described, tables = site.described(MethodInfo, "methods", key), [one for one in site.protocols if one.rows_of(key)]
    rankings = [(one, one.view.ranking(one.view.criterion)) for one in tables]
    oracles = {c for one in site.protocols for c in one.model.oracle_criteria}
    criteria = in_order({c for one in tables for c in one.model.criteria})
    places = [(one, row, c) for one in tables for row in one.rows_of(key) for c in one.view.setting.columns]
    return site.rendered(
        "method.html.j2",
        **described,
        name=described["title"].removesuffix(f" ({key})").removesuffix(" (oracle)"),
        oracle=any(run.result.oracle for run in site.runs_of["method", key]),
        rank=rank_text,
        standings=[(one, of, place) for one, of in rankings for place in of.places if place.row in one.rows_of(key)],
        criteria={c: f"by {criterion_text(c)[0]}{' (oracle)' if c in oracles else ''}" for c in criteria},
        places=[place for place in places if place[0].model.gathered.grid.cell(place[1], place[2].label).seeds],
    )


def rank_text(ranking: Ranking, place: MethodPlace) -> str:
    """``2 of 9``; ``shared 2 of 9`` if another method has the same rank."""
    tied = sum(other.rank == place.rank for other in ranking.places) > 1
    return f"{'shared ' if tied else ''}{place.rank} of {len(ranking.places)}"


def best_of(one: SiteProtocol, column: ProblemColumn) -> str:
    """The best methods of a data set, in a sentence."""
    view = one.view
    ranks = one.ranks(view.criterion, column)
    if not ranks:
        return "No two methods can be compared here."
    first = [row for row, rank in ranks.items() if rank == 1]
    cell = view.model.cells(view.measure, view.criterion)[first[0], column.label]
    text = "" if cell.mean is None else view.measure.text(cell.mean) + (" %" if view.measure.percent else "")
    value = f" with {view.measure.name} {text} over {counted(len(cell.values), 'seed')}" if text else ""
    names = " and ".join(view.names[row] for row in first)
    return f"{names} {'is' if len(first) == 1 else 'are'} first of {len(ranks)} methods{value}."


def _records(site: Site) -> str:
    runs = site.collected.published
    many = [len({(run.result.spec.method if kind else run.result.spec.data).key for run in runs}) for kind in (1, 0)]
    kinds = {"records" if one.kind == "records" else "rows" for one in site.collected.sources}
    return site.rendered(
        "records.html.j2",
        f"{counted(len(runs), 'run')} of {counted(many[0], 'method')} on {counted(many[1], 'data set')}",
        collected=site.collected,
        tables={run.run_id: one for one in site.protocols for run in one.model.gathered.done},
        first=site.protocols[0],
        measure=site.protocols[0].model.measure,
        files=site.files,
        addresses=site.records,
        records="records" in kinds,
        oracles=any(run.result.oracle for run in runs),
        scores=site.request.with_scores and "records" in kinds,
        folders=sorted(kinds),
    )
