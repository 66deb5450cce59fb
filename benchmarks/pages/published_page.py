"""The tables of ``beside-published.md``: PU-Bench's Table 1 next to ours."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from pubench_report.published import (
    MARGIN,
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
from benchmarks.pages.parts import marked, origin, spread, table
from benchmarks.pages.queries import rows
from benchmarks.raw_rows import RESULTS
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import registry

COLUMNS = ("method", "seeds", "F1 here", "PU-Bench prints", "difference ± SE", "verdict")
#: Measures that the printed figures might be: they are compared as the first.
READINGS = ("f1", "accuracy")
#: Mark of each state in the table of all cells; its name is the class of the cell, which has a color.
MARKS = dict(zip(STANDINGS, ("=", "e", "r", "k", "?", "1"), strict=True))

_Line = tuple[Figure, Verdict | None, str]


def table_1(results: Path = RESULTS) -> str:
    """How many cells there are of each kind, the state of each, then every cell that was run, by data set."""
    found = summary.conventional(*sorted(results.glob("*.csv"))).dropna(subset=[f"{m}_by_f1" for m in READINGS])
    runs = {(str(method), str(data)): mine for (method, data), mine in found.groupby(["method", "data"])}
    published = source("pubench2026")
    lines: dict[PublishedCell, _Line] = {}
    for cell in published.cells:
        if (mine := runs.get((cell.method, cell.data))) is not None:
            ours = _figure(mine, cell.measure)
            verdict = verdict_of(ours, cell.figure)
            reason = published.reason_of(cell.method, cell.data, verdict)
            lines[cell] = ours, verdict, standing_of(ours, cell.figure, reason, MARGIN)
    counts = Counter(standing for _, _, standing in lines.values())
    said = ", ".join(f"{counts[name]} {name}" for name in STANDINGS if counts[name])
    parts = [
        f"Of the {len(published.cells)} cells of {published.tables}, {len(lines)} were run: {said or 'none'}. "
        f"{len(published.cells) - len(lines)} are missing (–), since they were not run yet.",
        f"A cell is its state, then ours minus theirs, in points. {', '.join(f'{MARKS[n]}: {n}' for n in STANDINGS)}.",
    ]
    names = {info.key: info.name for info in registry().infos(DatasetInfo)}
    run = {cell.data: [one for one in lines if one.data == cell.data] for cell in published.cells}
    of = {
        (cell.method, cell.data): f"{MARKS[standing]} {ours.mean - cell.mean:+z.1f} {{ .{standing.replace(' ', '-')} }}"
        for cell, (ours, _, standing) in lines.items()
    }
    states = {c.method: [f"`{c.method}`", *(of.get((c.method, data), "–") for data in run)] for c in published.cells}
    parts.append(table(("method", *(names.get(data, data) for data in run)), states.values()))
    head = ("data set", "cells run", "judged", "matched as F1", "matched as accuracy", "nearer as F1")
    parts.append(table(head, (_matched(names.get(data, data), cells, runs) for data, cells in run.items() if cells)))
    for data, cells in run.items():
        parts += [f"### {names.get(data, data)}", *_section(cells, lines, runs)] if cells else []
    return "\n\n".join(parts)


def _matched(name: str, cells: Sequence[PublishedCell], runs: dict[tuple[str, str], pd.DataFrame]) -> tuple[Any, ...]:
    """Number of these cells that match under each measure that the publication might have printed."""
    figures = [[_figure(runs[cell.method, cell.data], measure) for measure in READINGS] for cell in cells]
    verdicts = [[verdict_of(ours, cell.figure) for ours in of] for cell, of in zip(cells, figures, strict=True)]
    counts = (of.count("matched") for of in zip(*verdicts, strict=True))
    nearer = sum(
        abs(f1.mean - c.mean) < abs(other.mean - c.mean) for c, (f1, other) in zip(cells, figures, strict=True)
    )
    return name, len(cells), sum(f1.n > 1 for f1, _ in figures), *counts, nearer


def _figure(runs: pd.DataFrame, measure: str) -> Figure:
    """``alike``: runs that decided every row positive: all positives found, no other row decided rightly."""
    values = [*runs[f"{measure}_by_f1"]]
    alike = (runs.recall_by_f1 == 100) & (runs.precision_by_f1 == runs.accuracy_by_f1)
    std = statistics.stdev(values) if len(values) > 1 else None
    return Figure(statistics.fmean(values), std, len(values), int(alike.sum()))


def _section(
    run: Sequence[PublishedCell], lines: dict[PublishedCell, _Line], runs: dict[tuple[str, str], pd.DataFrame]
) -> Iterator[str]:
    mine = [runs[cell.method, cell.data] for cell in run]
    names = (marked(f"`{cell.method}`", of.older) for cell, of in zip(run, mine, strict=True))
    yield table(COLUMNS, (_cells(name, cell, lines[cell]) for name, cell in zip(names, run, strict=True)))
    judged = [cell for cell in run if lines[cell][2] != "matched"]
    reasons = [(cell, source("pubench2026").reason_of(cell.method, cell.data, lines[cell][1])) for cell in judged]
    if said := [f"- `{cell.method}`: {why.reason} (*{why.known}*: {why.evidence})." for cell, why in reasons if why]:
        yield "\n".join(said)
    yield origin(pd.concat(mine))


def _cells(name: str, cell: PublishedCell, line: _Line) -> tuple[Any, ...]:
    ours, verdict, standing = line
    place = f"{verdict}, {standing}" if verdict in ("above", "below") and standing != "matched" else standing
    error = standard_error(ours, cell.figure)
    spread = "" if ours.std is None else f" ± {ours.std:.2f}"
    here = f"{ours.mean:.2f}{spread}" + (f" !{ours.alike}" if ours.alike else "")
    difference = f"{ours.mean - cell.mean:+.2f}" + ("" if error is None else f" ± {error:.2f}")
    return name, ours.n, here, f"{cell.mean:.2f} ± {cell.printed:.2f}", difference, place


# -------------------------------------------------------------------- the released recipes

#: Methods in the order of the table, and their keys in the rows of released recipes, where they differ.
RECIPES = {
    "nnpu": "nnpu", "pusb": "pusb", "vpu": "vpu", "lbe-pu": "lbe", "robust-pu": "robust-pu", "p3mix-e": "p3mix-e",
    "pan": "pan", "self-pu": "self-pu", "holistic-pu": "holistic-pu", "pn": "pn",
}  # fmt: skip


def released() -> str:
    """F1 here, of the released recipe and as published, for every cell whose recipe was run."""
    found = rows("released")
    if unknown := {*found.method} - {*RECIPES.values()}:
        raise ValueError(f"released.csv: methods {', '.join(sorted(unknown))} are in no line of the table (RECIPES)")
    recipes = (100 * found[~found.standardized].set_index(["method", "data"]).f1).groupby(["method", "data"])
    theirs = {key: list(values) for key, values in recipes}
    here = summary.conventional(*sorted(RESULTS.glob("*.csv"))).dropna(subset="f1_by_f1").set_index(["method", "data"])
    paper, names = summary.published(), {info.key: info.name for info in registry().infos(DatasetInfo)}
    lines = []
    for method, recipe in RECIPES.items():
        for data in ("spambase", "20news", "connect-4", "mnist"):
            if (recipe, data) in theirs:
                pair = [*here.f1_by_f1.loc[[(method, data)]]], theirs[recipe, data]
                cells = (spread(values) + (f" ({len(values)})" if len(values) != 3 else "") for values in pair)
                lines.append((f"`{method}`", names[data], *cells, paper[method, data]))
    return table(("method", "data", "here", "released recipe", "published"), lines)
