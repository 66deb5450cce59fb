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
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError

import numpy as np
import numpy.typing as npt
from pubench_archives.archives import one_line, opened

from pubench_core.errors import RequestError, counted, shortened

from . import SUFFIXES
from .cells import NUMBER, Say, is_nested, listed, words_of
from .held import held_at, unreadable

if TYPE_CHECKING:
    from pandas import DataFrame, Series

#: Ends of names of delimited text, without ``.gz``.
DELIMITED = (".csv", ".tsv", ".txt")
#: What a cell of a text or an Excel file holds if it has no value.
NO_VALUE = {
    *("", "?", "NA", "N/A", "n/a", "<NA>", "#N/A", "#N/A N/A", "#NA", "None", "NULL", "null", "nan", "NaN", "-nan"),
    *("-NaN", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"),
}
#: A packed file may take this much memory, or so many times its size; only one made to fill memory takes more.
_USUAL, _TIMES = 2**30, 64
#: Characters of the longest text in a cell.
_LONGEST_TEXT = 2**20
#: From so many columns on, looking at one after the other takes long.
_MANY = 100
#: Kinds of objects -> the type that they would have without gaps, or in a format with fewer types.
_WITHOUT_GAPS: dict[str, Any] = {"boolean": "boolean", "decimal": np.float64}
#: What reading a damaged zip archive raises.
_BAD_ZIP = (zipfile.BadZipFile, zlib.error, LookupError, EOFError, RuntimeError, MemoryError)


def read_table(
    path: Path, texts: Collection[str] = (), say: Say = lambda text: None, *, no_header: bool = False
) -> DataFrame:
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
    frame = _read_file(path, texts, say, no_header) if held is None else _read_parquet(path, held.content)
    frame.columns = [str(column).strip() for column in frame.columns]
    _each_once(path, frame.columns)
    if not len(frame):
        raise RequestError(f"{path} has columns and no rows")
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
    if numbers and path.name.lower().removesuffix(".gz").endswith(DELIMITED) and held_at(path) is None:
        frame = read_table(path, numbers, no_header=no_header)
    return as_texts(frame, names)


def as_texts(frame: DataFrame, names: Sequence[str]) -> dict[str, npt.NDArray[np.object_]]:
    """name -> (n,) texts of columns, empty if a value is missing."""
    return {name: np.where(frame[name].isna(), "", words_of(frame[name])) for name in names}


def _read_file(path: Path, texts: Collection[str], say: Say, no_header: bool) -> DataFrame:
    """``texts`` and ``no_header`` are for formats that do not know their columns: text and Excel."""
    suffix = next((suffix for suffix in SUFFIXES if path.name.lower().endswith(suffix)), None)
    if suffix is None:
        raise RequestError(f"{path}: expected a table that ends in {', '.join(SUFFIXES)}")
    try:
        if path.stat().st_size == 0:
            raise RequestError(f"{path} is empty")
    except OSError as error:
        raise unreadable(path, error) from error
    if suffix.removesuffix(".gz") in DELIMITED:
        return _read_delimited(path, texts, say, no_header)
    if suffix == ".xlsx":
        return _read_excel(path, texts, say, no_header)
    readers = {".parquet": _read_parquet, ".npz": _read_npz, ".arff": _read_arff}
    readers |= dict.fromkeys((".jsonl", ".ndjson"), _read_json_lines)
    readers |= dict.fromkeys((".svmlight", ".libsvm"), _read_svmlight)
    return readers[suffix](path)


@contextmanager
def _reading(path: Path, what: str, *damage: type[Exception]) -> Iterator[None]:
    """A block of what a library does with a file. RequestError if the file cannot be read, or is not ``what``.

    ``damage``: what the library raises then, besides ValueError.
    """
    damages: tuple[type[Exception], ...] = (ValueError, *damage)
    try:
        yield
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeError as error:
        raise RequestError(f"{path} is not UTF-8 text, nor in a known encoding; save it as UTF-8") from error
    except damages as error:
        reason = one_line(error).removeprefix("Error tokenizing data. C error: ")
        raise RequestError(f"{path} is not {what}, or a damaged one ({reason})") from error


def _refuse_bomb(path: Path, size: int, needed: int) -> None:
    """RequestError for a file of ``size`` bytes that unpacks to far more. ``needed``: bytes, or more than those."""
    if needed > max(_USUAL, _TIMES * size):
        raise RequestError(
            f"{path} has {size / 2**20:.1f} MiB and would take {needed / 2**30:.1f} GiB or more in memory; expected at "
            f"most {_TIMES} times its size; save fewer rows, or an uncompressed file"
        )


def _each_once(path: Path, names: Sequence[str]) -> None:
    """RequestError if two columns have one name."""
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise RequestError(f"{path}: column '{twice}' appears twice; rename one")


# -------------------------------------------------------------------- delimited text

#: The usual encoding, with or without a mark, and the one of exports in Western Europe and America.
_UTF_8, _FALLBACK = "utf-8-sig", "cp1252"
#: Characters that no text has.
_CONTROL = {*range(32)} - {*b"\t\n\v\f\r\x1a\x1b"}
_HEAD = 2**16
#: Fields separated by any number of spaces or tabs.
_SPACES = r"\s+"
_WHAT = "a table of delimited text"


def _read_delimited(path: Path, texts: Collection[str], say: Say, no_header: bool) -> DataFrame:
    import pandas as pd
    from packaging.version import Version

    with _reading(path, _WHAT, EOFError, zlib.error, csv.Error):
        content, encoding = _content(path)
        separator = _separator(path, _lines(content, encoding))
        first = next((row for row in _rows(_lines(content, encoding), separator) if "".join(row).strip()), None)
        if first is None:
            raise RequestError(f"{path} is empty")
        names = column_names(path, first, no_header=no_header)
        more: dict[str, Any] = {"header": None if no_header else 0, "names": names, "sep": separator}
        more |= {"skipinitialspace": True, "index_col": False, "na_values": NO_VALUE, "keep_default_na": False}
        if Version(pd.__version__) < Version("3.1"):  # whose default reads numbers to the last bit
            more["float_precision"] = "round_trip"
        kinds = {name: str for name in texts if name in names}
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            try:
                frame = pd.read_csv(io.BytesIO(content), encoding=encoding, dtype=kinds, low_memory=False, **more)
            except pd.errors.ParserWarning as error:  # surplus fields that are not empty
                raise RequestError(f"{path}: rows have more fields than line 1 has names; name every column") from error
    if encoding != _UTF_8:
        look = ", as it is not UTF-8; if letters look wrong, save it in UTF-8" if encoding == _FALLBACK else ""
        say(f"{path.name}: read as {'Windows-1252' if look else encoding.upper()} text{look}")
    decimals = _read_numbers(path, frame, texts, commas=separator != ",")
    if separator != ("," if ".csv" in path.name.lower() else "\t"):
        sign = {"\t": "tabs", _SPACES: "spaces"}.get(separator, f"'{separator}'")
        quoted = listed([f"'{name}'" for name in decimals]) if separator != "," else ""
        say(f"{path.name}: fields are separated by {sign}" + (f"; decimal commas in {quoted}" if quoted else ""))
    if content[-1:] not in b"\r\n\0" and separator != _SPACES and frame.iloc[-1:, -1].isna().any():
        with _reading(path, _WHAT, csv.Error):
            (row,) = deque(_rows(_lines(content, encoding), separator), maxlen=1)
        if len(row) < len(names):
            number = len(content.decode(encoding).splitlines())
            raise RequestError(
                f"{path}, line {number}: expected {len(names)} fields, found {len(row)}, and the file "
                "ends there; it was cut: get it again, or remove its last line"
            )
    return frame


def _content(path: Path) -> tuple[bytes, str]:
    """Content, unpacked, and encoding: UTF-16 if it has the mark of that, else UTF-8, else Windows-1252.

    Raises RequestError for content that fills memory, and UnicodeError if it is no text.
    """
    size = path.stat().st_size
    with opened(path) as file:
        head = file.read(_HEAD)
        marked = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        if not marked and head.count(0) > 1:
            raise UnicodeError
        content = head + file.read(max(_USUAL, _TIMES * size))
    _refuse_bomb(path, size, len(content))
    encoding = "utf-16" if marked else _UTF_8
    try:
        content.decode(encoding)
    except UnicodeDecodeError:
        if marked or _CONTROL & {*head}:
            raise
        encoding = _FALLBACK
    return content, encoding


def _lines(content: bytes, encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(content), encoding, newline="")


def _rows(lines: io.TextIOWrapper, separator: str) -> Iterator[list[str]]:
    """The fields of each row."""
    if separator == _SPACES:
        return (line.split() for line in lines)
    return csv.reader(lines, delimiter=separator, skipinitialspace=True)


def _separator(path: Path, lines: io.TextIOWrapper) -> str:
    """What cuts line 1 into the most fields: ``|`` only if nothing else does, and in ``.txt`` spaces after that."""
    line = next((line.strip("\r\n ") for line in lines if line.strip()), "")
    if not line:
        raise RequestError(f"{path} is empty")
    name, bare = path.name.lower(), re.sub(r'"[^"]*("|$)', "", line)  # what is quoted separates nothing
    for signs in ("\t" if ".tsv" in name else ",;\t", "|"):
        if any(sign in bare for sign in signs):
            return max(signs, key=bare.count)
    if ".txt" in name and len(line.split()) > 1:
        return _SPACES
    raise RequestError(
        f"{path} has a single column; fields are separated by ',' (or ';', '|' or a tab) and named in line 1"
    )


def column_names(path: Path, line: Sequence[Any], *, no_header: bool) -> list[str]:
    """Names in line 1; a field without one gets one. ``no_header``: they are c1, c2, ...

    Raises RequestError if two are the same, or if the line looks like data: numbers with signs, or twice the same.
    """
    if no_header:
        return [f"c{k}" for k in range(1, len(line) + 1)]
    names = ["" if field is None else str(field).strip() for field in line]
    numbers = [name for name in names if NUMBER.fullmatch(name)]
    odd = len(set(numbers)) < len(numbers) or any(not name.isdigit() for name in numbers)
    if 2 * len(numbers) > len(names) and odd:
        raise RequestError(
            f"{path}: line 1 looks like data ({shortened(', '.join(names[:4]))}); expected names of columns; a "
            "file without is read with data.own.no_header",
            field="data.own.no_header",
        )
    names = [name or f"Unnamed: {k}" for k, name in enumerate(names)]
    _each_once(path, names)
    return names


def _read_numbers(path: Path, frame: DataFrame, texts: Collection[str], *, commas: bool) -> list[str]:
    """Strips texts in place, and makes numbers of columns that hold nothing else, except for ``texts``.

    A number may be beyond 64 bits, which pandas 2 leaves as text; have a minus sign or a space of print; or, with
    ``commas``, a decimal comma, as spreadsheets write it in many countries. Returns the columns that are now decimals.

    Raises RequestError for a cell of more than 1 MiB.
    """
    import pandas as pd

    form = r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?" if commas else r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?"
    decimals: list[str] = []
    for name in [name for name, dtype in frame.dtypes.items() if dtype.kind not in "biuf"]:
        if pd.api.types.infer_dtype(frame[name], skipna=True) != "string":
            continue
        frame[name] = frame[name].str.strip()
        if (longest := frame[name].str.len().max()) > _LONGEST_TEXT:
            raise RequestError(
                f"{path}: column '{name}' has a cell of {longest / 2**20:.1f} MiB; expected at most 1 MiB; is a "
                "quote not closed?"
            )
        plain = frame[name].str.replace("\u2212", "-").str.replace(r"[\u00a0\u202f]", "", regex=True)
        given = plain.dropna()
        if name in texts or not given.str.fullmatch(form).all():
            continue
        if given.str.fullmatch(r"[+-]?\d+").all() and given.str.len().max() > 18:
            frame[name] = plain.map(int, na_action="ignore").astype(object)
        else:
            frame[name] = pd.to_numeric(plain.str.replace(",", "."))
            decimals += [name] if frame[name].dtype.kind == "f" else []
    return decimals


# -------------------------------------------------------------------- formats that know their columns

#: Key of a parquet file's notes under which a table in memory lists its columns of a categorical type.
CATEGORICAL = b"categorical"
_ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s+(.+)", re.IGNORECASE)


def _read_parquet(path: Path, content: bytes | None = None) -> DataFrame:
    """``content``: of a table in memory; by default that of the file."""
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    with (
        _reading(path, "a parquet file", ArrowException),
        ParquetFile(path if content is None else io.BytesIO(content)) as file,
    ):
        size = path.stat().st_size if content is None else len(content)
        _refuse_bomb(path, size, 8 * file.metadata.num_rows * file.metadata.num_columns)
        table = file.read()
        notes = table.schema.metadata or {}
        frame: DataFrame = table.replace_schema_metadata(None).to_pandas()
    _each_once(path, list(frame.columns))
    for name in [name for name in _categorical(notes) if name in frame]:  # parquet keeps only texts as such
        frame[name] = frame[name].astype("category")
    kept = [name for name in frame if not name.startswith("__index_level_")]  # row names that had no name
    return _frame(path, {name: _stacked(frame[name]) for name in kept})


def _categorical(notes: dict[bytes, bytes]) -> list[str]:
    """Columns that were of a categorical type; none if the notes of pandas are damaged, which does not matter."""
    try:
        of_pandas = json.loads(notes.get(b"pandas", b"{}"))
        ours = json.loads(notes.get(CATEGORICAL, b"[]"))
    except ValueError:
        return []
    columns = of_pandas.get("columns") if isinstance(of_pandas, dict) else None
    known = [one for one in columns if isinstance(one, dict)] if isinstance(columns, list) else []
    named = [one.get("name") for one in known if one.get("pandas_type") == "categorical"]
    return [str(name) for name in (*(ours if isinstance(ours, list) else ()), *named)]


def _stacked(values: Series[Any]) -> Any:
    """(n, d) if every entry is a list of d numbers."""
    if not is_nested(values) or not all(isinstance(v, np.ndarray) and v.dtype.kind in "iuf" for v in values):
        return values
    return np.stack(list(values)) if len({v.shape for v in values}) == 1 and values[0].ndim == 1 else values


def _read_npz(path: Path) -> DataFrame:
    with (
        _reading(path, "an npz file of plain arrays", *_BAD_ZIP),
        zipfile.ZipFile(path) as parts,
        np.load(path, allow_pickle=False) as stored,
    ):
        _refuse_bomb(path, path.stat().st_size, sum(part.file_size for part in parts.infolist()))
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
    _each_once(path, [name for name, _ in columns])
    return pd.DataFrame(dict(columns))


def _read_json_lines(path: Path) -> DataFrame:
    """An object per line; texts stay texts."""
    import pandas as pd

    # pandas raises the last two for lines that hold no object
    with _reading(path, "json lines (an object per line)", OverflowError, TypeError, AttributeError):
        frame = pd.read_json(path, lines=True, dtype=False, precise_float=True)
        if not all(isinstance(name, str) for name in frame.columns):
            raise ValueError("expected {'name': value, ...} on each line")
    return frame


def _read_svmlight(path: Path) -> DataFrame:
    """Columns ``label`` and ``x_0`` to ``x_d-1``; what a line leaves out is 0."""
    from sklearn.datasets import load_svmlight_file

    with _reading(path, "svmlight (lines such as 1 0:0.5 3:2)", OverflowError, MemoryError):
        x, labels = load_svmlight_file(str(path), dtype=np.float64)
    _refuse_bomb(path, path.stat().st_size, 8 * x.shape[0] * x.shape[1])
    whole = labels.astype(np.int64)
    return _frame(path, {"label": whole if (whole == labels).all() else labels, "x": x.toarray()})


def _read_arff(path: Path) -> DataFrame:
    """Attributes of named values become a categorical type."""
    import pandas as pd

    kinds: dict[str, str] = {}
    with _reading(path, "ARFF"), path.open(encoding="utf-8") as lines:
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


# -------------------------------------------------------------------- Excel

#: A row that is so many rows from the others was not meant.
_FAR = 1000


def _read_excel(path: Path, texts: Collection[str], say: Say, no_header: bool) -> DataFrame:
    """The first sheet; names are in its first row. Rows without any value are left out."""
    import pandas as pd

    if find_spec("openpyxl") is None:
        raise RequestError(
            f"{path}: Excel files are read by openpyxl, which is not installed "
            "(pip install 'pubench-datasets-tables[excel]'); or save the table as CSV"
        )
    # openpyxl raises the last two at XML that has not what it expects
    damage, size = (*_BAD_ZIP, ParseError, OverflowError, TypeError, AttributeError), path.stat().st_size
    with warnings.catch_warnings(), _reading(path, "an Excel file (.xlsx)", *damage):
        warnings.simplefilter("ignore")  # what openpyxl thinks of styles and extensions
        with zipfile.ZipFile(path) as parts:
            _refuse_bomb(path, size, sum(part.file_size for part in parts.infolist()))
            formulas = any(b"<f" in parts.read(name) for name in parts.namelist() if name.startswith("xl/worksheets/"))
        sheets, rows = _cells(path)
        unknown = _without_a_value(path, rows) if formulas else []
    if not rows:
        raise RequestError(f"{path} is empty")
    numbers, width = list(rows), max(map(len, rows.values()))
    if (far := np.diff(numbers)).max(initial=0) > _FAR:
        raise RequestError(f"{path}: row {numbers[far.argmax() + 1]} is far from the rows above it; delete it")
    _refuse_bomb(path, size, 8 * len(rows) * width)
    if len(sheets) > 1:
        say(f"{path.name}: the first of {len(sheets)} sheets is read, '{sheets[0]}'")
    if empty := numbers[-1] - len(rows):
        say(f"{path.name}: {empty} rows without any value are left out, and rows counted without them")
    if unknown:
        say(
            f"{path.name}: {counted(len(unknown), 'formula')} without a stored value, the first in row {unknown[0]}, "
            "are missing values; open the file in a spreadsheet program and save it"
        )
    line, *below = [[*row, *[None] * (width - len(row))] for row in rows.values()]
    names = column_names(path, line, no_header=no_header)
    frame = pd.DataFrame([line, *below] if no_header else below, columns=names, dtype=object)
    frame = frame.where(frame.notna(), np.nan).infer_objects()
    frame = frame.assign(**{name: frame[name].map(str, na_action="ignore") for name in frame if name in texts})
    _read_numbers(path, frame, texts, commas=True)
    return frame


def _cells(path: Path) -> tuple[list[str], dict[int, list[Any]]]:
    """Names of the sheets, and the rows of the first one that hold something, by their number from 1."""
    import openpyxl  # type: ignore[import-untyped]

    rows: dict[int, list[Any]] = {}
    with closing(openpyxl.load_workbook(path, read_only=True, data_only=True)) as book:
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # what a file says of its size may be wrong
        for n, row in enumerate(sheet.iter_rows(values_only=True), 1):
            cells = [None if isinstance(cell, str) and cell.strip() in NO_VALUE else cell for cell in row]
            if given := [k for k, cell in enumerate(cells) if cell is not None]:
                rows[n] = [int(c) if isinstance(c, float) and c.is_integer() else c for c in cells[: given[-1] + 1]]
        return book.sheetnames, rows


def _without_a_value(path: Path, rows: Mapping[int, Sequence[Any]]) -> list[int]:
    """The row, from 1, of each formula of the first sheet that has no value among its cells."""
    import openpyxl

    with closing(openpyxl.load_workbook(path, read_only=True)) as book:  # formulas instead of what they gave
        sheet = book.worksheets[0]
        sheet.reset_dimensions()
        return [
            n
            for n, row in enumerate(sheet.iter_rows(values_only=True), 1)
            for k, cell in enumerate(row)
            if str(cell or "").startswith("=") and (n not in rows or k >= len(rows[n]) or rows[n][k] is None)
        ]
