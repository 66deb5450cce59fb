"""``pubench advise`` as it is typed, and what the terminal shows."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pubench_cli.choices import Format
from pubench_cli.commands.shared import PrintFormat
from pubench_cli.options import TABLE_FLAGS, Given, takes
from pubench_core.errors import RequestError

if TYPE_CHECKING:
    from .page import Advice


@takes(*(flag for flag in TABLE_FLAGS if flag not in ("--truth-col", "--test")))
def advise(
    given: Given,
    file: Annotated[
        Path,
        typer.Argument(help="A table of your own: .csv, .tsv, .txt, .xlsx, .parquet, .npz, ..."),
    ],
    prior: Annotated[str | None, typer.Option(help="Class prior as you know it: 0.3 or 0.2..0.4.")] = None,
    goal: Annotated[
        str, typer.Option(help="rank; classify; or review:200, if so many unlabeled rows are to be looked at.")
    ] = "rank",
    audited: Annotated[
        Path | None, typer.Option(help="The sheet of an earlier answer, filled in: other methods are compared by it.")
    ] = None,
    compare: Annotated[bool, typer.Option("--compare", help="Fit the other methods without a sheet.")] = False,
    time: Annotated[
        str, typer.Option(help="Time for a comparison: 90s, 10m, 1h. Methods that do not fit into it are left out.")
    ] = "10m",
    out: Annotated[Path | None, typer.Option(help="Folder of the answer. (default: advice-NAME)")] = None,
    scheme: Annotated[
        str | None, typer.Option(help="one-sample: all rows are one draw (default); two-sample: the unlabeled ones.")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="CPU threads. (default: all)", min=1)] = None,
    seed: Annotated[int, typer.Option(help="Seed of the parts and of the rows to check.", min=0)] = 0,
    format: PrintFormat = Format.table,
) -> None:
    """Recommend a method for a table without negatives, rank its rows, and name the rows to check next.

    Bagged trees are the answer unless checked rows (--audited) speak for another method. Interrupted, the same command
    goes on.
    """
    from pubench_cli.machine import print_json
    from pubench_cli.progress import stage_progress

    from ..cli.score_table import flags_for_arguments
    from .advise import advise

    if all(given.get(flag) is None for flag in ("--label-col", "--positives", "--unlabeled")):
        raise RequestError(
            "--label-col is missing: it names the column that says who is labeled (pubench data check lists columns)",
            field="data.own.label_col",
        )
    said: Any = {
        option.field.argument: _words(value) if option.field.default == () else value
        for option, value in given.values
        if option.flag != "--label-col"
    }
    with flags_for_arguments(), stage_progress() as progress:
        advice = advise(
            file,
            given.get("--label-col"),
            prior=prior,
            goal=goal,
            compare=compare,
            audited=audited,
            time=time,
            out=out,
            scheme=scheme,
            threads=threads,
            seed=seed,
            progress=progress,
            **said,
        )
    if format is Format.json:
        print_json(advice.to_dict())
    else:
        _print(advice)


def _words(given: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in next(csv.reader([given], skipinitialspace=True), []))


def _print(advice: Advice) -> None:
    """The answer, what to know first, the methods, and where everything is."""
    from pubench_study.durations import duration

    from pubench_cli.console import out

    from .page import choice_of, methods_table
    from .prior import said

    def show(*lines: str) -> None:
        for line in lines:
            out().print(line, markup=False, soft_wrap=True)

    show(advice.headline, *(f"warning: {line}" for line in advice.warnings), "")
    if advice.before is not None:
        show(f"before the checked rows: {advice.before['answer']}, prior {said(advice.before['prior'])}")
    show(f"prior: {said(advice.prior.interval)} ({advice.prior.source})", advice.scar.sentence, *choice_of(advice), "")
    if advice.compared[1:] or advice.not_fitted:
        methods_table(advice).print_to(out())
        show("")
    if advice.sheet is not None:
        show(f"rows to check: {advice.sheet}; then the same command with --audited {advice.sheet}")
    show(f"ranked rows: {advice.folder / 'ranked.csv'}", f"page: {advice.folder / 'advice.html'}")
    if advice.model is not None:
        show(f"new rows: pubench predict {advice.model} new.csv")
    show(f"{duration(advice.seconds)} in all")
