"""``pubench data``: its sub-commands. What they do is in :mod:`pubench_cli.data` and :mod:`pubench_cli.own_table`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..choices import Format, PrintFormat, keys
from ..options import TABLE_FLAGS, Given, Root, option, takes

Keys = Annotated[list[str], typer.Argument(help="Data set keys.", autocompletion=keys("dataset"))]
Encoder = Annotated[Path | None, typer.Option("--encoder", help=option("--encoder").help())]
Offline = Annotated[bool, typer.Option("--offline", help=option("--offline").help())]


@takes(*TABLE_FLAGS)
def check(
    given: Given,
    file: Annotated[
        str,
        typer.Argument(help="A table of your own: .csv, .tsv, .txt, .xlsx, .parquet, .npz, ..."),
    ],
    format: PrintFormat = Format.table,
) -> None:
    """Show how a table of your own is read, before anything is trained: labels, features, ids, oddities."""
    from ..own_table import print_table_facts

    print_table_facts(file, given, as_json=format is Format.json)


def fetch(
    keys: Keys,
    data_root: Root = None,
    encoder: Encoder = None,
    offline: Offline = False,
    format: PrintFormat = Format.table,
) -> None:
    """Download what is absent and prepare the copy that runs open."""
    from ..data import fetch as get

    get(keys, data_root, encoder, offline, as_json=format is Format.json)


def remove(
    keys: Keys,
    data_root: Root = None,
    format: PrintFormat = Format.table,
) -> None:
    """Delete prepared copies. The files as distributed stay."""
    from ..data import remove as delete

    delete(keys, data_root, as_json=format is Format.json)
