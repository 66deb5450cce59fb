"""The commands about MLflow: ``track`` and ``ui``. What they do is in :mod:`pubench_cli.tracking`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..choices import Format
from .shared import PrintFormat, Results

TrackingUri = Annotated[
    str | None,
    typer.Option("--tracking-uri", help="Server or database. (default: MLFLOW_TRACKING_URI, else <results>/mlflow.db)"),
]


def track(
    results: Results = Path("results"), tracking_uri: TrackingUri = None, format: PrintFormat = Format.table
) -> None:
    """Send to MLflow every record that it lacks, each exactly once."""
    from ..tracking import track as send

    send(results, tracking_uri, as_json=format is Format.json)


def ui(
    results: Results = Path("results"),
    tracking_uri: TrackingUri = None,
    port: Annotated[int, typer.Option(help="Port on the loopback interface.", min=1, max=65535)] = 5000,
) -> None:
    """Open MLflow's page on the results, on this machine only."""
    from ..tracking import open_page

    open_page(results, tracking_uri, port)
