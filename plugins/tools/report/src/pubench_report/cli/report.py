"""``pubench study report``: from its options to files and text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pubench_cli.console import err, out
from pubench_cli.messages import said
from pubench_cli.out_file import form_of
from pubench_cli.visible import rows_out

from ..rendering import print_sections
from ..report.gather import gather
from ..report.gathered import collection_off
from ..report.summary import print_summary
from ..report.tables import sections
from ..report.write import BY_SUFFIX, compared, report_text, title_lines, write_figures_of, write_text


@dataclass(frozen=True)
class ReportOptions:
    """Options of a report. ``form``: table, md, csv, latex or html; None: by the suffix of ``out``, or table.

    ``figures``: folder for them. ``only``: conditions on runs. ``full``: every table on the terminal, not the summary.
    """

    given: str | None
    results: Path
    study: str | None
    form: str | None
    out: Path | None
    figures: Path | None
    baseline: str | None
    criterion: str | None
    measure: str
    only: tuple[str, ...] = ()
    full: bool = False


def write_report(options: ReportOptions) -> None:
    """Raises RequestError for what is not there or cannot be written."""
    form = form_of(options.out, options.form, BY_SUFFIX)
    gathered = gather(options.given, options.results, options.study, options.criterion, options.only)
    for note in gathered.notes:
        err().print(said(note), markup=False)
    with collection_off():
        model, tests = compared(gathered, options.measure, options.criterion, options.baseline)
        written = write_figures_of(model, tests, options.figures)
        out_file = options.out
        if form == "html" and out_file is None:
            out_file = Path(f"{gathered.title}-report.html")
        if out_file is not None:
            write_text(out_file, report_text(model, tests, form))
            written.append(out_file)
        elif form == "table" and not options.full:
            print_summary(out(), title_lines(gathered), model)
        elif form == "table":
            print_sections(out(), title_lines(gathered), sections(model, tests))
        else:
            rows_out().write(report_text(model, tests, form))
    for path in written:
        err().print(f"written: {path}", markup=False, soft_wrap=True)
