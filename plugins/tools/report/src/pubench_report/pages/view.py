"""Methods of a setting as pages show them: who is best, how sure that is, and the JSON of values behind it.

JavaScript draws the table of the chosen setting, criterion and measure, all of which are computed here; without it, a
page has the first one's sentences and means. The front page of a site and the report of a study show the same views.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

from pubench_cli.few_labels import FEW_HELD_OUT, LOST, is_few
from pubench_core.errors import counted
from pubench_core.plugins.info import MethodInfo

from ..cells import ShownMeasure
from ..grouping import RunGroup
from ..ranking import LEAST_SEEDS, LEVEL, RESAMPLES, Counted, Ranking, changes, headline, not_told_apart
from ..report.model import Model, Setting
from ..report.tables import standing_table
from .names import column_names, criterion_text, in_order, info_of, published, row_name, setting_names
from .template import script_json


@dataclass(frozen=True)
class View:
    """A setting of a table. ``page``: file that holds its runs; ``names``: of rows; ``columns``: label -> name.

    The columns of the setting begin with those that count.
    """

    model: Model
    setting: Setting
    title: str
    page: str
    names: Mapping[str, str]
    columns: Mapping[str, str]

    @property
    def criterion(self) -> str:
        return self.model.criterion

    @property
    def measure(self) -> ShownMeasure:
        return self.model.measure

    @property
    def rows(self) -> list[str]:
        """Methods that were run or planned here."""
        return self.model.rows_of(self.setting)

    @property
    def criteria(self) -> list[str]:
        """Criteria in the order in which they are offered."""
        return in_order(self.model.criteria)

    @property
    def oracle(self) -> str:
        """The criterion that shows what true labels would choose; empty if none was tracked."""
        return next((key for key in self.criteria if key in self.model.oracle_criteria), "")

    @property
    def measures(self) -> list[ShownMeasure]:
        """The one shown first leads."""
        others = (one for one in self.model.measures if one.percent and one.key != self.measure.key)
        return [self.measure, *others]

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        """Row -> oracle or baseline, of those that are one."""
        oracles, apart = self.model.oracles, self.model.apart
        return {row: "oracle" if row in oracles else "baseline" for row in self.rows if row in apart or row in oracles}

    @property
    def counts(self) -> Counted:
        return self.model.counts(self.setting)

    def ranking(self, criterion: str, measure: ShownMeasure | None = None) -> Ranking:
        """Ranking of its methods, by default by its measure."""
        return self.model.ranking(self.setting, measure or self.measure, criterion)

    @cached_property
    def held(self) -> str:
        """Whether too few held-out labeled positives chose epochs; empty if not. Rows say only which share it was."""
        counts: dict[str, list[int]] = {}
        share = 0.0
        for row, column in product(self.rows, self.setting.columns):
            for run in self.model.gathered.grid.cell(row, column.label).runs.values():
                if run.result.epochs > 1 and (part := getattr(run.result.data, "validation", None)) is not None:
                    counts.setdefault(self.columns[column.label], []).append(part.labeled or 0)
                elif run.result.epochs > 1 and column.spec.validation.folds is None:
                    share = column.spec.validation.fraction
        few = {name: [n for n in of if is_few(n)] for name, of in counts.items()}
        several = sorted({n for of in few.values() for n in of})
        if several:
            on = ", ".join(name for name, of in few.items() if of)
            numbers = " to ".join(map(str, dict.fromkeys((several[0], several[-1]))))
            return f"{numbers} held-out labeled positives chose the epoch on {on}: {LOST}."
        if share and not counts:
            return (
                f"{100 * share:g} % of the labeled positives chose the epoch, fewer than {FEW_HELD_OUT} unless "
                f"{math.ceil(FEW_HELD_OUT / share):,} are labeled: {LOST}."
            )
        return ""

    @cached_property
    def below(self) -> dict[tuple[str, str], float]:
        """(row, label) -> points below the best mean of a data set, of rows that have every seed there."""
        found: dict[tuple[str, str], float] = {}
        cells = self.model.cells(self.measure, self.criterion)
        for column in self.setting.columns:
            rows = self.model.complete(cells, column)
            means = {row: self.measure.scale * (cells[row, column.label].mean or 0.0) for row in rows}
            ranked = [mean for row, mean in means.items() if row not in self.model.apart]
            if ranked and not self.measure.unranked:
                found |= {(row, column.label): max(ranked) - mean for row, mean in means.items()}
        return found


def views_of(model: Model, title: str = "", page: str = "") -> list[View]:
    """One for each setting. ``title``: of the table; by default that of the setting."""
    called = setting_names([setting.columns[0].spec for setting in model.settings])
    found = []
    for setting, name in zip(model.settings, called, strict=True):
        counts = model.counts(setting)
        names = {row: row_name(row, model.method_of[row]) for row in model.rows_of(setting)}
        called_alike = [row for row, name in names.items() if list(names.values()).count(name) > 1]
        names |= {row: f"{names[row]} ({row})" for row in called_alike}
        first = [column for column in setting.columns if column.label in counts.columns]
        columns = (*first, *(column for column in setting.columns if column not in first))
        full = name if not title else title if len(model.settings) == 1 else f"{title}: {name}"
        found.append(View(model, replace(setting, columns=columns), full, page, names, column_names(columns)))
    return found


# -------------------------------------------------------------------- the page's JSON

#: Methods that are compared with each other in pairs.
SHOWN_WINS = 10


def payload(views: Sequence[View], pages: Mapping[str, str], budget: int) -> dict[str, Any]:
    """All settings as plain data: what is shown for each measure and criterion, computed here.

    What settings share (``rows``, ``criteria``, ``measures``) is there once, and a setting has numbers of it. Every
    setting has what is shown first, then measures of the largest ones follow until the budget is spent.
    ``pages``: method -> its page.
    """
    settings = [_setting(view, pages) for view in views]
    shared: dict[str, list[Any]] = {"rows": [], "criteria": [], "measures": []}
    for (name, known), setting in product(shared.items(), settings):
        known += [one for one in setting[name] if one not in known]
        setting[name] = [known.index(one) for one in setting[name]]
    found = {**shared, "settings": settings}
    spent = len(json.dumps(found, separators=(",", ":")))

    def always(view: View, measure: ShownMeasure, criterion: str) -> bool:
        shown = (view.criterion, view.oracle) if view is views[0] else (view.criterion,)
        return measure.key == view.measure.key and criterion in shown

    asked = [
        (view, setting, measure, criterion)
        for rank in range(max(len(view.measures) for view in views))
        for view, setting in zip(views, settings, strict=True)
        for measure, criterion in product(view.measures[rank : rank + 1], view.criteria)
    ]
    for view, setting, measure, criterion in sorted(asked, key=lambda one: not always(one[0], *one[2:])):
        needed = always(view, measure, criterion)
        if spent >= budget and not needed:
            continue
        shown = _shown_by(view, measure, criterion, setting)
        spent += len(json.dumps(shown, separators=(",", ":"), ensure_ascii=False))
        if spent < budget or needed:
            setting["shown"].setdefault(measure.key, {})[criterion] = shown
    return found


def _shown_by(view: View, measure: ShownMeasure, criterion: str, setting: Mapping[str, Any]) -> dict[str, Any]:
    """Cells, ranking and sentences by a measure at the epoch that a criterion chose."""
    rows, of = view.rows, view.model.cells(measure, criterion)
    labels = [column.label for column in view.setting.columns]
    ranking = view.ranking(criterion, measure)
    cells: list[list[Any] | int] = []
    best: dict[int, float] = {}
    for r, c, *_ in setting["cells"]:
        cell, seeds = of[rows[r], labels[c]], view.counts.seeds[labels[c]]
        if cell.mean is None:
            cells.append(0)
            continue
        mean, full = _points(measure, cell.mean), bool(seeds) and cell.values.keys() >= set(seeds)
        spread = [] if cell.std is None else [_points(measure, cell.std)]
        cells.append([mean, len(cell.values), int(full), cell.alike, *spread])
        ranked = not (measure.unranked or cell.alike or rows[r] in view.model.apart)
        if full and ranked and len(seeds) >= LEAST_SEEDS:
            best[c] = max(mean, best.get(c, mean))
    return {
        "cells": cells,
        "best": [best.get(c) for c in range(len(labels))],
        "places": [
            [rows.index(p.row), p.rank, *(round(x, 3) for x in (p.below, p.low, p.high, p.first, p.level))]
            for p in ranking.places
        ],
        "baselines": [[rows.index(row), round(below, 3)] for row, below in ranking.baselines.items()],
        "wins": [[round(100 * share) for share in line[:SHOWN_WINS]] for line in ranking.wins[:SHOWN_WINS].tolist()],
        "ranked": not ranking.why,
        **sentences(view, measure, criterion),
    }


def sentences(view: View, measure: ShownMeasure, criterion: str) -> dict[str, str]:
    """Who is best by a measure and criterion, how sure that is, and of what it is said."""
    ranking, oracle = view.ranking(criterion, measure), None
    if view.oracle and view.oracle != criterion:
        oracle = (criterion_text(view.oracle)[0], view.ranking(view.oracle, measure))
    sources = {column.spec.data.key: view.columns[column.label].partition(",")[0] for column in view.setting.columns}
    compared = len(view.rows) - len(view.kinds)
    without = " (oracle)" if criterion in view.model.oracle_criteria else ", without labels"
    no_choice = criterion in (*view.model.oracle_criteria, "last")
    return {
        "headline": " ".join(headline(ranking, view.names, sources)).replace(" %", "\u00a0%"),
        "changes": " ".join(changes(ranking, view.names, sources, oracle)),
        "apart": " ".join(not_told_apart(ranking, view.names, view.columns)),
        "held": "" if no_choice else view.held,
        "setting": f"{view.title}; test {measure.name} at the epoch chosen by {criterion_text(criterion)[0]}{without}; "
        f"{ranking.problems}; {len(ranking.places)} of {counted(compared, 'method')} have every value there.",
    }


def _setting(view: View, pages: Mapping[str, str]) -> dict[str, Any]:
    grid, model = view.model.gathered.grid, view.model
    rows, labels = view.rows, [column.label for column in view.setting.columns]
    cells: list[list[Any]] = []
    departs: dict[int, str] = {}
    for (r, row), (c, label) in product(enumerate(rows), enumerate(labels)):
        of = grid.cell(row, label)
        if of.seeds:
            if text := grid.departures.get((row, label)):
                departs[len(cells)] = text
            cells.append([r, c, model.ids().get((row, label), ""), len(of.runs), *seconds_of(of)])
    ranking = view.ranking(view.criterion)
    ranked = {place.row for place in ranking.places}

    def typical(row: str) -> list[float | int | None]:
        """Median over data sets of its seconds, and whether any run shared the machine."""
        timed = [seconds_of(grid.cell(row, label)) for label in labels if row not in ranked or label in ranking.columns]
        seconds = [value for value, _ in timed if value is not None]
        return [statistics.median(seconds) if seconds else None, int(any(shared for _, shared in timed))]

    return {
        "title": view.title,
        "tip": view.setting.words,
        "page": view.page,
        "runs": sum(len(grid.cell(row, label).runs) for row in rows for label in labels),
        "columns": [
            {
                "name": view.columns[column.label],
                "tip": column.label,
                "counts": column.label in view.counts.columns,
            }
            for column in view.setting.columns
        ],
        "rows": [
            {
                "name": view.names[row],
                "key": row,
                "from": published(key := model.method_of[row]),
                "page": pages.get(key, ""),
                "kind": view.kinds.get(row, ""),
                "prior": (info := info_of(MethodInfo, key)) is not None and "prior" in info.needs,
                "family": info.family if info is not None else "",
            }
            for row in rows
        ],
        "cells": cells,
        "departs": departs,
        "typical": [typical(row) for row in rows],
        "criteria": [[key, *criterion_text(key), int(key in model.oracle_criteria)] for key in view.criteria],
        "criterion": view.criterion,
        "measures": [[one.key, one.name, int(not one.unranked)] for one in view.measures],
        "measure": view.measure.key,
        "shown": {},
    }


def seconds_of(of: RunGroup) -> tuple[float | None, int]:
    """Median seconds of a cell's runs, and whether any shared the machine."""
    seconds = [run.result.seconds.total for run in of.runs.values()]
    shared = any((run.result.at_once or 1) > 1 for run in of.runs.values())
    return (round(statistics.median(seconds), 2) if seconds else None), int(shared)


def _points(measure: ShownMeasure, value: float) -> float:
    """A value as it is printed, in points."""
    return round(float(measure.text(value)) * (1.0 if measure.percent else 100.0), 2)


# -------------------------------------------------------------------- for the templates


def shown_first(views: Sequence[View], pages: Mapping[str, str], budget: int) -> dict[str, Any]:
    """Arguments of templates for views: the first one's sentences and table, and the JSON of all of them.

    ``pages``: method -> its page; ``budget``: bytes of values.
    """
    view = views[0]
    called = {row: f"{name} ({kind})" if (kind := view.kinds.get(row)) else name for row, name in view.names.items()}
    columns = [view.columns[column.label] for column in view.setting.columns]
    return {
        "view": view,
        "standing_of": standing_table(view.model, view.setting, called, columns, view.page),
        "values": script_json(payload(views, pages, budget)),
        "level": f"{100 * LEVEL:.0f}",
        "resamples": RESAMPLES,
        **sentences(view, view.measure, view.criterion),
    }
