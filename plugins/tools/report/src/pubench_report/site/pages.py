"""The pages of a site: which runs are on each. What is said of them, and how they look, is in ``pages/templates``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
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
from .protocols import SiteTable, slugs
from .sources import Collected, SiteRequest

INDEX = "index.html"
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
    tables: tuple[SiteTable, ...]
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
        links = [(INDEX, self.request.title), (self.tables[0].page, "Tables"), (f"{INDEX}#data-sets", "Data sets")]
        links += [(f"{INDEX}#add", "Add your own")]
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
    for one in site.tables:
        studies = f"; studies: {', '.join(one.studies)}" if one.studies else ""
        title = (f"{site.request.title}: {one.title}", f"{title_lines(one.model.gathered)[1]}{studies}.")
        methods, records = site.pages["method"], site.records
        yield one.page, page([replace(one, page="")], one.tests, title, nav=site.nav, pages=methods, records=records)
    for key, name in site.pages["method"].items():
        yield name, _method(site, key)
    for key, name in site.pages["data"].items():
        places = [(one, c) for one in site.tables for c in one.setting.columns if c.spec.data.key == key]
        given = {**site.described(DatasetInfo, "data-sets", key), "places": places, "best": best_of}
        yield name, site.rendered("data.html.j2", **given, criterion_text=criterion_text)


def _index(site: Site) -> str:
    shown = [one for one in site.tables if len(one.columns) <= MOST_DATA_SETS] or site.tables
    data = []
    for key, address in site.pages["data"].items():
        info, mine = info_of(DatasetInfo, key), site.runs_of["data", key]
        called = info.name if info is not None else "not installed where this site was made"
        data.append((key, address, called, len({run.result.spec.method.key for run in mine}), len(mine)))
    return site.rendered(
        "front.html.j2",
        site.request.title,
        scripts=("page.js", "board.js"),
        tables=site.tables,
        data=data,
        sources=site.collected.sources,
        folders=sorted({address.partition("/")[0] for address in site.records.values()}),
        notes=[*site.notes, *site.collected.notes],
        **shown_first(shown, site.pages["method"], BUDGET - DATA_SET * len(data)),
    )


def _method(site: Site, key: str) -> str:
    """Where a method is among the others in each setting, and its values on each data set by every criterion."""
    described = site.described(MethodInfo, "methods", key)
    tables = [one for one in site.tables if one.rows_of_method(key)]
    rankings = [(one, one.ranking(one.criterion)) for one in tables]
    oracles = {c for one in tables for c in one.model.oracle_criteria}
    criteria = in_order({c for one in tables for c in one.model.criteria})
    places = [(one, row, c) for one in tables for row in one.rows_of_method(key) for c in one.setting.columns]
    return site.rendered(
        "method.html.j2",
        **described,
        name=described["title"].removesuffix(f" ({key})").removesuffix(" (oracle)"),
        oracle=any(run.result.oracle for run in site.runs_of["method", key]),
        rank=rank_text,
        standings=[(one, of, p) for one, of in rankings for p in of.places if p.row in one.rows_of_method(key)],
        criteria={c: f"by {criterion_text(c)[0]}{' (oracle)' if c in oracles else ''}" for c in criteria},
        places=[(one, row, c) for one, row, c in places if one.model.gathered.grid.cell(row, c.label).seeds],
    )


def rank_text(ranking: Ranking, place: MethodPlace) -> str:
    """``2 of 9``; ``shared 2 of 9`` if another method has the same rank."""
    tied = sum(other.rank == place.rank for other in ranking.places) > 1
    return f"{'shared ' if tied else ''}{place.rank} of {len(ranking.places)}"


def best_of(one: SiteTable, column: ProblemColumn) -> str:
    """The best methods of a data set, in a sentence."""
    placed = one.placed(one.criterion, column)
    first = [row for row, place in placed.items() if place.rank == 1]
    if not first:
        return "No two methods can be compared here."
    cell = one.model.cells(one.measure, one.criterion)[first[0], column.label]
    text = "" if cell.mean is None else one.measure.text(cell.mean) + (" %" if one.measure.percent else "")
    value = f" with {one.measure.name} {text} over {counted(len(cell.values), 'seed')}" if text else ""
    names = " and ".join(one.names[row] for row in first)
    return f"{names} {'is' if len(first) == 1 else 'are'} first of {placed[first[0]].among} methods{value}."
