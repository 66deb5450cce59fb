"""A report as one HTML file that needs nothing but itself: the verdict, the table behind it, figures, and the runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from pubench.running import RunResult
from pubench_core.errors import visible

from ..grouping import but_for_seed, problem_names, problem_of
from ..rendering import GAPS, LEGEND
from ..report.model import Model, Significance
from ..report.tables import compared_sections
from ..rows.record import trace
from .names import criterion_text
from .recipe import SEED, recipe
from .template import rendered
from .view import View, shown_first

#: Fields of a problem that say how many are labeled.
AMOUNTS = ("mechanism.c", "mechanism.positive_rate")
#: Bytes of values and of learning curves in a page.
BUDGET, CURVES = 1_500_000, 1_500_000
#: Points of a curve on a page; of longer ones, every second, third and so on is left out.
MOST_POINTS = 80


def page(
    views: Sequence[View],
    tests: Sequence[Significance],
    title: Sequence[str],
    *,
    nav: Sequence[tuple[str, str]] = (),
    pages: Mapping[str, str] | None = None,
    records: Mapping[str, str] | None = None,
) -> str:
    """The whole document. ``views``: of all settings of a model; ``nav``: (address, text) of links above; ``pages``:
    method -> its page; ``records``: run id -> address of its record, for links.
    """
    model = views[0].model
    names = {row: name for view in views for row, name in view.names.items()}
    results, differences, ranks = compared_sections(model, tests)
    panels = [
        {
            "title": title,
            "amount": amount,
            "curves": [[names[row], [[x, round(y, 2)] for x, y in points]] for row, points in of.items()],
        }
        for amount, titles in amount_curves(model).items()
        for title, of in titles.items()
    ]
    return rendered(
        "report.html.j2",
        title[0],
        ("page.js", "board.js", "report.js"),
        nav=nav,
        lines_above=title[1:],
        results=results,
        legend=f"{LEGEND['html']}; {GAPS}",
        tests=differences,
        ranks=ranks,
        panels=panels,
        curves=learning(views, CURVES),
        cells=list(_cells(model)),
        records=records or {},
        model=model,
        **shown_first(views, pages or {}, BUDGET),
    )


# -------------------------------------------------------------------- runs


def _cells(model: Model) -> Iterator[tuple[str, str, list[tuple[list[RunResult], str, Markup]]]]:
    """Id and name of each cell, and groups of its runs: (runs, what must be done before, command that repeats them)."""
    grid = model.gathered.grid
    for (row, column), name in model.grid.ids.items():
        same: dict[tuple[str, int, str], list[RunResult]] = {}  # that differ in their seed alone: they have one recipe
        for run in grid.cell(row, column).runs.values():
            key = (but_for_seed(run.result.spec), run.result.threads, run.result.device)
            same.setdefault(key, []).append(run)
        recipes = []
        for group in same.values():
            one = recipe(group[0].result)
            seed = Markup("<b class=seed>{}</b>").format(group[0].result.spec.seed)
            recipes.append((group, one.first, Markup(escape(visible(one.command)).replace(SEED, seed))))
        yield name, f"{model.grid.marked(row)} on {column}", recipes


# -------------------------------------------------------------------- curves


def amount_curves(model: Model) -> dict[str, dict[str, dict[str, tuple[tuple[float, float], ...]]]]:
    """``c`` and ``positive_rate`` -> title of a panel -> row -> (amount, mean as it is shown), of several amounts.

    A panel is of problems that differ in nothing else.
    """
    cells, there = model.cells(model.measure, model.criterion), {label for _, label in model.grid.ids}
    found: dict[str, dict[str, dict[str, tuple[tuple[float, float], ...]]]] = {}
    for amount in ("c", "positive_rate"):
        of = [(c, c.spec.mechanism.amount) for c in model.columns if c.label in there]
        labeled = [(c, known[1]) for c, known in of if known is not None and known[0] == amount]
        problems = [(c.spec.data.key, problem_of(c.spec)) for c, _ in labeled]
        titles = problem_names([(d, {k: v for k, v in one.items() if k not in AMOUNTS}) for d, one in problems])
        panels: dict[str, list[tuple[float, str]]] = {}
        for (column, x), title in zip(labeled, titles, strict=True):
            panels.setdefault(title, []).append((x, column.label))
        for title, places in panels.items():
            for row in model.grid.rows:
                means = [(x, cells[row, label].mean) for x, label in sorted(places)]
                known = tuple((x, mean * model.measure.scale) for x, mean in means if mean is not None)
                if len(known) > 1:
                    found.setdefault(amount, {}).setdefault(title, {})[row] = known
    return found


def learning(views: Sequence[View], budget: int) -> dict[str, Any]:
    """Curves of the runs of all settings as plain data; empty if no record holds a trace.

    ``runs``: [method, data set, seed, step, {criterion: values at epochs 1, 1 + step, ...}, {criterion: [chosen epoch,
    values of all criteria there]}]. Runs beyond ``budget`` bytes are counted in ``left_out``.
    """
    model = views[0].model
    rows, data = list(model.grid.rows), [(view, column) for view in views for column in view.setting.columns]
    keys = views[0].criteria
    runs: list[list[Any]] = []
    left, left_out = budget, 0
    for d, (_, column) in enumerate(data):
        for r, row in enumerate(rows):
            for seed, run in model.gathered.grid.cell(row, column.label).runs.items():
                if left < 0:
                    left_out += 1
                elif curve := _curve(run, keys):
                    runs.append([r, d, seed, *curve])
                    left -= sum(len(values) for values in curve[1].values()) * 7
    if not runs:
        return {}
    several, at = len(views) > 1, {column.label: k for k, (_, column) in enumerate(data)}
    return {
        "criteria": [[key, criterion_text(key)[0], int(key in model.oracle_criteria)] for key in keys],
        "criterion": model.criterion,
        "rows": [views[0].names.get(row, row) for row in rows],
        "data": [f"{view.columns[c.label]}; {view.title}" if several else view.columns[c.label] for view, c in data],
        "cells": {name: [rows.index(row), at[label]] for (row, label), name in model.grid.ids.items()},
        "runs": runs,
        "left_out": left_out,
    }


def _curve(run: RunResult, keys: Sequence[str]) -> list[Any]:
    """Step, values by criterion, and each criterion's chosen epoch; empty without a trace that can be read."""
    from pandas import to_numeric

    try:
        frame = trace(run)
    except (OSError, ValueError):
        return []
    criteria, columns = run.result.criteria, {key: f"criterion-{key}" for key in keys}
    there = {
        key: [
            None if math.isnan(value) else float(f"{value:.4g}") for value in to_numeric(frame[name], errors="coerce")
        ]
        for key, name in columns.items()
        if key in criteria and name in frame
    }
    step = -(-len(frame) // MOST_POINTS)
    chosen = {
        key: [epoch, {other: values[epoch - 1] for other, values in there.items()}]
        for key, found in criteria.items()
        if key in keys and (epoch := found.epoch) is not None and 1 <= epoch <= len(frame)
    }
    return [step, {key: values[::step] for key, values in there.items()}, chosen] if there else []
