"""``verify``, ``reproduce`` and ``board``: as they are typed, and what they print.

Stdout is the answer and nothing else.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from pubench_cli.choices import Format, PrintFormat, RecordedRun, Results
from pubench_cli.console import out
from pubench_cli.machine import print_json
from pubench_cli.messages import said, say
from pubench_cli.options import Root
from pubench_cli.process import Over
from pubench_cli.progress import data_progress, display
from pubench_cli.recorded_run import folder_of_run
from pubench_core.errors import counted
from pubench_core.records.record import read_record


def _answer(text: object, style: str = "") -> None:
    for line in str(text).split("\n"):
        out().print(said(line), style=style, markup=False, soft_wrap=True)


def verify(
    path: Annotated[Path, typer.Argument(help="A record, a folder of records, a submission (.zip) or a board.")],
    rerun: Annotated[int, typer.Option(help="How many runs to carry out again, chosen at random.", min=0)] = 1,
    blind: Annotated[
        bool, typer.Option("--blind", help="Train these once more, with other hidden labels: do scores depend on them?")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Seed for choosing runs to repeat. (default: random)")] = None,
    board: Annotated[
        str | None,
        typer.Option("--with", metavar="BOARD", help="Board that a submission is for: board@2026.12, a folder."),
    ] = None,
    data_root: Root = None,
    format: PrintFormat = Format.table,
) -> None:
    """Check records, a submission or a board: files, specs, code, measures from stored scores; run some again.

    One line per problem. Exit codes: 0 no problem, 1 some, 2 a wrong request.
    """
    from ..verification import verify

    with redirect_stdout(sys.stderr):
        found = verify(path, rerun=rerun, blind=blind, board=board, seed=seed, data_root=data_root, progress=say)
    if format is Format.json:
        print_json(found.to_dict())
    else:
        for note in found.notes:
            say(note)
        _answer(found)
    raise Over(int(not found.ok))


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
    from ..reproduction import reproduced, spec_again

    folder = folder_of_run(results, run)
    with redirect_stdout(sys.stderr), display() as terminal:
        record = read_record(folder)
        again = spec_again(record.result, say, data, test, data_root=data_root, device=device, threads=threads)
        found = reproduced(record, again, display=terminal, say=say, progress=data_progress)
    if format is Format.json:
        print_json({"record": str(folder), **found.to_dict()})
    else:
        spec, took = found.recorded.spec, [f"{one.seconds.total:.1f} s" for one in (found.now, found.recorded)]
        title = f"{spec.method.key} on {spec.data.key}, seed {spec.seed}, run again in {took[0]} ({took[1]} recorded)"
        _answer(title, "bold")
        _answer(f"{found}\nrecord: {folder}")
    raise Over(int(not found.confirmed))


def board(
    name: Annotated[str, typer.Argument(help="The month, with a name in front if it is not the main board: 2026.12.")],
    sources: Annotated[
        list[Path], typer.Option("--from", help="Folder of records, or file of rows (.csv). Repeatable.")
    ],
    out: Annotated[Path, typer.Option(help="Folder that gets the board.", file_okay=False)] = Path("boards"),
    format: PrintFormat = Format.table,
) -> None:
    """Freeze finished runs as a dated board: rows as parquet, scores apart, checksums.

    A board that is there is never changed; pubench verify checks one. Runs on user tables are left out.
    """
    from ..boards import build

    built = build(name, sources, out, say)
    facts = built.facts
    if format is Format.json:
        return print_json({**facts, "folder": str(built.folder)})
    _answer(f"{built.folder}: {counted(facts['rows'], 'row')} of {counted(facts['runs'], 'run')}")
    scores = "no source has scores" if facts["scores"] is None else f"scores: {out / facts['scores']['file']}"
    return _answer(f"{scores}; use it: pubench study compare results --with {built.folder}")
