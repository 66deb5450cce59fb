"""``pubench study compare``: records, or rows of them, next to a published table, a board or other records."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from pubench.field_names import PubenchWarning
from pubench.running import RunResult
from pubench_cli.console import as_plain_text, err, out
from pubench_cli.machine import print_json
from pubench_cli.messages import said
from pubench_cli.out_file import form_of, refuse_unwritable
from pubench_cli.visible import rows_out
from pubench_core.errors import RequestError, counted, shortened, visible

from ..comparison import SideBySide, side_by_side
from ..rendering import csv_of, md_escaped, md_table
from ..report.gather import folder_and_study, why_none
from ..report.write import write_text
from ..results import Results, load_results
from ..site.sources import files_of_rows

#: Format by the end of the file's name, where none is named.
BY_SUFFIX = {".md": "md", ".csv": "csv", ".json": "json", ".txt": "table"}


def compare(
    sources: Sequence[str | None],
    results: Path,
    other: str,
    study: str | None,
    criterion: str | None,
    measure: str | None,
    form: str | None,
    out_file: Path | None,
) -> None:
    """Prints or writes every cell that was run alike, and says what is left out and missing.

    ``sources``: folders of records, files of rows, studies of ``results``; None means ``results``. ``other``: a
    publication, a board, a folder or a file of rows; ``form``: table, md, csv, json, or None, which means what
    ``out_file`` ends in, or table. Raises RequestError (InvalidRequest) for a folder, study, publication, criterion or
    measure that there is not, and for a file that cannot be written.
    """
    form = form_of(out_file, form, BY_SUFFIX)
    if out_file is not None:
        refuse_unwritable(out_file)
    with _warnings_printed():
        ours = _together([_loaded(given, results, study) for given in sources])
        found = side_by_side(ours, other, criterion, measure, "--with")
    if out_file is None and form == "table":
        _print(found, out())
    elif out_file is None and form == "json":
        print_json(found.to_dict())
    elif out_file is None:
        rows_out().write(_text(found, form))
    else:
        write_text(out_file, _text(found, form))
    if form == "csv":  # stdout is rows
        for line in found.remarks():
            print(visible(line), file=sys.stderr)
    if out_file is not None:
        err().print(f"written: {out_file}", markup=False, soft_wrap=True)


@contextmanager
def _warnings_printed() -> Iterator[None]:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        yield
    for one in heard:
        if issubclass(one.category, PubenchWarning):
            err().print(said(str(one.message)), markup=False, soft_wrap=True)


def _loaded(given: str | None, results: Path, study: str | None) -> Results:
    """Finished runs of a source. Raises RequestError if there are none."""
    folder, named = folder_and_study(given, results, study)
    found = load_results(folder, study=named or None)
    if not len(found):
        what = f"study {named}" if named else shortened(str(folder))
        raise RequestError(
            f"{what} has no finished run to compare{'' if named else f': {why_none(folder)}{files_of_rows([folder])}'}"
        )
    return found


def _together(sources: Sequence[Results]) -> Results:
    """Every run once: rows of several files may be of the same spec, measured with other versions."""
    if len(sources) == 1:
        return sources[0]
    runs = [run for source in sources for run in source]
    first: dict[str, RunResult] = {}
    for run in runs:
        first.setdefault(json.dumps(run.result.spec.identity(), sort_keys=True), run)
    if len(first) < len(runs):
        again = counted(len(runs) - len(first), "run")
        err().print(f"note: {again} of the same spec as another; the first counts", markup=False, soft_wrap=True)
    return Results(first.values())


def _text(found: SideBySide, form: str) -> str:
    """The content of a file."""
    if form == "csv":
        return csv_of(found.fields, found.to_rows())
    if form == "json":
        return json.dumps(found.to_dict(), indent=2, allow_nan=False) + "\n"
    if form == "md":
        heading = [f"{md_escaped(line)}  " for line in found.heading()]
        remarks = [f"- {md_escaped(line)}" for line in found.remarks()]
        return "\n".join([f"# {md_escaped(found.title())}", "", *heading, "", *md_table(found.table()), *remarks, ""])
    return as_plain_text(lambda console: _print(found, console))


def _print(found: SideBySide, console: Console) -> None:
    (title, *above), table, below = found.shown()
    console.print(title, style="bold", markup=False)
    for line in above:
        console.print(line, markup=False)
    table.print_to(console)
    for line in below:
        console.print(line, markup=False)
