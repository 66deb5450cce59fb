"""The ``trace.csv`` of a record: losses and criteria after each epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pubench_core.records.files import TRACE

if TYPE_CHECKING:
    from pandas import DataFrame

    from pubench import RunResult


def trace(run: RunResult) -> DataFrame:
    """One row per epoch: seconds, reported losses, criteria. Raises ValueError if the run kept none."""
    import pandas as pd

    path = run.folder / TRACE
    if not path.exists():
        raise ValueError(f"run {run.run_id} kept no trace; run it again with artifacts=['scores', 'trace']")
    return pd.read_csv(path)
