"""``pubench study report``: from what was asked for to files and text."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from pubench_core.errors import RequestError

from ..console import PIPED_WIDTH, err, out
from ..messages import said
from ..visible import rows_out
from .gather import Gathered, gather
from .model import Model, model_of
from .statistics import Comparison, check_baseline, comparisons_of
from .tables import Section, sections
from .text import csv_text, latex, markdown, print_sections

#: The baseline where none is named.
BASELINE = "nnpu"


@dataclass(frozen=True)
class Asked:
    """What the command was given. ``form``: table, md, csv, latex or html. ``figures``: folder for them."""

    given: str | None
    results: Path
    study: str | None
    form: str
    out: Path | None
    figures: Path | None
    baseline: str | None
    criterion: str | None
    measure: str


def write_report(asked: Asked) -> None:
    """Raises RequestError for what is not there or cannot be written."""
    gathered = gather(asked.given, asked.results, asked.study)
    for note in gathered.notes:
        err().print(said(note), markup=False)
    model = model_of(gathered, asked.measure, asked.criterion)
    tests = comparisons_of(model, check_baseline(model, asked.baseline, BASELINE))
    written = []
    if asked.figures is not None:
        from .figures import all_figures, write_figures

        written += write_figures(all_figures(model, tests), asked.figures)
    if asked.form == "html":
        from .page import page

        path = asked.out or Path(f"{gathered.title}-report.html")
        _write(path, page(model, tests, title_lines(gathered)))
        written.append(path)
    else:
        _write_text(asked, model, tests)
        written += [asked.out] if asked.out is not None else []
    for path in written:
        err().print(f"written: {path}", markup=False, soft_wrap=True)


def _write_text(asked: Asked, model: Model, tests: Sequence[Comparison]) -> None:
    title, parts = title_lines(model.gathered), sections(model, tests)
    if asked.form == "table":
        _table(asked.out, title, parts)
        return
    written = {"csv": lambda: csv_text(model, tests), "md": lambda: markdown(title, parts)}
    text = written.get(asked.form, lambda: latex(title, parts))()
    if asked.out is not None:
        _write(asked.out, text)
    else:
        rows_out().write(text)


def _table(path: Path | None, title: Sequence[str], parts: Sequence[Section]) -> None:
    if path is None:
        print_sections(out(), title, parts)
        return
    stream = io.StringIO()
    print_sections(Console(file=stream, width=PIPED_WIDTH, highlight=False, no_color=True), title, parts)
    _write(path, "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n")


def title_lines(gathered: Gathered) -> list[str]:
    """What the report is of, and how much of it is there."""
    done, grid = len(gathered.done), gathered.grid
    what = f"study {gathered.study}" if gathered.study else f"records in {gathered.title}"
    counts = [_counted(done, "run")]
    if gathered.missing:
        counts.append(f"{gathered.missing:,} still to be run")
    if gathered.failed:
        counts.append(f"{len(gathered.failed):,} failed")
    methods, data = len(grid.rows), len({run.result.spec.data.key for run in gathered.done})
    return [
        f"Report of {what}",
        f"{', '.join(counts)}; {_counted(methods, 'method')}, {_counted(data, 'data set')} with results",
    ]


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RequestError(f"cannot write {path}: {error.strerror or error}; --out names another file") from error
