"""The commands that carry runs out, and those that take one of them: ``predict``, ``scores`` and ``reproduce``.

What they do is in the modules of their names. A search of hyper-parameters is in :mod:`.tuning`.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from ..choices import Format, PairedTest, PredictFormat, any_key, criteria
from ..options import MACHINE, RUN, TABLE_FLAGS, Given, takes
from ..process import Over
from .shared import PrintFormat, RecordedRun, Results


@takes()
def run(
    given: Given,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A hyper-parameter (lr=1e-3) or, dotted, any field (execution.threads=2). Repeatable.",
            rich_help_panel=RUN,
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="YAML file with any part of the spec; flags win.", rich_help_panel=RUN),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|LIST",
            help="Run once for each of several seeds (3, or 2,25,42) and say how much they differ.",
            rich_help_panel=RUN,
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Run although a result is stored; the older record is kept.", rich_help_panel=MACHINE
        ),
    ] = False,
    traceback: Annotated[
        bool,
        typer.Option(
            "--traceback", help="Print the traceback if the run fails; its record has it too.", rich_help_panel=MACHINE
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print the resolved spec as YAML (for --config), or as JSON, and stop.",
            rich_help_panel=MACHINE,
        ),
    ] = False,
    format: Annotated[Format, typer.Option(help="How to print the result.", rich_help_panel=MACHINE)] = Format.table,
) -> None:
    """Run one method on one data set under one labeling, and print what it reached under every criterion.

    With --format json, an error is an object on stdout as well: {"error": ..., "field": ..., "exit_code": ...}.
    """
    from ..run import run_once, shown_traceback

    as_json = format is Format.json
    with shown_traceback() if traceback else nullcontext():
        run_once(given, sets=set_ or [], config=config, force=force, dry_run=dry_run, as_json=as_json, seeds=seeds)


@takes(
    *("--mech", "--c", "--scheme", "--positive-rate", "--total", *TABLE_FLAGS),
    *("--prior", "--preset", "--select", "--device", "--threads", "--results"),
    *("--data-root", "--offline", "--no-tracking"),
)
def compare_methods(
    given: Given,
    methods: Annotated[list[str], typer.Argument(help="Keys of two methods or more.", autocompletion=any_key)],
    data: Annotated[
        str,
        typer.Option(
            metavar="KEYS|FILES",
            help="Data sets, or tables of your own (.csv, .tsv, .xlsx, .parquet, .npz), with commas between.",
            autocompletion=any_key,
        ),
    ],
    seeds: Annotated[str, typer.Option(metavar="NUMBER|LIST", help="How many seeds, or which: 3 or 2,25,42.")] = "3",
    baseline: Annotated[
        str | None,
        typer.Option(help="Method that the others are tested against. (default: the first, oracles apart)"),
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(help="Measure. (default: accuracy on test rows; tables without true labels: pa and pauc)"),
    ] = None,
    paired_test: Annotated[PairedTest, typer.Option(help="Test of differences over seeds.")] = PairedTest.t,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="As for pubench run, for every method. Repeatable."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Also write a report of these runs: .html, .md, .csv, .tex or .txt.", dir_okay=False),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(help="Folder that gets every figure of the report as PNG and SVG.", file_okay=False),
    ] = None,
    format: PrintFormat = Format.table,
) -> None:
    """Run several methods on several data sets and seeds, and say which differences are more than chance.

    Stored runs are reused, and runs that were not asked for are left out.

    Exit codes: 0 done, 1 a run failed, 2 a wrong request.
    """
    from ..compare_methods import Asked
    from ..compare_methods import compare_methods as run_all

    asked = Asked(tuple(methods), data, seeds, tuple(set_ or ()), baseline, measure, paired_test.value, out, figures)
    if not run_all(asked, given, as_json=format is Format.json):
        raise Over(1)


def predict(
    run: RecordedRun,
    file: Annotated[Path, typer.Argument(help="Rows to score: .csv, .tsv, .xlsx, .parquet or .npz.")],
    out: Annotated[
        Path | None, typer.Option(help="Where to write: a .csv, .json or .parquet file. (default: stdout)")
    ] = None,
    results: Results = Path("results"),
    format: Annotated[
        PredictFormat | None, typer.Option(help="How to print it. (default: csv, or what --out ends in)")
    ] = None,
) -> None:
    """Score new rows with the model that a run kept (--save-model): row and ids, score, rank, decision."""
    from ..predict import predict as score

    score(run, file, out, results, form=format.value if format is not None else None)


def scores(
    run: RecordedRun,
    results: Results = Path("results"),
    criterion: Annotated[
        str | None,
        typer.Option(
            help="Criterion whose epoch is shown. (default: the one that names the result)", autocompletion=criteria
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File that ends in .png or .svg. (default: RUN-scores.png)", dir_okay=False)
    ] = None,
    format: PrintFormat = Format.table,
) -> None:
    """Draw histograms of a record's scores: labeled positives, unlabeled positives, negatives, on every part.

    Training scores are there where the run had --artifacts scores,trace,training-scores.
    """
    from ..scores import print_scores

    print_scores(run, results, criterion, out, as_json=format is Format.json)


def reproduce(
    run: RecordedRun,
    results: Results = Path("results"),
    data: Annotated[
        Path | None,
        typer.Option(help="Where the table of a run on a table of your own is now. (default: the record's)"),
    ] = None,
    test: Annotated[Path | None, typer.Option(help="Where its test rows are now. (default: the record's)")] = None,
    data_root: Annotated[
        Path | None,
        typer.Option("--data-root", help="Folder of data files. (default: the record's, where it is here)"),
    ] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda:0. (default: the record's)")] = None,
    threads: Annotated[int | None, typer.Option(help="CPU threads. (default: the record's)", min=1, max=1024)] = None,
    format: PrintFormat = Format.table,
) -> None:
    """Run a record's spec again and say whether the scores are the same to the last bit; if not, what differs.

    The record stays as it is. Exit codes: 0 identical, measures included, 1 not, 2 a wrong request.
    """
    from ..reproduce import reproduce_run

    as_json = format is Format.json
    if not reproduce_run(
        run, results, table=data, test=test, data_root=data_root, device=device, threads=threads, as_json=as_json
    ):
        raise Over(1)
