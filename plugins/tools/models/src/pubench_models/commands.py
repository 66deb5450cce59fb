"""The command ``predict`` as it is typed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pubench_cli.choices import RecordedRun, Results


class PredictFormat(StrEnum):
    """How predictions are printed."""

    csv = "csv"
    json = "json"


def predict(
    run: RecordedRun,
    file: Annotated[Path, typer.Argument(help="Rows to score: .csv, .tsv, .xlsx, .parquet or .npz.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write: a .csv, .json or .parquet file. (default: stdout)")
    ] = None,
    results: Results = Path("results"),
    format: Annotated[
        PredictFormat | None, typer.Option(help="How to print it. (default: csv, or what --out ends in)")
    ] = None,
) -> None:
    """Score new rows with the model that a run kept (--save-model): row and ids, score, rank, decision."""
    from .predict import predict as score

    score(run, file, out, results, form=format.value if format is not None else None)
