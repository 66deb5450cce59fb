"""The commands that make packages: ``new-method`` and its siblings. What they do is in :mod:`pubench_cli.scaffold`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..choices import Family, MethodTemplate

NewKey = Annotated[str, typer.Argument(help="Its key: lower-case words joined by hyphens (my-method).")]
NewPath = Annotated[
    Path | None, typer.Option("--path", help="Folder that gets the package's folder. (default: here)", file_okay=False)
]
InRepo = Annotated[
    bool, typer.Option("--in-repo", help="Into plugins/ of the checkout of pubench that this folder is in.")
]


def new_method(
    key: NewKey,
    path: NewPath = None,
    family: Annotated[
        Family | None,
        typer.Option(help="What it does about unlabeled rows. (default: risk, or what the template has)"),
    ] = None,
    template: Annotated[MethodTemplate | None, typer.Option(help="How it trains. (default: network)")] = None,
    in_repo: InRepo = False,
) -> None:
    """Make a package with a method that works, its tests, and comments that say what to replace."""
    from ..scaffold.create import create

    create("method", key, path=path, in_repo=in_repo, template=template, family=family)


def new_dataset(key: NewKey, path: NewPath = None, in_repo: InRepo = False) -> None:
    """Make a package with a data set that works, its tests, and comments that say what to replace."""
    from ..scaffold.create import create

    create("dataset", key, path=path, in_repo=in_repo)


def new_mechanism(key: NewKey, path: NewPath = None, in_repo: InRepo = False) -> None:
    """Make a package with a labeling mechanism that works, its tests, and comments that say what to replace."""
    from ..scaffold.create import create

    create("mechanism", key, path=path, in_repo=in_repo)


def new_metric(key: NewKey, path: NewPath = None, in_repo: InRepo = False) -> None:
    """Make a package with a metric that works, its tests, and comments that say what to replace."""
    from ..scaffold.create import create

    create("metric", key, path=path, in_repo=in_repo)
