"""Files that hold rows of runs, read as one frame: files of rows (CSV), ``results.parquet``, dated boards, records.

``results.parquet`` has all records of a folder, a row per run, criterion, part and measure. It is made of them at any
time, without torch.

The format of boards, which other programs can read as well, is described in ``docs/pages/boards.md``.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from os.path import isdir, isfile
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, Any

from pubench_study.measure_names import metric_and_rule
from pubench_study.plan import FrozenPlan, read_plan
from pubench_study.study_file import studies_in

from pubench_core.errors import RecordError, RequestError, shortened
from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import registry
from pubench_core.records.files import MEASURES, RESULT, open_regular, read_small, replace_bytes
from pubench_core.records.record import Record
from pubench_core.records.store import RecordStore
from pubench_core.results import Result
from pubench_core.specs.fields import short_hash

from .columns import (
    BEFORE_MEASURES,
    BOARD,
    BY_NAME,
    COLUMNS,
    FILE,
    LONG,
    NEEDED,
    RowColumn,
    file_column,
    names,
    typed,
    types,
)
from .record import RowSource, rows_of

if TYPE_CHECKING:
    from pandas import DataFrame, Series

RUN_ID = re.compile(r"[0-9a-f]{16}")
#: Format of boards; raised when a column or a field changes its meaning or goes.
FORMAT = 1
FACTS, ROWS, SUMS = "board.json", "rows.parquet", "SHA256SUMS"
#: What a board is called on the command line, in front of its name.
PREFIX = "board@"
#: Most bytes of a board's rows: a hundred times those of 5,000 runs.
MOST_ROWS = 1 << 26


def read_rows(*paths: str | Path) -> DataFrame:
    """The rows of folders of records, ``results.parquet``, files of rows (CSV) and dated boards, as one frame.

    A column that a source does not have is empty in its rows. Measures, shares and ``criterion_value`` are fractions.

    Raises RequestError for what cannot be read, is none of these, or holds an impossible value.
    """
    import pandas

    frames = [_read(Path(path)) for path in paths]
    return frames[0] if len(frames) == 1 else pandas.concat(frames, ignore_index=True)


def _read(path: Path) -> DataFrame:
    if path.suffix == ".parquet":
        return _of_long(path)
    if not isdir(path):
        return read_file(path)
    return read_board(path).rows if isfile(path / FACTS) else _in_order(_of_records(path))


def _in_order(rows: DataFrame) -> DataFrame:
    """Known columns in their order, measures after them."""
    place = {name: k for k, name in enumerate(BY_NAME)}
    return rows[sorted(rows.columns, key=lambda name: place.get(name, place[BEFORE_MEASURES]))]


# -------------------------------------------------------------------- records


def _of_records(folder: Path) -> DataFrame:
    """A row for each run and criterion of a folder of records. Scores are not read."""
    columns = [column.name for column in COLUMNS if column.source and column.name != "scores"]
    rows: list[dict[str, Any]] = []
    for source in sources_in(folder):
        measured = dict.fromkeys(
            f"{part}_{name}"
            for one in source.result.criteria.values()
            for part in one.measures
            for name in one.measured(part)
        )
        rows += rows_of(source, [*columns, *measured])
    if not rows:
        raise RequestError(f"{shortened(str(folder))} holds no finished run; expected a folder of records")
    measures = dict.fromkeys(name for row in rows for name in row if name not in BY_NAME)
    return typed(rows, [*columns, *measures])


def sources_in(
    folder: Path, errors: list[RecordError] | None = None, plans: Sequence[FrozenPlan] | None = None
) -> Iterator[RowSource]:
    """Each record of a folder, with the study that it is of. ``errors`` gets those that cannot be read.

    ``plans``: of the studies, by default all of the folder.
    """
    studies: dict[str, tuple[str, str]] = {}
    for plan in filter(None, map(read_plan, studies_in(folder))) if plans is None else plans:
        studies |= {run.run_id: (plan.name, "" if run.draw is None else str(run.draw)) for run in plan.runs}
    for record in RecordStore(folder).each():  # thousands of records take more memory than their rows
        if isinstance(record, RecordError):
            if errors is not None:
                errors.append(record)
            continue
        result = record.result
        name, draw = studies.get(result.run_id, ("", ""))
        yield RowSource(result, record.folder, result.spec.method.key, study=name, draw=draw)


# -------------------------------------------------------------------- results.parquet

#: Raised when a column changes its meaning or goes.
LONG_VERSION = 1


def long_frame(results: Iterable[Result]) -> DataFrame:
    """A row per run, criterion, part and measure; a criterion without a value has one row that says why."""
    tags = {info.key: "oracle" if info.oracle else "pu" for info in registry().infos(MetricInfo)}
    columns = [name for name in names(LONG) if BY_NAME[name].source]
    rows: list[dict[str, Any]] = []
    for source in map(RowSource, results):
        for row in rows_of(source, columns):
            if source.chosen.undefined:
                rows.append({**row, "undefined": source.chosen.undefined})
            for part in source.chosen.measures:
                for measure, found in source.chosen.measured(part).items():
                    low, high = found.interval or (None, None)
                    of_one = {"part": part, "measure": measure, "tag": tags.get(metric_and_rule(measure)[0], "")}
                    values = {"value": found.value, "low": low, "high": high, "undefined": found.undefined}
                    rows.append({**row, **of_one, **values})
    return typed(rows, names(LONG))


def write_parquet(path: Path, of: Sequence[Record] | None = None) -> Sequence[RecordError]:
    """Writes some records to a ``results.parquet``, or brings that of a folder of records up to date.

    Returns the records that cannot be read. Nothing is done if the file has just these records already. Raises
    RecordError if it cannot be written, or the folder not be read.
    """
    import pyarrow
    import pyarrow.parquet

    unreadable: Sequence[RecordError] = ()
    if of is None:
        try:
            folders = [Path(entry) for entry in os.scandir(path.parent)]
        except OSError as error:
            reason = error.strerror or error
            raise RecordError(f"the folder of records {path.parent} cannot be read: {reason}") from error
        with suppress(OSError, ValueError, pyarrow.ArrowException):  # not there, or not ours: it is written again
            if (pyarrow.parquet.read_schema(path).metadata or {}).get(b"pubench") == _stamp(folders):
                return ()
        of, unreadable = RecordStore(path.parent).all()
    results = sorted((record.result for record in of), key=lambda result: result.run_id)  # whenever made
    table = pyarrow.Table.from_pandas(long_frame(results), preserve_index=False)
    noted = {**(table.schema.metadata or {}), b"pubench": _stamp(record.folder for record in of)}
    stream = io.BytesIO()
    pyarrow.parquet.write_table(table.replace_schema_metadata(noted), stream, compression="zstd")
    try:
        replace_bytes(path, stream.getvalue())
    except OSError as error:
        reason = error.strerror or error
        raise RecordError(f"{path} could not be written: {reason}; the records stay as they are") from error
    return unreadable


def _stamp(folders: Iterable[Path]) -> bytes:
    """What a ``results.parquet`` notes of its records: a hash of their results, the same for a copy of them all."""
    found = []
    for folder in folders:
        with suppress(OSError):  # no record, or nothing derived later
            found.append([folder.name, hashlib.sha256((folder / RESULT).read_bytes()).hexdigest()])
            found[-1].append(hashlib.sha256((folder / MEASURES).read_bytes()).hexdigest())
    return json.dumps({"version": LONG_VERSION, "of": short_hash(sorted(found))}).encode()


def _of_long(path: Path) -> DataFrame:
    """The rows of a ``results.parquet``, with a column for each part and measure."""
    import pandas

    try:
        long = pandas.read_parquet(path)
        key = [name for name in long.columns if name not in {one.name for one in COLUMNS if not one.source}]
        named = long["part"].str.cat(long["measure"], sep="_")
        values = long.assign(column=named).pivot_table(
            "value", ["run_id", "criterion"], "column", aggfunc="first", observed=True
        )
        values.columns = pandas.Index([str(name) for name in values.columns])
    except (OSError, ValueError, KeyError) as error:
        raise RequestError(f"{path} cannot be read as results.parquet: {shortened(str(error))}") from error
    return _in_order(long[key].drop_duplicates(["run_id", "criterion"]).join(values, on=["run_id", "criterion"]))


# -------------------------------------------------------------------- files of rows


def has_rows(path: Path) -> bool:
    """Whether a file that can be read has the columns of a file of rows."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return {*NEEDED} <= {*next(csv.reader(file), [])}
    except (OSError, UnicodeDecodeError, csv.Error):
        return False


def read_file(path: Path) -> DataFrame:
    """A file of rows. Raises RequestError as :func:`read_rows` does."""
    import pandas

    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.reader(file)
            head = next(reader, [])
            if lacking := [name for name in NEEDED if name not in head]:
                raise RequestError(
                    f"{path} is no file of rows: it lacks the column {lacking[0]}; expected a folder of records, or "
                    "what benchmarks/studies/study_rows.py writes"
                )
            # most texts of a file are the same ones: kept once, they take a third of the memory
            lines = [[intern(text) for text in line] for line in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RequestError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    for number, line in enumerate(lines, 2):
        if len(line) != len(head):
            raise RequestError(f"{path}, line {number}: expected {len(head)} columns, found {len(line)}")
    return from_file(pandas.DataFrame(lines, columns=head, dtype="object"), str(path))


def from_file(given: DataFrame, where: str) -> DataFrame:
    """Rows of a file or board of format 1 in the names, units and types of the frame.

    Raises RequestError for the first value that a column cannot have, with its line.
    """
    import pandas

    columns = {name: file_column(name) for name in map(str, given.columns)}
    return _in_order(
        pandas.DataFrame({column.name: _checked(given[name], column, where) for name, column in columns.items()})
    )


def _checked(given: Series[Any], column: RowColumn, where: str) -> Series[Any]:
    """A column of a file as one of the frame."""
    import pandas

    texts = given.astype("string").fillna("")
    values: Series[Any] = texts
    if column.type == "string":
        wrong = ~texts.str.fullmatch(RUN_ID.pattern) if column.name == "run_id" else texts.isna()
        expected = "be sixteen hexadecimal digits"
    elif column.type == "bool":
        wrong, values, expected = ~texts.isin(["True", "False"]), texts == "True", "be True or False"
    else:
        low, high = column.low / column.unit, column.high / column.unit
        values = pandas.to_numeric(texts.where(texts != ""), errors="coerce").astype("float64")
        wrong = ~values.between(max(low, -sys.float_info.max), min(high, sys.float_info.max))
        whole = column.type != "float64" and column.unit == 1
        if whole:
            wrong |= values % 1 != 0
        if column.may_lack:
            wrong &= texts != ""
        bounds = f"from {low:g} to {high:g}" if high < math.inf else f"of {low:g} or more" if low > -math.inf else ""
        expected = f"be a {'whole ' if whole else ''}number {bounds}".strip()
    if wrong.any():
        k = int(wrong.to_numpy(dtype=bool).argmax())
        raise RequestError(
            f"{where}, line {k + 2}: {column.in_file} must {expected}, got {shortened(str(texts.iloc[k]))!r}"
        )
    if column.unit < 1:
        values = values / round(1 / column.unit)  # exact: 86.7 / 100, not 86.7 * .01
    elif column.unit > 1:
        values = values * column.unit
    return values.astype(column.type)


def as_file(frame: DataFrame, form: str = FILE) -> DataFrame:
    """Rows in the names and units of files and boards of format 1, with the columns of that form."""
    found = {}
    for name, kind in types(form).items():
        column = file_column(name)
        if column.name not in frame:
            continue
        values = frame[column.name]
        if column.unit < 1:
            values = (values * round(1 / column.unit)).round(4)
        elif column.unit > 1:
            values = (values / column.unit).round()
        found[name] = values.round(2) if name == "seconds" else values.astype(kind)
    import pandas

    return pandas.DataFrame(found)


def file_rows(frame: DataFrame) -> list[dict[str, str]]:
    """Rows as the texts of a file of rows; what is not there is empty."""
    rows = as_file(frame)
    if "peak_mib" in rows:
        rows = rows.astype({"peak_mib": "Int64"})
    rows = rows.assign(criterion_value=rows["criterion_value"].round(6)) if "criterion_value" in rows else rows
    texts = rows.astype("object").where(rows.notna(), "").map(str)
    return [{str(name): text for name, text in row.items()} for row in texts.to_dict("records")]


# -------------------------------------------------------------------- dated boards


@dataclass(frozen=True)
class Board:
    """A dated board: rows of finished runs that others published. ``pubench-verify`` builds them."""

    folder: Path
    name: str
    facts: Mapping[str, Any]
    """the content of ``board.json``"""
    rows: DataFrame
    """one per run and criterion, as :func:`read_rows` gives them"""

    def __str__(self) -> str:
        return f"{PREFIX}{self.name}"

    @property
    def measures(self) -> list[str]:
        """Measures on test rows that it has."""
        return [str(name).removeprefix("test_") for name in self.rows.columns if str(name).startswith("test_")]


def is_board(given: str) -> bool:
    """Whether a text names a board: ``board@NAME``, or a folder that holds one."""
    return given.startswith(PREFIX) or isfile(Path(given) / FACTS)


def read_board(given: str | Path) -> Board:
    """A board by its folder, or ``board@NAME``: in the folder that ``PUBENCH_BOARDS`` names, else in ``boards``.

    Raises RequestError if there is none, if it is of another format, or if its rows are not those of its checksums.
    """
    import pandas

    folder = _folder(str(given))
    try:
        facts = json.loads(read_small(folder / FACTS))
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
    if missing := [name for name in types(BOARD) if file_column(name).name in BY_NAME and name not in rows.columns]:
        raise RequestError(f"{folder / ROWS} has no column {missing[0]}; expected those of format {FORMAT}")
    return Board(folder, str(facts["name"]), facts, from_file(rows, str(folder / ROWS)))


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
