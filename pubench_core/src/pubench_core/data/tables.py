"""Reading a user's table (csv, tsv, parquet, npz) into a pandas frame, every fault in one line."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import RequestError

if TYPE_CHECKING:
    from pandas import DataFrame

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".npz")


def is_table_path(text: str) -> bool:
    """Whether a ``--data`` value means a file rather than the key of a data set."""
    return text.endswith(SUFFIXES) or "/" in text or "\\" in text


def sha256_of(path: Path) -> str:
    """SHA-256 of a file. Raises RequestError if it cannot be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise RequestError(f"cannot read {path}: {error.strerror or error}") from error


def read_table(path: Path) -> DataFrame:
    """The table in a file: one column per field, or per array of an npz (``x`` of shape (n, d) becomes x_0 ... x_d-1).

    Raises RequestError naming the file if it is absent, empty, damaged, of another format or has a column twice.
    """
    name = path.name
    if not name.endswith(SUFFIXES):
        raise RequestError(f"{path}: a table is a file ending in {', '.join(SUFFIXES)}")
    try:
        if path.stat().st_size == 0:
            raise RequestError(f"{path} is empty")
        if name.endswith(".parquet"):
            frame = _parquet(path)
        elif name.endswith(".npz"):
            frame = _npz(path)
        else:
            frame = _delimited(path, tab=".tsv" in name)
    except OSError as error:
        raise RequestError(f"cannot read {path}: {error.strerror or error}") from error
    frame.columns = [str(column) for column in frame.columns]
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise RequestError(f"{path}: column '{twice[0]}' is there twice; rename one")
    if not len(frame):
        raise RequestError(f"{path} has a header and no rows")
    return frame


def _delimited(path: Path, tab: bool) -> DataFrame:
    import zlib

    import pandas as pd

    separators = ["\t"] if tab else [",", ";", "\t"]
    try:
        for separator in separators:
            frame = pd.read_csv(
                path, sep=separator, skipinitialspace=True, low_memory=False, float_precision="round_trip"
            )
            if len(frame.columns) > 1:
                _no_shifted_rows(path, frame)
                return frame
    except UnicodeDecodeError as error:
        raise RequestError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    except pd.errors.EmptyDataError as error:
        raise RequestError(f"{path} is empty") from error
    except pd.errors.ParserError as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise RequestError(f"{path} is not a table: {reason}") from error
    except (EOFError, zlib.error) as error:
        raise RequestError(f"{path} is damaged ({error}); get it again") from error
    raise RequestError(f"{path} has a single column; fields are separated by ',' (or ';' or a tab) and named in line 1")


def _no_shifted_rows(path: Path, frame: DataFrame) -> None:
    """pandas takes surplus fields of every row for an index; in a user's file that is a missing name in the header."""
    import pandas as pd

    if not isinstance(frame.index, pd.RangeIndex):
        raise RequestError(f"{path}: rows have more fields than line 1 has names; name every column")


def _parquet(path: Path) -> DataFrame:
    import pandas as pd
    import pyarrow as pa

    try:
        return pd.read_parquet(path).reset_index(drop=True)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise RequestError(f"{path} is not a parquet file, or a damaged one ({str(error).splitlines()[0]})") from error


def _npz(path: Path) -> DataFrame:
    import pandas as pd

    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (ValueError, zipfile.BadZipFile, EOFError, AttributeError) as error:
        raise RequestError(f"{path} is not an npz of plain arrays ({str(error).splitlines()[0]})") from error
    columns: dict[str, Any] = {}
    for name, array in arrays.items():
        if array.ndim == 1:
            columns[name] = array
        elif array.ndim == 2:
            columns |= {f"{name}_{k}": array[:, k] for k in range(array.shape[1])}
        else:
            raise RequestError(f"{path}: array '{name}' has shape {array.shape}; (n,) or (n, d) is right")
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise RequestError(f"{path}: arrays differ in length ({told}); one entry per row each is right")
    if not columns:
        raise RequestError(f"{path} holds no array")
    return pd.DataFrame(columns)
