"""Learning curves of runs, from the ``trace.csv`` of their records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pubench.running import RunResult

from ..trace import CRITERION, read_trace
from .names import criterion_text
from .view import View

#: Points of a curve on a page; of longer ones, every second, third and so on is left out.
MOST_POINTS = 80


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
    criteria = run.result.criteria
    there = [key for key in keys if key in criteria and f"{CRITERION}{key}" in trace]
    if not there:
        return []
    epochs = len(trace[f"{CRITERION}{there[0]}"])
    step = -(-epochs // MOST_POINTS)
    values = {key: [_rounded(v) for v in trace[f"{CRITERION}{key}"][::step]] for key in there}
    chosen = {
        key: [epoch, {other: _rounded(trace[f"{CRITERION}{other}"][epoch - 1]) for other in there}]
        for key, found in criteria.items()
        if key in keys and (epoch := found.epoch) is not None and 1 <= epoch <= epochs
    }
    return [step, values, chosen]


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
