"""The command ``track`` as it is typed. What it does is in :mod:`pubench_track.sending`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pubench_cli.choices import Format, keys
from pubench_cli.commands.shared import PrintFormat, Results


def track(
    results: Results = Path("results"),
    to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY[=ADDRESS]",
            help="A sink (pubench list sinks) and its address. Repeatable. (default: those that get every run)",
            autocompletion=keys("sink"),
        ),
    ] = None,
    tracking_uri: Annotated[
        str | None, typer.Option("--tracking-uri", help="Address of the sinks that get every run.")
    ] = None,
    format: PrintFormat = Format.table,
) -> None:
    """Send to sinks every record that they lack, each exactly once."""
    from .sending import track as send

    send(results, to or [], tracking_uri, as_json=format is Format.json)
