"""The tables of a site: runs under the same labeling, scheme and validation, or those of one study."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pubench_core.errors import RequestError, unknown

from ..grouping import FailedRun, Grid, grid_of, spec_of
from ..report.gather import place_of
from ..report.gathered import Gathered
from ..report.model import Column, Model, model_of, setting_of
from ..report.statistics import Comparison, check_baseline, comparisons_of, row_called
from ..report.write import BASELINE
from .sources import Collected, Run

By = Literal["protocol", "study"]
#: The criterion of a table whose results are named by several.
_USUAL = "pa"
_PLAIN = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Place:
    """``rank``: 1 is best, of ``of`` methods that have a value for every seed; equal ones as printed share it."""

    rank: int
    of: int


@dataclass
class Protocol:
    """``key``: of its file; ``studies``: that its runs are of; ``method_of``: row -> key of its method."""

    key: str
    title: str
    model: Model
    tests: tuple[Comparison, ...]
    studies: tuple[str, ...]
    method_of: Mapping[str, str]
    _places: dict[tuple[str, str], dict[str, Place]] = field(default_factory=dict)

    def rows_of(self, method: str) -> list[str]:
        """The rows of a method, set up in one way each."""
        return [row for row in self.model.rows if self.method_of[row] == method]

    def places(self, criterion: str, column: Column) -> Mapping[str, Place]:
        """Row -> its place on a data set, of rows that can be compared: no oracle methods, no missing seeds."""
        key = (criterion, column.label)
        if key not in self._places:
            self._places[key] = _places(self.model, criterion, column)
        return self._places[key]


def _places(model: Model, criterion: str, column: Column) -> dict[str, Place]:
    measure = model.measure
    if measure.higher_is_better is None:
        return {}
    cells = model.cells(measure, criterion)
    rows = model.competing(cells, column)
    shown = {row: float(measure.text(cells[row, column.label].mean or 0.0)) for row in rows}
    sign = 1 if measure.higher_is_better else -1
    return {
        row: Place(1 + sum(sign * other > sign * value for other in shown.values()), len(rows))
        for row, value in shown.items()
    }


def slug(text: str) -> str:
    """What is safe in the name of a file and in an address.

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


def protocols_of(
    collected: Collected, by: By, measure: str, criterion: str | None, baseline: str | None
) -> tuple[list[Protocol], list[str]]:
    """(tables, what could not be shown). The largest comes first, equal ones by title.

    Raises RequestError where nothing can be shown, for a baseline that no table has, or a measure that no run has.
    """
    groups: dict[str, list[Run]] = {}
    for run_id, run in collected.runs.items():
        setting = ", ".join(f"{name} {value}" for name, value in setting_of(spec_of(run)))
        for title in (collected.studies.get(run_id, {}) or {"runs of no study": None}) if by == "study" else (setting,):
            groups.setdefault(title, []).append(run)
    found, notes, refused = [], [], []
    names = slugs(list(groups), by)
    for title, runs in groups.items():
        if all(isinstance(run, FailedRun) for run in runs):
            notes.append(f"{title}: none of {len(runs)} planned runs is finished")
            continue
        try:
            found.append(_protocol(names[title], title, runs, collected, measure, criterion, baseline))
        except RequestError as error:
            refused.append(error)
            notes.append(f"{title} is not shown: {error}")
    if not found:
        raise refused[0]
    if baseline is not None and not any(row_called(one.model, baseline) for one in found):
        raise unknown("baseline", baseline, dict.fromkeys(row for one in found for row in one.model.rows))
    return sorted(found, key=lambda one: (-len(one.model.gathered.done), one.title)), notes


def _protocol(
    key: str,
    title: str,
    runs: Sequence[Run],
    collected: Collected,
    measure: str,
    criterion: str | None,
    baseline: str | None,
) -> Protocol:
    ordered = sorted(runs, key=place_of)
    named = [(spec_of(run).method.key, run) for run in ordered]
    grid = grid_of(named, drawn=collected.chosen)
    grid = replace(grid, rows=tuple(sorted(grid.rows)))
    gathered = Gathered(Path(title), title, tuple(named), grid, grid.notes)
    chosen = criterion
    if chosen is None:
        selected = dict.fromkeys(run.result.selected for run in gathered.done)
        tracked = dict.fromkeys(name for run in gathered.done for name in run.result.criteria)
        chosen = next(iter(selected)) if len(selected) == 1 else _USUAL if _USUAL in tracked else next(iter(tracked))
    model = model_of(gathered, measure, chosen)
    against = None if baseline is None else row_called(model, baseline) or None
    tests = comparisons_of(model, check_baseline(model, against, BASELINE))
    studies = dict.fromkeys(name for run in runs for name in collected.studies.get(run.run_id, {}))
    return Protocol(key, title, model, tuple(tests), tuple(studies), _method_of(grid))


def _method_of(grid: Grid) -> dict[str, str]:
    """Row -> key of its method."""
    found: dict[str, str] = {}
    for (row, _), cell in grid.cells.items():
        runs: list[Run] = [*cell.runs.values(), *cell.failures]
        found.setdefault(row, spec_of(runs[0]).method.key)
    return found
