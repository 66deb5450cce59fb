"""The figures of a report as files: which of them apply, and what is in them."""

from __future__ import annotations

import statistics
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pubench_core.errors import RequestError

from ..cells import ShownMeasure
from ..drawing import (
    DrawnCurve,
    Panel,
    critical_difference,
    curves,
    dots,
    plain_style,
    write_figure,
)
from ..grouping import in_short, problem_of, telling
from ..ranking import FEW_DATA_SETS
from .model import Model, ProblemColumn, Setting
from .statistics import ALPHA, SettingTests

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Measures that the radar plots of the published benchmark have.
RADAR = ("accuracy", "precision", "recall", "f1", "auc")
#: Label frequencies from which on a measure is drawn as a curve.
CURVE = 3
#: Settings up to which each has figures of its own.
MOST_SETTINGS = 4

#: Fields of a problem: how many are labeled; those whose value says what it is of; those that every title names.
AMOUNTS, PLAIN = ("mechanism.c", "mechanism.positive_rate"), ("data.scheme", "mechanism.key")
ALWAYS = ("mechanism.key", *AMOUNTS)

Values = dict[tuple[str, str], tuple[float, float | None]]


@dataclass(frozen=True)
class NamedFigure:
    """A figure with the name of its file."""

    key: str
    figure: Figure


def all_figures(model: Model, tests: Sequence[SettingTests]) -> list[NamedFigure]:
    """Every figure for which there are values; of many settings, only those that show all of them."""
    with plain_style():
        pairs = zip(model.settings, tests, strict=True) if len(model.settings) <= MOST_SETTINGS else ()
        alone = [drawn for setting, test in pairs for drawn in _of_setting(model, setting, test)]
        return [*alone, *_across_settings(model)]


def write_figures(figures: Sequence[NamedFigure], folder: Path) -> list[Path]:
    """Each as PNG and SVG. Raises RequestError if they cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError(f"cannot write figures in {folder}: {error.strerror or error}") from error
    written = {folder / f"{drawn.key}.{form}": drawn.figure for drawn in figures for form in ("png", "svg")}
    for path, figure in written.items():
        write_figure(figure, path)
    return list(written)


def _of_setting(model: Model, setting: Setting, test: SettingTests) -> Iterator[NamedFigure]:
    columns = [column for column in with_runs(model) if column in setting.columns]
    if not columns:
        return
    rows = [row for row in model.rows_of(setting) if any((row, c.label) in model.ids() for c in columns)]
    names, label, key = [model.row_name(row) for row in rows], model.measure.label, setting.key
    measures = [one for one in model.measures if one.key in RADAR]
    criteria = [model.criterion_name(criterion) for criterion in model.criteria]
    panels = [Panel(c.name, label, values_of(model, rows, c, [model.measure])) for c in columns]
    yield NamedFigure(f"methods-{key}", dots(panels, names, [model.measure.name]))
    if len(measures) > 1:
        panels = [Panel(c.name, "%", values_of(model, rows, c, measures)) for c in columns]
        yield NamedFigure(f"measures-{key}", dots(panels, names, [measure.name for measure in measures]))
    if test.friedman is not None and len(test.part.data) >= FEW_DATA_SETS:
        difference = test.friedman.critical_difference
        yield NamedFigure(f"difference-{key}", critical_difference(test.ranks, difference, test.groups, ALPHA))
    shared = [c for c in setting.columns if c.name in test.part.data]
    if len(shared) > 1 and len(criteria) > 1:
        cells = model.cells(model.measure, model.criterion)
        there = [row for row in model.rows_of(setting) if all(cells[row, c.label].values for c in shared)]
        of = [one for one in model.measures if one.key in RADAR or one == model.measure]
        panels = [Panel(one.name, one.label, by_criterion(model, there, shared, one)) for one in of]
        yield NamedFigure(f"means-{key}", dots(panels, [model.row_name(row) for row in there], criteria))


def values_of(model: Model, rows: Sequence[str], column: ProblemColumn, measures: Sequence[ShownMeasure]) -> Values:
    """By row and measure; the spread only of one measure."""
    found: Values = {}
    for one in measures:
        cells = model.cells(one, model.criterion)
        for row in rows:
            cell = cells[row, column.label]
            if cell.mean is not None:
                spread = cell.std * one.scale if cell.std is not None and len(measures) == 1 else None
                found[model.row_name(row), one.name] = (cell.mean * one.scale, spread)
    return found


def by_criterion(model: Model, rows: Sequence[str], columns: Sequence[ProblemColumn], measure: ShownMeasure) -> Values:
    """Means over data sets, each of which counts once, at the epoch that each criterion chose."""
    found: Values = {}
    for criterion in model.criteria:
        cells = model.cells(measure, criterion)
        for row in rows:
            means = [mean for c in columns if (mean := cells[row, c.label].mean) is not None]
            if len(means) == len(columns):
                value = statistics.fmean(means) * measure.scale
                found[model.row_name(row), model.criterion_name(criterion)] = (value, None)
    return found


# -------------------------------------------------------------------- across settings


def _across_settings(model: Model) -> Iterator[NamedFigure]:
    """Curves over how many are labeled, and mechanisms side by side, where settings differ in these."""
    names = {
        "c": "label frequency c (log scale)",
        "positive_rate": "positive rate r: labeled rows as a share of P and U",
    }
    for amount, groups in amounts_of(model, CURVE).items():
        if panels := _curves(model, groups):
            key = "frequency" if amount == "c" else "positive-rate"
            yield NamedFigure(key, curves(panels, model.measure.label, names[amount], logarithmic=amount == "c"))
    columns = with_runs(model)
    mechanisms = list(dict.fromkeys(column.mechanism for column in columns))
    if len(mechanisms) > 1:
        titles = titles_of(columns, ("mechanism.key", "mechanism.variant"))
        of_columns = {c.label: c.mechanism for c in columns}
        yield NamedFigure("mechanisms", _series(model, columns, titles, of_columns, mechanisms))
        labeled = sorted((c for c in columns if c.amount is not None), key=lambda c: c.amount or ("", 0.0))
        of = {c.amount_text: {other.mechanism for other in labeled if other.amount == c.amount} for c in labeled}
        shared = [amount for amount, named in of.items() if len(named) > 1]
        if len(shared) > 1:  # the fewest and the most labels that several mechanisms have
            amounts = [shared[0], shared[-1]]
            labeled = [column for column in labeled if column.amount_text in amounts]
            titles = titles_of(labeled, AMOUNTS)
            ordered, of_columns = (
                sorted(labeled, key=lambda c: titles[c.label]),
                {c.label: c.amount_text for c in labeled},
            )
            yield NamedFigure("labels", _series(model, ordered, titles, of_columns, amounts))


def _curves(model: Model, groups: dict[str, list[tuple[float, str]]]) -> dict[str, list[DrawnCurve]]:
    """A panel for each problem and family of methods, of methods with ``CURVE`` values."""
    cells = model.cells(model.measure, model.criterion)
    panels: dict[str, list[DrawnCurve]] = {}
    for title, group in groups.items():
        for row in model.rows:
            points = [(x, cells[row, label].mean) for x, label in group]
            known = tuple((x, mean * model.measure.scale) for x, mean in points if mean is not None)
            if len(known) >= CURVE:
                family = model.families.get(row, "") or "other methods"
                panels.setdefault(f"{title}, {family}", []).append(DrawnCurve(model.row_name(row), known))
    return panels


def _series(
    model: Model, columns: Sequence[ProblemColumn], titles: dict[str, str], series: dict[str, str], order: Sequence[str]
) -> Figure:
    """A panel for each title, a marker for each series; spreads only if a panel's series are few."""
    cells, found = model.cells(model.measure, model.criterion), dict[str, Values]()
    rows = [row for row in model.rows if any((row, c.label) in model.ids() for c in columns)]
    for column in columns:
        for row in rows:
            cell = cells[row, column.label]
            if cell.mean is not None:
                spread = None if cell.std is None else cell.std * model.measure.scale
                place = found.setdefault(titles[column.label], {})
                place[model.row_name(row), series[column.label]] = (cell.mean * model.measure.scale, spread)
    panels = [Panel(title, model.measure.label, values) for title, values in found.items()]
    return dots(panels, [model.row_name(row) for row in rows], order)


# -------------------------------------------------------------------- panels of problems


def titles_of(columns: Sequence[ProblemColumn], varied: Container[str]) -> dict[str, str]:
    """Label -> title of the panel that a column belongs to: columns that differ in more than ``varied`` (fields of the
    problem) have other titles, which say in what.
    """
    problems = [
        (column.spec.data.key, {name: v for name, v in problem_of(column.spec).items() if name not in varied})
        for column in columns
    ]
    titles = {}
    for column, (data, mine), told in zip(columns, problems, telling(problems), strict=True):
        shown = [name for name, value in mine.items() if name in (*told, *ALWAYS) and value != "null"]
        words = [in_short(name, mine[name]) for name in shown]
        plain = [word.partition("=")[2] if name in PLAIN else word for name, word in zip(shown, words, strict=True)]
        titles[column.label] = ", ".join([data, *plain])
    return titles


def with_runs(model: Model) -> list[ProblemColumn]:
    """Columns in which some method has runs."""
    there = {label for _, label in model.ids()}
    return [column for column in model.columns if column.label in there]


def amounts_of(model: Model, least: int) -> dict[str, dict[str, list[tuple[float, str]]]]:
    """``c`` and ``positive_rate`` -> title of a panel -> (amount, label) in order, of panels with ``least`` amounts."""
    found: dict[str, dict[str, list[tuple[float, str]]]] = {}
    for amount in ("c", "positive_rate"):
        columns = [column for column in with_runs(model) if column.amount and column.amount[0] == amount]
        at = {column.label: column.amount[1] for column in columns if column.amount}
        panels: dict[str, list[tuple[float, str]]] = {}
        for label, title in titles_of(columns, AMOUNTS).items():
            panels.setdefault(title, []).append((at[label], label))
        kept = {title: sorted(points) for title, points in panels.items() if len(points) >= least}
        if kept:
            found[amount] = kept
    return found
