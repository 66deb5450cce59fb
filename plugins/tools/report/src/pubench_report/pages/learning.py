"""Learning curves of runs, from the ``trace.csv`` of their records."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pubench.running import RunResult
from pubench_core.records.files import TRACE
from pubench_core.results import Result

from .names import criterion_text
from .view import View

#: What the name of a criterion's column begins with.
CRITERION = "criterion-"
#: Points of a curve on a page; of longer ones, every second, third and so on is left out.
MOST_POINTS = 80
#: Columns of a trace that are no measurement.
_COUNTS = ("stage", "epoch", "in_stage", "seconds", "evaluation_seconds")

#: Column of a trace -> a value for each epoch, None if it has none.
Trace = Mapping[str, Sequence[float | None]]


def read_trace(folder: Path) -> Trace:
    """Losses by their names and criteria as ``criterion-pa``, a value for each epoch; empty without a trace."""
    try:
        with (folder / TRACE).open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, csv.Error, UnicodeDecodeError):
        return {}
    names = [name for name in (rows[0] if rows else ()) if name not in _COUNTS]
    return {name: [_number(row.get(name)) for row in rows] for name in names}


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def criteria_in(trace: Trace, result: Result) -> list[str]:
    """Criteria that a run tracked and its trace holds."""
    return [name for name in result.criteria if f"{CRITERION}{name}" in trace]


def chosen_epoch(result: Result, criterion: str) -> int | None:
    """The epoch that a criterion chose."""
    found = result.criteria.get(criterion)
    return None if found is None else found.epoch


def learning(views: Sequence[View], budget: int) -> dict[str, Any]:
    """Curves of the runs of all settings as plain data; empty if no record holds a trace.

    ``runs``: [method, data set, seed, step, {criterion: values at epochs 1, 1 + step, ...}, {criterion: [chosen epoch,
    values of all criteria there]}]. Runs beyond ``budget`` bytes are counted in ``left_out``.
    """
    model = views[0].model
    rows, data = list(model.rows), [(view, column) for view in views for column in view.setting.columns]
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
        "cells": {name: [rows.index(row), at[label]] for (row, label), name in model.ids().items()},
        "runs": runs,
        "left_out": left_out,
    }


def _curve(run: RunResult, keys: Sequence[str]) -> list[Any]:
    """Step, values by criterion, and each criterion's chosen epoch; empty without a trace."""
    trace = read_trace(run.folder)
    there = [key for key in keys if key in criteria_in(trace, run.result)]
    if not there:
        return []
    epochs = len(trace[f"{CRITERION}{there[0]}"])
    step = -(-epochs // MOST_POINTS)
    values = {key: [_rounded(v) for v in trace[f"{CRITERION}{key}"][::step]] for key in there}
    chosen = {
        key: [epoch, {other: _rounded(trace[f"{CRITERION}{other}"][epoch - 1]) for other in there}]
        for key in run.result.criteria
        if key in keys and (epoch := chosen_epoch(run.result, key)) is not None and 1 <= epoch <= epochs
    }
    return [step, values, chosen]


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
