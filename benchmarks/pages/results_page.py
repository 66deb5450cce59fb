"""The tables of ``results.md``: PU-Bench's main comparison."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pubench_study.study_file import protocols, read_study

from benchmarks.pages import summary
from benchmarks.pages.parts import marked, origin, spread, table
from benchmarks.raw_rows import RESULTS
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import registry

#: Measure and criterion of every column, and what it is called.
COLUMNS = {
    "accuracy_by_pa": "accuracy by `pa`",
    "f1_by_pa": "F1 by `pa`",
    "accuracy_by_f1": "accuracy by `f1` (oracle)",
    "f1_by_f1": "F1 by `f1` (oracle)",
}


def conventional(results: Path = RESULTS) -> str:
    """A section per data set: the protocol's, then others of which there are rows."""
    rows = [row for row in summary.read_accuracy(sorted(results.glob("*.csv"))) if row.protocol == summary.CONVENTIONAL]
    planned = [entry["key"] for entry in read_study(protocols()["conventional"]).spec.data or ()]
    data_sets = list(dict.fromkeys([*planned, *sorted(row.data for row in rows)]))
    measured = sorted({row.method for row in rows})
    parts = [part for data in data_sets for part in _section(data, measured, [row for row in rows if row.data == data])]
    return "\n\n".join(parts)


def _section(data: str, methods: list[str], rows: list[Any]) -> Iterator[str]:
    names = {info.key: info.name for info in registry().infos(DatasetInfo)}
    yield f"### {names.get(data, data)}"
    if not rows:
        yield "Missing: no method was run."
        return
    paper = summary.published()
    printed = any(key == data for _, key in paper)
    lines = []
    for method in methods:
        mine = [row for row in rows if row.method == method]
        cells = [_cell(mine, measure) for measure in COLUMNS]
        theirs = [paper.get((method, data), "-")] if printed else []
        lines.append((marked(f"`{method}`", mine), len(mine), *cells, *theirs))
    yield table(("method", "seeds", *COLUMNS.values(), *(["PU-Bench prints (F1)"] if printed else [])), lines)
    yield origin(rows)


def _cell(rows: list[Any], measure: str) -> str:
    """Mean and deviation, with their number where it is not that of all seeds; else why there is none."""
    values = [row.measures[measure] for row in rows if measure in row.measures]
    if values:
        return f"{spread(values)}{f' ({len(values)})' if len(values) < len(rows) else ''}"
    criterion = measure.rpartition("_by_")[2]
    return "undefined" if rows and all(criterion in row.undefined for row in rows) else "missing"
