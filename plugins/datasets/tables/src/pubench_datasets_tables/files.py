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
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError

import numpy as np
import numpy.typing as npt
from pubench_archives.archives import one_line, opened

from pubench_core.data.table_reader import Say
from pubench_core.errors import RequestError, counted, shortened

from . import SUFFIXES
from .cells import NUMBER, listed, words_of
from .held import held_at, unreadable

if TYPE_CHECKING:
    from pandas import DataFrame, Series

#: Ends of names of files whose cells are texts, without ``.gz``.
DELIMITED = (".csv", ".tsv", ".txt")
#: What a cell of a text or an Excel file holds if it has no value.
NO_VALUE = {
    *("", "?", "NA", "N/A", "n/a", "<NA>", "#N/A", "#N/A N/A", "#NA", "None", "NULL", "null", "nan", "NaN", "-nan"),
    *("-NaN", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"),
}
#: A packed file may take this much memory, or so many times its size; only one made to fill memory takes more.
_USUAL, _TIMES = 2**30, 64
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
    become floats, lists of numbers of one length (in parquet) become columns; columns of other lists are left out.
    ``say``: called with a line for each thing that was guessed (encoding, separator, decimal commas, sheet) or left
    out. ``no_header``: columns are called c1, c2, ...

    Raises RequestError naming the file if it is absent, empty, damaged, of another format, or two columns have one
    name.
    """
    import pandas as pd

    held = held_at(path)
    if held is not None and held.rows is not None:
        raise RequestError(f"{path.name} holds sparse rows, which have no columns; give a frame or a dense array")
    name = "held.parquet" if held is not None else path.name.lower()
    suffix = next((suffix.removesuffix(".gz") for suffix in SUFFIXES if name.endswith(suffix)), None)
    if suffix is None:
        raise RequestError(f"{path}: expected a table that ends in {', '.join(SUFFIXES)}")
    with _reading(path, "a file"):
        if held is None and path.stat().st_size == 0:
            raise RequestError(f"{path} is empty")
    if suffix in (".xlsx", *DELIMITED):
        frame = (_read_excel if suffix == ".xlsx" else _read_delimited)(path, texts, say, no_header)
    else:
        readers = {".parquet": _read_parquet, ".npz": _read_npz, ".arff": _read_arff}
        readers |= {".svmlight": _read_svmlight, ".libsvm": _read_svmlight}
        frame = readers.get(suffix, _read_json_lines)(path)
    frame.columns = [str(column).strip() for column in frame.columns]
    if twice := frame.columns[frame.columns.duplicated()].tolist():
        raise RequestError(f"{path}: column '{twice[0]}' appears twice; rename one")
    if not len(frame):
        raise RequestError(f"{path} has columns and no rows")
    for column in [name for name, dtype in frame.dtypes.items() if dtype.kind == "O" and name not in texts]:
        values = frame[column]
        if is_nested(values):
            say(f"{path.name}: '{column}' holds lists of different lengths, or of other things than numbers; left out")
            frame = frame.drop(columns=column)
            continue
        kind = pd.api.types.infer_dtype(values, skipna=True)
        blank = [value for value in values.unique() if isinstance(value, str) and not value.strip()]
        if kind in _WITHOUT_GAPS or blank:
            plain = values.astype(_WITHOUT_GAPS.get(kind, values.dtype))
            frame[column] = plain.mask(values.isin(blank)).infer_objects()
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
    return {name: words_of(frame[name], "") for name in names}


def is_nested(values: Series[Any]) -> bool:
    """Whether entries are lists or mappings, which are no features and cannot be compared."""
    return values.dtype == object and any(isinstance(v, (list, tuple, dict, set, np.ndarray)) for v in values)


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


# -------------------------------------------------------------------- cells without types: delimited text and Excel

#: The usual encoding, with or without a mark, and the one of exports in Western Europe and America.
_UTF_8, _FALLBACK = "utf-8-sig", "cp1252"
#: Characters that no text has.
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x19\x1c-\x1f]")
_HEAD = 2**16
#: Fields separated by any number of spaces or tabs.
_SPACES = r"\s+"


def _read_delimited(path: Path, texts: Collection[str], say: Say, no_header: bool) -> DataFrame:
    import pandas as pd
    from packaging.version import Version

    with _reading(path, "a table of delimited text", EOFError, zlib.error, csv.Error):
        text, encoding = _text_of(path)
        opened_text = partial(io.StringIO, text, newline="")
        line, name = next((line.strip("\r\n ") for line in opened_text() if line.strip()), ""), path.name.lower()
        bare = re.sub(r'"[^"]*("|$)', "", line)  # what is quoted separates nothing
        signs = [sign for sign in ("\t" if ".tsv" in name else ",;\t") if sign in bare] or [*"|"] * ("|" in bare)
        if not signs and not (".txt" in name and len(line.split()) > 1):
            need = "fields are separated by ',' (or ';', '|' or a tab) and named in line 1"
            raise RequestError(f"{path} has a single column; {need}" if line else f"{path} is empty")
        separator = max(signs, key=bare.count, default=_SPACES)
        rows: Iterator[list[str]] = (line.split() for line in opened_text())
        if separator != _SPACES:
            rows = csv.reader(opened_text(), delimiter=separator, skipinitialspace=True)
        names = column_names(path, next((row for row in rows if "".join(row).strip()), []), no_header=no_header)
        more: dict[str, Any] = {"header": None if no_header else 0, "names": range(len(names)), "sep": separator}
        more |= {"skipinitialspace": True, "index_col": False, "na_values": NO_VALUE, "keep_default_na": False}
        if Version(pd.__version__) < Version("3.1"):  # whose default reads numbers to the last bit
            more["float_precision"] = "round_trip"
        kinds = {k: str for k, name in enumerate(names) if name in texts}
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            try:
                frame = pd.read_csv(opened_text(), dtype=kinds, low_memory=False, **more)
            except pd.errors.ParserWarning as error:  # surplus fields that are not empty
                raise RequestError(f"{path}: rows have more fields than line 1 has names; name every column") from error
    if encoding != _UTF_8:
        look = ", as it is not UTF-8; if letters look wrong, save it in UTF-8" if encoding == _FALLBACK else ""
        say(f"{path.name}: read as {'Windows-1252' if look else encoding.upper()} text{look}")
    decimals = _read_numbers(path, frame, names, texts, commas=separator != ",")
    if separator != ("," if ".csv" in name else "\t"):
        sign = {"\t": "tabs", _SPACES: "spaces"}.get(separator, f"'{separator}'")
        quoted = listed([f"'{name}'" for name in decimals]) if separator != "," else ""
        say(f"{path.name}: fields are separated by {sign}" + (f"; decimal commas in {quoted}" if quoted else ""))
    last = text[text.rfind("\n") + 1 :]
    found = last.count(separator) + 1
    if last and last[-1] not in "\r\0" and '"' not in last and found < len(names) and separator != _SPACES:
        raise RequestError(
            f"{path}, line {text.count(chr(10)) + 1}: expected {len(names)} fields, found {found}, and the file ends "
            "there; it was cut: get it again, or remove its last line"
        )
    return frame


def _text_of(path: Path) -> tuple[str, str]:
    """The text in a file, unpacked, and its encoding: UTF-16 if it has the mark of that, else UTF-8, else Windows-1252.

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
        return content.decode(encoding), encoding
    except UnicodeDecodeError:
        if marked or _CONTROL.search(head):
            raise
        return content.decode(_FALLBACK), _FALLBACK


def column_names(path: Path, line: Sequence[Any], *, no_header: bool) -> list[str]:
    """Names in line 1; a field without one gets one. ``no_header``: they are c1, c2, ...

    Raises RequestError if there is none, or if the line looks like data: numbers with signs, or twice the same.
    """
    if not line:
        raise RequestError(f"{path} is empty")
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
    return [name or f"Unnamed: {k}" for k, name in enumerate(names)]


def _read_numbers(
    path: Path, frame: DataFrame, names: Sequence[str], texts: Collection[str], *, commas: bool
) -> list[str]:
    """Names the columns, strips texts, and makes numbers of columns of nothing else, except for ``texts``, in place.

    A number may be beyond 64 bits, which pandas 2 leaves as text; have a minus sign or a space of print; or, with
    ``commas``, a decimal comma, as spreadsheets write it in many countries. Returns the columns that are now decimals.
    """
    import pandas as pd

    decimals: list[str] = []
    for k in [k for k, dtype in enumerate(frame.dtypes) if dtype.kind not in "biuf"]:
        if pd.api.types.infer_dtype(frame[k], skipna=True) != "string":
            continue
        frame[k] = frame[k].str.strip()
        if names[k] in texts:
            continue
        given = pd.Series(frame[k].dropna().unique())
        plain = given.str.replace("\u2212", "-").str.replace(r"[\u00a0\u202f]", "", regex=True)
        numbers = pd.to_numeric(plain.str.replace(",", ".") if commas else plain, errors="coerce")
        if numbers.isna().any():
            continue
        if plain.str.len().max() > 18 and plain.str.fullmatch(r"[+-]?\d+").all():
            numbers = plain.map(int).astype(object)
        frame[k] = frame[k].map(dict(zip(given, numbers, strict=True)))
        decimals += [names[k]] if numbers.dtype.kind == "f" else []
    frame.columns = pd.Index(names)
    return decimals


#: A row of a sheet that is so many rows from the others was not meant, nor a sheet of so many cells.
_FAR, _MOST_CELLS = 1000, 2**31
#: The end of a cell with a formula that no program has computed.
_NO_RESULT = re.compile(rb"</f>(?:<v ?/>|<v></v>)?</c>")


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
            contents = [parts.read(name) for name in parts.namelist() if name.startswith("xl/worksheets/")]
        with pd.ExcelFile(path, engine="openpyxl") as book:
            sheets, first = book.sheet_names, book.book.worksheets[0]
            if (first.max_row or 0) * (first.max_column or 0) > _MOST_CELLS:
                raise RequestError(f"{path}: row {first.max_row} is far from the rows above it; delete it")
            cells = book.parse(0, header=None, dtype=object, na_values=NO_VALUE, keep_default_na=False)
    rows = cells.dropna(how="all")
    if not len(rows):
        raise RequestError(f"{path} is empty")
    if (far := np.diff(rows.index)).max(initial=0) > _FAR:
        raise RequestError(f"{path}: row {rows.index[far.argmax() + 1] + 1} is far from the rows above it; delete it")
    if len(sheets) > 1:
        say(f"{path.name}: the first of {len(sheets)} sheets is read, '{sheets[0]}'")
    if empty := rows.index[-1] + 1 - len(rows):
        say(f"{path.name}: {empty} rows without any value are left out, and rows counted without them")
    if unknown := sum(len(_NO_RESULT.findall(content)) for content in contents):
        remedy = "open the file in a spreadsheet program and save it"
        say(f"{path.name}: {counted(unknown, 'formula')} without a stored value are missing values; {remedy}")
    names = column_names(path, [None if pd.isna(cell) else cell for cell in rows.iloc[0]], no_header=no_header)
    frame = rows.iloc[0 if no_header else 1 :].reset_index(drop=True).infer_objects()
    for k in [k for k, name in enumerate(names) if name in texts]:
        frame[k] = frame[k].map(str, na_action="ignore")
    _read_numbers(path, frame, names, texts, commas=True)
    return frame


# -------------------------------------------------------------------- formats that know their columns

#: Key of a parquet file's notes under which a table in memory lists its columns of a categorical type.
CATEGORICAL = b"categorical"
_ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s+(.+)", re.IGNORECASE)


def _read_parquet(path: Path) -> DataFrame:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    held = held_at(path)
    source = path if held is None else io.BytesIO(held.content)
    with _reading(path, "a parquet file", ArrowException), ParquetFile(source) as file:
        size = path.stat().st_size if held is None else len(held.content)
        _refuse_bomb(path, size, 8 * file.metadata.num_rows * file.metadata.num_columns)
        table = file.read()
        frame: DataFrame = table.replace_schema_metadata(None).to_pandas()
    try:
        notes = {b"pandas": b'{"columns": []}', CATEGORICAL: b"[]", **(table.schema.metadata or {})}
        of_pandas = json.loads(notes[b"pandas"])["columns"]
        categorical = {one["name"] for one in of_pandas if one["pandas_type"] == "categorical"}
        categorical |= {*json.loads(notes[CATEGORICAL])}
    except (ValueError, TypeError, KeyError):  # damaged, which does not matter
        categorical = set()
    columns = list[tuple[str, Any]]()
    for name, values in frame.items():
        if name in categorical:  # parquet keeps only texts as such
            columns.append((name, values.astype("category")))
        elif is_nested(values) and len({np.shape(v) for v in values}) == 1 and np.stack(values).dtype.kind in "iuf":
            columns.append((name, np.stack(values)))  # lists of d numbers each
        elif not name.startswith("__index_level_"):  # row names that had no name
            columns.append((name, values))
    return _frame(columns)


def _frame(arrays: Iterable[tuple[str, Any]]) -> DataFrame:
    """One column per 1-D array, d columns per (n, d) array."""
    import pandas as pd

    columns: list[tuple[str, Any]] = []
    for name, array in arrays:
        of_matrix = [(f"{name}_{k}", array[:, k]) for k in range(array.shape[1])] if array.ndim == 2 else []
        columns += of_matrix or [(name, array)]
    return pd.DataFrame(dict(enumerate(values for _, values in columns))).set_axis([n for n, _ in columns], axis=1)


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
    if len({len(array) for array in arrays.values()}) != 1:
        found = ", ".join(f"{name} {len(array)}" for name, array in arrays.items())
        wrong = f": arrays differ in length ({found}); expected one entry per row each" if arrays else " holds no array"
        raise RequestError(f"{path}{wrong}")
    return _frame(arrays.items())


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
    return _frame([("label", whole if (whole == labels).all() else labels), ("x", x.toarray())])


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
