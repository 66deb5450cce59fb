"""The tables of a site: runs under the same labeling, scheme and validation."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path

from pubench_core.errors import RequestError, counted, shortened, unknown

from ..grouping import FailedRun, spec_of
from ..measure_table import Significance
from ..pages.names import in_order, setting_names
from ..pages.view import View
from ..report.gather import Gathered, place_of
from ..report.model import Model, check_baseline, comparisons_of, model_of, row_called, setting_of
from ..report.write import BASELINE
from .sources import Collected, Run, SiteRequest

#: Folder of the tables for programs.
TABLES = "tables"
_PLAIN = re.compile(r"[^a-z0-9]+")
#: What every setting has: left out of the names of files, which the front page repeats in each cell.
_NAMES = re.compile(r"\b(scheme|mechanism|validation) ")


@dataclass(frozen=True)
class SiteTable(View):
    """A table of a site: the only setting of its model."""

    tests: tuple[Significance, ...] = ()
    studies: tuple[str, ...] = ()

    @property
    def csv(self) -> str:
        """Its table for programs."""
        return f"{TABLES}/{self.page.removesuffix('.html')}.csv"

    @property
    def counts_of_runs(self) -> tuple[int, int, int]:
        """How many methods, data sets and finished runs."""
        done = self.model.gathered.done
        return len({*self.model.method_of.values()}), len({run.result.spec.data.key for run in done}), len(done)

    @cached_property
    def lacks(self) -> dict[tuple[str, str], list[int]]:
        """(row, label) -> seeds that it has no value of, of those that most methods share there."""
        found, cells = {}, self.model.cells(self.measure, self.criterion)
        for column, row in product(self.setting.columns, self.rows):
            left = [s for s in self.counts.seeds[column.label] if s not in cells[row, column.label].values]
            if left and row not in self.model.oracles:
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

    Raises RequestError where nothing can be shown, for a baseline that no table has, or a measure that no run has.
    """
    groups: dict[str, list[Run]] = {}
    for run in collected.runs.values():
        title = ", ".join(f"{name} {value}" for name, value in setting_of(spec_of(run)))
        groups.setdefault(title, []).append(run)
    models: list[tuple[str, Model, list[Run]]] = []
    notes, refused = [], []
    short = {title: _NAMES.sub("", title) for title in groups}
    keys = slugs(list(short.values()), "protocol")
    for title, runs in groups.items():
        if all(isinstance(run, FailedRun) for run in runs):
            notes.append(f"{title}: none of {len(runs)} planned runs is finished")
            continue
        try:
            kept = _newest(runs)
            models.append((keys[short[title]], _model(title, kept, collected, request), kept))
            older = len(runs) - len(kept)
            notes += [f"{title}: {counted(older, 'run')} of older code, left out for newer ones"] if older else []
        except RequestError as error:
            refused.append(error)
            notes.append(f"{title} is not shown: {error}")
    if not models:
        raise refused[0]
    if request.baseline is not None and not any(row_called(model, request.baseline) for _, model, _ in models):
        raise unknown("baseline", request.baseline, dict.fromkeys(row for _, model, _ in models for row in model.rows))
    models.sort(key=lambda one: (-len(one[1].gathered.done), one[1].gathered.study))
    called = setting_names([model.settings[0].columns[0].spec for _, model, _ in models])
    found = []
    for (key, model, runs), name in zip(models, called, strict=True):
        against = None if request.baseline is None else row_called(model, request.baseline) or None
        tests = comparisons_of(model, check_baseline(model, against, BASELINE))
        studies = dict.fromkeys(study for run in runs for study in collected.studies.get(run.run_id, {}))
        more = {"tests": tuple(tests), "studies": tuple(studies)}
        found.append(SiteTable.of(model, model.settings[0], name, f"{key}.html", **more))
    return found, [*notes, *(f"{one.title}: {one.lacking}" for one in found if one.lacking)]


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


def _model(title: str, runs: Sequence[Run], collected: Collected, request: SiteRequest) -> Model:
    named = [(spec_of(run).method.key, run) for run in sorted(runs, key=place_of)]
    gathered = Gathered(Path(title), title, named, drawn=frozenset(collected.chosen), by_name=True)
    gathered = replace(gathered, notes=gathered.grid.notes)
    return model_of(gathered, request.measure, request.criterion or default_criterion(gathered))


def default_criterion(gathered: Gathered) -> str:
    """Criterion that a user can choose epochs by: ``pa``, or another that reads no true labels."""
    tracked = {name: found.oracle for run in gathered.done for name, found in run.result.criteria.items()}
    offered = in_order(tracked)
    return next((name for name in offered if not tracked[name]), offered[0])
