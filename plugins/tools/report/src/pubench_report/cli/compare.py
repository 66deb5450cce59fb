"""``pubench study compare``: records, or rows of them, next to a published table, a board or other records."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Sequence
from os.path import isdir, isfile
from pathlib import Path

from rich.console import Console

from pubench.field_names import PubenchWarning
from pubench.running import RunResult
from pubench_cli.console import as_plain_text, err, out
from pubench_cli.machine import print_json
from pubench_cli.messages import said
from pubench_cli.out_file import form_of, refuse_unwritable
from pubench_cli.visible import rows_out
from pubench_core.errors import RequestError, counted, nearest, shortened, unknown, visible

from ..comparison import SideBySide, beside_board, beside_published, beside_results
from ..published import names
from ..rendering import csv_of, md_escaped, md_table
from ..report.gather import folder_and_study, why_none
from ..report.write import write_text
from ..results import Results, load_results
from ..rows import is_board, read_board
from ..rows.runs import WHOLE_RUNS, read_runs
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
    ours = _together([_loaded(given, results, study) for given in sources])
    found: SideBySide
    if other in names():
        found = beside_published(ours, other, criterion=criterion, measure=measure)
    elif is_board(other):
        found = beside_board(ours, read_board(other), criterion=criterion, measure=measure)
    elif isdir(other) or isfile(other):
        others = _loaded(other, results, None)
        found = beside_results(ours, others, other, criterion=criterion, measure=measure)
    else:
        raise RequestError(
            f"--with must be a publication ({', '.join(names())}), a board (board@NAME), a folder of records or "
            f"a file of rows, got {shortened(other)}; {nearest(other, names())}"
        )
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


def _loaded(given: str | None, results: Path, study: str | None) -> Results:
    """Finished runs of a source. Raises RequestError if there are none."""
    if given is not None and isfile(given):
        return _rows(Path(given), study)
    folder, named = folder_and_study(given, results, study)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = load_results(folder, study=named or None)
    for one in heard:
        if issubclass(one.category, PubenchWarning):
            err().print(said(str(one.message)), markup=False)
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


def _rows(path: Path, study: str | None) -> Results:
    read = read_runs(path)
    if study is not None and study not in read.names:
        raise unknown("study", study, read.names)
    for note in read.notes:
        if note != WHOLE_RUNS:  # no seconds are shown
            err().print(f"note: {note}", markup=False, soft_wrap=True)
    return Results([run for run in read.runs if study is None or study in read.studies.get(run.run_id, ())])


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


# -------------------------------------------------------------------- for people


def _print(found: SideBySide, console: Console) -> None:
    console.print(found.title(), style="bold", markup=False)
    for line in found.heading():
        console.print(line, markup=False)
    found.table().print_to(console)
    for line in found.remarks():
        console.print(line, markup=False)
