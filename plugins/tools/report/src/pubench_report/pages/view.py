"""Methods of a setting as pages show them: who is best, how sure that is, and the JSON of values behind it.

JavaScript draws the table of the chosen setting, criterion and measure, all of which are computed here; without it, a
page has the first one's sentences and means. The front page of a site and the report of a study show the same views.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Self

from pubench_study.measure_names import metric_and_rule

from pubench_cli.few_labels import FEW_HELD_OUT, LOST
from pubench_core.errors import counted
from pubench_core.plugins.info import MethodInfo

from ..cells import MeasuredCell, ShownMeasure, few_in_all
from ..ranking import (
    FEW_DATA_SETS,
    LEAST_SEEDS,
    LEVEL,
    RESAMPLES,
    Ranking,
    changes,
    gain_sentences,
    gains_over,
    headline,
    is_sure,
    mean_gain,
    not_told_apart,
)
from ..rendering import TableEntry
from ..report.model import Model, ProblemColumn, Setting
from ..report.tables import entry, standing_table
from ..rows.runs import share_of_positives
from ..significance import Values
from .names import column_names, criterion_text, in_order, info_of, published, row_name, setting_names
from .template import compact


@dataclass(frozen=True)
class View:
    """A setting as a table. ``page``: file that holds its runs; ``names``: of rows; ``columns``: label -> name.

    The columns of the setting begin with those that count.
    """

    model: Model
    setting: Setting
    title: str
    page: str
    names: Mapping[str, str]
    columns: Mapping[str, str]

    @classmethod
    def of(cls, model: Model, setting: Setting, title: str, page: str = "", **more: Any) -> Self:
        """View of a setting of a model. ``title``: for people; ``more``: of a subclass."""
        names = {row: row_name(row, model.method_of[row]) for row in model.rows_of(setting)}
        called_alike = [row for row, name in names.items() if list(names.values()).count(name) > 1]
        names |= {row: f"{names[row]} ({row})" for row in called_alike}
        counted_there = model.counts(setting).columns
        columns = sorted(setting.columns, key=lambda column: column.label not in counted_there)
        return cls(model, replace(setting, columns=tuple(columns)), title, page, names, column_names(columns), **more)

    @cached_property
    def rows(self) -> list[str]:
        """Methods that were run or planned here."""
        return self.model.rows_of(self.setting)

    @property
    def criteria(self) -> list[str]:
        """Criteria in the order in which they are offered."""
        return in_order(self.model.criteria)

    @property
    def measures(self) -> list[ShownMeasure]:
        """The one shown first leads, then the same by the other decision."""
        return list(dict.fromkeys([*self.model.by_decision, *self.model.measures]))

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        """Row -> oracle or baseline, of those that are one."""
        oracles = self.model.grid.oracles
        return {row: "oracle" if row in oracles else "baseline" for row in self.rows if row in self.model.grid.apart}

    def ranking(self, criterion: str, measure: ShownMeasure | None = None) -> Ranking:
        """Ranking of its methods, by default by its measure."""
        return self.model.ranking(self.setting, measure or self.model.measure, criterion)

    @cached_property
    def held(self) -> str:
        """Whether too few held-out labeled positives chose epochs; empty if not. Rows say only which share it was."""
        cells = [self.model.grid.cell(row, column.label) for row in self.rows for column in self.setting.columns]
        results = [run.result for cell in cells for run in cell.runs.values() if run.result.epochs > 1]
        if few := few_in_all([result for result in results if hasattr(result.data, "validation")]):
            return f"{few}."
        of = [result.spec.validation for result in results if not hasattr(result.data, "validation")]
        share = max((one.fraction for one in of if one.folds is None), default=0.0)
        if not share:
            return ""
        return (
            f"{100 * share:g} % of the labeled positives chose the epoch, fewer than {FEW_HELD_OUT} unless "
            f"{math.ceil(FEW_HELD_OUT / share):,} are labeled: {LOST}."
        )

    @cached_property
    def references(self) -> list[str]:
        """Rows that gains are over: the fullest baseline, others on several data sets; on the page of a table, all."""
        grid, baselines = self.model.grid, [row for row in self.rows if row in self.model.grid.baselines]
        first = grid.fullest(baselines, [*self.columns])
        order = sorted(baselines if self.page else self.rows, key=lambda row: (row != first, row not in baselines))
        run = {row: sum(bool(grid.cell(row, label).seeds) for label in self.columns) for row in order}
        offered = [row for row in order if row == first or not self.page or run[row] >= FEW_DATA_SETS]
        return offered[: 1 if self.page and len(self.columns) < 2 * FEW_DATA_SETS else None]

    @cached_property
    def folded(self) -> frozenset[str]:
        """Rows of a method besides the one with runs on most data sets: variants, which no sentence on gains counts."""
        of = [self.rows_of_method(key) for key in dict.fromkeys(self.model.method_of[row] for row in self.rows)]
        return frozenset(self.rows) - {self.model.grid.fullest(mine, [*self.columns]) for mine in of}

    @cached_property
    def one_answer(self) -> list[float | None]:
        """Accuracy of one answer for all test rows of each data set, in percent, as measures of its runs imply it."""

        def on(column: ProblemColumn) -> float | None:
            tests = [run.test for row in self.rows for run in self.model.grid.cell(row, column.label).runs.values()]
            known = [[of.get(name) or 0.0 for name in ("accuracy", "precision", "recall")] for of in tests]
            shares = [share_of_positives(*of) for of in known if all(of) and of[0] < 1]
            share = statistics.median(shares) if shares else 0.0
            return round(100 * max(share, 1 - share), 1) if shares else None

        return list(map(on, self.setting.columns))

    @property
    def sources(self) -> dict[str, str]:
        """Key of a data set -> its name."""
        return {c.spec.data.key: self.columns[c.label].partition(",")[0] for c in self.setting.columns}

    def rows_of_method(self, key: str) -> list[str]:
        """The rows of a method, set up in one way each."""
        return [row for row in self.rows if self.model.method_of[row] == key]

    def setup(self, row: str) -> str:
        """Comma and name that tell a row from others of its method; empty if it has none."""
        name = self.names[row]
        return "" if row == self.model.method_of[row] else f", {name.partition(', ')[2] or name}"

    def rows_on(self, column: ProblemColumn) -> list[str]:
        """Rows that were run or planned on a data set, the best first."""
        there = [(row, self.cell(row, column)) for row in self.rows]
        rows = {row: cell.rank or len(there) + 1 for row, cell in there if cell.seeds}
        return sorted(rows, key=lambda row: (rows[row], row))

    def cell(self, row: str, column: ProblemColumn) -> MeasuredCell:
        """The cell of a row on a data set, with its rank there."""
        return self.model.cells(self.model.measure, self.model.criterion)[row, column.label]

    def entry(self, row: str, column: ProblemColumn, measure: ShownMeasure, criterion: str) -> TableEntry:
        """A mean that leads to its runs, on the page of the table; its rank is in the tooltip."""
        cell = self.model.cells(measure, criterion)[row, column.label]
        shown = entry(cell, measure, len(column.seeds))
        why = f"rank {cell.rank} of {cell.among}" if cell.rank and measure == self.model.measure else ""
        return replace(shown, link=f"{self.page}#{shown.link}" if shown.link else "", why=shown.why or why)

    def seconds(self, row: str, column: ProblemColumn) -> tuple[float | None, int]:
        """Median seconds of a cell's runs, with the digits that are shown, and whether any shared the machine."""
        runs = [run.result for run in self.model.grid.cell(row, column.label).runs.values()]
        median = statistics.median(run.seconds.total for run in runs) if runs else None
        shown = median and round(median, 1 if median < 10 else None)
        return shown, int(any((run.at_once or 1) > 1 for run in runs))


def views_of(model: Model) -> list[View]:
    """One for each setting, under their names."""
    called = setting_names([setting.columns[0].spec for setting in model.settings])
    return [View.of(model, setting, name) for setting, name in zip(model.settings, called, strict=True)]


# -------------------------------------------------------------------- the page's JSON


def payload(views: Sequence[View], pages: Mapping[str, str], budget: int, show: str = "") -> dict[str, Any]:
    """All settings as plain data: what is shown for each measure and criterion, computed here.

    What settings share (``rows``, ``columns``, sentences) is there once, and a setting has numbers of it. Every
    setting has what is shown first, then measures of the largest ones follow until the budget is spent.
    ``pages``: method -> its page; ``show``: ``gain`` if gains are shown first.
    """
    settings = [_setting(view, pages) for view in views]
    shared: dict[str, list[Any]] = {"rows": [], "columns": [], "criteria": [], "measures": []}
    for (name, known), setting in product(shared.items(), settings):
        known += [one for one in setting[name] if one not in known]
        setting[name] = [known.index(one) for one in setting[name]]
    said = shared["said"] = list(dict.fromkeys(["", *(view.held for view in views)]))
    found = {**shared, "settings": settings, "show": show}
    spent = len(compact(found))

    asked = [
        (rank > (not k and key == first) or key not in (first, "" if k else oracle), rank, k, measure, key)
        for k, view in enumerate(views)
        for first in [view.model.criterion]
        for oracle in [next((key for key in view.criteria if key in view.model.oracle_criteria), "")]
        for rank, measure in enumerate(view.measures)
        for key in view.criteria
    ]
    for later, _, k, measure, criterion in sorted(asked, key=lambda one: one[:3]):
        if later and spent >= budget:
            break
        shown = _shown_by(views[k], measure, criterion, settings[k])
        shown["held"] = said.index(shown["held"])
        text = compact(shown)
        spent += len(text)
        if not later or spent < budget:
            settings[k]["shown"].setdefault(measure.key, {})[criterion] = text if later else shown
    return found


def _shown_by(view: View, measure: ShownMeasure, criterion: str, setting: Mapping[str, Any]) -> dict[str, Any]:
    """Cells, ranking and sentences by a measure at the epoch that a criterion chose.

    A cell: mean, deviation, values (0: all runs have one), runs that decide every row alike, whether seeds are missing.
    """
    rows, of = view.rows, view.model.cells(measure, criterion)
    labels = [column.label for column in view.setting.columns]
    ranking, counts = view.ranking(criterion, measure), view.model.counts(view.setting)
    values = view.model.points(view.setting, measure, criterion)
    over = view.references[: None if (measure, criterion) == (view.model.measure, view.model.criterion) else 1]
    cells: list[list[Any] | int] = []
    best: dict[int, float] = {}
    for r, c, *_ in setting["cells"]:
        cell = of[rows[r], labels[c]]
        if cell.mean is None:
            cells.append(0)
            continue
        mean, full = measure.points(cell.mean), counts.has(labels[c], cell.values)
        n = len(cell.values) if cell.missing else 0
        cells.append(_short(mean, measure.points(cell.std or 0.0), n, cell.alike, int(not full)))
        ranked = not (measure.unranked or cell.alike or rows[r] in view.model.grid.apart)
        if full and ranked and len(counts.seeds[labels[c]]) >= LEAST_SEEDS:
            best[c] = max(mean, best.get(c, mean))
    return {
        "cells": cells,
        "best": [best.get(c) for c in range(len(labels))],
        "places": [
            [rows.index(p.row), p.rank, *(round(x, 3) for x in (p.below, p.low, p.high, p.first, p.level))]
            for p in ranking.places
        ],
        "baselines": [[rows.index(row), round(below, 3)] for row, below in ranking.baselines.items()],
        "ranked": not ranking.why,
        "alone": view.one_answer if metric_and_rule(measure.key)[0] == "accuracy" else [],
        "gains": [_gains(view, row, values, setting) for row in over[:1] if not measure.unranked],
        "others": compact([_gains(view, row, values, setting) for row in over[1:] if not measure.unranked]),
        "why": f"run, but without {'this decision' if metric_and_rule(measure.key)[1] == 'prior' else 'a value'}",
        **sentences(view, measure, criterion),
    }


def _short(*values: Any) -> list[Any]:
    """Without the zeros at its end, which the page's script puts back: most of 4,000 lists of a board have some."""
    return [*values[: max((k for k, one in enumerate(values, 1) if one != 0), default=0)]]


def _gains(view: View, over: str, values: Values, setting: Mapping[str, Any]) -> dict[str, Any]:
    """Gains over a row by cell and by row, and what is said of them. ``values``: in points.

    A cell: points, whether a test finds it, seeds of both (0: all of its values).
    """
    sources = {column.label: column.spec.data.key for column in view.setting.columns}
    labels, rows, gains = [*sources], view.rows, gains_over(values, over)
    by_row = {row: [gain for (method, _), gain in gains.items() if method == row] for row in rows}
    means = {row: mean for row, mine in by_row.items() if (mean := mean_gain(mine, sources)) is not None}
    cells: list[list[Any] | int] = []
    for r, c, *_ in setting["cells"]:
        gain = gains.get((rows[r], labels[c]))
        n = gain.n if gain and gain.n < len(values[labels[c]][rows[r]]) else 0
        cells.append(_short(round(gain.difference, 2), int(is_sure(gain)), n) if gain else 0)
    said = {view.names[row]: mean for row, mean in means.items() if row not in {*view.kinds, *view.folded}}
    says = gain_sentences(said, view.names[over], view.sources)
    return {
        "over": rows.index(over),
        "cells": cells,
        "rows": [[rows.index(row), round(m.points, 2), m.ahead, m.behind, m.data] for row, m in means.items()],
        "said": says,
    }


def sentences(view: View, measure: ShownMeasure, criterion: str) -> dict[str, str]:
    """Who is best by a measure and criterion, how sure that is, and of what it is said."""
    ranking = view.ranking(criterion, measure)
    compared = len(view.rows) - len(view.kinds)
    without = " (oracle)" if criterion in view.model.oracle_criteria else ", without labels"
    no_choice = criterion in (*view.model.oracle_criteria, "last")
    at_0 = measure.key == "accuracy" and len(view.model.by_decision) == 1
    return {
        "headline": " ".join(headline(ranking, view.names, view.sources)).replace(" %", "\u00a0%"),
        "changes": " ".join(changes(ranking, view.names, view.sources)),
        "apart": " ".join(not_told_apart(ranking, view.names, view.columns)),
        "held": "" if no_choice else view.held,
        "setting": f"{view.title}; test {measure.name} at the epoch chosen by {criterion_text(criterion)[0]}{without}"
        f"{', decided at 0: these rows have no decision at the prior' * at_0}.",
        "of": f"{ranking.problems}; {len(ranking.places)} of {counted(compared, 'method')} have every value there.",
    }


def _setting(view: View, pages: Mapping[str, str]) -> dict[str, Any]:
    grid, model, rows, columns = view.model.grid, view.model, view.rows, view.setting.columns
    counted_there = model.counts(view.setting).columns
    cells: list[list[Any]] = []
    departs: dict[int, str] = {}
    for (r, row), (c, column) in product(enumerate(rows), enumerate(columns)):
        place, of = (row, column.label), grid.cell(row, column.label)
        if of.seeds:
            if text := grid.departures.get(place):
                departs[len(cells)] = text
            cells.append(_short(r, c, grid.ids.get(place, ""), len(of.runs), *view.seconds(row, column)))

    def typical(row: str) -> list[float | int | None]:
        """Median over data sets of its seconds, and whether any run shared the machine."""
        timed = [view.seconds(row, c) for c in columns]
        seconds = [value for value, _ in timed if value is not None]
        return [statistics.median(seconds) if seconds else None, int(any(shared for _, shared in timed))]

    def described(row: str) -> dict[str, Any]:
        key = model.method_of[row]
        info = info_of(MethodInfo, key)
        return {
            "name": view.names[row],
            "key": row,
            "from": published(key),
            "page": pages.get(key, ""),
            "kind": view.kinds.get(row, ""),
            "prior": info is not None and "prior" in info.needs,
            "family": info.family if info is not None else "",
        }

    return {
        "title": view.title,
        "tip": view.setting.words,
        "page": view.page,
        "runs": sum(runs for _, _, _, runs, *_ in cells),
        "columns": [
            {"name": view.columns[c.label], "tip": c.label, "counts": c.label in counted_there} for c in columns
        ],
        "rows": [described(row) for row in rows],
        "folded": [k for k, row in enumerate(rows) if row in view.folded],
        "cells": cells,
        "departs": departs,
        "typical": [typical(row) for row in rows],
        "criteria": [[key, *criterion_text(key), int(key in model.oracle_criteria)] for key in view.criteria],
        "criterion": view.model.criterion,
        "measures": [[one.key, one.name] for one in view.measures],
        "measure": view.model.measure.key,
        "shown": {},
    }


# -------------------------------------------------------------------- for the templates


def shown_first(views: Sequence[View], pages: Mapping[str, str], budget: int, show: str = "") -> dict[str, Any]:
    """Arguments of templates for views: the first one's sentences and table, and the JSON of all of them.

    ``pages``: method -> its page; ``budget``: bytes of values; ``show``: as in :func:`payload`.
    """
    view = views[0]
    called = {row: f"{name} ({kind})" if (kind := view.kinds.get(row)) else name for row, name in view.names.items()}
    columns = [view.columns[column.label] for column in view.setting.columns]
    return {
        "view": view,
        "standing_of": standing_table(view.model, view.setting, called, columns, linked=not view.page),
        "values": payload(views, pages, budget, show),
        "level": f"{100 * LEVEL:.0f}",
        "resamples": RESAMPLES,
        **sentences(view, view.model.measure, view.model.criterion),
    }
