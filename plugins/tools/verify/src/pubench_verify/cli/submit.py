"""The commands ``submit``, ``board build`` and ``board check``."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from pubench_cli.choices import Format
from pubench_cli.commands.shared import PrintFormat
from pubench_cli.console import err, out
from pubench_cli.machine import print_json
from pubench_cli.messages import said
from pubench_cli.options import Root
from pubench_cli.process import Over
from pubench_core.errors import counted


def build(
    name: Annotated[str, typer.Argument(help="The month, with a name in front if it is not the main board: 2026.12.")],
    sources: Annotated[
        list[Path], typer.Option("--from", help="Folder of records, or file of rows (.csv). Repeatable.")
    ],
    out: Annotated[Path, typer.Option(help="Folder that gets the board.", file_okay=False)] = Path("boards"),
    format: PrintFormat = Format.table,
) -> None:
    """Freeze finished runs as a dated board: rows as parquet, scores apart, checksums, BibTeX.

    A board that is there is never changed. Runs on user tables are left out.
    """
    from pubench_report.rows.files import FACTS

    from ..boards import build

    built = build(name, sources, out)
    if format is Format.json:
        print_json({**json.loads((built.folder / FACTS).read_text(encoding="utf-8")), "folder": str(built.folder)})
        return
    for note in built.notes:
        _say(f"note: {said(note)}")
    _answer(f"{built.folder}: {counted(built.rows, 'row')} of {counted(built.runs, 'run')}")
    scores = "no source has scores" if built.scores is None else f"scores: {built.scores}"
    _answer(f"{scores}; use it: pubench study compare results --with {built.folder}")


def check(
    folder: Annotated[Path, typer.Argument(help="Folder of a board.", file_okay=False)],
    format: PrintFormat = Format.table,
) -> None:
    """Check the files of a board against its checksums and its format.

    One line per problem. Exit codes: 0 none, 1 some, 2 a wrong request.
    """
    from ..boards import problems_of

    found = problems_of(folder)
    if format is Format.json:
        print_json({"ok": not found, "problems": found})
    else:
        for problem in found:
            _answer(said(problem))
        _answer(f"{folder}: {counted(len(found), 'problem')}")
    if found:
        raise Over(1)


def submit(
    folder: Annotated[Path, typer.Argument(help="Folder of records.")] = Path("results"),
    name: Annotated[str, typer.Option(help="Name of the submission: lower case, digits and hyphens.")] = "submission",
    study: Annotated[str | None, typer.Option(help="Only the runs of this study.")] = None,
    methods: Annotated[
        list[str] | None, typer.Option("--method", help="Only runs of this method. Repeatable. (default: all)")
    ] = None,
    board: Annotated[
        str | None, typer.Option("--with", metavar="BOARD", help="A board to compare with: board@2026.12, a folder.")
    ] = None,
    rerun: Annotated[
        int, typer.Option(help="How many runs to repeat, drawn at random; at least one of each method.", min=0)
    ] = 1,
    out: Annotated[Path, typer.Option(help="Folder that gets the files.", file_okay=False)] = Path("."),
    data_root: Root = None,
    format: PrintFormat = Format.table,
) -> None:
    """Pack records for a board, check them as its workflow does, and write what the issue form needs.

    Written: NAME.tar.gz (records with their scores), NAME.md (the text of the issue) and NAME-check.md (the comment
    that the workflow will make); the comment alone if it is refused. Exit codes: 0 accepted, 1 refused, 2 a wrong
    request.
    """
    from pubench_report.rows import read_board

    from ..packing import issue_text, pack_records
    from ..submission import check

    against = None if board is None else read_board(board)
    made = pack_records(folder, name, out, study=study, methods=methods or ())
    with redirect_stdout(sys.stderr):
        found = check(
            made.archive, board=against, rerun=rerun, data_root=data_root, progress=lambda text: _say(said(text))
        )
    comment, issue = out / f"{name}-check.md", out / f"{name}.md"
    comment.write_text(found.markdown(), encoding="utf-8")
    if found.ok:
        issue.write_text(issue_text(made, found.markdown()), encoding="utf-8")
    else:
        made.archive.unlink()
    written = [made.archive, issue, comment] if found.ok else [comment]
    if format is Format.json:
        paths = {"archive": str(made.archive), "issue": str(issue)} if found.ok else {}
        print_json({"ok": found.ok, "sha256": made.sha256, "reasons": list(found.reasons), **paths})
    else:
        _answer(said(found.markdown().rstrip()))
        for path in written:
            _say(f"written: {path}")
        if found.ok:
            records = counted(len(made.records), "record")
            what = f"drop {made.archive.name} on it, and copy the fields of {issue.name}"
            _say(f"send {records}: open the issue form Submission, {what}")
    if not found.ok:
        raise Over(1)


def _say(text: str) -> None:
    err().print(text, markup=False, soft_wrap=True)


def _answer(text: str) -> None:
    out().print(text, markup=False, soft_wrap=True)
