"""The commands that publish runs and check published ones: ``site`` and ``verify``.

What they do is in :mod:`pubench_cli.site`.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..choices import Format, studies
from ..process import Over
from .shared import NamingCriterion, PrintFormat, Root, TestMeasure


class By(StrEnum):
    """What makes a table."""

    protocol = "protocol"
    study = "study"


def site(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(help="Folders of records, and files of rows (.csv). (default: results)"),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the site. One that is there is replaced.")] = Path("site"),
    study: Annotated[str | None, typer.Option(help="Only the runs of this study.", autocompletion=studies)] = None,
    by: Annotated[By, typer.Option(help="A table for each labeling and scheme, or for each study.")] = By.protocol,
    measure: TestMeasure = "accuracy",
    criterion: NamingCriterion = None,
    baseline: Annotated[
        str | None, typer.Option(help="Row that others are tested against. (default: nnpu, where it is there)")
    ] = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Copy scores as well, so that others can check them.")
    ] = False,
    figures: Annotated[bool, typer.Option(help="Draw figures.")] = True,
    title: Annotated[str, typer.Option(help="Heading of the first page.")] = "Leaderboard",
) -> None:
    """Write a leaderboard that opens from disk: tables, a page per method and data set, the records behind them."""
    from ..site.run import write

    write(
        sources or [Path("results")], out, study=study, by=by.value, measure=measure, criterion=criterion,
        baseline=baseline, with_scores=scores, figures=figures, title=title,
    )  # fmt: skip


def verify(
    folder: Annotated[Path, typer.Argument(help="Folder of records, or one record.")],
    rerun: Annotated[int, typer.Option(help="How many runs to carry out again, chosen at random.", min=0)] = 1,
    fresh: Annotated[
        int,
        typer.Option(help="How many methods to try on another split with other positive classes.", min=0),
    ] = 0,
    tolerance: Annotated[
        float,
        typer.Option(help="How much a test measure may differ on another machine.", min=0, max=1),
    ] = 0.02,
    seed: Annotated[int | None, typer.Option(help="Which runs to choose. (default: nobody can foresee it)")] = None,
    data_root: Root = None,
    format: PrintFormat = Format.table,
) -> None:
    """Check records that others made: files, specs, code, measures from stored scores; run some of them again.

    One line per problem. Exit codes: 0 none, 1 some, 2 a wrong request.
    """
    from ..site.run import check

    as_json = format is Format.json
    if not check(
        folder, rerun=rerun, fresh=fresh, tolerance=tolerance, seed=seed, data_root=data_root, as_json=as_json
    ):
        raise Over(1)
