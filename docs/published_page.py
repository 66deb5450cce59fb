"""mkdocs hook: PU-Bench's Table 1 beside ours into ``beside-published.md``, from ``benchmarks/results/``."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from page_parts import BENCHMARKS, listed, marked, origin, summary_script, table

from pubench.published import STANDINGS, PublishedCell, Verdict, source, standing_of, verdict_of
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import registry

if TYPE_CHECKING:
    from mkdocs.structure.pages import Page

MARKER = "<!-- here the site has Table 1 of PU-Bench beside benchmarks/results -->"
COLUMNS = ("method", "seeds", "F1 here", "PU-Bench prints", "difference", "verdict")
#: What the printed figures might be: they are compared as the first.
READINGS = {"f1": "F1", "accuracy": "accuracy"}


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """The page, with its tables."""
    return markdown.replace(MARKER, table_1()) if page.file.src_uri == "beside-published.md" else markdown


def table_1(results: Path = BENCHMARKS / "results") -> str:
    """How many cells there are of each kind, then a section per data set with every cell that was run."""
    summary = summary_script()
    rows = [row for row in summary.read_accuracy(sorted(results.glob("*.csv"))) if row.protocol == summary.CONVENTIONAL]
    runs: dict[tuple[str, str], list[Any]] = {}
    for row in rows:
        if all(f"{measure}_by_f1" in row.measures for measure in READINGS):
            runs.setdefault((row.method, row.data), []).append(row)
    cells = source("pubench2026").cells
    lines = {cell: _compared(cell, runs[cell.method, cell.data]) for cell in cells if (cell.method, cell.data) in runs}
    counts = Counter(standing for _, _, _, _, standing in lines.values())
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
    """How many of these cells would match under every measure that the publication might have printed."""
    cells = list(cells)
    of_data = {name: [cell for cell in cells if cell.data == data] for data, name in _names(cells).items()}
    lines = [_matched(name, mine, runs) for name, mine in of_data.items()]
    return table(("data set", "cells run", *(f"matched as {name}" for name in READINGS.values())), lines)


def _matched(name: str, cells: Sequence[PublishedCell], runs: dict[tuple[str, str], list[Any]]) -> tuple[str, ...]:
    counts = []
    for measure in READINGS:
        means = [_mean(runs[cell.method, cell.data], measure) for cell in cells]
        verdicts = [verdict_of(mean, cell.mean, cell.std) for mean, cell in zip(means, cells, strict=True)]
        counts.append(str(verdicts.count("matched")))
    return (name, str(len(cells)), *counts)


def _mean(rows: Sequence[Any], measure: str) -> float:
    return statistics.fmean(row.measures[f"{measure}_by_f1"] for row in rows)


def _names(cells: Iterable[PublishedCell]) -> dict[str, str]:
    """Key of every data set of these cells, and its name."""
    names = {info.key: info.name for info in registry().infos(DatasetInfo)}
    return {cell.data: names.get(cell.data, cell.data) for cell in cells}


_Line = tuple[int, str, float, Verdict, str]


def _compared(cell: PublishedCell, rows: Sequence[Any]) -> _Line:
    """(seeds, ours in words, difference, verdict, standing)."""
    values = [row.measures[f"{cell.measure}_by_f1"] for row in rows]
    alike = sum(map(_all_positive, rows))
    mean = statistics.fmean(values)
    verdict = verdict_of(mean, cell.mean, cell.std)
    reason = source("pubench2026").reason_of(cell.method, cell.data, verdict)
    ours = summary_script().spread(values) + (f" !{alike}" if alike else "")
    return len(values), ours, mean - cell.mean, verdict, standing_of(verdict, reason)


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
    seeds, ours, difference, verdict, standing = line
    place = standing if verdict == "matched" else f"{verdict}, {standing}"
    printed = f"{cell.mean:.2f} ± {cell.printed:.2f}"
    return (f"`{cell.method}`", str(seeds), ours, printed, f"{difference:+.2f}", place)


def _why(cell: PublishedCell, line: _Line) -> str:
    reason = source("pubench2026").reason_of(cell.method, cell.data, line[3])
    return "" if reason is None else f"{reason.reason} (*{reason.known}*: {reason.evidence})."
