"""The command ``ui`` as it is typed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pubench_cli.choices import Results

TrackingUri = Annotated[
    str | None,
    typer.Option("--tracking-uri", help="Server or database. (default: MLFLOW_TRACKING_URI, else <results>/mlflow.db)"),
]


def ui(
    results: Results = Path("results"),
    tracking_uri: TrackingUri = None,
    port: Annotated[int, typer.Option(help="Port on the loopback interface.", min=1, max=65535)] = 5000,
) -> None:
    """Open MLflow's page on the results, on this machine only."""
    from .page import open_page

    open_page(results, tracking_uri, port)
