"""The ``trace.csv`` of a record: losses and criteria after each epoch."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pubench_core.records.files import TRACE

if TYPE_CHECKING:
    from pandas import DataFrame

    from pubench import RunResult

#: What the name of a criterion's column begins with.
CRITERION = "criterion-"
#: Columns that are no measurement.
_COUNTS = ("stage", "epoch", "in_stage", "seconds", "evaluation_seconds")

#: Column of a trace -> a value for each epoch, None if it has none.
Trace = Mapping[str, Sequence[float | None]]


def trace(run: RunResult) -> DataFrame:
    """One row per epoch: seconds, reported losses, criteria. Raises ValueError if the run kept none."""
    import pandas as pd

    path = run.folder / TRACE
    if not path.exists():
        raise ValueError(f"run {run.run_id} kept no trace; run it again with artifacts=['scores', 'trace']")
    return pd.read_csv(path)


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
