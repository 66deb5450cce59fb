"""Comment of a board on a submission, the text of its issue, and scores that are those of other methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
from pubench_report.comparison import BOARD_HEAD
from pubench_report.rendering import md_escaped, md_rows
from pubench_report.rows import Board
from pubench_report.rows.record import digest_of

from pubench_core.errors import RecordError, counted
from pubench_core.records.files import Arrays, read_scores
from pubench_core.records.record import Record
from pubench_core.records.scores import scores_name

from .findings import RecordProblem, Verification

#: Scores with fewer different values say too little: a method that decides every row alike resembles all that do.
_FEWEST_VALUES = 20


def comment(found: Verification) -> str:
    """The comment: verdict, reasons, rank and difference to the board, runs carried out again, resemblances."""
    verdict = "sound" if found.ok else f"refused: {counted(len(found.problems), 'reason')}"
    records = counted(found.records, "record")
    lines = [f"**{found.folder.name}: {verdict}.** {records}, SHA-256 `{found.sha256}`.", ""]
    lines += [f"- refused: {md_escaped(str(problem))}" for problem in found.problems]
    if found.standing is not None:
        rows = [map(md_escaped, cell.texts()) for cell in found.standing.cells]
        lines += [f"{md_escaped(line)}  " for line in (found.standing.title(), *found.standing.heading())]
        lines += ["", *md_rows(map(md_escaped, BOARD_HEAD), rows, range(len(BOARD_HEAD))), ""]
        lines += [f"- {md_escaped(line)}" for line in found.standing.remarks()]
    lines += [f"- {md_escaped(str(one))}" for one in found.again]
    lines += [f"- a person must look: {md_escaped(str(one))}" for one in found.resembles]
    lines += [f"- note: {md_escaped(note)}" for note in found.notes]
    return "\n".join(lines) + "\n"


def issue_text(found: Verification, records: Iterable[Record]) -> str:
    """The text of the issue, in the order of the form's fields."""
    archive, methods = found.folder.name, sorted({record.result.spec.method.key for record in records})
    fields = {
        "Name": archive.removesuffix(".tar.gz"),
        "Archive": f"(drop {archive} here)",
        "SHA-256 of the archive": found.sha256,
        "Package": "(NAME==VERSION, or an address of git with a commit; _No response_ for methods of pubench)",
        "Method": f"{', '.join(methods)}: paper, official code, what differs",
        "Who ran it, on what": "(name or handle; machine; time)",
        "Check on your machine": comment(found),
    }
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in fields.items()) + "\n"


# -------------------------------------------------------------------- scores of other methods


def resembling(records: Iterable[Record], board: Board | None) -> dict[RecordProblem, bool]:
    """Records with test scores of a run of another method, or its order, on the board or among themselves; whether in
    every state. Methods that differ in a correction which has not acted yet share some states, honestly.
    """
    mine = {}
    for record in records:
        with suppress(RecordError):  # a problem of the record
            states = list(_digests(on_test(read_scores(record.folder))))
            mine[record.result.run_id, record.result.spec.method.key] = states
    others = {run: {digest for state in states for digest in state} for run, states in mine.items()}
    if board is not None:
        others |= {run: set(rows) for run, rows in board.rows.groupby(["run_id", "method"])["scores"]}
    found = {}
    for (run_id, method), states in mine.items():
        for (other, its), theirs in others.items():
            shared = [not theirs.isdisjoint(state) for state in states]
            if method != its and any(shared):
                how = "identical to" if all(shared) else "in some states"
                what = f"its test scores are {how} those of {its} in run {other}"
                found[RecordProblem(run_id, what)] = all(shared)
    return found


def on_test(arrays: Arrays) -> list[npt.NDArray[Any]]:
    """Scores of test rows among the arrays of a run: of each state."""
    return [array for name, array in arrays.items() if name.startswith(scores_name("test", ""))]


def _digests(states: Iterable[npt.NDArray[Any]]) -> Iterator[set[str]]:
    """Digests of the scores and of the order of each state that says something."""
    for scores in states:
        values, order = np.unique(scores, return_inverse=True)
        if len(values) >= _FEWEST_VALUES:
            yield {digest_of(scores), digest_of(order)}
