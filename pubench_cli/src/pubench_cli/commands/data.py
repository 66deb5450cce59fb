"""``pubench data``: its sub-commands. What they do is in :mod:`pubench_cli.data` and :mod:`pubench_cli.own_table`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..choices import Format, ListFormat, keys
from ..options import TABLE_FLAGS, Given, Root, option, takes
from .shared import PrintFormat

Key = Annotated[str, typer.Argument(help="Data set key or alias.", autocompletion=keys("dataset"))]
KeyOrFile = Annotated[
    str, typer.Argument(help="Data set key or alias, or a table of your own.", autocompletion=keys("dataset"))
]
Keys = Annotated[
    list[str] | None,
    typer.Argument(help="Data set keys. (default: all that are prepared)", autocompletion=keys("dataset")),
]
Encoder = Annotated[Path | None, typer.Option("--encoder", help=option("--encoder").help())]
Offline = Annotated[bool, typer.Option("--offline", help=option("--offline").help())]


def list_(
    data_root: Root = None,
    format: Annotated[ListFormat, typer.Option(help="How to print it.")] = ListFormat.table,
) -> None:
    """List data sets on this machine: state, size, rows, classes, prior, license (citations: pubench data info)."""
    from ..data import print_list

    print_list(data_root, format.value)


@takes("--data-root", *TABLE_FLAGS)
def info(
    given: Given,
    key: KeyOrFile,
    format: PrintFormat = Format.table,
) -> None:
    """Everything about one data set, or what is understood of a table of your own (my.csv --label-col COLUMN)."""
    from ..own_table import is_table, print_table_facts

    if is_table(key, given):
        print_table_facts(key, given, as_json=format is Format.json)
        return
    from ..data import print_one

    print_one(key, given.get("--data-root"), as_json=format is Format.json)


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
    keys: Annotated[list[str], typer.Argument(help="Data set keys.", autocompletion=keys("dataset"))],
    data_root: Root = None,
    encoder: Encoder = None,
    offline: Offline = False,
    format: PrintFormat = Format.table,
) -> None:
    """Download what is absent and prepare the copy that runs open."""
    from ..data import fetch as get

    get(keys, data_root, encoder, offline, as_json=format is Format.json)


def verify(keys: Keys = None, data_root: Root = None, format: PrintFormat = Format.table) -> None:
    """Read every byte of prepared copies and their sources, and compare checksums. Exit code 1 if one differs."""
    from ..data import verify as check

    check(keys or [], data_root, as_json=format is Format.json)


def path(key: Key, data_root: Root = None, format: PrintFormat = Format.table) -> None:
    """Print the folder of a data set's prepared copy, or of its files if there is none."""
    from ..data import print_path

    print_path(key, data_root, as_json=format is Format.json)


def remove(
    keys: Annotated[list[str], typer.Argument(help="Data set keys.", autocompletion=keys("dataset"))],
    data_root: Root = None,
    format: PrintFormat = Format.table,
) -> None:
    """Delete prepared copies. The files as distributed stay."""
    from ..data import remove as delete

    delete(keys, data_root, as_json=format is Format.json)
