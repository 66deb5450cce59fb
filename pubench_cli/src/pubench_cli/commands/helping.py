"""The command ``help``."""

from __future__ import annotations

from typing import Annotated

import typer

from ..installed import EVERYTHING


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
