"""The tables of ``beside-published.md``: PU-Bench's Table 1 next to ours."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pubench_report.published import (
    STANDINGS,
    Figure,
    PublishedCell,
    Verdict,
    source,
    standard_error,
    standing_of,
    verdict_of,
)

from benchmarks.pages import summary
from benchmarks.pages.parts import listed, marked, origin, spread, table
from benchmarks.pages.queries import rows
from benchmarks.raw_rows import RESULTS
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import registry

COLUMNS = ("method", "seeds", "F1 here", "PU-Bench prints", "difference ± SE", "verdict")
#: What the printed figures might be: they are compared as the first.
READINGS = {"f1": "F1", "accuracy": "accuracy"}


def table_1(results: Path = RESULTS) -> str:
    """How many cells there are of each kind, then a section per data set with every cell that was run."""
    rows = [row for row in summary.read_accuracy(sorted(results.glob("*.csv"))) if row.protocol == summary.CONVENTIONAL]
    runs: dict[tuple[str, str], list[Any]] = {}
    for row in rows:
        if all(f"{measure}_by_f1" in row.measures for measure in READINGS):
            runs.setdefault((row.method, row.data), []).append(row)
    cells = source("pubench2026").cells
    lines = {cell: _compared(cell, runs[cell.method, cell.data]) for cell in cells if (cell.method, cell.data) in runs}
    counts = Counter(standing for _, _, standing in lines.values())
    said = ", ".join(f"{counts[name]} {name}" for name in STANDINGS if counts[name])
    parts = [
        f"Of the {len(cells)} cells of {source('pubench2026').tables}, {len(lines)} were run: {said or 'none'}. "
        f"{len(cells) - len(lines)} are missing, since they were not run yet.",
        _readings(lines, runs),
    ]
    for data in dict.fromkeys(cell.data for cell in cells):
        mine = [cell for cell in cells if cell.data == data]
        parts += _section(data, mine, lines, runs)
    return "\n\n".join(parts)


def _readings(cells: Iterable[PublishedCell], runs: dict[tuple[str, str], list[Any]]) -> str:
    """Number of these cells that match under each measure that the publication might have printed."""
    cells = list(cells)
    of_data = {name: [cell for cell in cells if cell.data == data] for data, name in _names(cells).items()}
    lines = [_matched(name, mine, runs) for name, mine in of_data.items()]
    return table(
        ("data set", "cells run", "judged", *(f"matched as {name}" for name in READINGS.values()), "nearer as F1"),
        lines,
    )


def _matched(name: str, cells: Sequence[PublishedCell], runs: dict[tuple[str, str], list[Any]]) -> tuple[str, ...]:
    counts = []
    for measure in READINGS:
        verdicts = [verdict_of(_figure(runs[cell.method, cell.data], measure), cell.figure) for cell in cells]
        counts.append(str(verdicts.count("matched")))
    of_cells = [(cell, [_figure(runs[cell.method, cell.data], measure).mean for measure in READINGS]) for cell in cells]
    nearer = sum(abs(f1 - cell.mean) < abs(accuracy - cell.mean) for cell, (f1, accuracy) in of_cells)
    judged = sum(len(runs[cell.method, cell.data]) > 1 for cell in cells)
    return (name, str(len(cells)), str(judged), *counts, str(nearer))


def _figure(rows: Sequence[Any], measure: str) -> Figure:
    values = [row.measures[f"{measure}_by_f1"] for row in rows]
    std = statistics.stdev(values) if len(values) > 1 else None
    return Figure(statistics.fmean(values), std, len(values), sum(map(_all_positive, rows)))


def _names(cells: Iterable[PublishedCell]) -> dict[str, str]:
    """Key of every data set of these cells, and its name."""
    names = {info.key: info.name for info in registry().infos(DatasetInfo)}
    return {cell.data: names.get(cell.data, cell.data) for cell in cells}


_Line = tuple[Figure, Verdict | None, str]


def _compared(cell: PublishedCell, rows: Sequence[Any]) -> _Line:
    """(ours, verdict, standing)."""
    ours = _figure(rows, cell.measure)
    verdict = verdict_of(ours, cell.figure)
    return ours, verdict, standing_of(verdict, source("pubench2026").reason_of(cell.method, cell.data, verdict))


def _all_positive(row: Any) -> bool:
    """Whether every test row was decided positive: all positives were found, and no other row was decided rightly."""
    found = {name: row.measures.get(f"{name}_by_f1") for name in ("recall", "precision", "accuracy")}
    return found["recall"] == 100 and found["precision"] == found["accuracy"]


def _section(
    data: str, cells: Sequence[PublishedCell], lines: dict[PublishedCell, _Line], runs: dict[tuple[str, str], list[Any]]
) -> Iterator[str]:
    yield f"### {_names(cells)[data]}"
    run = [cell for cell in cells if cell in lines]
    if not run:
        yield "Missing: no method was run."
        return
    shown = [(cell, _cells(cell, lines[cell])) for cell in run]
    yield table(COLUMNS, [(marked(name, runs[cell.method, cell.data]), *rest) for cell, (name, *rest) in shown])
    if reasons := [f"- `{cell.method}`: {why}" for cell in run if (why := _why(cell, lines[cell]))]:
        yield "\n".join(reasons)
    if missing := [cell.method for cell in cells if cell not in lines]:
        yield f"Missing, since not run yet: {listed(missing)}."
    yield origin(row for cell in run for row in runs[cell.method, cell.data])


def _cells(cell: PublishedCell, line: _Line) -> tuple[str, ...]:
    ours, verdict, standing = line
    place = f"{verdict}, {standing}" if verdict in ("above", "below") else standing
    error = standard_error(ours, cell.figure)
    spread = "" if ours.std is None else f" ± {ours.std:.2f}"
    here = f"{ours.mean:.2f}{spread}" + (f" !{ours.alike}" if ours.alike else "")
    difference = f"{ours.mean - cell.mean:+.2f}" + ("" if error is None else f" ± {error:.2f}")
    printed = f"{cell.mean:.2f} ± {cell.printed:.2f}"
    return (f"`{cell.method}`", str(ours.n), here, printed, difference, place)


def _why(cell: PublishedCell, line: _Line) -> str:
    reason = source("pubench2026").reason_of(cell.method, cell.data, line[1])
    return "" if reason is None else f"{reason.reason} (*{reason.known}*: {reason.evidence})."


# -------------------------------------------------------------------- the released recipes

#: Methods in the order of the table, and their keys in the rows of released recipes, where they differ.
RECIPES = {
    "nnpu": "nnpu", "pusb": "pusb", "vpu": "vpu", "lbe-pu": "lbe", "robust-pu": "robust-pu", "p3mix-e": "p3mix-e",
    "pan": "pan", "self-pu": "self-pu", "holistic-pu": "holistic-pu", "pn": "pn",
}  # fmt: skip


def released(results: Path = RESULTS) -> str:
    """F1 here, of the released recipe and as published, for every cell whose recipe was run."""
    found: dict[tuple[str, str], list[float]] = {}
    for row in rows("released").itertuples():
        if row.method not in RECIPES.values():
            raise ValueError(f"released.csv: method {row.method!r} is in no line of the table (RECIPES)")
        if not row.standardized:
            found.setdefault((row.method, row.data), []).append(100 * row.f1)
    here = summary.by_data(
        (row for row in summary.read_accuracy(sorted(results.glob("*.csv"))) if row.protocol == summary.CONVENTIONAL),
        "f1_by_f1",
    )
    paper, names, lines = summary.published(), {info.key: info.name for info in registry().infos(DatasetInfo)}, []
    for method, recipe in RECIPES.items():
        for data in ("spambase", "20news", "connect-4", "mnist"):
            if (recipe, data) in found:
                cells = [
                    spread(values) + (f" ({len(values)})" if len(values) != 3 else "")
                    for values in (here[method, data], found[recipe, data])
                ]
                lines.append((f"`{method}`", names[data], *cells, paper[method, data]))
    return table(("method", "data", "here", "released recipe", "published"), lines)
