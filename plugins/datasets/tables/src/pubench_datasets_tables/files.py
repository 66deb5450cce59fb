"""Reading a user's table into a pandas frame: delimited text, parquet, npz, json lines, svmlight, ARFF and Excel.

Every fault is one line. Encoding, separator and decimal commas of delimited text (csv, tsv, txt, packed or not) are
found out.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Collection, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError

import numpy as np
import numpy.typing as npt
from pubench_archives.archives import one_line, opened

from pubench_core.errors import RequestError, counted, shortened

from . import SUFFIXES
from .cells import NO_VALUE, Say, column_names, each_once, is_nested, listed, read_numbers, refuse_bomb
from .encoding import words_of
from .held import held_at, unreadable

if TYPE_CHECKING:
    from pandas import DataFrame, Series

#: From so many columns on, looking at one after the other takes long.
_MANY = 100
#: Kinds of objects -> the type that they would have without gaps, or in a format with fewer types.
_WITHOUT_GAPS: dict[str, Any] = {"boolean": "boolean", "decimal": np.float64}
#: A table of fewer rows and more columns lies on its side.
_FEW_ROWS, _WIDE = 20, 10_000
#: What reading a damaged zip archive of arrays raises.
_BAD_ZIP = (zipfile.BadZipFile, zlib.error, ValueError, LookupError, EOFError, RuntimeError, MemoryError)


def _silent(text: str) -> None:
    """Says nothing."""


def read_table(path: Path, texts: Collection[str] = (), say: Say = _silent, *, no_header: bool = False) -> DataFrame:
    """The table in a file or in memory: one column per field, or per array of an npz (``x`` of shape (n, d) becomes
    x_0 ... x_d-1).

    ``texts``: columns that are read as texts although their cells may be numbers (``007`` stays so). In delimited text
    and in Excel files a ``?`` is a gap as an empty cell is. Booleans with gaps become pandas' ``boolean``, decimals
    become floats, lists of numbers of one length (in parquet) become columns. ``say``: called with a line for each
    thing that was guessed (encoding, separator, decimal commas, sheet). ``no_header``: columns are called c1, c2, ...

    Raises RequestError naming the file if it is absent, empty, damaged, of another format, or two columns have one
    name.
    """
    import pandas as pd

    held = held_at(path)
    if held is not None and held.rows is not None:
        raise RequestError(f"{path.name} holds sparse rows, which have no columns; give a frame or a dense array")
    frame = _read_file(path, texts, say, no_header) if held is None else read_parquet(path, held.content)
    frame.columns = [str(column).strip() for column in frame.columns]
    each_once(path, list(frame.columns))
    if not len(frame):
        raise RequestError(f"{path} has columns and no rows")
    if len(frame) < _FEW_ROWS and len(frame.columns) > _WIDE:
        raise RequestError(
            f"{path} has {len(frame.columns)} columns and {len(frame)} rows; expected a row per case; transpose it"
        )
    for column in [name for name, dtype in frame.dtypes.items() if dtype.kind == "O"]:
        kind = "" if is_nested(frame[column]) else pd.api.types.infer_dtype(frame[column], skipna=True)
        if kind in _WITHOUT_GAPS:
            frame[column] = frame[column].astype(_WITHOUT_GAPS[kind])
    return frame.copy() if len(frame.columns) > _MANY else frame  # a copy has one block of numbers, not one per column


def as_written(
    path: Path, frame: DataFrame, names: Sequence[str], *, no_header: bool = False
) -> dict[str, npt.NDArray[np.object_]]:
    """name -> (n,) texts of columns of ``frame``, which was read from this file: ``007`` if the file says so."""
    numbers = [name for name in names if frame[name].dtype.kind in "iuf"]
    if numbers and held_at(path) is None and path.name.lower().removesuffix(".gz").endswith(DELIMITED):
        again = read_delimited(path, numbers, _silent, no_header=no_header, only=numbers)
        frame = frame.assign(**{name: again[name] for name in numbers})
    return as_texts(frame, names)


def as_texts(frame: DataFrame, names: Sequence[str]) -> dict[str, npt.NDArray[np.object_]]:
    """name -> (n,) texts of columns, empty if a value is missing."""
    return {name: np.where(frame[name].isna(), "", words_of(frame[name])) for name in names}


def _read_file(path: Path, texts: Collection[str], say: Say, no_header: bool) -> DataFrame:
    name = path.name.lower()
    if not name.endswith(SUFFIXES):
        raise RequestError(f"{path}: expected a table that ends in {', '.join(SUFFIXES)}")
    delimited = name.removesuffix(".gz").endswith(DELIMITED)
    read, what, damage = _DELIMITED if delimited else _FORMATS[path.suffix.lower()]
    try:
        if path.stat().st_size == 0:
            raise RequestError(f"{path} is empty")
        if read in (read_delimited, read_excel):
            return read(path, texts, say, no_header=no_header)
        return read(path)
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeError as error:
        raise RequestError(f"{path} is not UTF-8 text, nor in a known encoding; save it as UTF-8") from error
    except damage as error:
        reason = one_line(error).removeprefix("Error tokenizing data. C error: ")
        raise RequestError(f"{path} is not {what}, or a damaged one ({reason})") from error


# -------------------------------------------------------------------- delimited text

#: Ends of names without ``.gz``.
DELIMITED = (".csv", ".tsv", ".txt")
#: The usual encoding, with or without a mark, and the one of exports in Western Europe and America.
_UTF_8, _FALLBACK = "utf-8-sig", "cp1252"
#: First bytes of files that are no text, and what they are.
_NO_TEXT = {
    b"\x1f\x8b": "gzip data",
    b"PK\x03\x04": "a zip archive or an Excel file",
    b"PAR1": "parquet",
    b"%PDF": "PDF",
}
_HEAD = 2**16
#: Fields separated by any number of spaces or tabs.
_SPACES = r"\s+"


def read_delimited(
    path: Path, texts: Collection[str], say: Say, *, no_header: bool = False, only: Sequence[str] | None = None
) -> DataFrame:
    """``only``: the columns that are wanted; by default all."""
    encoding = _encoding(path)
    try:
        frame, separator = _parsed(path, encoding, texts, only, no_header=no_header)
    except UnicodeDecodeError:
        control = {*range(32)} - {*b"\t\n\v\f\r\x1a\x1b"}
        if encoding != _UTF_8 or control & {*_first_bytes(path)}:  # no text has these
            raise
        encoding = _FALLBACK
        frame, separator = _parsed(path, encoding, texts, only, no_header=no_header)
        say(f"{path.name}: read as Windows-1252 text, as it is not UTF-8; if letters look wrong, save it in UTF-8")
    if encoding not in (_UTF_8, _FALLBACK):
        say(f"{path.name}: read as {encoding.upper()} text")
    decimals = read_numbers(path, frame, texts, commas=separator != ",")
    if separator != ("," if ".csv" in path.name.lower() else "\t"):
        sign = {"\t": "tabs", _SPACES: "spaces"}.get(separator, f"'{separator}'")
        names = listed([f"'{name}'" for name in decimals]) if separator != "," else ""
        say(f"{path.name}: fields are separated by {sign}" + (f"; decimal commas in {names}" if names else ""))
    if only is None and separator != _SPACES and frame.iloc[:, -1].isna().any():
        _look_at_short_lines(path, encoding, separator, len(frame.columns), say)
    return frame


def _look_at_short_lines(path: Path, encoding: str, separator: str, width: int, say: Say) -> None:
    """Says which lines have too few fields. Raises RequestError if the file ends in the middle of one."""
    with io.TextIOWrapper(opened(path), encoding, newline="") as lines:
        rows = csv.reader(lines, delimiter=separator, skipinitialspace=True)
        try:
            found = [(rows.line_num, len(row)) for row in rows if row]
        except csv.Error:  # a field of more than 128 KiB
            return
    short = [(line, count) for line, count in found if count < width]
    if not short:
        return
    with opened(path) as content:
        *_, end = iter(lambda: content.read(_HEAD), b"")
    if short[-1] == found[-1] and end[-1:] not in b"\r\n\0":
        raise RequestError(
            f"{path}, line {short[-1][0]}: expected {width} fields, found {short[-1][1]}, and the file ends there; it "
            "was cut: get it again, or remove its last line"
        )
    what = "line has" if len(short) == 1 else "lines have"
    say(
        f"{path.name}: {len(short)} {what} fewer fields than line 1 has names, the first is line {short[0][0]}; what "
        "is not there counts as empty"
    )


def _parsed(
    path: Path, encoding: str, texts: Collection[str], only: Sequence[str] | None, *, no_header: bool
) -> tuple[DataFrame, str]:
    """The columns, and the separator."""
    import pandas as pd
    from packaging.version import Version

    separator, line = _first_line(path, encoding)
    names = column_names(path, line, no_header=no_header)
    kinds = {name: str for name in texts if name in names}
    more: dict[str, Any] = {"header": None if no_header else 0, "names": names, "index_col": False, "dtype": kinds}
    more |= {"sep": separator, "encoding": encoding, "skipinitialspace": True, "na_values": list(NO_VALUE)}
    if Version(pd.__version__) < Version("3.1"):  # whose default reads numbers to the last bit
        more["float_precision"] = "round_trip"
    with warnings.catch_warnings(), opened(path) as content:
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            return pd.read_csv(content, usecols=only, low_memory=False, **more), separator
        except pd.errors.ParserWarning as error:  # surplus fields that are not empty
            raise RequestError(f"{path}: rows have more fields than line 1 has names; name every column") from error


def _encoding(path: Path) -> str:
    """UTF-8, or UTF-16 if the first bytes say so. Raises RequestError for what is no text, or fills memory."""
    if path.suffix.lower() == ".gz":
        with opened(path) as content:
            total = 0
            while part := content.read(_HEAD):
                refuse_bomb(path, path.stat().st_size, total := total + len(part))
    head = _first_bytes(path)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for magic, what in _NO_TEXT.items():
        if head.startswith(magic):
            raise RequestError(f"{path} is {what}, not text; rename it so that its ending says so")
    zeros = [head[k::2].count(0) / max(len(head[k::2]), 1) for k in (0, 1)]
    if max(zeros) > 0.4 and min(zeros) < 0.1:  # UTF-16 without a mark: every other byte of plain letters is 0
        return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    if head.count(0) > 1:
        raise RequestError(f"{path} has zero bytes, which no text has; expected names of columns in line 1")
    return _UTF_8


def _first_bytes(path: Path) -> bytes:
    with opened(path) as file:
        return bytes(file.read(_HEAD))


def _first_line(path: Path, encoding: str) -> tuple[str, list[str]]:
    """The separator that cuts line 1 into the most fields, and these.

    ``|`` separates only if nothing else does, and in ``.txt`` spaces after that.
    """
    name = path.name.lower()
    separators = ["\t"] if ".tsv" in name else [",", ";", "\t"]
    first = {s: _fields(path, encoding, s) for s in separators}
    for rest in ["|"] * (".tsv" not in name) + [_SPACES] * (".txt" in name):
        if max(map(len, first.values())) == 1:
            first |= {rest: _fields(path, encoding, rest)}
    separator = max(first, key=lambda s: len(first[s]))
    if len(first[separator]) == 1:
        known = "a tab" if separators == ["\t"] else "',' (or ';', '|' or a tab)"
        raise RequestError(f"{path} has a single column; fields are separated by {known} and named in line 1")
    return separator, first[separator]


def _fields(path: Path, encoding: str, separator: str) -> list[str]:
    """Fields of the first line that is not blank."""
    with io.TextIOWrapper(opened(path), encoding, errors="replace", newline="") as lines:
        if separator == _SPACES:
            return next((line.split() for line in lines if line.strip()), [])
        try:
            for row in csv.reader(lines, delimiter=separator, skipinitialspace=True):
                if any(field.strip() for field in row):
                    return row
        except csv.Error:  # a long line without this separator is one long field
            return [""]
    raise RequestError(f"{path} is empty")


# -------------------------------------------------------------------- formats that know their columns

#: Key of a parquet file's notes under which a table in memory lists its columns of a categorical type.
CATEGORICAL = b"categorical"
#: In an Excel sheet, a cell that is so many rows or columns from the rest was not meant.
_FAR = 1000
_ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s+(.+)", re.IGNORECASE)


def read_parquet(path: Path, content: bytes | None = None) -> DataFrame:
    """``content``: of a table in memory; by default that of the file."""
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path if content is None else io.BytesIO(content)) as file:
            size = path.stat().st_size if content is None else len(content)
            refuse_bomb(path, size, 8 * file.metadata.num_rows * file.metadata.num_columns)
            table = file.read()
        notes = table.schema.metadata or {}
        frame: DataFrame = table.replace_schema_metadata(None).to_pandas()
    except (ArrowException, UnicodeDecodeError) as error:
        raise ValueError(one_line(error)) from error
    each_once(path, list(frame.columns))
    for name in [name for name in _categorical(notes) if name in frame]:
        frame[name] = frame[name].astype("category")
    kept = [name for name in frame if not name.startswith("__index_level_")]  # row names that had no name
    return _frame(path, {name: _stacked(frame[name]) for name in kept})


def _categorical(notes: dict[bytes, bytes]) -> list[str]:
    """Columns that were of a categorical type, of which parquet keeps only texts as such."""
    try:
        of_pandas = json.loads(notes.get(b"pandas", b"{}")).get("columns", [])
        ours = json.loads(notes.get(CATEGORICAL, b"[]"))
        return [*map(str, ours), *(str(one["name"]) for one in of_pandas if one.get("pandas_type") == "categorical")]
    except (ValueError, AttributeError, TypeError):  # damaged notes do not matter
        return []


def _stacked(values: Series[Any]) -> Any:
    """(n, d) if every entry is a list of d numbers."""
    if not is_nested(values) or not all(isinstance(v, np.ndarray) and v.dtype.kind in "iuf" for v in values):
        return values
    return np.stack(list(values)) if len({v.shape for v in values}) == 1 and values[0].ndim == 1 else values


def read_npz(path: Path) -> DataFrame:
    with zipfile.ZipFile(path) as parts, np.load(path, allow_pickle=False) as stored:
        refuse_bomb(path, path.stat().st_size, sum(part.file_size for part in parts.infolist()))
        arrays = {name: stored[name] for name in stored.files}
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "biufUMm":
            kind = str(array.dtype) if isinstance(array, np.ndarray) else "no array"
            raise RequestError(f"{path}: '{name}' is {kind}; expected arrays of numbers, truth values or texts")
        if array.ndim not in (1, 2):
            raise RequestError(f"{path}: array '{name}' has shape {array.shape}; expected (n,) or (n, d)")
        arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
    if len({len(array) for array in arrays.values()}) > 1:
        listed = ", ".join(f"{name} {len(array)}" for name, array in arrays.items())
        raise RequestError(f"{path}: arrays differ in length ({listed}); expected one entry per row each")
    if not arrays:
        raise RequestError(f"{path} holds no array")
    return _frame(path, arrays)


def _frame(path: Path, arrays: dict[str, Any]) -> DataFrame:
    """One column per 1-D array, d columns per (n, d) array."""
    import pandas as pd

    columns: list[tuple[str, Any]] = []
    for name, array in arrays.items():
        of_matrix = [(f"{name}_{k}", array[:, k]) for k in range(array.shape[1])] if array.ndim == 2 else []
        columns += of_matrix or [(name, array)]
    each_once(path, [name for name, _ in columns])
    return pd.DataFrame(dict(columns))


def read_json_lines(path: Path) -> DataFrame:
    """An object per line; texts stay texts."""
    import pandas as pd

    frame = pd.read_json(path, lines=True, dtype=False, precise_float=True)
    if not all(isinstance(name, str) for name in frame.columns):
        raise ValueError("expected {'name': value, ...} on each line")
    return frame


def read_svmlight(path: Path) -> DataFrame:
    """Columns ``label`` and ``x_0`` to ``x_d-1``; what a line leaves out is 0."""
    from sklearn.datasets import load_svmlight_file

    x, labels = load_svmlight_file(str(path), dtype=np.float64)
    refuse_bomb(path, path.stat().st_size, 8 * x.shape[0] * x.shape[1])
    whole = labels.astype(np.int64)
    return _frame(path, {"label": whole if (whole == labels).all() else labels, "x": x.toarray()})


def read_arff(path: Path) -> DataFrame:
    """Attributes of named values become a categorical type."""
    import pandas as pd

    kinds: dict[str, str] = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if found := _ATTRIBUTE.match(line.strip()):
                kinds[found[1].strip("'\"")] = found[2].strip()
            elif line.strip().lower() == "@data":
                break
        options: dict[str, Any] = {"header": None, "names": list(kinds), "index_col": False, "quotechar": "'"}
        options |= {"escapechar": "\\", "comment": "%", "skipinitialspace": True, "na_values": ["?"]}
        frame: DataFrame = pd.read_csv(lines, **options)
    if frame.iloc[:1, 0].astype(str).str.startswith("{").any():
        raise RequestError(f"{path} is sparse ARFF, which is not read; save it as csv or svmlight")
    return frame.astype({name: "category" for name, kind in kinds.items() if kind.startswith("{")})


def read_excel(path: Path, texts: Collection[str], say: Say, *, no_header: bool = False) -> DataFrame:
    """The first sheet; names are in its first row. Rows without any value are left out."""
    import pandas as pd

    if find_spec("openpyxl") is None:
        raise RequestError(
            f"{path}: Excel files are read by openpyxl, which is not installed "
            "(pip install 'pubench-datasets-tables[excel]'); or save the table as CSV"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what openpyxl thinks of styles and extensions
        rows = _rows_of_sheet(path, say)
    if not rows:
        raise RequestError(f"{path} is empty")
    width = max(map(len, rows))
    rows = [row + [None] * (width - len(row)) for row in rows]
    names = column_names(path, rows[0], no_header=no_header)
    cells = rows if no_header else rows[1:]
    frame = pd.DataFrame({name: pd.Series([row[k] for row in cells]) for k, name in enumerate(names)})
    as_texts = {name: frame[name].map(str, na_action="ignore") for name in names if name in texts}
    frame = frame.assign(**as_texts)
    read_numbers(path, frame, texts, commas=True)
    return frame


def _rows_of_sheet(path: Path, say: Say) -> list[list[Any]]:
    """Cells of the rows that have a value, of texts without the spaces around them; a blank text is a gap."""
    import openpyxl  # type: ignore[import-untyped]
    from openpyxl.utils import get_column_letter  # type: ignore[import-untyped]
    from pandas._libs.parsers import STR_NA_VALUES

    content = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        refuse_bomb(path, len(content), sum(part.file_size for part in parts.infolist()))
        formulas = any(b"<f" in parts.read(name) for name in parts.namelist() if name.startswith("xl/worksheets/"))
    books = [
        openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=values, keep_links=False)
        for values in ([True, False] if formulas else [True])
    ]
    sheets = [book.worksheets[0] for book in books]
    for sheet in sheets:
        sheet.reset_dimensions()  # what a file says of its size may be wrong
    absent = {*NO_VALUE, *STR_NA_VALUES}
    rows: list[list[Any]] = []
    empty, unknown, last = 0, [], 0
    lines = zip(*(sheet.iter_rows(values_only=True) for sheet in sheets), strict=False)
    for number, (given, *formula) in enumerate(lines, 1):
        pairs = zip(given, formula[0], strict=False) if formula else ()
        unknown += [number for value, cell in pairs if value is None and cell is not None]
        row = [cell.strip() if isinstance(cell, str) else cell for cell in given]
        row = [None if isinstance(cell, str) and cell in absent else cell for cell in row]
        while row and row[-1] is None:
            row.pop()
        if not row:
            continue
        if rows and (number - last > _FAR or len(row) - len(rows[0]) > _FAR):
            raise RequestError(
                f"{path}: cell {get_column_letter(len(row))}{number} ({shortened(str(row[-1]))}) is far from the table "
                f"of {counted(len(rows[0]), 'column')} and {counted(len(rows), 'row')}; delete it"
            )
        empty, last = empty + number - last - 1, number
        rows.append(row)
    if len(books[0].sheetnames) > 1:
        say(f"{path.name}: the first of {len(books[0].sheetnames)} sheets is read, '{sheets[0].title}'")
    if empty:
        say(f"{path.name}: {empty} rows without any value are left out, and rows counted without them")
    if unknown:
        say(
            f"{path.name}: {counted(len(unknown), 'formula')} without a stored value, the first in row {unknown[0]}, "
            "count as empty; open the file in Excel and save it"
        )
    return rows


#: What reads a format, what a file of it is, and what reading raises where it is none or damaged.
_Format = tuple[Callable[..., "DataFrame"], str, tuple[type[Exception], ...]]
_DELIMITED: _Format = read_delimited, "a table of delimited text", (ValueError, csv.Error, EOFError, zlib.error)
_EXCEL: _Format = (
    read_excel,
    "an Excel file (.xlsx)",
    (*_BAD_ZIP, ParseError, OverflowError, TypeError, AttributeError),
)
_JSON_LINES: _Format = (
    read_json_lines,
    "json lines (an object per line)",
    (ValueError, OverflowError, TypeError, AttributeError),
)
_SVMLIGHT: _Format = (
    read_svmlight,
    "svmlight (lines such as 1 0:0.5 3:2)",
    (ValueError, OverflowError, MemoryError),
)
#: By the end of a name; delimited text has several.
_FORMATS: dict[str, _Format] = {
    ".parquet": (read_parquet, "a parquet file", (ValueError,)),
    ".npz": (read_npz, "an npz file of plain arrays", _BAD_ZIP),
    ".xlsx": _EXCEL,
    ".jsonl": _JSON_LINES,
    ".ndjson": _JSON_LINES,
    ".svmlight": _SVMLIGHT,
    ".libsvm": _SVMLIGHT,
    ".arff": (read_arff, "ARFF", (ValueError,)),
}
