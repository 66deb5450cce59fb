"""``pubench study report``: from its options to files and text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from pubench_cli.console import err, out
from pubench_cli.messages import said
from pubench_cli.out_file import form_of
from pubench_cli.visible import rows_out
from pubench_core.errors import counted, visible

from ..ranking import changes, headline, not_told_apart
from ..rendering import print_sections
from ..report.gather import gather
from ..report.gathered import collection_off
from ..report.model import Model
from ..report.tables import sections, standing_rows, standing_table, upper
from ..report.write import BY_SUFFIX, compared, report_text, title_lines, write_figures_of, write_text

#: Methods that are shown; the others are counted.
MOST_ROWS = 5


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


# -------------------------------------------------------------------- the verdict in twelve lines


def print_summary(console: Console, title: Sequence[str], model: Model) -> None:
    """The verdict on the first setting, and its methods: best first, then those that are not ranked."""
    setting = model.settings[0]
    ranking = model.ranking(setting, model.measure, model.criterion)
    names = {row: row for row in model.rows}
    sources = {column.spec.data.key: column.spec.data.key for column in setting.columns}
    columns = {column.label: column.name for column in setting.columns}
    said = [*headline(ranking, names, sources), *changes(ranking, names, sources, None)]
    verdict = " ".join([*said, *not_told_apart(ranking, names, columns)])
    what = f"{upper(model.measure.label)}, epochs chosen by {model.criterion_name(model.criterion)}; {setting.words}"
    for line, style in ((": ".join(title), ""), ("", ""), (verdict, "bold"), ("", ""), (what, "")):
        console.print(Text(visible(line), style=style), soft_wrap=not console.is_terminal)
    rows = standing_rows(model, setting)
    shown = {row: model.row_name(row) for row in rows}
    table = standing_table(model, setting, shown, [column.name for column in setting.columns])
    styles = ["dim" if row in model.apart else "" for row in rows[:MOST_ROWS]]
    replace(table, rows=table.rows[:MOST_ROWS]).print_to(console, styles, surplus="left out", everything="--full")
    more = [counted(len(rows) - MOST_ROWS, "more method")] if len(rows) > MOST_ROWS else []
    more += [counted(len(model.settings) - 1, "more setting")] if len(model.settings) > 1 else []
    rest = ", ".join([*more, "criteria, measures, tests, ranks"])
    text = f"below: points below the best, with a 90 % interval; --full: {rest}"
    console.print(Text(text), soft_wrap=not console.is_terminal)
