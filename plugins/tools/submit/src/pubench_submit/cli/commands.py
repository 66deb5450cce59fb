"""The commands ``submit``, ``board build`` and ``board check`` as they are typed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pubench_cli.choices import Format
from pubench_cli.commands.shared import PrintFormat
from pubench_cli.options import Root
from pubench_cli.process import Over


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
    from .board import print_built

    print_built(name, sources, out, as_json=format is Format.json)


def check(
    folder: Annotated[Path, typer.Argument(help="Folder of a board.", file_okay=False)],
    format: PrintFormat = Format.table,
) -> None:
    """Check the files of a board against its checksums and its format.

    One line per problem. Exit codes: 0 none, 1 some, 2 a wrong request.
    """
    from .board import print_problems

    if not print_problems(folder, as_json=format is Format.json):
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
    that the workflow will make). Exit codes: 0 accepted, 1 refused, 2 a wrong request.
    """
    from .submit import submit_records

    if not submit_records(
        folder, name, study=study, methods=methods or (), board=board, rerun=rerun, out=out, data_root=data_root,
        as_json=format is Format.json,
    ):  # fmt: skip
        raise Over(1)
