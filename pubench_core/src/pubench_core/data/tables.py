"""Reading a user's table (csv, tsv, parquet, npz) into a pandas frame, every fault in one line."""

from __future__ import annotations

import io
import warnings
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import RequestError
from . import copies
from .held import held_at

if TYPE_CHECKING:
    from pandas import DataFrame, Series

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".npz")


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


def read_table(path: Path, texts: Collection[str] = ()) -> DataFrame:
    """The table in a file or in memory: one column per field, or per array of an npz (``x`` of shape (n, d) becomes
    x_0 ... x_d-1).

    ``texts``: columns that are read as texts although their cells may be numbers (``007`` stays so). In delimited text
    a ``?`` is a gap as an empty cell is. Booleans with gaps become pandas' ``boolean``, decimals become floats, lists
    of numbers of one length (in parquet) become columns.

    Raises RequestError naming the file if it is absent, empty, damaged, of another format, or two columns have one
    name.
    """
    held = held_at(path)
    frame = _read_file(path, texts) if held is None else _parquet(path, io.BytesIO(held.content))
    frame.columns = [str(column).strip() for column in frame.columns]
    _each_once(path, frame.columns)
    if not len(frame):
        raise RequestError(f"{path} has columns and no rows")
    for column in frame.columns:
        frame[column] = _plain(frame[column])
    return frame


def _read_file(path: Path, texts: Collection[str]) -> DataFrame:
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
        return _delimited(path, ["\t"] if ".tsv" in name else [",", ";", "\t"], texts)
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


def _delimited(path: Path, separators: Sequence[str], texts: Collection[str]) -> DataFrame:
    import pandas as pd

    with _faults_of_text(path):
        separator, names = _header(path, separators)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            kinds = {name: str for name in texts if name in names}
            frame = _read_csv(path, separator, header=0, names=names, index_col=False, dtype=kinds, low_memory=False)
    for name in names:
        if pd.api.types.infer_dtype(frame[name], skipna=True) == "string":
            frame[name] = frame[name].str.strip()
            if name not in texts:
                frame[name] = _numbers_in_text(frame[name], commas=separator != ",")
    return frame


def _header(path: Path, separators: Sequence[str]) -> tuple[str, list[str]]:
    """The separator that cuts line 1 into the most fields, and the names in it; a field without one gets one."""
    first = {s: _read_csv(path, s, header=None, nrows=1, dtype=str, keep_default_na=False).iloc[0] for s in separators}
    separator = max(separators, key=lambda s: len(first[s]))
    names = [str(name).strip() or f"Unnamed: {k}" for k, name in enumerate(first[separator])]
    if len(names) == 1:
        known = "a tab" if separators == ["\t"] else "',' (or ';' or a tab)"
        raise RequestError(f"{path} has a single column; fields are separated by {known} and named in line 1")
    _each_once(path, names)
    return separator, names


def _read_csv(path: Path, separator: str, **more: Any) -> DataFrame:
    import pandas as pd
    from packaging.version import Version

    if Version(pd.__version__) < Version("3.1"):  # whose default reads numbers to the last bit
        more["float_precision"] = "round_trip"
    return pd.read_csv(path, sep=separator, skipinitialspace=True, na_values=["?"], **more)


@contextmanager
def _faults_of_text(path: Path) -> Iterator[None]:
    """A block that reads delimited text: what is wrong with it becomes one line that names the file."""
    import pandas as pd

    try:
        yield
    except UnicodeDecodeError as error:
        raise RequestError(f"{path} is not UTF-8 text; save it as CSV in UTF-8") from error
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


# -------------------------------------------------------------------- parquet and npz


def _parquet(path: Path, stored: Path | io.BytesIO) -> DataFrame:
    """``path``: its name, for messages."""
    import pandas as pd
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(stored) as file:
            frame = file.read().replace_schema_metadata(None).to_pandas()  # pandas' notes beside the table add nothing
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise RequestError(f"{path} is not a parquet file, or a damaged one ({_reason(error)})") from error
    _each_once(path, frame.columns)
    kept = [name for name in frame if not name.startswith("__index_level_")]  # row names that had no name
    return pd.DataFrame(_columns(path, {name: _stacked(frame[name]) for name in kept}))


def _stacked(values: Series[Any]) -> Any:
    """(n, d) where every entry is a list of d numbers."""
    if not is_nested(values) or not all(isinstance(v, np.ndarray) and v.dtype.kind in "iuf" for v in values):
        return values
    return np.stack(list(values)) if len({v.shape for v in values}) == 1 and values[0].ndim == 1 else values


def _npz(path: Path) -> DataFrame:
    import pandas as pd

    try:
        with zipfile.ZipFile(path), np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except zipfile.BadZipFile as error:
        raise RequestError(f"{path} is not an npz file, or a damaged one ({error})") from error
    except (ValueError, EOFError, LookupError, RuntimeError, zlib.error) as error:
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
