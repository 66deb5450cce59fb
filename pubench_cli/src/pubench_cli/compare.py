"""``pubench study compare``: a folder of records beside a published table or another folder."""

from __future__ import annotations

import csv
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from os.path import isdir
from pathlib import Path
from typing import Any

from rich.text import Text

from pubench.against import Against, ComparedCell, beside_published, beside_results
from pubench.published import names
from pubench.results import Results, load_results
from pubench.words import PubenchWarning
from pubench_core.errors import RequestError, nearest, shortened, visible

from .columns import Column, print_table
from .console import err, out
from .machine import print_json
from .messages import said
from .visible import rows_out

#: Columns of ``--format csv``.
FIELDS = (
    "theirs", "method", "data", "oracle", "measure", "criterion", "ours_mean", "ours_std", "ours_n", "ours_alike",
    "theirs_mean", "theirs_std", "theirs_n", "theirs_alike", "difference", "verdict", "standing", "reason", "evidence",
)  # fmt: skip
HEAD = ("method", "data", "ours", "theirs", "difference", "within 2 sd", "reason")


@dataclass(frozen=True)
class Asked:
    """What the command was given. ``other``: a publication or a folder; ``form``: table, md, csv or json."""

    folder: Path
    other: str
    study: str | None
    criterion: str | None
    measure: str | None
    form: str


def compare(asked: Asked) -> None:
    """Prints every cell that was run alike, and says what is left out and missing.

    Raises RequestError (InvalidRequest) for a folder, study, publication, criterion or measure that there is not.
    """
    ours = _loaded(asked.folder, asked.study)
    if asked.other in names():
        found = beside_published(ours, asked.other, criterion=asked.criterion, measure=asked.measure)
    elif isdir(asked.other):
        others = _loaded(Path(asked.other), None)
        found = beside_results(ours, others, asked.other, criterion=asked.criterion, measure=asked.measure)
    else:
        raise RequestError(
            f"--with {shortened(asked.other)}: a publication ({', '.join(names())}) or a folder of records is right; "
            f"{nearest(asked.other, names())}"
        )
    if asked.form == "csv":
        writer = csv.DictWriter(rows_out(), FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(_row(found, cell) for cell in found.cells)
        _say_rest(found)
    elif asked.form == "json":
        print_json(_plain(found))
    elif asked.form == "md":
        rows_out().write("\n".join(_markdown(found)) + "\n")
    else:
        _print(found)


def _loaded(folder: Path, study: str | None) -> Results:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        results = load_results(folder, study=study)
    for one in heard:
        if issubclass(one.category, PubenchWarning):
            err().print(said(str(one.message)), markup=False)
    return results


# -------------------------------------------------------------------- for programs


def _row(found: Against, cell: ComparedCell) -> dict[str, Any]:
    figures = {
        f"{side}_{name}": getattr(figure, name)
        for side, figure in (("ours", cell.ours), ("theirs", cell.theirs))
        for name in ("mean", "std", "n", "alike")
    }
    return {
        "theirs": found.theirs,
        "method": cell.method,
        "data": cell.data,
        "oracle": cell.oracle,
        "measure": found.measure,
        "criterion": found.criterion,
        **{name: round(value, 6) if isinstance(value, float) else value for name, value in figures.items()},
        "difference": round(cell.difference, 6),
        "verdict": cell.verdict,
        "standing": cell.standing,
        "reason": cell.reason.reason if cell.reason else None,
        "evidence": cell.reason.evidence if cell.reason else None,
    }


def _plain(found: Against) -> dict[str, Any]:
    return {
        "theirs": found.theirs,
        "citation": found.citation,
        "alike": found.alike,
        "counts": found.counts(),
        "cells": [_row(found, cell) for cell in found.cells],
        "left_out": [{"method": one.method, "data": one.data, "why": one.why} for one in found.left_out],
        "missing": [{"method": method, "data": data} for method, data in found.missing],
        "notes": list(found.notes),
    }


# -------------------------------------------------------------------- for people


def _print(found: Against) -> None:
    console = out()
    console.print(_title(found), style="bold", markup=False)
    for line in _head(found):
        console.print(line, markup=False)
    if found.cells:
        columns = [Column(name, right=k in (2, 3, 4), wraps=name == "reason") for k, name in enumerate(HEAD)]
        print_table(console, columns, [_texts(cell) for cell in found.cells], surplus="below")
    for line in _rest(found):
        console.print(line, markup=False)


def _texts(cell: ComparedCell) -> list[str | Text]:
    reason = "unexplained" if cell.standing == "unexplained" else ""
    if cell.reason is not None:
        reason = f"{cell.standing}: {cell.reason.reason} ({cell.reason.known}; {cell.reason.evidence})"
    method = f"{cell.method} (oracle)" if cell.oracle else cell.method
    within = {"matched": "yes", None: "unknown"}.get(cell.verdict, f"no, {cell.verdict}")
    return [method, cell.data, str(cell.ours), str(cell.theirs), f"{cell.difference:+.2f}", within, reason]


def _title(found: Against) -> str:
    unit = ", percent" if found.percent else ""
    return f"{found.measure} (test{unit}) beside {found.theirs}: mean ± sample standard deviation (runs)"


def _head(found: Against) -> list[str]:
    return [*([found.citation] if found.citation else []), f"compared: {found.alike}"]


def _rest(found: Against) -> list[str]:
    """Counts; why cells are left out; what is missing; notes."""
    counts = ", ".join(f"{number} {name}" for name, number in found.counts().items() if number)
    lines = [counts or "nothing to compare"]
    for why, number in Counter(one.why for one in found.left_out).items():
        cells = ", ".join(f"{one.method} on {one.data}" for one in found.left_out if one.why == why)
        lines.append(f"left out ({number}), {why}: {shortened(cells, 400)}")
    if found.missing:
        listed = ", ".join(f"{method} on {data}" for method, data in found.missing)
        lines.append(f"missing ({len(found.missing)}), theirs and not run here alike: {shortened(listed, 400)}")
    if any(cell.ours.alike or cell.theirs.alike for cell in found.cells):
        lines.append("alike: runs that decide every test row alike")
    return [*lines, *(f"note: {note}" for note in found.notes)]


def _say_rest(found: Against) -> None:
    """On stderr, where stdout is rows."""
    for line in _rest(found):
        print(visible(line), file=sys.stderr)


def _markdown(found: Against) -> list[str]:
    lines = [f"# {_cell(_title(found))}", "", *(f"{_cell(line)}  " for line in _head(found)), ""]
    if found.cells:
        lines += [_line(HEAD), _line(["---"] * len(HEAD)), *(_line(_texts(cell)) for cell in found.cells), ""]
    return [*lines, *(f"- {_cell(line)}" for line in _rest(found))]


def _line(cells: Sequence[object]) -> str:
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _cell(text: object) -> str:
    from .report.text import md_escaped  # with what reports are made of

    return md_escaped(str(text)).replace("\n", " ")
