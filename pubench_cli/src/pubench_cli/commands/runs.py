"""The commands ``run`` and ``track``. What they do is in the modules of their names."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from ..choices import Format, PrintFormat, Results, keys
from ..options import MACHINE, RUN, Given, takes


@takes()
def run(
    given: Given,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A hyper-parameter (lr=1e-3) or, dotted, any field (execution.threads=2). Repeatable.",
            rich_help_panel=RUN,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="YAML file with any part of the spec; flags win.", rich_help_panel=RUN),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|LIST",
            help="Run once for each of several seeds (3, or 2,25,42) and say how much they differ.",
            rich_help_panel=RUN,
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Run although a result is stored; the older record is kept.", rich_help_panel=MACHINE
        ),
    ] = False,
    traceback: Annotated[
        bool,
        typer.Option(
            "--traceback", help="Print the traceback if the run fails; its record has it too.", rich_help_panel=MACHINE
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print the resolved spec as YAML (for --config), or as JSON, and stop.",
            rich_help_panel=MACHINE,
        ),
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Print every criterion and measure, and costs.", rich_help_panel=MACHINE)
    ] = False,
    format: Annotated[Format, typer.Option(help="How to print the result.", rich_help_panel=MACHINE)] = Format.table,
) -> None:
    """Train one method and print its test scores at the epoch that was chosen.

    With --format json, an error is an object on stdout as well: {"error": ..., "field": ..., "exit_code": ...}.
    """
    from ..run import run_once, shown_traceback

    as_json = format is Format.json
    with shown_traceback() if traceback else nullcontext():
        run_once(
            given, sets=set_ or [], config=config, force=force, dry_run=dry_run, as_json=as_json, seeds=seeds, full=full
        )


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
    format: PrintFormat = Format.table,
) -> None:
    """Send to sinks every record that they lack, each exactly once."""
    from ..track import track as send

    send(results, to or [], as_json=format is Format.json)
