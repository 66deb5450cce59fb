"""The commands ``check``, ``new`` and ``new-method``, as they are typed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pubench_cli.choices import Format
from pubench_cli.commands.shared import PrintFormat


class PluginKind(StrEnum):
    """Kinds of plugins that have a template."""

    method = "method"
    dataset = "dataset"
    mechanism = "mechanism"
    metric = "metric"
    sink = "sink"
    command = "command"


class Family(StrEnum):
    """Use of rows without a label by a new method."""

    risk = "risk"
    disambiguation = "disambiguation"
    generative = "generative"


class MethodTemplate(StrEnum):
    """How a new method trains."""

    network = "network"
    two_stage = "two-stage"
    trees = "trees"


def methods_and_packages(incomplete: str) -> list[str]:
    """Completion of a method's key or of the name of a package that has methods."""
    from pubench_core.plugins.registry import registry

    entries = registry().entries("method")
    return sorted({name for e in entries for name in (e.key, e.distribution) if name.startswith(incomplete)})


NewKey = Annotated[str, typer.Argument(help="Its key: lower-case words joined by hyphens (my-method).")]
NewPath = Annotated[
    Path | None, typer.Option("--path", help="Folder that gets the package's folder. (default: here)", file_okay=False)
]
NewFamily = Annotated[Family | None, typer.Option("--family", help="How a method uses unlabeled rows. (default: risk)")]
NewTemplate = Annotated[
    MethodTemplate | None, typer.Option("--template", help="How a method trains. (default: network)")
]
InRepo = Annotated[
    bool, typer.Option("--in-repo", help="Into plugins/ of the checkout of pubench that this folder is in.")
]


def new(
    kind: Annotated[PluginKind, typer.Argument(help="What it is.", show_default=False)],
    key: NewKey,
    path: NewPath = None,
    family: NewFamily = None,
    template: NewTemplate = None,
    in_repo: InRepo = False,
) -> None:
    """Make a package with a plugin that works, its tests, and comments that say what to replace."""
    from ..scaffold import create

    create(kind, key, path=path, in_repo=in_repo, template=template, family=family)


def new_method(
    key: NewKey,
    path: NewPath = None,
    family: NewFamily = None,
    template: NewTemplate = None,
    in_repo: InRepo = False,
) -> None:
    """Make a package with a method that works; the same as new method KEY."""
    new(PluginKind.method, key, path, family, template, in_repo)


def check(
    name: Annotated[
        str,
        typer.Argument(help="Method key or alias, or the name of a package.", autocompletion=methods_and_packages),
    ],
    format: PrintFormat = Format.table,
) -> None:
    """Put a method through every conformance check. Exit code 1 if one fails."""
    from pubench_testkit.cli.check import check as examine

    examine(name, as_json=format is Format.json)
