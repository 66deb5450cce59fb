"""Reading a user's table into a pandas frame, every fault in one line."""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench_core.errors import RequestError

from . import SUFFIXES
from .cells import Say, each_once, is_nested
from .delimited import DELIMITED, read_delimited
from .encoding import words_of
from .formats import read_arff, read_excel, read_json_lines, read_npz, read_parquet, read_svmlight
from .held import held_at, unreadable

if TYPE_CHECKING:
    from pandas import DataFrame, Series

#: From so many columns on, looking at one after the other takes long.
_MANY = 100
#: A table of fewer rows and more columns lies on its side.
_FEW_ROWS, _WIDE = 20, 10_000
_READERS = {".npz": read_npz, ".jsonl": read_json_lines, ".ndjson": read_json_lines, ".arff": read_arff}


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
    held = held_at(path)
    if held is not None and held.rows is not None:
        raise RequestError(f"{path.name} holds sparse rows, which have no columns; give a frame or a dense array")
    frame = _read_file(path, texts, say, no_header) if held is None else read_parquet(path, io.BytesIO(held.content))
    frame.columns = [str(column).strip() for column in frame.columns]
    each_once(path, frame.columns)
    if not len(frame):
        raise RequestError(f"{path} has columns and no rows")
    if len(frame) < _FEW_ROWS and len(frame.columns) > _WIDE:
        raise RequestError(
            f"{path} has {len(frame.columns)} columns and {len(frame)} rows; expected a row per case; transpose it"
        )
    for column in [name for name, dtype in frame.dtypes.items() if dtype.kind == "O"]:
        frame[column] = _plain(frame[column])
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
    try:
        if path.stat().st_size == 0:
            raise RequestError(f"{path} is empty")
        if name.endswith(".parquet"):
            return read_parquet(path, path)
        if name.endswith(".xlsx"):
            return read_excel(path, texts, say, no_header=no_header)
        if name.removesuffix(".gz").endswith(DELIMITED):
            return read_delimited(path, texts, say, no_header=no_header)
        return _READERS.get(path.suffix.lower(), read_svmlight)(path)
    except OSError as error:
        raise unreadable(path, error) from error


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
