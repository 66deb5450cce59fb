"""``pubench data``: its sub-commands. What they do is in :mod:`pubench_cli.data` and :mod:`pubench_cli.show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .choices import Format, ListFormat, keys
from .options import Given, option, takes

data_app = typer.Typer(
    name="data",
    help="List, fetch, check, draw and remove data sets.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Key = Annotated[str, typer.Argument(help="Data set key or alias.", autocompletion=keys("dataset"))]
Keys = Annotated[list[str] | None, typer.Argument(help="Data set keys. (default: all that are prepared)")]
Root = Annotated[Path | None, typer.Option("--data-root", help=option("--data-root").help)]
Encoder = Annotated[Path | None, typer.Option("--encoder", help=option("--encoder").help)]
Offline = Annotated[bool, typer.Option("--offline", help=option("--offline").help)]


@data_app.command("list", epilog="Example: pubench data list")
def list_(
    data_root: Root = None,
    format: Annotated[ListFormat, typer.Option(help="How to print it.")] = ListFormat.table,
) -> None:
    """What is here of every data set: state, size, rows, classes, prior, license, citation."""
    from .data import print_list

    print_list(data_root, format.value)


@data_app.command(epilog="Example: pubench data info letter")
def info(
    key: Key, data_root: Root = None, format: Annotated[Format, typer.Option(help="How to print it.")] = Format.table
) -> None:
    """Everything about one data set: classes with counts, binarizations, files, copies, license, citation."""
    from .data import print_one

    print_one(key, data_root, as_json=format is Format.json)


@data_app.command(epilog="Example: pubench data fetch fashion-mnist")
def fetch(
    keys: Annotated[list[str], typer.Argument(help="Data set keys.")],
    data_root: Root = None,
    encoder: Encoder = None,
    offline: Offline = False,
) -> None:
    """Download what is absent and prepare the copy that runs open."""
    from .data import fetch as get

    get(keys, data_root, encoder, offline)


@data_app.command(epilog="Example: pubench data verify fashion-mnist")
def verify(keys: Keys = None, data_root: Root = None) -> None:
    """Read every byte of prepared copies and their sources, and compare checksums. Exit code 1 if one differs."""
    from .data import verify as check

    check(keys or [], data_root)


@data_app.command(epilog="Example: cd $(pubench data path mnist)")
def path(key: Key, data_root: Root = None) -> None:
    """Print the folder of a data set's prepared copy, or of its files where there is none."""
    from .data import print_path

    print_path(key, data_root)


@data_app.command(epilog="Example: pubench data remove mnist")
def remove(keys: Annotated[list[str], typer.Argument(help="Data set keys.")], data_root: Root = None) -> None:
    """Delete prepared copies. The files as distributed stay."""
    from .data import remove as delete

    delete(keys, data_root)


@data_app.command(epilog="Example: pubench data show mnist --mech s2 --c 0.1")
@takes("--mech", "--c", "--scheme", "--seed", "--data-root", "--encoder", "--offline")
def show(
    given: Given,
    key: Annotated[str, typer.Argument(help="Data set key, or toy-gaussian.")],
    out: Annotated[Path | None, typer.Option(help="PNG file. (default: KEY-MECH.png)")] = None,
) -> None:
    """Write a PNG: who is labeled and who is hidden (images), or classes and propensities (text, tabular)."""
    from .show import show as draw

    draw(key, given, out)
