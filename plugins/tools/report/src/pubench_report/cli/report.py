"""``pubench study report``: from its options to files and text."""

from __future__ import annotations

from collections.abc import Sequence
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


def write_report(
    given: str | None,
    results: Path,
    study: str | None,
    only: Sequence[str],
    measure: str,
    criterion: str | None,
    baseline: str | None,
    form: str | None,
    out_file: Path | None,
    figures: Path | None,
    *,
    full: bool,
) -> None:
    """Prints or writes a report of the runs that :func:`pubench_report.report.gather.gather` finds.

    ``form``: table, md, csv, latex or html; None: by the suffix of ``out_file``, or table. ``figures``: their folder.
    ``full``: every table on the terminal, not the summary. Raises RequestError for what is not there or cannot be
    written.
    """
    form = form_of(out_file, form, BY_SUFFIX)
    gathered = gather(given, results, study, criterion, only)
    for note in gathered.notes:
        err().print(said(note), markup=False)
    with collection_off():
        model, tests = compared(gathered, measure, criterion, baseline)
        written = write_figures_of(model, tests, figures)
        if form == "html" and out_file is None:
            out_file = Path(f"{gathered.title}-report.html")
        if out_file is not None:
            write_text(out_file, report_text(model, tests, form))
            written.append(out_file)
        elif form == "table" and not full:
            print_summary(out(), title_lines(gathered), model)
        elif form == "table":
            print_sections(out(), title_lines(gathered), sections(model, tests))
        else:
            rows_out().write(report_text(model, tests, form))
    for path in written:
        err().print(f"written: {path}", markup=False, soft_wrap=True)
