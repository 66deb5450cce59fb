"""Cells and tests of a report: a measure of a method on a data set under one setting, over seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pubench_study.measure_names import metric_and_rule

from pubench_core.errors import counted, unknown
from pubench_core.plugins.registry import registry
from pubench_core.results import at_prior_name
from pubench_core.specs import RunSpec

from ..cells import MeasuredCell, ShownMeasure, grid_cells
from ..grouping import Grid
from ..ranking import AverageRanks, Counted, Ranking, average_ranks, counted_in, ranking_of
from ..rendering import Printed, RenderedTable, TableEntry
from ..rows.record import compared_by, criteria_of, metrics_of
from ..significance import ALPHA, Pair, Values, p_text, pairs_of
from .gather import Gathered

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class ProblemColumn:
    """A problem."""

    label: str
    """its name in the grid"""
    name: str
    """within its setting"""
    seeds: frozenset[int]
    """of all methods there"""
    spec: RunSpec
    """of one of its runs"""


@dataclass(frozen=True)
class Setting:
    """Data sets under the same labeling, scheme and validation. ``varying``: what tells it from others, in words."""

    key: str
    words: str
    varying: str
    columns: tuple[ProblemColumn, ...]


@dataclass
class Model:
    """All that tables and figures are made of."""

    gathered: Gathered
    criterion: str
    measure: ShownMeasure
    criteria: tuple[str, ...]
    oracle_criteria: frozenset[str]
    measures: tuple[ShownMeasure, ...]
    settings: tuple[Setting, ...]
    part: str = "test"
    _cells: dict[tuple[str, str], dict[tuple[str, str], MeasuredCell]] = field(default_factory=dict)
    _counts: dict[str, Counted] = field(default_factory=dict)
    _rankings: dict[tuple[str, str, str], Ranking] = field(default_factory=dict)

    @property
    def by_decision(self) -> tuple[ShownMeasure, ...]:
        """The measure by each decision that it was measured by, the tested one leading."""
        metric = metric_and_rule(self.measure.key)[0]
        found = (one for one in self.measures if metric_and_rule(one.key)[0] == metric)
        return tuple(dict.fromkeys([self.measure, *found]))

    @property
    def grid(self) -> Grid:
        """Runs by row and column."""
        return self.gathered.grid

    @property
    def columns(self) -> list[ProblemColumn]:
        """Columns of all settings."""
        return [column for setting in self.settings for column in setting.columns]

    @cached_property
    def whole(self) -> Setting:
        """All columns side by side, under their names in the grid."""
        columns = {column.label: replace(column, name=column.label) for column in self.columns}
        facts = [one.words.split(", ") for one in self.settings]
        common = ", ".join(fact for fact in facts[0] if all(fact in of for of in facts))
        return Setting("whole", common, "", tuple(columns[label] for label in self.grid.columns))

    def criterion_name(self, criterion: str) -> str:
        """Name, with a mark if it is an oracle."""
        return f"{criterion} (oracle)" if criterion in self.oracle_criteria else criterion

    def rows_of(self, setting: Setting) -> list[str]:
        """Rows that are planned or were run in a setting."""
        labels = {column.label for column in setting.columns}
        there = {row for (row, label), cell in self.grid.cells.items() if label in labels and cell.seeds}
        return [row for row in self.grid.rows if row in there]

    @cached_property
    def method_of(self) -> Mapping[str, str]:
        """Row -> key of its method."""
        return {row: specs[0].method.key for (row, _), specs in self.grid.specs.items()}

    def cells(self, measure: ShownMeasure, criterion: str) -> dict[tuple[str, str], MeasuredCell]:
        """(row, column) -> cell, with best and second of each column marked."""
        key = (measure.key, criterion)
        if key not in self._cells:
            self._cells[key] = grid_cells(self.grid, measure, criterion, self.part)
        return self._cells[key]

    def counts(self, setting: Setting) -> Counted:
        """Which data sets and seeds methods of a setting are ranked by, by the measure that is shown first."""
        if setting.key not in self._counts:
            cells = self.cells(self.measure, self.criterion)
            rows = [row for row in self.rows_of(setting) if row not in self.grid.apart]
            values = {c.label: {row: cells[row, c.label].values for row in rows} for c in setting.columns}
            self._counts[setting.key] = counted_in(values, rows)
        return self._counts[setting.key]

    def points(self, setting: Setting, measure: ShownMeasure, criterion: str) -> Values:
        """Values of a setting as they are printed, in points."""
        cells, rows = self.cells(measure, criterion), self.rows_of(setting)
        return {
            c.label: {row: {s: measure.points(v) for s, v in cells[row, c.label].values.items()} for row in rows}
            for c in setting.columns
        }

    def ranking(self, setting: Setting, measure: ShownMeasure, criterion: str) -> Ranking:
        """The methods of a setting by a measure as it is printed, at the epoch that a criterion chose."""
        key = (setting.key, measure.key, criterion)
        if key not in self._rankings:
            rows, cells = self.rows_of(setting), self.cells(measure, criterion)
            self._rankings[key] = ranking_of(
                self.points(setting, measure, criterion),
                rows,
                self.counts(setting),
                {c.label: c.spec.data.key for c in setting.columns},
                references=self.grid.apart,
                baselines=self.grid.baselines & self.grid.apart,
                alike=[(row, c.label) for row in rows for c in setting.columns if cells[row, c.label].alike],
                unranked=measure.unranked,
            )
        return self._rankings[key]


# -------------------------------------------------------------------- from runs to a model


def model_of(gathered: Gathered, measure: str, criterion: str | None, part: str = "test") -> Model:
    """Raises RequestError as :func:`compared_by` does."""
    criterion, note = compared_by(gathered.done, measure, criterion, part)
    gathered = gathered.with_notes(*gathered.notes, *([note] if note else []))
    measured, grid = metrics_of(gathered.done, part), gathered.grid
    first = [name for key in registry().headline() for name in (key, at_prior_name(key)) if name in measured]
    all_measures = [ShownMeasure.of(key) for key in dict.fromkeys([*first, *measured])]
    of_runs = [found for run in gathered.done for found in run.result.criteria.items()]
    return Model(
        gathered=gathered,
        criterion=criterion,
        measure=ShownMeasure.of(measure),
        criteria=criteria_of(gathered.done),
        oracle_criteria=frozenset(name for name, found in of_runs if found.oracle),
        measures=tuple(one for one in all_measures if one.percent or one.key == measure),
        settings=tuple(_settings(grid)),
        part=part,
    )


def _settings(grid: Grid) -> Iterable[Setting]:
    """Columns of the grid by what else the problem is, in order of appearance."""
    of = {label: specs[0] for (_, label), specs in reversed(grid.specs.items())}
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for label in grid.columns:
        groups.setdefault(setting_of(of[label]), []).append(label)
    differing = {name for facts in groups for name, value in facts if any((name, value) not in o for o in groups)}
    for number, (facts, labels) in enumerate(groups.items(), 1):
        keys = [of[label].data.key for label in labels]
        names = [of[label].data.key if keys.count(of[label].data.key) == 1 else label for label in labels]
        yield Setting(
            key=f"s{number}",
            words=", ".join(f"{name} {value}" for name, value in facts),
            varying=", ".join(f"{name} {value}" for name, value in facts if name in differing),
            columns=tuple(
                ProblemColumn(label, name, grid.seeds[label], of[label])
                for label, name in zip(labels, names, strict=True)
            ),
        )


def setting_of(spec: RunSpec) -> tuple[tuple[str, str], ...]:
    """Settings that a table's runs have in common except their data sets, as (name, value)."""
    mechanism = spec.mechanism
    facts = [("scheme", spec.data.scheme), ("mechanism", mechanism.key)]
    if mechanism.variant != "paper":
        facts.append(("variant", mechanism.variant))
    if mechanism.amount is not None:
        name, value = mechanism.amount
        facts.append((name.replace("_", " "), f"{value:g}"))
    folds = spec.validation.folds
    return (*facts, ("validation", f"{spec.validation.fraction:g}" if folds is None else f"{folds} folds"))


# -------------------------------------------------------------------- tests


def check_baseline(model: Model, given: str | None) -> str:
    """The row that others are tested against, by default :attr:`Grid.reference`.

    Of a method that was run with several settings, the row that has runs on the most data sets.

    Raises RequestError for one that is not there.
    """
    found = model.grid.reference if given is None else model.grid.called(given)
    if not found:
        raise unknown("baseline", str(given), model.grid.rows)
    return found


@dataclass(frozen=True)
class Significance(Printed):
    """Tests of a comparison. Prints as text; in a notebook as tables."""

    metric: str
    criterion: str
    reference: str
    pairs: tuple[Pair, ...]
    """per data set and method, against the reference"""
    no_pairs: str
    """why there are none"""
    average: AverageRanks
    """over data sets"""
    notes: tuple[str, ...] = ()
    """what was left out"""

    def to_frame(self) -> DataFrame:
        """The pairs as a frame, one row each."""
        import pandas

        return pandas.DataFrame([vars(pair) for pair in self.pairs], columns=list(Pair.__dataclass_fields__))

    @property
    def advice(self) -> str:
        """Advice if no pair is decided; empty if one is, and without pairs."""
        if not self.pairs or any(pair.decision in ("better", "worse") for pair in self.pairs):
            return ""
        most = max(pair.n for pair in self.pairs)
        return (
            f"nothing is decided over {counted(most, 'seed')}: more seeds (such as {max(10, 2 * most)}) tell smaller "
            "differences from chance"
        )

    def table(self, ids: Mapping[tuple[str, str], str] | None = None, **more: Any) -> RenderedTable:
        """The pairs, and notes on them. ``ids``: (data, method) -> identifier of the cell's runs."""
        rows, measure = [], ShownMeasure.of(self.metric)
        for pair in self.pairs:
            text = "-" if math.isnan(pair.difference) else measure.text(pair.difference, "+")
            difference = TableEntry(text, link=(ids or {}).get((pair.data, pair.method), ""))
            p = (p_text(pair.p), p_text(pair.adjusted))
            rows.append((pair.data, pair.method, str(pair.n), difference, *p, pair.decision))
        head = ("data", "method", "pairs", f"difference to {self.reference}", "p", "adjusted p", "decision")
        notes = (f"no tests: {self.no_pairs}" if self.no_pairs else "", self.advice)
        return RenderedTable.of(head, rows, left=2, texts=(6,), notes=tuple(filter(None, notes)), **more)

    def shown(self) -> tuple[list[str], RenderedTable, list[str]]:
        listed = ", ".join(f"{method} {rank:.2f}" for method, rank in self.average.ranks)
        table = self.table()
        below = [*table.notes, "", *([f"average ranks (1 is best): {listed}"] if listed else [])]
        unit = ", points" if ShownMeasure.of(self.metric).percent else ""
        title = (
            f"{self.metric}, selected by {self.criterion}: difference to {self.reference} over seeds{unit}; paired "
            f"t-test, two-sided, Holm's adjustment per data set, level {ALPHA:g}"
        )
        notes = (f"note: {note}" for note in self.notes)
        return [title], replace(table, notes=()), [*below, *self.average.lines(), *notes]


def comparisons_of(model: Model, reference: str) -> list[Significance]:
    """Paired tests against a reference and ranks, one for each setting, in order."""
    return [comparison_of(model, setting, reference) for setting in model.settings]


def comparison_of(model: Model, setting: Setting, reference: str, notes: Iterable[str] = ()) -> Significance:
    """Paired tests of the methods of a setting against a reference, and ranks of those that compete.

    ``reference``: a row that may compete or not.
    """
    measure, cells, rows = model.measure, model.cells(model.measure, model.criterion), model.rows_of(setting)
    competing, higher = [row for row in rows if row not in model.grid.apart], measure.higher_is_better
    mine = [row for row in rows if row in competing or row == reference]
    there = {c.name: {row: of for row in mine if (of := cells[row, c.label].values)} for c in setting.columns}
    without, no_pairs = [data for data, of in there.items() if reference not in of], ""
    if not any(there.values()):
        no_pairs = "no method has a value here"
    elif len(without) == len(there):
        no_pairs = f"{reference} has no value here; --baseline names another method"
    elif higher is None:
        no_pairs = f"metric {measure.key} is not installed, so whether higher is better is not known"
    said = [f"no tests on {data}: {reference} has no value there" for data in without] if not no_pairs else []
    pairs = [] if no_pairs else pairs_of(there, reference, higher_is_better=bool(higher))
    average = AverageRanks(Counted((), (), (), {}), why=no_pairs)
    if higher is not None:
        average = average_ranks(there, competing, higher_is_better=higher)
    no_pairs = no_pairs or "no other method has a value here" * (not pairs)
    criterion = model.criterion_name(model.criterion)
    return Significance(measure.key, criterion, reference, tuple(pairs), no_pairs, average, (*notes, *said))
