"""The commands ``verify`` and ``reproduce`` as they are typed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pubench_cli.choices import Format
from pubench_cli.commands.shared import PrintFormat, RecordedRun, Results, Root
from pubench_cli.process import Over


def verify(
    folder: Annotated[Path, typer.Argument(help="Folder of records, or one record.")],
    rerun: Annotated[int, typer.Option(help="How many runs to carry out again, chosen at random.", min=0)] = 1,
    fresh: Annotated[
        int,
        typer.Option(help="How many methods to try on another split with other positive classes.", min=0),
    ] = 0,
    tolerance: Annotated[
        float,
        typer.Option(help="How much a test measure may differ on another machine.", min=0, max=1),
    ] = 0.02,
    seed: Annotated[int | None, typer.Option(help="Which runs to choose. (default: nobody can foresee it)")] = None,
    data_root: Root = None,
    format: PrintFormat = Format.table,
) -> None:
    """Check records that others made: files, specs, code, measures from stored scores; run some of them again.

    One line per problem. Exit codes: 0 none, 1 some, 2 a wrong request.
    """
    from .verify import check

    as_json = format is Format.json
    if not check(
        folder, rerun=rerun, fresh=fresh, tolerance=tolerance, seed=seed, data_root=data_root, as_json=as_json
    ):
        raise Over(1)


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
    from .reproduce import reproduce_run

    as_json = format is Format.json
    if not reproduce_run(
        run, results, table=data, test=test, data_root=data_root, device=device, threads=threads, as_json=as_json
    ):
        raise Over(1)
