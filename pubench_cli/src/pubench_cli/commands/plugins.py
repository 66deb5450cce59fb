"""The commands that look at plugins: ``list``, ``info`` and ``doctor``.

What they do is in :mod:`pubench_cli.listing`, :mod:`pubench_cli.describe` and :mod:`pubench_cli.doctor`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..choices import Format, Kind, ListFormat, any_key
from .shared import PrintFormat


def list_(
    kind: Annotated[Kind, typer.Argument(help="What to list.")],
    format: Annotated[ListFormat, typer.Option(help="How to print it.")] = ListFormat.table,
) -> None:
    """List installed plugins, broken ones included, without importing them."""
    from ..listing import print_listing

    print_listing(kind.value, format.value)


def info(
    key: Annotated[str, typer.Argument(help="Key or alias of a plugin.", autocompletion=any_key)],
    format: PrintFormat = Format.table,
) -> None:
    """Show a plugin's reference, hyper-parameters and presets."""
    from ..describe import print_info

    print_info(key, as_json=format is Format.json)


def doctor(
    key: Annotated[
        str | None, typer.Argument(help="Key of a plugin or name of its distribution.", autocompletion=any_key)
    ] = None,
    results: Annotated[
        Path | None, typer.Option(help="Folder of records: for some seconds, try whether locks exclude there.")
    ] = None,
    format: PrintFormat = Format.table,
) -> None:
    """Check the installation, one plugin (with its traceback if it is broken, and exit code 1), or a folder's locks."""
    from ..doctor import check_all, check_locks, check_one

    if results is not None:
        check_locks(results, as_json=format is Format.json)
    elif key is None:
        check_all(as_json=format is Format.json)
    else:
        check_one(key, as_json=format is Format.json)
