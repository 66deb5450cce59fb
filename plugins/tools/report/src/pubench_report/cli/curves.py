"""``pubench curves``: losses and criteria of runs over their epochs, from the ``trace.csv`` of their records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from pubench_cli.console import err, out
from pubench_cli.machine import print_json
from pubench_cli.recorded_run import folder_of_run
from pubench_core.errors import RequestError, counted, shortened, unknown, visible
from pubench_core.records.record import read_record

from ..drawing import DrawnCurve as Line
from ..drawing import curves as draw_lines
from ..drawing import plain_style, write_figure
from ..pages.learning import CRITERION, Trace, chosen_epoch, read_trace
from ..pages.template import rendered, script_json
from ..report.write import write_text

#: Eighths of a line's height; a value that is not there; the epoch that a criterion chose.
BARS, GAP, CHOSEN = "▁▂▃▄▅▆▇█", " ", "▏"
#: Widest line of bars, and columns next to it.
MOST_BARS, BESIDE = 80, 50


@dataclass(frozen=True)
class EpochCurve:
    """A quantity over the epochs of a run. ``chosen``: the epoch that it chose, if it is a criterion."""

    run: str
    quantity: str
    values: Sequence[float | None]
    chosen: int | None


def curves(runs: Sequence[str], results: Path, only: str | None, path: Path | None, *, as_json: bool) -> None:
    """Prints lines of bars, or writes a page (``.html``) or a picture (``.png``, ``.svg``).

    Raises RequestError for a run that kept no trace, a quantity that no run has, and a file that cannot be written.
    """
    if path is not None and path.suffix.lower() not in (".html", ".png", ".svg"):
        raise RequestError(f"--out {path} must end in .html, .png or .svg")
    found = _chosen([curve for run in runs for curve in _curves(run, results)], only)
    if as_json:
        print_json([vars(curve) for curve in found])
    if path is None and not as_json:
        _print(out(), found)
    if path is not None:
        if path.suffix.lower() == ".html":
            write_text(path, page(found))
        else:
            _write_picture(path, found)
        err().print(f"written: {path}", markup=False, soft_wrap=True)


def _curves(run: str, results: Path) -> list[EpochCurve]:
    folder = folder_of_run(results, run)
    result, trace = read_record(folder).result, read_trace(folder)
    if not trace:
        raise RequestError(f"{folder} has no trace; run it again with trace among its artifacts")
    name = f"{result.spec.method.key} on {result.spec.data.key}, seed {result.spec.seed} ({result.run_id[:8]})"
    return [
        EpochCurve(name, key.removeprefix(CRITERION), trace[key], chosen_epoch(result, key.removeprefix(CRITERION)))
        for key in _in_order(trace)
    ]


def _in_order(trace: Trace) -> list[str]:
    """Criteria first; what has no value is left out."""
    known = [key for key, values in trace.items() if any(value is not None for value in values)]
    return sorted(known, key=lambda key: not key.startswith(CRITERION))


def _chosen(found: Sequence[EpochCurve], only: str | None) -> list[EpochCurve]:
    if only is None:
        return list(found)
    known = list(dict.fromkeys(curve.quantity for curve in found))
    wanted = [name.strip() for name in only.split(",")]
    for name in wanted:
        if name not in known:
            raise unknown("quantity", name, known)
    return [curve for curve in found if curve.quantity in wanted]


# -------------------------------------------------------------------- on a terminal


def bars(values: Sequence[float | None], width: int, chosen: int | None = None) -> str:
    """Values as one line of bars, at most ``width`` of them; the mark of the chosen epoch stands before its bar.

    >>> bars([0.0, None, 0.5, 1.0], 10, chosen=4)
    '▁ ▅▏█'
    """
    step = -(-len(values) // width)
    shown = [values[k : k + step] for k in range(0, len(values), step)]
    means = [sum(known) / len(known) if (known := [v for v in part if v is not None]) else None for part in shown]
    there = [mean for mean in means if mean is not None]
    low, span = min(there), (max(there) - min(there)) or 1.0
    marks = [GAP if mean is None else BARS[min(7, int(8 * (mean - low) / span))] for mean in means]
    if chosen is not None and 1 <= chosen <= len(values):
        marks.insert((chosen - 1) // step, CHOSEN)
    return "".join(marks)


def _print(console: Console, found: Sequence[EpochCurve]) -> None:
    width = max(10, min(MOST_BARS, console.width - BESIDE))
    names = max(len(curve.quantity) for curve in found)
    for run in dict.fromkeys(curve.run for curve in found):
        mine = [curve for curve in found if curve.run == run]
        console.print(Text(visible(f"{run}: {counted(len(mine[0].values), 'epoch')}"), style="bold"))
        for curve in mine:
            known = [value for value in curve.values if value is not None]
            at = "" if curve.chosen is None else f", chose epoch {curve.chosen}"
            line = bars(curve.values, width, curve.chosen)
            text = f"  {visible(curve.quantity):<{names}}  {line}  {min(known):.4g} to {max(known):.4g}{at}"
            console.print(Text(text), soft_wrap=True)


# -------------------------------------------------------------------- as a page or a picture


def _panels(found: Sequence[EpochCurve]) -> dict[str, list[EpochCurve]]:
    panels: dict[str, list[EpochCurve]] = {}
    for curve in found:
        panels.setdefault(curve.quantity, []).append(curve)
    return panels


def _write_picture(path: Path, found: Sequence[EpochCurve]) -> None:
    with plain_style():
        lines = {
            quantity: [
                Line(c.run, tuple((k, math.nan if v is None else v) for k, v in enumerate(c.values, 1)), c.chosen)
                for c in mine
            ]
            for quantity, mine in _panels(found).items()
        }
        write_figure(draw_lines(lines, "", "epoch"), path)


def page(found: Sequence[EpochCurve]) -> str:
    """A page with a panel for each quantity and a line for each run."""
    runs = list(dict.fromkeys(curve.run for curve in found))
    panels: list[dict[str, Any]] = [
        {"title": quantity, "curves": [[curve.run, list(curve.values), curve.chosen] for curve in mine]}
        for quantity, mine in _panels(found).items()
    ]
    title = f"Curves of {runs[0] if len(runs) == 1 else counted(len(runs), 'run')}"
    return rendered(
        "curves.html.j2", shortened(title), ("curves.js",), runs=runs, panels=script_json({"panels": panels})
    )
