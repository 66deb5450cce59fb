"""Reading a user's table (csv, tsv, xlsx, parquet, npz) into a pandas frame, every fault in one line."""

from __future__ import annotations

import codecs
import gzip
import io
import warnings
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import RequestError
from . import copies
from .archives import opened
from .held import held_at

if TYPE_CHECKING:
    from pandas import DataFrame, Series
    from pyarrow import Table
    from pyarrow.parquet import ParquetFile

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".xlsx", ".parquet", ".npz")
Say = Callable[[str], None]


#: The most bytes that a packed table (``.csv.gz``, npz, parquet) may take unpacked: a few kilobytes can unpack to any
#: number. Twenty million rows of twenty numbers have fewer.
TABLE_BYTES = 2**32
#: The same of the parts of an Excel file: a sheet of a million rows of twenty numbers.
EXCEL_BYTES = 2**30
#: Rows of parquet that are unpacked at a time, and then counted.
_ROWS = 1024


def _too_large(path: Path, limit: int, way_out: str = "leave out rows or columns") -> RequestError:
    return RequestError(f"{path} takes more than {limit:,} bytes unpacked, which is the most that is read; {way_out}")


def _silent(text: str) -> None:
    """Where nobody wants to know how a file was read."""


def is_table_path(text: str) -> bool:
    """Whether a text that names data means a file: the key of a data set has no such character."""
    return any(character in text for character in "./\\")


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, or of a table in memory. Raises RequestError if it cannot be read."""
    if (held := held_at(path)) is not None:
        return held.sha256
    try:
        return copies.sha256_of(path)
    except OSError as error:
        raise RequestError(f"cannot read {path}: {error.strerror or error}") from error


def read_table(path: Path, texts: Collection[str] = (), say: Say = _silent) -> DataFrame:
    """The table in a file or in memory: one column per field, or per array of an npz (``x`` of shape (n, d) becomes
    x_0 ... x_d-1).

    ``texts``: columns that are read as texts although their cells may be numbers (``007`` stays so). In delimited text
    and in Excel files a ``?`` is a gap as an empty cell is. Booleans with gaps become pandas' ``boolean``, decimals
    become floats, lists of numbers of one length (in parquet) become columns. ``say``: called with a line for each
    thing that was guessed (encoding, separator, decimal commas, sheet).

    Raises RequestError naming the file if it is absent, empty, damaged, of another format, or two columns have one
    name.
    """
    held = held_at(path)
    frame = _read_file(path, texts, say) if held is None else _parquet(path, io.BytesIO(held.content))
    frame.columns = [str(column).strip() for column in frame.columns]
    _each_once(path, frame.columns)
    if not len(frame):
        raise RequestError(f"{path} has columns and no rows")
    for column in [name for name, dtype in frame.dtypes.items() if dtype.kind == "O"]:
        frame[column] = _plain(frame[column])
    return frame.copy() if len(frame.columns) > _MANY else frame  # a copy has one block of numbers, not one per column


def as_written(path: Path, frame: DataFrame, names: Sequence[str]) -> dict[str, npt.NDArray[np.object_]]:
    """name -> (n,) texts of columns of ``frame``, which was read from this file: ``007`` where the file says so."""
    numbers = [name for name in names if frame[name].dtype.kind in "iu"]
    if numbers and _is_delimited(path) and held_at(path) is None:
        again = _delimited(path, numbers, _silent, only=numbers)
        frame = frame.assign(**{name: again[name] for name in numbers})
    found = {name: frame[name].astype(object) for name in names}
    return {name: values.where(values.notna(), "").map(str).to_numpy(dtype=object) for name, values in found.items()}


def _is_delimited(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith((".csv", ".tsv"))


def _read_file(path: Path, texts: Collection[str], say: Say) -> DataFrame:
    name = path.name.lower()
    if not name.endswith(SUFFIXES):
        raise RequestError(f"{path}: a table is a file ending in {', '.join(SUFFIXES)}")
    try:
        if path.stat().st_size == 0:
            raise RequestError(f"{path} is empty")
        if name.endswith(".parquet"):
            return _parquet(path, path)
        if name.endswith(".npz"):
            return _npz(path)
        if name.endswith(".xlsx"):
            return _excel(path, texts, say)
        return _delimited(path, texts, say)
    except OSError as error:
        raise RequestError(f"cannot read {path}: {error.strerror or error}") from error


def is_nested(values: Series[Any]) -> bool:
    """Whether entries are lists or mappings, which are no features and cannot be compared."""
    return values.dtype == object and any(isinstance(v, (list, tuple, dict, set, np.ndarray)) for v in values)


def _reason(error: Exception) -> str:
    """The first line of an error's message; its class where it has none."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def _each_once(path: Path, names: Sequence[str]) -> None:
    """RequestError if two columns have one name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise RequestError(f"{path}: column '{name}' is there twice; rename one")
        seen.add(name)


def _plain(values: Series[Any]) -> Series[Any]:
    """The same values in the dtype they would have without gaps and in a format with fewer types."""
    import pandas as pd

    if values.dtype != object or is_nested(values):
        return values
    match pd.api.types.infer_dtype(values, skipna=True):
        case "boolean":
            return values.astype("boolean")
        case "decimal":
            return values.astype(np.float64)
    return values


# -------------------------------------------------------------------- delimited text


@dataclass(frozen=True)
class _Dialect:
    """How a delimited text is written. ``names``: of its columns."""

    separator: str
    encoding: str
    names: list[str]

    def said(self, path: Path, commas: Sequence[str]) -> Iterator[str]:
        """What was guessed and is not the usual; ``commas``: columns with decimal commas."""
        if self.encoding == _FALLBACK:
            yield f"{path.name}: read as Windows-1252 text, as it is not UTF-8; if letters look wrong, save it in UTF-8"
        elif self.encoding != "utf-8":
            yield f"{path.name}: read as {self.encoding.upper()} text"
        usual = "\t" if ".tsv" in path.name.lower() else ","
        if self.separator != usual:
            sign = "tabs" if self.separator == "\t" else f"'{self.separator}'"
            listed = ", ".join(f"'{name}'" for name in commas[:8])
            more = f" and {len(commas) - 8} more" if len(commas) > 8 else ""
            yield f"{path.name}: fields are separated by {sign}" + (
                f"; decimal commas in {listed}{more}" if commas else ""
            )


#: What text is read as that is not UTF-8: the usual encoding of exports in Western Europe and America.
_FALLBACK = "cp1252"
#: First bytes of files that are no text, and what they are.
_NO_TEXT = {
    b"\x1f\x8b": "gzip data",
    b"PK\x03\x04": "a zip archive or an Excel file",
    b"PAR1": "parquet",
    b"%PDF": "PDF",
}
_HEAD = 2**16
#: From so many columns on, looking at one after the other takes long.
_MANY = 100


def _delimited(path: Path, texts: Collection[str], say: Say, only: Sequence[str] | None = None) -> DataFrame:
    """``only``: the columns that are wanted; by default all."""
    import pandas as pd

    with _faults_of_text(path):
        encoding = _encoding(path)
        try:
            frame, dialect = _parsed(path, encoding, texts, only)
        except UnicodeDecodeError:
            if encoding != "utf-8" or _is_binary(path):
                raise
            frame, dialect = _parsed(path, _FALLBACK, texts, only)
    commas = []
    for name in [name for name, dtype in frame.dtypes.items() if dtype.kind not in "biuf"]:
        if pd.api.types.infer_dtype(frame[name], skipna=True) == "string":
            frame[name] = frame[name].str.strip()
            if name not in texts:
                frame[name] = _numbers_in_text(frame[name], commas=dialect.separator != ",")
                if frame[name].dtype.kind == "f":
                    commas.append(name)
    for line in dialect.said(path, commas):
        say(line)
    return frame


def _parsed(
    path: Path, encoding: str, texts: Collection[str], only: Sequence[str] | None
) -> tuple[DataFrame, _Dialect]:
    import pandas as pd

    dialect = _dialect(path, encoding)
    more: dict[str, Any] = {} if only is None else {"usecols": list(only)}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        kinds = {name: str for name in texts if name in dialect.names}
        options = {"header": 0, "names": dialect.names, "index_col": False, "dtype": kinds, "low_memory": False, **more}
        return _read_csv(path, dialect.separator, encoding, **options), dialect


def _encoding(path: Path) -> str:
    """``utf-8``, or UTF-16 where the first bytes say so. Raises RequestError for what is no text."""
    head = _first_bytes(path)
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for magic, what in _NO_TEXT.items():
        if head.startswith(magic):
            raise RequestError(f"{path} is not UTF-8 text but {what}; give it the ending of what it is")
    zeros = [head[k::2].count(0) / max(len(head[k::2]), 1) for k in (0, 1)]
    if max(zeros) > 0.4 and min(zeros) < 0.1:  # UTF-16 without a mark: every other byte of plain letters is 0
        return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    return "utf-8"


def _first_bytes(path: Path) -> bytes:
    with gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb") as file:
        return bytes(file.read(_HEAD))


def _is_binary(path: Path) -> bool:
    """Whether there are control characters that no text has."""
    return any(byte < 32 and byte not in b"\t\n\v\f\r\x1a\x1b" for byte in _first_bytes(path))


def _dialect(path: Path, encoding: str) -> _Dialect:
    """The separator that cuts line 1 into the most fields, and the names in it; a field without one gets one.

    ``|`` separates only where nothing else does.
    """
    separators = ["\t"] if ".tsv" in path.name.lower() else [",", ";", "\t"]
    head = _first_bytes(path).decode(encoding, "replace")
    first = _fields(path, encoding, [s for s in separators if s in head] or separators)
    if max(map(len, first.values())) == 1 and separators != ["\t"]:
        first |= _fields(path, encoding, ["|"])
    separator = max(first, key=lambda s: len(first[s]))
    names = [name.strip() or f"Unnamed: {k}" for k, name in enumerate(first[separator])]
    if len(names) == 1:
        known = "a tab" if separators == ["\t"] else "',' (or ';', '|' or a tab)"
        raise RequestError(f"{path} has a single column; fields are separated by {known} and named in line 1")
    _each_once(path, names)
    return _Dialect(separator, encoding, names)


def _fields(path: Path, encoding: str, separators: Sequence[str]) -> dict[str, list[str]]:
    """separator -> fields of line 1."""
    options = {"header": None, "nrows": 1, "dtype": str, "keep_default_na": False}
    return {s: [str(f) for f in _read_csv(path, s, encoding, **options).iloc[0]] for s in separators}


def _read_csv(path: Path, separator: str, encoding: str, **more: Any) -> DataFrame:
    import pandas as pd
    from packaging.version import Version

    if Version(pd.__version__) < Version("3.1"):  # whose default reads numbers to the last bit
        more["float_precision"] = "round_trip"
    more |= {"sep": separator, "encoding": encoding, "skipinitialspace": True, "na_values": ["?"]}
    if not path.name.lower().endswith(".gz"):
        return pd.read_csv(path, **more)
    with opened(path, TABLE_BYTES, lambda: _too_large(path, TABLE_BYTES, "unpack it yourself")) as content:
        return pd.read_csv(content, **more)


@contextmanager
def _faults_of_text(path: Path) -> Iterator[None]:
    """A block that reads delimited text: what is wrong with it becomes one line that names the file."""
    import pandas as pd

    try:
        yield
    except UnicodeError as error:
        raise RequestError(f"{path} is not UTF-8 text, nor of an encoding that is known; save it in UTF-8") from error
    except pd.errors.EmptyDataError as error:
        raise RequestError(f"{path} is empty") from error
    except pd.errors.ParserWarning as error:  # surplus fields that are not empty
        raise RequestError(f"{path}: rows have more fields than line 1 has names; name every column") from error
    except pd.errors.ParserError as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise RequestError(f"{path} is not a table: {reason}") from error
    except (EOFError, zlib.error) as error:
        raise RequestError(f"{path} is damaged ({error}); get it again") from error


def _numbers_in_text(values: Series[Any], *, commas: bool) -> Series[Any]:
    """Numbers, where every text is one: a whole number beyond 64 bits, which pandas 2 leaves as text; with ``commas``,
    one with a decimal comma, as spreadsheets write them in much of the world.
    """
    import pandas as pd

    said = values.dropna().str
    if said.fullmatch(r"[+-]?\d+").all() and said.len().max() > 18:
        return values.map(int, na_action="ignore").astype(object)
    if not commas or not said.fullmatch(r"[+-]?\d+(,\d+)?([eE][+-]?\d+)?").all():
        return values
    return pd.to_numeric(values.str.replace(",", "."))


# -------------------------------------------------------------------- Excel


def _excel(path: Path, texts: Collection[str], say: Say) -> DataFrame:
    """The first sheet; names are in its first row. Rows without any value are left out."""
    import pandas as pd

    cells = _first_sheet(path, say)
    if cells.empty:
        raise RequestError(f"{path} is empty")
    empty = cells.isna().all(axis=1)
    if empty.any():
        say(f"{path.name}: {int(empty.sum())} rows without any value are left out, and rows counted without them")
    header, *rows = cells[~empty].to_numpy(dtype=object).tolist()
    names = [f"Unnamed: {k}" if pd.isna(name) else str(name).strip() for k, name in enumerate(header)]
    _each_once(path, names)
    columns = {name: pd.Series([row[k] for row in rows]) for k, name in enumerate(names)}
    frame = pd.DataFrame(columns)
    for name in names:
        given = frame[name].dropna()
        if name in texts:
            frame[name] = frame[name].map(str, na_action="ignore")
        elif pd.api.types.infer_dtype(given) == "string":
            frame[name] = _numbers_in_text(frame[name], commas=True)
    return frame


def _first_sheet(path: Path, say: Say) -> DataFrame:
    """The cells as they are, of texts without the spaces around them; a blank text is a gap."""
    import pandas as pd

    if find_spec("openpyxl") is None:
        raise RequestError(
            f"{path}: Excel files are read by openpyxl, which is not installed (pip install 'pubench-core[excel]'); or "
            "save the table as CSV"
        )
    from xml.etree.ElementTree import ParseError

    try:
        with zipfile.ZipFile(path) as parts:
            if sum(part.file_size for part in parts.infolist()) > EXCEL_BYTES:
                raise _too_large(path, EXCEL_BYTES, "save the table as CSV")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what openpyxl thinks of styles and extensions
            with pd.ExcelFile(path, engine="openpyxl") as book:
                sheet, *others = book.sheet_names
                cells = book.parse(sheet, header=None, dtype=object, na_values=["?"])
    except zipfile.BadZipFile as error:
        raise RequestError(f"{path} is not an Excel file (.xlsx), or a damaged one ({_reason(error)})") from error
    except (ValueError, LookupError, TypeError, AttributeError, EOFError, NotImplementedError) as error:
        raise RequestError(f"{path} is a damaged Excel file ({_reason(error)})") from error
    except (ParseError, zlib.error) as error:
        raise RequestError(f"{path} is a damaged Excel file ({_reason(error)})") from error
    if others:
        say(f"{path.name}: the first of {len(others) + 1} sheets is read, '{sheet}'")
    cells = cells.map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
    return cells.mask(cells == "")


# -------------------------------------------------------------------- parquet and npz


def _parquet(path: Path, stored: Path | io.BytesIO) -> DataFrame:
    """``path``: its name, for messages."""
    import pandas as pd
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(stored) as file:
            frame = _bounded(path, file).replace_schema_metadata(None).to_pandas()  # pandas' notes add nothing
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise RequestError(f"{path} is not a parquet file, or a damaged one ({_reason(error)})") from error
    _each_once(path, frame.columns)
    kept = [name for name in frame if not name.startswith("__index_level_")]  # row names that had no name
    return pd.DataFrame(_columns(path, {name: _stacked(frame[name]) for name in kept}))


def _bounded(path: Path, file: ParquetFile) -> Table:
    """The table in a parquet file, a few rows after the other: what it says of its size may not be so."""
    import pyarrow as pa

    facts = file.metadata
    said = sum(facts.row_group(k).total_byte_size for k in range(facts.num_row_groups))
    if max(said, facts.num_rows) > TABLE_BYTES:
        raise _too_large(path, TABLE_BYTES)
    batches, taken = [], 0
    for batch in file.iter_batches(batch_size=_ROWS):
        batches.append(batch)
        if (taken := taken + batch.nbytes) > TABLE_BYTES:
            raise _too_large(path, TABLE_BYTES)
    return pa.Table.from_batches(batches, file.schema_arrow)


def _stacked(values: Series[Any]) -> Any:
    """(n, d) where every entry is a list of d numbers."""
    if not is_nested(values) or not all(isinstance(v, np.ndarray) and v.dtype.kind in "iuf" for v in values):
        return values
    return np.stack(list(values)) if len({v.shape for v in values}) == 1 and values[0].ndim == 1 else values


def _npz(path: Path) -> DataFrame:
    import pandas as pd

    try:
        with zipfile.ZipFile(path) as parts, np.load(path, allow_pickle=False) as stored:
            if sum(part.file_size for part in parts.infolist()) > TABLE_BYTES:
                raise _too_large(path, TABLE_BYTES)
            arrays = {name: stored[name] for name in stored.files}
    except zipfile.BadZipFile as error:
        raise RequestError(f"{path} is not an npz file, or a damaged one ({error})") from error
    except (ValueError, EOFError, LookupError, RuntimeError, zlib.error, MemoryError) as error:
        raise RequestError(f"{path} is not an npz of plain arrays ({_reason(error)})") from error
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "biufUMm":
            kind = str(array.dtype) if isinstance(array, np.ndarray) else "no array"
            raise RequestError(f"{path}: '{name}' is {kind}; arrays of numbers, truth values or texts are right")
        if array.ndim not in (1, 2):
            raise RequestError(f"{path}: array '{name}' has shape {array.shape}; (n,) or (n, d) is right")
        arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise RequestError(f"{path}: arrays differ in length ({listed}); one entry per row each is right")
    columns = _columns(path, arrays)
    if not columns:
        raise RequestError(f"{path} holds no array")
    return pd.DataFrame(columns)


def _columns(path: Path, arrays: dict[str, Any]) -> dict[str, Any]:
    """One column per 1-D array, d columns per (n, d) array."""
    columns: list[tuple[str, Any]] = []
    for name, array in arrays.items():
        if array.ndim == 1:
            columns.append((name, array))
        else:
            columns += [(f"{name}_{k}", array[:, k]) for k in range(array.shape[1])]
    _each_once(path, [name for name, _ in columns])
    return dict(columns)
