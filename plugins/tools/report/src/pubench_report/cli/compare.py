"""``pubench study compare``: records, or rows of them, next to a published table, a board or other records."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from pubench_study.cli.commands import studies

from pubench.field_names import PubenchWarning
from pubench_cli.choices import Results as ResultsOption
from pubench_cli.choices import criteria
from pubench_cli.console import as_plain_text, err
from pubench_cli.console import out as stdout
from pubench_cli.machine import print_json
from pubench_cli.messages import said
from pubench_cli.out_file import form_of, refuse_unwritable
from pubench_cli.visible import rows_out
from pubench_core.errors import RequestError, counted, shortened, visible

from ..published import names
from .commands import StudyOfFolder

if TYPE_CHECKING:
    from ..comparison import SideBySide
    from ..results import Results

#: Format by the end of the file's name, where none is named.
BY_SUFFIX = {".md": "md", ".csv": "csv", ".json": "json", ".txt": "table"}


def compare(
    other: Annotated[
        str,
        typer.Option(
            "--with",
            metavar="NAME|DIR|FILE",
            help="pubench2026, wang2026 (published tables), board@2026.12 (a dated board), or other records.",
            autocompletion=lambda incomplete: [name for name in names() if name.startswith(incomplete)],
        ),
    ],
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DIR|FILE]...",
            help="Folders of records, studies in --results, or files of rows (benchmarks/results/study-*.csv). "
            "(default: --results)",
            autocompletion=studies,
        ),
    ] = None,
    study: StudyOfFolder = None,
    results: ResultsOption = Path("results"),
    criterion: Annotated[
        str | None,
        typer.Option(
            help="Selection criterion. (default: that of the published table, else the one that names the results)",
            autocompletion=criteria,
        ),
    ] = None,
    measure: Annotated[
        str | None, typer.Option(help="Measure on test rows. (default: that of the publication, else accuracy)")
    ] = None,
    format: Annotated[
        Literal["table", "md", "csv", "json"] | None,
        typer.Option("--format", help="How to write it. (default: table, or what --out ends in)"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File to write. (default: stdout)", dir_okay=False)] = None,
) -> None:
    """Set results next to published figures or other records: difference, whether within two standard deviations, why.

    Only cells of the same protocol are compared; what is left out, and what is missing, is said. Trains nothing.
    """
    from ..comparison import side_by_side
    from ..report.write import write_text

    form = form_of(out, format, BY_SUFFIX)
    if out is not None:
        refuse_unwritable(out)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        loaded = [_loaded(given, results, study) for given in sources or ()] or [_loaded(None, results, study)]
        ours = sum(loaded[1:], loaded[0])
        found = side_by_side(ours, other, criterion, measure, "--with")
    if again := sum(map(len, loaded)) - len(ours):
        err().print(f"note: {counted(again, 'run')} of the same spec as another; the first counts", markup=False)
    for one in heard:
        if issubclass(one.category, PubenchWarning):
            err().print(said(str(one.message)), markup=False, soft_wrap=True)
    if out is not None:
        write_text(out, _text(found, form))
    elif form == "table":
        found.print_to(stdout())
    elif form == "json":
        print_json(found.to_dict())
    else:
        rows_out().write(_text(found, form))
    if form == "csv":  # stdout is rows
        for line in found.remarks():
            print(visible(line), file=sys.stderr)
    if out is not None:
        err().print(f"written: {out}", markup=False, soft_wrap=True)


def _loaded(given: str | None, results: Path, study: str | None) -> Results:
    """Finished runs of a source. Raises RequestError if there are none."""
    from ..report.gather import folder_and_study, why_none
    from ..results import load_results
    from ..site.sources import files_of_rows

    folder, named = folder_and_study(given, results, study)
    found = load_results(folder, study=named or None)
    if not len(found):
        what = f"study {named}" if named else shortened(str(folder))
        why = "" if named else f": {why_none(folder)}{files_of_rows([folder])}"
        raise RequestError(f"{what} has no finished run to compare{why}")
    return found


def _text(found: SideBySide, form: str) -> str:
    """The content of a file."""
    from ..rendering import csv_of, md_escaped, md_table

    if form == "csv":
        return csv_of(found.fields, found.to_rows())
    if form == "json":
        return json.dumps(found.to_dict(), indent=2, allow_nan=False) + "\n"
    if form == "md":
        heading = [f"{md_escaped(line)}  " for line in found.heading()]
        remarks = [f"- {md_escaped(line)}" for line in found.remarks()]
        title = f"# {md_escaped(found.title())}"
        return "\n".join([title, "", *heading, "", *md_table(found.shown()[1]), *remarks, ""])
    return as_plain_text(found.print_to)
