"""The tables of ``results.md``: PU-Bench's main comparison."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
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
    runs = summary.conventional(*sorted(results.glob("*.csv")))
    planned = [entry["key"] for entry in read_study(protocols()["conventional"]).spec.data or ()]
    methods = sorted(runs.method.unique())
    data_sets = dict.fromkeys([*planned, *sorted(runs.data)])
    return "\n\n".join(part for data in data_sets for part in _section(data, methods, runs[runs.data == data]))


def _section(data: str, methods: list[str], runs: pd.DataFrame) -> Iterator[str]:
    names = {info.key: info.name for info in registry().infos(DatasetInfo)}
    yield f"### {names.get(data, data)}"
    if runs.empty:
        yield "Missing: no method was run."
        return
    paper = summary.published()
    printed = any(key == data for _, key in paper)
    lines = []
    for method in methods:
        mine = runs[runs.method == method]
        theirs = [paper.get((method, data), "-")] if printed else []
        lines.append((marked(f"`{method}`", mine.older), len(mine), *(_cell(mine, one) for one in COLUMNS), *theirs))
    yield table(("method", "seeds", *COLUMNS.values(), *(["PU-Bench prints (F1)"] if printed else [])), lines)
    yield origin(runs)


def _cell(runs: pd.DataFrame, measure: str) -> str:
    """Mean and deviation, with their number where it is not that of all seeds; else why there is none."""
    values = runs[measure].dropna() if measure in runs else []
    if len(values):
        return f"{spread(values)}{f' ({len(values)})' if len(values) < len(runs) else ''}"
    criterion = measure.rpartition("_by_")[2]
    undefined = [criterion in names for names in runs.undefined.dropna()]
    return "undefined" if len(runs) and sum(undefined) == len(runs) else "missing"
