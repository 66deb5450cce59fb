"""The commands that show stored results, as they are typed. What they do is in the modules of their names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from pubench_study.cli.commands import studies

from pubench_cli.choices import Format, NamingCriterion, PrintFormat, Results, TestMeasure, any_key
from pubench_cli.options import TABLE_FLAGS, Given, takes
from pubench_cli.process import Over

ReportFormat = Literal["table", "md", "csv", "latex", "html"]
StudyOfFolder = Annotated[
    str | None, typer.Option(help="A study of the folder. (default: all its records)", autocompletion=studies)
]
Baseline = Annotated[
    str | None,
    typer.Option(
        help="Method that others are tested against. (default: a baseline such as naive, else the one run most)"
    ),
]


def site(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(help="Folders of records, files of rows (.csv), dated boards. (default: results)"),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the site. One that is there is replaced.")] = Path("site"),
    study: Annotated[str | None, typer.Option(help="Only the runs of this study.", autocompletion=studies)] = None,
    measure: Annotated[str | None, typer.Option(help="First measure. (default: accuracy)")] = None,
    criterion: NamingCriterion = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Copy scores as well, so that others can check them.")
    ] = False,
    title: Annotated[str, typer.Option(help="Heading of the first page.")] = "Leaderboard",
) -> None:
    """Write a leaderboard that opens from disk: tables, a page per method and data set, the records behind them."""
    from ..site.sources import SiteRequest
    from ..site.write import print_site

    print_site(SiteRequest(sources or [Path("results")], out, study, measure, criterion, scores, title))


@takes(
    *("--mech", "--c", "--scheme", "--positive-rate", "--total", *TABLE_FLAGS),
    *("--prior", "--preset", "--select", "--goal", "--decision", "--folds", "--refit", "--device", "--threads"),
    *("--results", "--data-root", "--offline", "--no-tracking"),
)
def compare_methods(
    given: Given,
    methods: Annotated[list[str], typer.Argument(help="Keys of methods: two or more.", autocompletion=any_key)],
    data: Annotated[
        str,
        typer.Option(
            metavar="KEYS|FILES",
            help="Data sets, or tables of your own (.csv, .tsv, .xlsx, .parquet, .npz), with commas between.",
            autocompletion=any_key,
        ),
    ],
    seeds: Annotated[str, typer.Option(metavar="NUMBER|LIST", help="How many seeds, or which: 3 or 2,25,42.")] = "3",
    baseline: Baseline = None,
    measure: Annotated[
        str | None,
        typer.Option(help="Measure. (default: accuracy on test rows; tables without true labels: pa and pauc)"),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="As for pubench run, for every method. Repeatable."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Also write a report of these runs: .html, .md, .csv, .tex or .txt.", dir_okay=False),
    ] = None,
    format: PrintFormat = Format.table,
) -> None:
    """Run several methods on several data sets and seeds, and say which differences are more than chance.

    Stored runs are reused, and runs that were not asked for are left out.

    Exit codes: 0 done, 1 a run failed, 2 a wrong request.
    """
    from .compare_methods import compare_methods as run_all

    if not run_all(given, methods, data, seeds, set_ or (), baseline, measure, out, as_json=format is Format.json):
        raise Over(1)


def report(
    folder: Annotated[
        str | None,
        typer.Argument(
            metavar="[DIR]",
            help="Folder of records, file of rows, or the name of a study in --results. (default: --results)",
            autocompletion=studies,
        ),
    ] = None,
    study: StudyOfFolder = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="Only runs with these values: data=digits,imdb, seed=2, config.epochs=40 (any hyper-parameter). "
            "Repeatable.",
        ),
    ] = None,
    results: Results = Path("results"),
    measure: TestMeasure = "accuracy",
    criterion: NamingCriterion = None,
    baseline: Baseline = None,
    format: Annotated[
        ReportFormat | None, typer.Option("--format", help="How to write it. (default: table, or what --out ends in)")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write. (default: stdout; for html NAME-report.html)", dir_okay=False)
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Folder that gets every figure as PNG and SVG.", file_okay=False)
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="On the terminal: all tables instead of the verdict and the best methods.")
    ] = False,
) -> None:
    """Say which method is best and how sure that is, of a study or of any folder of records. Trains nothing.

    --full prints tables, paired tests and ranks; --format and --out write them to a file.
    """
    from pubench_cli.console import err
    from pubench_cli.console import out as stdout
    from pubench_cli.messages import said
    from pubench_cli.out_file import form_of
    from pubench_cli.visible import rows_out

    from ..rendering import print_sections
    from ..report.gather import gather
    from ..report.tables import sections
    from ..report.write import (
        BY_SUFFIX,
        compared,
        print_summary,
        report_text,
        title_lines,
        write_figures_of,
        write_text,
    )

    form = form_of(out, format, BY_SUFFIX)
    gathered = gather(folder, results, study, criterion, only or ())
    for note in gathered.notes:
        err().print(said(note), markup=False)
    model, tests = compared(gathered, measure, criterion, baseline)
    written = write_figures_of(model, tests, figures)
    if form == "html" and out is None:
        out = Path(f"{gathered.title}-report.html")
    if out is not None:
        write_text(out, report_text(model, tests, form))
        written.append(out)
    elif form == "table" and not full:
        print_summary(stdout(), title_lines(gathered), model)
    elif form == "table":
        print_sections(stdout(), title_lines(gathered), sections(model, tests))
    else:
        rows_out().write(report_text(model, tests, form))
    for path in written:
        err().print(f"written: {path}", markup=False, soft_wrap=True)
