"""Reading a user's table (csv, tsv, xlsx, parquet, npz) into a pandas frame, every fault in one line.

``delimited``, ``excel`` and ``arrays`` read one kind of file each, from ``cells``.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench_core.errors import RequestError

from . import SUFFIXES
from .arrays import read_npz, read_parquet
from .cells import Say, each_once, is_nested
from .delimited import read_delimited
from .excel import read_excel
from .held import held_at, unreadable

if TYPE_CHECKING:
    from pandas import DataFrame, Series

#: From so many columns on, looking at one after the other takes long.
_MANY = 100


def _silent(text: str) -> None:
    """Where nobody wants to know how a file was read."""


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
    if held is not None and held.rows is not None:
        raise RequestError(f"{path.name} holds sparse rows, which have no columns; give a frame or a dense array")
    frame = _read_file(path, texts, say) if held is None else read_parquet(path, io.BytesIO(held.content))
    frame.columns = [str(column).strip() for column in frame.columns]
    each_once(path, frame.columns)
    if not len(frame):
        raise RequestError(f"{path} has columns and no rows")
    for column in [name for name, dtype in frame.dtypes.items() if dtype.kind == "O"]:
        frame[column] = _plain(frame[column])
    return frame.copy() if len(frame.columns) > _MANY else frame  # a copy has one block of numbers, not one per column


def as_written(path: Path, frame: DataFrame, names: Sequence[str]) -> dict[str, npt.NDArray[np.object_]]:
    """name -> (n,) texts of columns of ``frame``, which was read from this file: ``007`` where the file says so."""
    numbers = [name for name in names if frame[name].dtype.kind in "iu"]
    is_delimited = path.name.lower().removesuffix(".gz").endswith((".csv", ".tsv"))
    if numbers and is_delimited and held_at(path) is None:
        again = read_delimited(path, numbers, _silent, only=numbers)
        frame = frame.assign(**{name: again[name] for name in numbers})
    found = {name: frame[name].astype(object) for name in names}
    return {name: values.where(values.notna(), "").map(str).to_numpy(dtype=object) for name, values in found.items()}


def _read_file(path: Path, texts: Collection[str], say: Say) -> DataFrame:
    name = path.name.lower()
    if not name.endswith(SUFFIXES):
        raise RequestError(f"{path}: expected a table that ends in {', '.join(SUFFIXES)}")
    try:
        if path.stat().st_size == 0:
            raise RequestError(f"{path} is empty")
        if name.endswith(".parquet"):
            return read_parquet(path, path)
        if name.endswith(".npz"):
            return read_npz(path)
        if name.endswith(".xlsx"):
            return read_excel(path, texts, say)
        return read_delimited(path, texts, say)
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
