"""``pubench curves``: losses and criteria of runs over their epochs, from the ``trace.csv`` of their records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from pubench_cli.console import err, out
from pubench_cli.machine import print_json
from pubench_cli.recorded_run import folder_of_run
from pubench_core.errors import RequestError, counted, unknown, visible
from pubench_core.records.record import read_record

from ..drawing import DrawnCurve, plain_style, write_figure
from ..drawing import curves as draw_lines
from ..pages.learning import CRITERION, chosen_epoch, read_trace

#: Eighths of a line's height; a value that is not there; the epoch that a criterion chose.
BARS, GAP, CHOSEN = "▁▂▃▄▅▆▇█", " ", "▏"
#: Widest line of bars, and columns next to it.
MOST_BARS, BESIDE = 80, 50


@dataclass(frozen=True)
class EpochCurve:
    """A quantity over the epochs of a run."""

    run: str
    quantity: str
    values: Sequence[float | None]
    chosen: int | None
    """the epoch that it chose, if it is a criterion"""


def curves(runs: Sequence[str], results: Path, only: str | None, path: Path | None, *, as_json: bool) -> None:
    """Prints lines of bars, or writes a picture (``.png``, ``.svg``).

    Raises RequestError for a run that kept no trace, a quantity that no run has, and a file that cannot be written.
    """
    if path is not None and path.suffix.lower() not in (".png", ".svg"):
        raise RequestError(f"--out {path} must end in .png or .svg")
    found = [curve for run in runs for curve in _curves(folder_of_run(results, run))]
    if only is not None:
        known, wanted = list(dict.fromkeys(curve.quantity for curve in found)), [x.strip() for x in only.split(",")]
        if other := next((name for name in wanted if name not in known), None):
            raise unknown("quantity", other, known)
        found = [curve for curve in found if curve.quantity in wanted]
    if as_json:
        print_json([vars(curve) for curve in found])
    elif path is None:
        _print(out(), found)
    if path is None:
        return
    panels: dict[str, list[DrawnCurve]] = {}
    for one in found:
        points = tuple((k, math.nan if value is None else value) for k, value in enumerate(one.values, 1))
        panels.setdefault(one.quantity, []).append(DrawnCurve(one.run, points, one.chosen))
    with plain_style():
        write_figure(draw_lines(panels, "", "epoch"), path)
    err().print(f"written: {path}", markup=False, soft_wrap=True)


def _curves(folder: Path) -> list[EpochCurve]:
    """Criteria first; what has no value is left out."""
    result, trace = read_record(folder).result, read_trace(folder)
    if not trace:
        raise RequestError(f"{folder} has no trace; run it again with trace among its artifacts")
    name = f"{result.spec.method.key} on {result.spec.data.key}, seed {result.spec.seed} ({result.run_id[:8]})"
    known = [key for key, values in trace.items() if any(value is not None for value in values)]
    known.sort(key=lambda key: not key.startswith(CRITERION))
    return [
        EpochCurve(name, key.removeprefix(CRITERION), trace[key], chosen_epoch(result, key.removeprefix(CRITERION)))
        for key in known
    ]


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
