"""mkdocs hook: PU-Bench's Table 1 beside ours into ``beside-published.md``, from ``benchmarks/results/``."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from page_parts import BENCHMARKS, listed, origin, summary_script, table

from pubench.published import STANDINGS, PublishedCell, Verdict, source, standing_of, verdict_of
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import registry

if TYPE_CHECKING:
    from mkdocs.structure.pages import Page

MARKER = "<!-- here the site has Table 1 of PU-Bench beside benchmarks/results -->"
COLUMNS = ("method", "seeds", "here", "PU-Bench prints", "difference", "verdict")


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """The page, with its tables."""
    return markdown.replace(MARKER, table_1()) if page.file.src_uri == "beside-published.md" else markdown


def table_1(results: Path = BENCHMARKS / "results") -> str:
    """How many cells there are of each kind, then a section per data set with every cell that was run."""
    summary = summary_script()
    rows = [row for row in summary.read_accuracy(sorted(results.glob("*.csv"))) if row.protocol == summary.CONVENTIONAL]
    runs: dict[tuple[str, str], list[Any]] = {}
    for row in rows:
        if "accuracy_by_f1" in row.measures:
            runs.setdefault((row.method, row.data), []).append(row)
    cells = source("pubench2026").cells
    lines = {cell: _compared(cell, runs[cell.method, cell.data]) for cell in cells if (cell.method, cell.data) in runs}
    counts = Counter(standing for _, _, _, _, standing in lines.values())
    said = ", ".join(f"{counts[name]} {name}" for name in STANDINGS if counts[name])
    parts = [
        f"Of the {len(cells)} cells of {source('pubench2026').tables}, {len(lines)} were run: {said or 'none'}. "
        f"{len(cells) - len(lines)} are missing, since they were not run yet."
    ]
    for data in dict.fromkeys(cell.data for cell in cells):
        mine = [cell for cell in cells if cell.data == data]
        parts += _section(data, mine, lines, runs)
    return "\n\n".join(parts)


_Line = tuple[int, str, float, Verdict, str]


def _compared(cell: PublishedCell, rows: Sequence[Any]) -> _Line:
    """(seeds, ours in words, difference, verdict, standing)."""
    values = [row.measures["accuracy_by_f1"] for row in rows]
    mean = statistics.fmean(values)
    verdict = verdict_of(mean, cell.mean, cell.std)
    reason = source("pubench2026").reason_of(cell.method, cell.data, verdict)
    ours = summary_script().spread(values)
    return len(values), ours, mean - cell.mean, verdict, standing_of(verdict, reason)


def _section(
    data: str, cells: Sequence[PublishedCell], lines: dict[PublishedCell, _Line], runs: dict[tuple[str, str], list[Any]]
) -> Iterator[str]:
    names = {info.key: info.name for info in registry().infos(DatasetInfo)}
    yield f"### {names.get(data, data)}"
    run = [cell for cell in cells if cell in lines]
    if not run:
        yield "Missing: no method was run."
        return
    yield table(COLUMNS, [_cells(cell, lines[cell]) for cell in run])
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
