"""A report as files and text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from pubench.running import RunResult
from pubench_cli.console import as_plain_text
from pubench_core.errors import RequestError, counted, visible
from pubench_core.records.files import replace_text

from ..ranking import FEW_DATA_SETS, changes, headline, not_told_apart
from ..rendering import latex, markdown, print_sections
from ..significance import ALPHA
from .gather import Gathered
from .model import Model, Significance, check_baseline, comparisons_of, model_of
from .tables import csv_text, sections, standing_rows, standing_table, upper

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Title of average ranks.
BARS = f"methods whose bars do not meet differ (Nemenyi's test, level {ALPHA:g})"
#: Format of a report by the end of its file's name, where none is named.
BY_SUFFIX = {".html": "html", ".htm": "html", ".md": "md", ".csv": "csv", ".tex": "latex", ".txt": "table"}


def write_report(
    gathered: Gathered,
    path: Path,
    measure: str,
    criterion: str | None,
    baseline: str | None,
    figures: Path | None,
) -> list[Path]:
    """Writes what ``pubench study report`` writes, prints nothing, and gives the files: the report first.

    Raises RequestError as :meth:`pubench.Results.report` says.
    """
    folders = {run.folder.parent for run in gathered.done}
    gathered = replace(gathered, results=folders.pop() if len(folders) == 1 else Path("several folders"))
    if not gathered.done:
        raise RequestError(f"there is no finished run to report: {len(gathered.failed)} failed")
    gathered = gathered.with_notes(*gathered.grid.notes, *gathered.notes)
    if (form := BY_SUFFIX.get(path.suffix.lower())) is None:
        raise RequestError(f"{path}: expected a name that ends in {', '.join(BY_SUFFIX)}")
    model, tests = compared(gathered, measure, criterion, baseline)
    drawn = write_figures_of(model, tests, figures)
    write_text(path, report_text(model, tests, form))
    return [path, *drawn]


def compared(
    gathered: Gathered, measure: str, criterion: str | None, baseline: str | None
) -> tuple[Model, list[Significance]]:
    """Cells and tests of a report. Raises RequestError for a measure, criterion or baseline that is not there."""
    model = model_of(gathered, measure, criterion)
    return model, comparisons_of(model, check_baseline(model, baseline))


def report_text(model: Model, tests: Sequence[Significance], form: str) -> str:
    """The content of a report's file."""
    title = title_lines(model.gathered)
    if form == "csv":
        return csv_text(model, tests)
    if form == "html":
        from ..pages.report import page
        from ..pages.view import views_of

        return page(views_of(model), tests, title)
    parts = sections(model, tests)
    title += [f"note: {note}" for note in model.gathered.notes]
    if form == "table":
        return as_plain_text(lambda console: print_sections(console, title, parts))
    return (latex if form == "latex" else markdown)(title, parts)


def write_figures_of(model: Model, tests: Sequence[Significance], folder: Path | None) -> list[Path]:
    """The figures as files of a folder, where one is named."""
    if folder is None:
        return []
    from ..drawing import write_figures

    return write_figures(all_figures(model, tests), folder)


def all_figures(model: Model, tests: Sequence[Significance]) -> dict[str, Figure]:
    """Name of a file -> figure, of every setting that has values."""
    from ..drawing import dots, plain_style

    found: dict[str, Figure] = {}
    cells, scale = model.cells(model.measure, model.criterion), model.measure.scale
    called = {row: model.grid.marked(row) for row in model.grid.rows}
    with plain_style():
        for setting, test in zip(model.settings, tests, strict=True):
            of = {
                c.name: [(called[row], cells[row, c.label].mean, cells[row, c.label].std) for row in model.grid.rows]
                for c in setting.columns
            }
            panels = {
                title: {row: (mean * scale, (std or 0.0) * scale) for row, mean, std in mine if mean is not None}
                for title, mine in of.items()
            }
            if panels := {title: values for title, values in panels.items() if values}:
                rows = [row for row in called.values() if any(row in values for values in panels.values())]
                found[f"methods-{setting.key}"] = dots(panels, model.measure.label, rows)
            ranks = test.average
            if ranks.friedman is not None and len(ranks.friedman.data) >= FEW_DATA_SETS:
                bars = {row: (rank, ranks.friedman.critical_difference / 2) for row, rank in ranks.ranks}
                found[f"difference-{setting.key}"] = dots({BARS: bars}, "average rank", [*bars])
    return found


def title_lines(gathered: Gathered) -> list[str]:
    """Lines that name the report's runs and how many are there."""
    done = len(gathered.done)
    what = f"study {gathered.study}" if gathered.study else f"records in {gathered.title}"
    counts = [counted(done, "run")]
    if gathered.missing:
        counts.append(f"{gathered.missing:,} still to be run")
    if gathered.failed:
        counts.append(f"{len(gathered.failed):,} failed")
    methods = len({row for row, run in gathered.runs if isinstance(run, RunResult)})
    data = len({run.result.spec.data.key for run in gathered.done})
    return [
        f"Report of {what}",
        f"{', '.join(counts)}; {counted(methods, 'method')}, {counted(data, 'data set')} with results",
    ]


def write_text(path: Path, text: str) -> None:
    """Raises RequestError where the file cannot be written."""
    try:
        if path.exists() and not path.is_file():  # such as /dev/stdout
            path.write_text(text, encoding="utf-8")
        else:
            replace_text(path, text)
    except OSError as error:
        raise RequestError(f"cannot write {path}: {error.strerror or error}; choose another file") from error


#: Methods that are shown; the others are counted.
MOST_ROWS = 5


def verdict(model: Model) -> str:
    """Who is best in the first setting, how sure that is, and what cannot be told."""
    setting = model.settings[0]
    ranking = model.ranking(setting, model.measure, model.criterion)
    names = {row: row for row in model.grid.rows}
    sources = {column.spec.data.key: column.spec.data.key for column in setting.columns}
    columns = {column.label: column.name for column in setting.columns}
    said = [*headline(ranking, names, sources), *changes(ranking, names, sources)]
    return " ".join([*said, *not_told_apart(ranking, names, columns)])


def print_summary(console: Console, title: Sequence[str], model: Model) -> None:
    """The verdict on the first setting, and its methods: best first, then those that are not ranked."""
    setting = model.settings[0]
    what = f"{upper(model.measure.label)}, epochs chosen by {model.criterion_name(model.criterion)}; {setting.words}"
    for line, style in ((": ".join(title), ""), ("", ""), (verdict(model), "bold"), ("", ""), (what, "")):
        console.print(Text(visible(line), style=style), soft_wrap=not console.is_terminal)
    rows = standing_rows(model, setting)
    shown = {row: model.grid.marked(row) for row in rows}
    table = standing_table(model, setting, shown, [column.name for column in setting.columns])
    styles = ["dim" if row in model.grid.apart else "" for row in rows[:MOST_ROWS]]
    replace(table, rows=table.rows[:MOST_ROWS]).print_to(console, styles, surplus="left out", everything="--full")
    more = [counted(len(rows) - MOST_ROWS, "more method")] if len(rows) > MOST_ROWS else []
    more += [counted(len(model.settings) - 1, "more setting")] if len(model.settings) > 1 else []
    rest = ", ".join([*more, "criteria, measures, tests, ranks"])
    text = f"below: points below the best, with a 90 % interval; --full: {rest}"
    console.print(Text(text), soft_wrap=not console.is_terminal)
