"""The commands that look at what is installed: ``list``, ``info``, ``doctor`` and ``help``.

What they do is in :mod:`pubench_cli.listing`, :mod:`pubench_cli.describe` and :mod:`pubench_cli.doctor`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..choices import Format, Kind, ListFormat, PrintFormat, any_key
from ..installed import EVERYTHING


def list_(
    kind: Annotated[Kind, typer.Argument(help="What to list.")],
    here: Annotated[
        bool, typer.Option("--here", help="Of data sets: state, size, rows and prior of what is on this machine.")
    ] = False,
    format: Annotated[ListFormat, typer.Option(help="How to print it.")] = ListFormat.table,
) -> None:
    """List installed plugins, broken ones included, without importing them."""
    from ..listing import print_listing

    print_listing(kind.value, format.value, here=here)


def info(
    key: Annotated[str, typer.Argument(help="Key or alias of a plugin.", autocompletion=any_key)],
    format: PrintFormat = Format.table,
) -> None:
    """Show a plugin's reference, hyper-parameters and presets; of a data set, its classes, files and copies."""
    from ..describe import print_info

    print_info(key, as_json=format is Format.json)


def doctor(
    key: Annotated[
        str | None, typer.Argument(help="Key of a plugin or name of its distribution.", autocompletion=any_key)
    ] = None,
    results: Annotated[
        Path | None, typer.Option(help="Folder of records: its file system, and whether claims are locks or leases.")
    ] = None,
    data: Annotated[
        bool, typer.Option("--data", help="Read every byte of prepared data and its sources, and compare checksums.")
    ] = False,
    format: PrintFormat = Format.table,
) -> None:
    """Check the installation, one plugin (with its traceback if it is broken), prepared data, or a folder's locks.

    Exit code 1 if a plugin that you name is broken, or a file differs.
    """
    from ..doctor import check_all, check_copies, check_locks, check_one

    if results is not None:
        check_locks(results, as_json=format is Format.json)
    elif data:
        check_copies(as_json=format is Format.json)
    elif key is None:
        check_all(as_json=format is Format.json)
    else:
        check_one(key, as_json=format is Format.json)


def help_(
    context: typer.Context,
    command: Annotated[list[str] | None, typer.Argument(help="A command (study run); all: every command.")] = None,
) -> None:
    """List every command, or show the help of one."""
    root = context.find_root()
    if command and command != ["all"]:
        raise typer.Exit(root.command.main([*command, "--help"], prog_name=root.info_name, standalone_mode=False))
    root.meta[EVERYTHING] = bool(command)
    typer.echo(root.command.get_help(root))
