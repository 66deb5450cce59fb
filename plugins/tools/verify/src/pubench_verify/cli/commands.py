"""``verify``, ``reproduce`` and ``board``: as they are typed, and what they print.

Stdout is the answer and nothing else.
"""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from pubench_cli.choices import Format, PrintFormat, RecordedRun, Results
from pubench_cli.console import err, out
from pubench_cli.machine import print_json
from pubench_cli.messages import said
from pubench_cli.options import Root
from pubench_cli.process import Over
from pubench_cli.progress import data_progress, display
from pubench_cli.recorded_run import folder_of_run
from pubench_core.errors import Notice, counted


def _say(text: Notice | str) -> None:
    err().print(said(text), markup=False, soft_wrap=True)


def _answer(text: object, style: str = "") -> None:
    out().print(said(str(text)), style=style, markup=False, soft_wrap=True)


def _ended(*, well: bool) -> None:
    if not well:
        raise Over(1)


def verify(
    path: Annotated[Path, typer.Argument(help="A record, a folder of records, a submission (.tar.gz) or a board.")],
    rerun: Annotated[int, typer.Option(help="How many runs to carry out again, chosen at random.", min=0)] = 1,
    blind: Annotated[int, typer.Option(help="How many runs to train with other hidden labels.", min=0)] = 0,
    tolerance: Annotated[
        float,
        typer.Option(help="How much a test measure may differ on another machine.", min=0, max=1),
    ] = 0.02,
    seed: Annotated[int | None, typer.Option(help="Seed for choosing runs to repeat. (default: random)")] = None,
    submit: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Pack the records for a board and check them as it does: NAME.tar.gz."),
    ] = None,
    board: Annotated[
        str | None,
        typer.Option("--with", metavar="BOARD", help="Board that a submission is for: board@2026.12, a folder."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder that gets a submission.", file_okay=False)] = Path("."),
    data_root: Root = None,
    format: PrintFormat = Format.table,
) -> None:
    """Check records, a submission or a board: files, specs, code, measures from stored scores; run some again.

    One line per problem. With --submit, also written: NAME.tar.gz (records with their scores) and NAME.md (the text of
    the issue), if nothing is wrong. Exit codes: 0 no problem, 1 some, 2 a wrong request.
    """
    from ..archive import pack_records
    from ..submission import comment, issue_text
    from ..verification import verify

    path, records = (path, []) if submit is None else pack_records(path, submit, out)
    with redirect_stdout(sys.stderr):
        found = verify(
            path,
            rerun=rerun,
            blind=blind,
            tolerance=tolerance,
            board=board,
            seed=seed,
            data_root=data_root,
            progress=_say,
        )
    if submit is not None and not found.ok:
        path.unlink()
    elif submit is not None:
        path.with_name(f"{submit}.md").write_text(issue_text(found, records), encoding="utf-8")
        _say(f"written: {path}, {submit}.md; open the issue form Submission, drop the archive, copy the fields")
    if format is Format.json:
        print_json(found.to_dict())
    elif found.sha256:
        _answer(comment(found).rstrip())
    else:
        for note in found.notes:
            _say(note)
        for line in (*found.problems, *found.again, *found.blind):
            _answer(line)
        for what, count in Counter(found.unchecked.values()).items():
            _answer(f"not checked as a whole: {counted(count, 'run')}: {what}")
        unchecked = f", {len(found.unchecked)} not checked as a whole" if found.unchecked else ""
        _answer(
            f"{counted(found.records, 'record')}, {counted(len(found.problems), 'problem')}{unchecked}; measures "
            f"derived again from the scores of {found.records - found.without_scores}; "
            f"{counted(found.checksums, 'checksum')} compared; {counted(found.carried_out, 'run')} carried out again"
        )
    _ended(well=found.ok)


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
    from ..reproduction import Here, reproduced

    folder, here = folder_of_run(results, run), Here(data, test, data_root, device, threads)
    with redirect_stdout(sys.stderr), display() as terminal:
        found = reproduced(folder, here, display=terminal, say=_say, progress=data_progress)
    if format is Format.json:
        print_json({"record": str(folder), **found.to_dict()})
        return _ended(well=found.confirmed)
    spec = found.recorded.spec
    _answer(
        f"{spec.method.key} on {spec.data.key}, seed {spec.seed}, run again in {found.now.seconds.total:.1f} s "
        f"({found.recorded.seconds.total:.1f} s recorded)",
        "bold",
    )
    for line in str(found).split("\n"):
        _answer(line)
    _answer(f"record: {folder}")
    return _ended(well=found.confirmed)


def board(
    name: Annotated[str, typer.Argument(help="The month, with a name in front if it is not the main board: 2026.12.")],
    sources: Annotated[
        list[Path], typer.Option("--from", help="Folder of records, or file of rows (.csv). Repeatable.")
    ],
    out: Annotated[Path, typer.Option(help="Folder that gets the board.", file_okay=False)] = Path("boards"),
    format: PrintFormat = Format.table,
) -> None:
    """Freeze finished runs as a dated board: rows as parquet, scores apart, checksums, BibTeX.

    A board that is there is never changed; pubench verify checks one. Runs on user tables are left out.
    """
    from ..boards import build

    built = build(name, sources, out, _say)
    facts = built.facts
    if format is Format.json:
        return print_json({**facts, "folder": str(built.folder)})
    _answer(f"{built.folder}: {counted(facts['rows'], 'row')} of {counted(facts['runs'], 'run')}")
    scores = "no source has scores" if facts["scores"] is None else f"scores: {out / facts['scores']['file']}"
    return _answer(f"{scores}; use it: pubench study compare results --with {built.folder}")
