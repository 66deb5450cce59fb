"""The figures of a report as files: which of them apply, and what is in them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import product
from typing import TYPE_CHECKING

from ..drawing import dots, plain_style
from ..grouping import problem_names, problem_of
from ..ranking import FEW_DATA_SETS
from ..significance import ALPHA
from .model import Model, ProblemColumn
from .significance import Significance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Title of average ranks.
BARS = "methods whose bars do not meet differ (Nemenyi's test"
#: Settings up to which each has figures of its own.
MOST_SETTINGS = 4

#: Fields of a problem that say how many are labeled.
AMOUNTS = ("mechanism.c", "mechanism.positive_rate")

#: What a panel of dots shows: the methods on a problem, under the titles of panel and series.
Shown = tuple[ProblemColumn, str, str]


def all_figures(model: Model, tests: Sequence[Significance]) -> dict[str, Figure]:
    """Name of a file -> figure, of all for which there are values; of many settings, those that show all of them."""
    found: dict[str, Figure] = {}
    columns = with_runs(model)
    with plain_style():
        for setting, test in zip(model.settings, tests, strict=True) if len(model.settings) <= MOST_SETTINGS else ():
            if not (mine := [column for column in columns if column in setting.columns]):
                continue
            found[f"methods-{setting.key}"] = dots_of(model, [(c, c.name, model.measure.name) for c in mine])
            ranks = test.average
            if ranks.friedman is not None and len(ranks.friedman.data) >= FEW_DATA_SETS:
                half, title = ranks.friedman.critical_difference / 2, f"{BARS}, level {ALPHA:g})"
                bars = {(row, "rank"): (rank, half) for row, rank in ranks.ranks}
                rows = [row for row, _ in ranks.ranks]
                found[f"difference-{setting.key}"] = dots({title: bars}, "average rank", rows, ["rank"])
        called = {c.label: c.spec.mechanism for c in columns}
        names = {k: of.key if of.variant == "paper" else f"{of.key} ({of.variant})" for k, of in called.items()}
        if len({*names.values()}) > 1:
            titles = titles_of(columns, ("mechanism.key", "mechanism.variant"))
            found["mechanisms"] = dots_of(model, [(c, titles[c.label], names[c.label]) for c in columns])
    return found


def dots_of(model: Model, shown: Sequence[Shown]) -> Figure:
    """The measure of a model: a panel for each title, a marker for each series, with the spread over seeds."""
    rows = [row for row in model.rows if any((row, column.label) in model.grid.ids for column, *_ in shown)]
    cells, scale = model.cells(model.measure, model.criterion), model.measure.scale
    panels: dict[str, dict[tuple[str, str], tuple[float, float | None]]] = {}
    for (column, title, series), row in product(shown, rows):
        cell = cells[row, column.label]
        if cell.mean is not None:
            spread = None if cell.std is None else cell.std * scale
            panels.setdefault(title, {})[model.grid.marked(row), series] = (cell.mean * scale, spread)
    series_of = list(dict.fromkeys(series for *_, series in shown))
    return dots(panels, model.measure.label, [model.grid.marked(row) for row in rows], series_of)


# -------------------------------------------------------------------- panels of problems


def titles_of(columns: Sequence[ProblemColumn], varied: Container[str]) -> dict[str, str]:
    """Label -> title of the panel that a column belongs to: that of its problem without the fields ``varied``."""
    problems = [(c.spec.data.key, problem_of(c.spec)) for c in columns]
    named = problem_names([(data, {k: v for k, v in of.items() if k not in varied}) for data, of in problems])
    return {column.label: name for column, name in zip(columns, named, strict=True)}


def with_runs(model: Model) -> list[ProblemColumn]:
    """Columns in which some method has runs."""
    there = {label for _, label in model.grid.ids}
    return [column for column in model.columns if column.label in there]


def amount_curves(model: Model) -> dict[str, dict[str, dict[str, tuple[tuple[float, float], ...]]]]:
    """``c`` and ``positive_rate`` -> title of a panel -> row -> (amount, mean as it is shown), of several amounts."""
    cells = model.cells(model.measure, model.criterion)
    found: dict[str, dict[str, dict[str, tuple[tuple[float, float], ...]]]] = {}
    for amount in ("c", "positive_rate"):
        of = [(c, c.spec.mechanism.amount) for c in with_runs(model)]
        labeled = {c.label: (c, known[1]) for c, known in of if known is not None and known[0] == amount}
        panels: dict[str, list[tuple[float, str]]] = {}
        for label, title in titles_of([c for c, _ in labeled.values()], AMOUNTS).items():
            panels.setdefault(title, []).append((labeled[label][1], label))
        for title, places in panels.items():
            for row in model.rows:
                means = [(x, cells[row, label].mean) for x, label in sorted(places)]
                known = tuple((x, mean * model.measure.scale) for x, mean in means if mean is not None)
                if len(known) > 1:
                    found.setdefault(amount, {}).setdefault(title, {})[row] = known
    return found
