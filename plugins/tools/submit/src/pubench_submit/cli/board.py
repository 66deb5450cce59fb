"""``pubench board build`` and ``board check``: what they print."""

from __future__ import annotations

import json
from pathlib import Path

from pubench_cli.console import err, out
from pubench_cli.machine import print_json
from pubench_cli.messages import said
from pubench_core.errors import counted

from ..building import build, problems_of


def print_built(name: str, sources: list[Path], folder: Path, *, as_json: bool) -> None:
    """Builds a board; prints where it is and what it holds."""
    from pubench_report.rows.files import FACTS

    built = build(name, sources, folder)
    if as_json:
        print_json({**json.loads((built.folder / FACTS).read_text(encoding="utf-8")), "folder": str(built.folder)})
        return
    for note in built.notes:
        err().print(f"note: {said(note)}", markup=False, soft_wrap=True)
    rows, runs = counted(built.rows, "row"), counted(built.runs, "run")
    out().print(f"{built.folder}: {rows} of {runs}", markup=False, soft_wrap=True)
    scores = "no source has scores" if built.scores is None else f"scores: {built.scores}"
    out().print(f"{scores}; use it: pubench study compare results --with {built.folder}", markup=False, soft_wrap=True)


def print_problems(folder: Path, *, as_json: bool) -> bool:
    """Prints a line for each problem of a board; returns whether there is none."""
    found = problems_of(folder)
    if as_json:
        print_json({"ok": not found, "problems": found})
    else:
        for problem in found:
            out().print(said(problem), markup=False, soft_wrap=True)
        out().print(f"{folder}: {counted(len(found), 'problem')}", markup=False, soft_wrap=True)
    return not found
