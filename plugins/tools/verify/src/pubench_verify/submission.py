"""Submissions to a board, archives of ``study export``: unpacked from anybody; those with scores of other methods."""

from __future__ import annotations

import io
import re
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pubench_report.rows.files import Board
from pubench_report.rows.record import digest_of
from pubench_study.export import SUMS

from pubench_core.errors import RecordError, counted, shortened
from pubench_core.records.files import MOST_TEXT, SCORES, Arrays, read_small
from pubench_core.records.scores import scores_name

from .findings import RecordProblem

#: A file of an archive that ``study export`` makes: of a record, a failure, or the plan.
_MEMBER = re.compile(r"(\w[\w.-]{0,99})(/\w[\w.-]{0,99}){1,3}", re.ASCII)
#: Most bytes of an archive and of what is in it, and most files; how each file begins in the list of them.
MOST_ARCHIVE, MOST_UNPACKED, MOST_FILES, LISTED = 1 << 28, 1 << 31, 20_000, b"PK\1\2"
#: Scores with fewer different values say too little: a method that decides every row alike resembles all that do.
_FEWEST_VALUES = 20


def unpack(archive: Path, target: Path) -> Path:
    """Writes the files of an archive, which anybody may have made, into ``target``; the folder that holds them.

    Raises RecordError for what is no archive of a study: paths that lead elsewhere, two files of one name, and more or
    larger files than records have. Links come out as files.
    """
    try:
        content = read_small(archive, MOST_ARCHIVE)
        if content.count(LISTED) > MOST_FILES:  # before the list takes memory
            raise RecordError(f"it holds more than {counted(MOST_FILES, 'file')}")
        with zipfile.ZipFile(io.BytesIO(content)) as members:
            files, names, folders = members.infolist(), set[str](), set[str]()
            if sum(file.file_size for file in files) > MOST_UNPACKED:
                raise RecordError(f"it unpacks to more than {MOST_UNPACKED:,} bytes")
            for file in files:
                shown, place = shortened(file.filename), _MEMBER.fullmatch(file.filename)
                if place is None or file.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise RecordError(f"{shown} is no file of a submission; expected NAME/RUN/{SCORES} and the like")
                if file.file_size > MOST_TEXT and file.filename.endswith((".json", ".yaml")):  # it is read as a whole
                    raise RecordError(f"{shown} has {file.file_size:,} bytes; at most {MOST_TEXT:,} are read")
                folders.add(place[1])
                if file.filename in names or len(folders) > 1:
                    raise RecordError(f"{shown} is in it twice, or in another folder than the rest")
                names.add(file.filename)
                (target / file.filename).parent.mkdir(parents=True, exist_ok=True)
                with members.open(file) as source, (target / file.filename).open("xb") as written:
                    shutil.copyfileobj(source, written)
    except (OSError, ValueError, EOFError, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise RecordError(f"it cannot be read as a .zip: {shortened(str(error))}") from error
    if not {f"{folder}/{SUMS}" for folder in folders} <= names or not names:
        raise RecordError(f"it has no {SUMS}; make it with pubench study export")
    return target / folders.pop()


# -------------------------------------------------------------------- scores of other methods


#: (run id, method, digests of each state) of each record.
States = list[tuple[str, str, list[set[str]]]]


def resembling(mine: States, board: Board | None) -> dict[RecordProblem, bool]:
    """Records with test scores of a run of another method, or its order, on the board or among themselves; whether in
    every state. Methods that differ in a correction which has not acted yet share some states, honestly.
    """
    others = {(run, method): {digest for state in states for digest in state} for run, method, states in mine}
    if board is not None:
        others |= {run: set(rows) for run, rows in board.rows.groupby(["run_id", "method"])["scores"]}
    found = {}
    for run_id, method, states in mine:
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


def digests(arrays: Arrays) -> Iterator[set[str]]:
    """Digests of the test scores and of their order, of each state that says something."""
    for scores in on_test(arrays):
        values, order = np.unique(scores, return_inverse=True)
        if len(values) >= _FEWEST_VALUES:
            yield {digest_of(scores), digest_of(order)}
