"""The commands ``run``, ``predict`` and ``reproduce``. What they do is in the modules of their names."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from ..choices import Format, PredictFormat
from ..options import MACHINE, RUN, Given, takes
from ..process import Over
from .shared import PrintFormat, RecordedRun, Results


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
    format: Annotated[Format, typer.Option(help="How to print the result.", rich_help_panel=MACHINE)] = Format.table,
) -> None:
    """Run one method on one data set under one labeling, and print what it reached under every criterion.

    With --format json, an error is an object on stdout as well: {"error": ..., "field": ..., "exit_code": ...}.
    """
    from ..run import run_once, shown_traceback

    as_json = format is Format.json
    with shown_traceback() if traceback else nullcontext():
        run_once(given, sets=set_ or [], config=config, force=force, dry_run=dry_run, as_json=as_json, seeds=seeds)


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
    from ..predict import predict as score

    score(run, file, out, results, form=format.value if format is not None else None)


def reproduce(
    run: RecordedRun,
    results: Results = Path("results"),
    data: Annotated[
        Path | None,
        typer.Option(help="Where the table of a run on a table of your own is now. (default: the record's)"),
    ] = None,
    test: Annotated[Path | None, typer.Option(help="Where its test rows are now. (default: the record's)")] = None,
    data_root: Annotated[
        Path | None,
        typer.Option("--data-root", help="Folder of data files. (default: the record's, where it is here)"),
    ] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda:0. (default: the record's)")] = None,
    threads: Annotated[int | None, typer.Option(help="CPU threads. (default: the record's)", min=1, max=1024)] = None,
    format: PrintFormat = Format.table,
) -> None:
    """Run a record's spec again and say whether the scores are the same to the last bit; if not, what differs.

    The record stays as it is. Exit codes: 0 identical, measures included, 1 not, 2 a wrong request.
    """
    from ..reproduce import reproduce_run

    as_json = format is Format.json
    if not reproduce_run(
        run, results, table=data, test=test, data_root=data_root, device=device, threads=threads, as_json=as_json
    ):
        raise Over(1)
