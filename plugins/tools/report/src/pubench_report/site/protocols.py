"""The tables of a site: runs under the same labeling, scheme and validation."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path

from pubench_core.errors import RequestError, counted, shortened, unknown

from ..cells import ShownMeasure
from ..grouping import FailedRun, grid_of, spec_of
from ..measure_table import Significance
from ..pages.names import in_order, setting_names
from ..pages.view import View, seconds_of, views_of
from ..rendering import TableEntry
from ..report.gather import place_of
from ..report.gathered import Gathered
from ..report.model import Model, ProblemColumn, check_baseline, comparisons_of, model_of, row_called, setting_of
from ..report.tables import entry
from ..report.write import BASELINE
from .sources import Collected, Run, SiteRequest

#: Folder of the tables for programs.
TABLES = "tables"
_PLAIN = re.compile(r"[^a-z0-9]+")
#: What every setting has: left out of the names of files, which the front page repeats in each cell.
_NAMES = re.compile(r"\b(scheme|mechanism|validation) ")


@dataclass
class SiteProtocol:
    """A table of a site: a setting with its methods and data sets."""

    key: str
    """name of its files"""
    title: str
    model: Model
    tests: tuple[Significance, ...]
    studies: tuple[str, ...]
    name: str = ""
    """for people"""
    _places: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)

    @property
    def page(self) -> str:
        """Its file."""
        return f"{self.key}.html"

    @property
    def csv(self) -> str:
        """Its table for programs."""
        return f"{TABLES}/{self.key}.csv"

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many methods, data sets and finished runs."""
        done = self.model.gathered.done
        return len({*self.model.method_of.values()}), len({run.result.spec.data.key for run in done}), len(done)

    @cached_property
    def view(self) -> View:
        """Its setting as pages show it."""
        return views_of(self.model, self.name, self.page)[0]

    def rows_of(self, method: str) -> list[str]:
        """The rows of a method, set up in one way each."""
        return [row for row in self.model.rows if self.model.method_of[row] == method]

    def setup(self, row: str) -> str:
        """Comma and name that tell a row from others of its method; empty if it has none."""
        name = self.view.names[row]
        return "" if row == self.model.method_of[row] else f", {name.partition(', ')[2] or name}"

    def rows_on(self, column: ProblemColumn) -> list[str]:
        """Rows that were run or planned on a data set, the best first."""
        ranks, grid = self.ranks(self.model.criterion, column), self.model.gathered.grid
        rows = [row for row in self.view.rows if grid.cell(row, column.label).seeds]
        return sorted(rows, key=lambda row: (ranks.get(row, len(rows) + 1), row))

    def entry(self, row: str, column: ProblemColumn, measure: ShownMeasure, criterion: str) -> TableEntry:
        """A mean that leads to its runs, on the page of the table; its rank is in the tooltip."""
        cell = entry(self.model.cells(measure, criterion)[row, column.label], measure, column)
        ranks = self.ranks(criterion, column) if measure == self.model.measure else {}
        why = f"rank {ranks[row]} of {len(ranks)}" if row in ranks else ""
        return replace(cell, link=f"{self.page}#{cell.link}" if cell.link else "", why=cell.why or why)

    def seconds(self, row: str, column: ProblemColumn) -> tuple[float | None, int]:
        """Median seconds of a cell's runs, and whether any shared the machine."""
        return seconds_of(self.model.gathered.grid.cell(row, column.label))

    @cached_property
    def lacks(self) -> dict[tuple[str, str], list[int]]:
        """(row, label) -> seeds that it has no value of, of those that most methods share there."""
        model, found = self.model, {}
        (setting,) = model.settings
        cells, counts = model.cells(model.measure, model.criterion), model.counts(setting)
        for column, row in product(setting.columns, model.rows_of(setting)):
            left = [s for s in counts.seeds[column.label] if s not in cells[row, column.label].values]
            if left and row not in model.oracles:
                found[row, column.label] = left
        return found

    @property
    def lacking(self) -> str:
        """Sentence on runs that it lacks to be complete over the seeds that most methods share; empty if none."""
        cells = [
            f"{row} on {shortened(label, 40)} ({', '.join(map(str, seeds))})"
            for (row, label), seeds in self.lacks.items()
        ]
        more = f" and {len(cells) - 4} more cells" if len(cells) > 4 else ""
        runs = counted(sum(map(len, self.lacks.values())), "run")
        return f"lacks {runs} to be complete: {', '.join(cells[:4])}{more}" if cells else ""

    def ranks(self, criterion: str, column: ProblemColumn) -> Mapping[str, int]:
        """Row -> its rank on a data set, 1 is best, of rows that can be compared: no oracle methods, no missing seeds.

        Equal ones as printed share it.
        """
        key, measure = (criterion, column.label), self.model.measure
        if key not in self._places and measure.higher_is_better is not None:
            cells = self.model.cells(measure, criterion)
            rows = self.model.competing(cells, column)
            shown = {row: float(measure.text(cells[row, column.label].mean or 0.0)) for row in rows}
            order = sorted(shown.values(), reverse=measure.higher_is_better)
            self._places[key] = {row: 1 + order.index(value) for row, value in shown.items()}
        return self._places.get(key, {})


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


def protocols_of(collected: Collected, request: SiteRequest) -> tuple[list[SiteProtocol], list[str]]:
    """(tables, what could not be shown). The largest comes first, equal ones by title.

    Raises RequestError where nothing can be shown, for a baseline that no table has, or a measure that no run has.
    """
    groups: dict[str, list[Run]] = {}
    for run in collected.runs.values():
        title = ", ".join(f"{name} {value}" for name, value in setting_of(spec_of(run)))
        groups.setdefault(title, []).append(run)
    found, notes, refused = [], [], []
    short = {title: _NAMES.sub("", title) for title in groups}
    keys = slugs(list(short.values()), "protocol")
    for title, runs in groups.items():
        if all(isinstance(run, FailedRun) for run in runs):
            notes.append(f"{title}: none of {len(runs)} planned runs is finished")
            continue
        try:
            kept = _newest(runs)
            found.append(_protocol(keys[short[title]], title, kept, collected, request))
            older = len(runs) - len(kept)
            notes += [f"{title}: {counted(older, 'run')} of older code, left out for newer ones"] if older else []
        except RequestError as error:
            refused.append(error)
            notes.append(f"{title} is not shown: {error}")
    if not found:
        raise refused[0]
    if request.baseline is not None and not any(row_called(one.model, request.baseline) for one in found):
        raise unknown("baseline", request.baseline, dict.fromkeys(row for one in found for row in one.model.rows))
    found.sort(key=lambda one: (-len(one.model.gathered.done), one.title))
    called = setting_names([one.model.settings[0].columns[0].spec for one in found])
    for one, name in zip(found, called, strict=True):
        one.name = name
    return found, [*notes, *(f"{one.name}: {one.lacking}" for one in found if one.lacking)]


def _newest(runs: Sequence[Run]) -> list[Run]:
    """Of finished runs that the installed version reads as one specification, the one of the newest engine."""
    kept: dict[str, Run] = {}
    for run in runs:
        spec = spec_of(run)
        key = json.dumps([spec.identity(), spec.method.preset], sort_keys=True)
        if isinstance(run, FailedRun):
            key = run.run_id
        there = kept.get(key)
        if there is None or _revision(run) > _revision(there):
            kept[key] = run
    return list(kept.values())


def _revision(run: Run) -> int:
    """Of the engine that carried a run out; 0 if unknown."""
    engine = "" if isinstance(run, FailedRun) else run.result.code.parts.get("engine", "")
    number = engine.rpartition(" ")[2]
    return int(number) if number.isdigit() else 0


def _protocol(key: str, title: str, runs: Sequence[Run], collected: Collected, request: SiteRequest) -> SiteProtocol:
    named = [(spec_of(run).method.key, run) for run in sorted(runs, key=place_of)]
    grid = grid_of(named, drawn=collected.chosen)
    grid = replace(grid, rows=tuple(sorted(grid.rows)))
    gathered = Gathered(Path(title), title, tuple(named), grid, grid.notes)
    model = model_of(gathered, request.measure, request.criterion or default_criterion(gathered))
    against = None if request.baseline is None else row_called(model, request.baseline) or None
    tests = comparisons_of(model, check_baseline(model, against, BASELINE))
    studies = dict.fromkeys(name for run in runs for name in collected.studies.get(run.run_id, {}))
    return SiteProtocol(key, title, model, tuple(tests), tuple(studies))


def default_criterion(gathered: Gathered) -> str:
    """Criterion that a user can choose epochs by: ``pa``, or another that reads no true labels."""
    tracked = {name: found.oracle for run in gathered.done for name, found in run.result.criteria.items()}
    offered = in_order(tracked)
    return next((name for name in offered if not tracked[name]), offered[0])
