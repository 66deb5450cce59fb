"""Dated boards, read: rows of finished runs that others published. ``pubench-submit`` builds them.

The format, which other programs can read as well, is described in ``docs/pages/boards.md``.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from os.path import isdir, isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pubench_core.errors import RequestError, shortened
from pubench_core.records.files import open_regular, read_small
from pubench_core.specs import RunSpec
from pubench_core.specs.fields import short_hash

if TYPE_CHECKING:
    from pandas import DataFrame

#: Raised when a column or a field changes its meaning or goes.
FORMAT = 1
BOARD, ROWS, SUMS, BIBTEX = "board.json", "rows.parquet", "SHA256SUMS", "CITATION.bib"
#: What a board is called on the command line, in front of its name.
PREFIX = "board@"
#: Most bytes of a board's rows: a hundred times those of 5,000 runs.
MOST_ROWS = 1 << 26
MEASURES = ("accuracy", "precision", "recall", "f1", "macro-f1", "auc")
#: Columns and their types. Measures are of the test part, in percent.
COLUMNS: Mapping[str, str] = {
    "problem": "string", "data": "string", "mechanism": "string", "c": "float64", "positive_rate": "float64",
    "scheme": "string", "prior": "string", "told_prior": "float64", "seed": "int64", "method": "string",
    "row": "string", "preset": "string", "settings": "string", "oracle": "bool", "criterion": "string",
    "criterion_oracle": "bool", "criterion_value": "float64", "selected": "bool", "epoch": "Int64", "epochs": "int64",
    **dict.fromkeys(MEASURES, "float64"), "alike": "bool", "seconds": "float64", "peak_mib": "float64",
    "at_once": "Int64", "threads": "int64", "run_id": "string", "code": "string", "revision": "string",
    "commit": "string", "machine": "string", "study": "string", "scores": "string",
}  # fmt: skip


@dataclass(frozen=True)
class Board:
    """``facts``: the content of ``board.json``; ``rows``: one per run and criterion, with :data:`COLUMNS`."""

    folder: Path
    name: str
    facts: Mapping[str, Any]
    rows: DataFrame

    def __str__(self) -> str:
        return f"{PREFIX}{self.name}"


def problem_of(spec: RunSpec) -> str:
    """Sixteen digits that are the same for all methods and seeds on the same data, labeling, prior and validation."""
    identity = {name: value for name, value in spec.identity().items() if name not in ("method", "backbone", "seed")}
    return short_hash(identity)


def is_board(given: str) -> bool:
    """Whether a text names a board: ``board@NAME``, or a folder that holds one."""
    return given.startswith(PREFIX) or isfile(Path(given) / BOARD)


def read_board(given: str | Path) -> Board:
    """A board by its folder, or ``board@NAME``: in the folder that ``PUBENCH_BOARDS`` names, else in ``boards``.

    Raises RequestError if there is none, if it is of another format, or if its rows are not those of its checksums.
    """
    import pandas

    folder = _folder(str(given))
    try:
        facts = json.loads(read_small(folder / BOARD))
        listed = dict(line.split("  ", 1)[::-1] for line in read_small(folder / SUMS).decode().splitlines())
        with open_regular(folder / ROWS) as file:
            if os.fstat(file.fileno()).st_size > MOST_ROWS:
                raise RequestError(f"{folder / ROWS} has more than {MOST_ROWS:,} bytes")
            if hashlib.file_digest(file, "sha256").hexdigest() != listed.get(ROWS):
                raise RequestError(f"{folder / ROWS} is not the file that {SUMS} lists; fetch the board again")
            if facts.get("format") != FORMAT:
                raise RequestError(f"{folder} is a board of format {facts.get('format')}; expected format {FORMAT}")
            file.seek(0)
            rows = pandas.read_parquet(file)
    except (OSError, ValueError, AttributeError) as error:
        raise RequestError(f"{folder} cannot be read as a board: {shortened(str(error))}") from error
    if missing := [name for name in COLUMNS if name not in rows.columns]:
        raise RequestError(f"{folder / ROWS} has no column {missing[0]}; expected those of format {FORMAT}")
    return Board(folder, str(facts["name"]), facts, rows.astype(dict(COLUMNS)))


def _folder(given: str) -> Path:
    if not given.startswith(PREFIX):
        return Path(given)
    name, places = given.removeprefix(PREFIX), [Path("boards")]
    if named := os.environ.get("PUBENCH_BOARDS"):
        places.insert(0, Path(named))
    found = next((place / name for place in places if isdir(place / name)), None)
    if found is None:
        raise RequestError(
            f"board {shortened(name)} is not in {' or '.join(map(str, places))}; fetch it from the project's releases, "
            "or name its folder"
        )
    return found
