"""Parquet and npz: columns of a type, lists of numbers among them."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pubench_core.errors import RequestError

from .cells import each_once, is_nested, reason

if TYPE_CHECKING:
    from pandas import DataFrame, Series

#: Rows of parquet that are unpacked at a time, and then counted.
_ROWS = 1024


def read_parquet(path: Path, stored: Path | io.BytesIO) -> DataFrame:
    """``path``: its name, for messages."""
    import pandas as pd
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(stored) as file:
            frame = file.read().replace_schema_metadata(None).to_pandas()  # pandas' notes add nothing
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise RequestError(f"{path} is not a parquet file, or a damaged one ({reason(error)})") from error
    each_once(path, frame.columns)
    kept = [name for name in frame if not name.startswith("__index_level_")]  # row names that had no name
    return pd.DataFrame(_columns(path, {name: _stacked(frame[name]) for name in kept}))


def _stacked(values: Series[Any]) -> Any:
    """(n, d) where every entry is a list of d numbers."""
    if not is_nested(values) or not all(isinstance(v, np.ndarray) and v.dtype.kind in "iuf" for v in values):
        return values
    return np.stack(list(values)) if len({v.shape for v in values}) == 1 and values[0].ndim == 1 else values


def read_npz(path: Path) -> DataFrame:
    import pandas as pd

    try:
        with zipfile.ZipFile(path), np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except zipfile.BadZipFile as error:
        raise RequestError(f"{path} is not an npz file, or a damaged one ({error})") from error
    except (ValueError, EOFError, LookupError, RuntimeError, zlib.error, MemoryError) as error:
        raise RequestError(f"{path} is not an npz of plain arrays ({reason(error)})") from error
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "biufUMm":
            kind = str(array.dtype) if isinstance(array, np.ndarray) else "no array"
            raise RequestError(f"{path}: '{name}' is {kind}; expected arrays of numbers, truth values or texts")
        if array.ndim not in (1, 2):
            raise RequestError(f"{path}: array '{name}' has shape {array.shape}; expected (n,) or (n, d)")
        arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise RequestError(f"{path}: arrays differ in length ({listed}); expected one entry per row each")
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
    each_once(path, [name for name, _ in columns])
    return dict(columns)
