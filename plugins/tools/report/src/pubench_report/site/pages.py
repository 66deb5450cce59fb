"""The tables of a site, runs under the same labeling, scheme and validation, and its pages: which runs are on each.

What pages say of them, and how they look, is in ``pages/templates``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pubench.running import RunResult
from pubench_core.errors import RequestError
from pubench_core.plugins.info import DatasetInfo, MethodInfo
from pubench_core.plugins.registry import InfoT
from pubench_core.results import at_prior_name

from ..grouping import FailedRun, spec_of
from ..pages.names import criterion_text, in_order, info_of, setting_names
from ..pages.report import page
from ..pages.template import rendered
from ..pages.view import View, shown_first
from ..ranking import sources_of
from ..report.gather import Gathered, place_of
from ..report.model import Model, Significance, comparisons_of, model_of, setting_of
from ..report.write import title_lines
from .sources import Collected, Run, SiteRequest

INDEX = "index.html"
#: Most data sets of a setting on the front page; one of hundreds of species is on the page of its table.
MOST_DATA_SETS = 50
#: Shown first where most runs have it: one rule for all methods.
AT_PRIOR = at_prior_name("accuracy")
#: Folder of the tables for programs.
TABLES = "tables"
_PLAIN = re.compile(r"[^a-z0-9]+")
#: What every setting has: left out of the names of files, which the front page repeats in each cell.
_NAMES = re.compile(r"\b(scheme|mechanism|validation) ")


@dataclass(frozen=True)
class SiteTable(View):
    """A table of a site: the only setting of its model."""

    tests: tuple[Significance, ...] = ()

    @property
    def csv(self) -> str:
        """Its table for programs."""
        return f"{TABLES}/{self.page.removesuffix('.html')}.csv"


def slug(text: str) -> str:
    """Text that is safe in the name of a file and in an address.

    >>> slug("../<b>SCAR</b>, c 0.1")
    'b-scar-b-c-0-1'
    """
    return _PLAIN.sub("-", text.lower()).strip("-")[:80] or "other"


def slugs(texts: Sequence[str], before: str) -> dict[str, str]:
    """Text -> name of its page, no two alike."""
    found: dict[str, str] = {}
    for text in dict.fromkeys(texts):
        name, n = f"{before}-{slug(text)}", 1
        while name in found.values():
            n += 1
            name = f"{before}-{slug(text)}-{n}"
        found[text] = name
    return found


def tables_of(collected: Collected, request: SiteRequest) -> tuple[list[SiteTable], list[str]]:
    """(tables, what could not be shown). The largest comes first, equal ones by title.

    Raises RequestError where nothing can be shown, or for a measure that no run has.
    """
    groups: dict[str, list[Run]] = {}
    for run in collected.runs.values():
        title = ", ".join(f"{name} {value}" for name, value in setting_of(spec_of(run)))
        groups.setdefault(title, []).append(run)
    models: list[tuple[str, Model]] = []
    notes, refused = [], []
    short = {title: _NAMES.sub("", title) for title in groups}
    keys = slugs(list(short.values()), "protocol")
    for title, runs in groups.items():
        if all(isinstance(run, FailedRun) for run in runs):
            notes.append(f"{title}: none of {len(runs)} planned runs is finished")
            continue
        try:
            named = [(spec_of(run).method.key, run) for run in sorted(runs, key=place_of)]
            gathered = Gathered(Path(title), title, named, drawn=frozenset(collected.chosen), by_name=True)
            gathered = gathered.with_notes(*gathered.grid.notes)
            criterion = request.criterion or default_criterion(gathered)
            of = [one.measured("test") for run in gathered.done if (one := run.result.criteria.get(criterion))]
            measure = request.measure or (AT_PRIOR if 2 * sum(AT_PRIOR in one for one in of) > len(of) else "accuracy")
            models.append((keys[short[title]], model_of(gathered, measure, criterion)))
        except RequestError as error:
            refused.append(error)
            notes.append(f"{title} is not shown: {error}")
    if not models:
        raise refused[0]
    models.sort(key=lambda one: (-len(one[1].gathered.done), one[1].gathered.study))
    called = setting_names([model.settings[0].columns[0].spec for _, model in models])
    found = []
    for (key, model), name in zip(models, called, strict=True):
        tests = tuple(comparisons_of(model, model.grid.reference))
        found.append(SiteTable.of(model, model.settings[0], name, f"{key}.html", tests=tests))
    return found, notes


def default_criterion(gathered: Gathered) -> str:
    """The first criterion that reads no true labels and chose the epochs of most runs: ``pa``, if it has values."""
    found = [one for run in gathered.done for one in run.result.criteria.items()]
    chose = Counter(name for name, one in found if not one.oracle and not one.undefined)
    offered = in_order({name for name, _ in found})
    return next((name for name in offered if 2 * chose[name] >= len(gathered.done)), offered[0])


# -------------------------------------------------------------------- pages


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
        title = (f"{site.request.title}: {one.title}", f"{title_lines(one.model.gathered)[1]}.")
        methods, records = site.pages["method"], site.records
        yield one.page, page([replace(one, page="")], one.tests, title, nav=site.nav, pages=methods, records=records)
    for key, name in site.pages["method"].items():
        yield name, _method(site, key)
    for key, name in site.pages["data"].items():
        places = [(one, c) for one in site.tables for c in one.setting.columns if c.spec.data.key == key]
        given = {**site.described(DatasetInfo, "data-sets", key), "places": places}
        yield name, site.rendered("data.html.j2", **given, criterion_text=criterion_text)


def _index(site: Site) -> str:
    shown = [one for one in site.tables if len(one.columns) <= MOST_DATA_SETS] or site.tables
    by_source: dict[str, list[str]] = {}
    for key, source in sources_of(list(site.pages["data"])).items():
        by_source.setdefault(source, []).append(key)
    data = []
    for source, keys in by_source.items():
        runs = [run for key in keys for run in site.runs_of["data", key]]
        counts = len({run.result.spec.method.key for run in runs}), len(runs)
        info = info_of(DatasetInfo, keys[0])
        name = info.name if info is not None else "not installed where this site was made"
        address = site.pages["data"][keys[0]]
        if len(keys) > 1:  # the hundreds of a source are on the page of their table
            there = (one.page for one in site.tables if any(c.spec.data.key in keys for c in one.setting.columns))
            name, address = f"{len(keys)} tasks, with pages of their own", next(there)
        data.append((source, address, name, *counts))
    return site.rendered(
        "front.html.j2",
        site.request.title,
        scripts=("page.js", "board.js"),
        tables=site.tables,
        data=data,
        sources=site.collected.sources,
        folders=sorted({address.partition("/")[0] for address in site.records.values()}),
        notes=[*site.notes, *site.collected.notes],
        **shown_first(shown, site.pages["method"], 0, "gain"),  # other measures are on the pages of the tables
    )


def _method(site: Site, key: str) -> str:
    """Where a method is among the others in each setting, and its values on each data set by every criterion."""
    described = site.described(MethodInfo, "methods", key)
    tables = [one for one in site.tables if one.rows_of_method(key)]
    rankings = [(one, one.ranking(one.model.criterion)) for one in tables]
    oracles = {c for one in tables for c in one.model.oracle_criteria}
    criteria = in_order({c for one in tables for c in one.model.criteria})
    places = [(one, row, c) for one in tables for row in one.rows_of_method(key) for c in one.setting.columns]
    return site.rendered(
        "method.html.j2",
        **described,
        name=described["title"].removesuffix(f" ({key})").removesuffix(" (oracle)"),
        oracle=any(run.result.oracle for run in site.runs_of["method", key]),
        standings=[(one, of, p) for one, of in rankings for p in of.places if p.row in one.rows_of_method(key)],
        criteria={c: f"by {criterion_text(c)[0]}{' (oracle)' if c in oracles else ''}" for c in criteria},
        places=[(one, row, c) for one, row, c in places if one.model.gathered.grid.cell(row, c.label).seeds],
    )
