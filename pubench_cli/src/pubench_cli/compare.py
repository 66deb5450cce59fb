"""``pubench study compare``: a folder of records beside a published table or another folder."""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from os.path import isdir
from pathlib import Path
from typing import Any

from pubench.beside import FIELDS, HEAD, SideBySide, beside_published, beside_results
from pubench.published import names
from pubench.results import Results, load_results
from pubench.words import PubenchWarning
from pubench_core.errors import RequestError, nearest, shortened, visible

from .columns import Column, print_table
from .console import err, out
from .machine import print_json
from .messages import said
from .visible import rows_out


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
        writer.writerows(found.to_rows())
        _say_remarks(found)
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


def _plain(found: SideBySide) -> dict[str, Any]:
    return {
        "theirs": found.theirs,
        "citation": found.citation,
        "alike": found.alike,
        "counts": found.counts(),
        "cells": found.to_rows(),
        "left_out": [{"method": one.method, "data": one.data, "why": one.why} for one in found.left_out],
        "missing": [{"method": method, "data": data} for method, data in found.missing],
        "notes": list(found.notes),
    }


# -------------------------------------------------------------------- for people


def _print(found: SideBySide) -> None:
    console = out()
    console.print(found.title(), style="bold", markup=False)
    for line in found.heading():
        console.print(line, markup=False)
    if found.cells:
        columns = [Column(name, right=k in (2, 3, 4), wraps=name == "reason") for k, name in enumerate(HEAD)]
        print_table(console, columns, [cell.texts() for cell in found.cells], surplus="below")
    for line in found.remarks():
        console.print(line, markup=False)


def _say_remarks(found: SideBySide) -> None:
    """On stderr, where stdout is rows."""
    for line in found.remarks():
        print(visible(line), file=sys.stderr)


def _markdown(found: SideBySide) -> list[str]:
    lines = [f"# {_cell(found.title())}", "", *(f"{_cell(line)}  " for line in found.heading()), ""]
    if found.cells:
        lines += [_line(HEAD), _line(["---"] * len(HEAD)), *(_line(cell.texts()) for cell in found.cells), ""]
    return [*lines, *(f"- {_cell(line)}" for line in found.remarks())]


def _line(cells: Sequence[object]) -> str:
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _cell(text: object) -> str:
    from .report.text import md_escaped  # with what reports are made of

    return md_escaped(str(text)).replace("\n", " ")
