"""Parquet, npz, json lines, svmlight, ARFF and Excel: formats that know their columns."""

from __future__ import annotations

import io
import json
import re
import warnings
import zipfile
import zlib
from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pubench_core.errors import RequestError, counted, shortened

from .cells import NO_VALUE, Say, each_once, is_nested, numbers_in_text, reason, refuse_bomb, refuse_data_as_names

if TYPE_CHECKING:
    from pandas import DataFrame, Series

#: Key of a parquet file's notes under which a table in memory lists its columns of a categorical type.
CATEGORICAL = b"categorical"
#: In an Excel sheet, a cell that is so many rows or columns from the rest was not meant.
_FAR = 1000
_ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s+(.+)", re.IGNORECASE)


def read_parquet(path: Path, stored: Path | io.BytesIO) -> DataFrame:
    """``path``: its name, for messages."""
    import pandas as pd
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(stored) as file:
            size = path.stat().st_size if isinstance(stored, Path) else stored.getbuffer().nbytes
            refuse_bomb(path, size, 8 * file.metadata.num_rows * file.metadata.num_columns)
            table = file.read()
        notes = table.schema.metadata or {}
        frame = table.replace_schema_metadata(None).to_pandas()
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise RequestError(f"{path} is not a parquet file, or a damaged one ({reason(error)})") from error
    each_once(path, frame.columns)
    for name in _categorical(notes):
        if name in frame:
            frame[name] = frame[name].astype("category")
    kept = [name for name in frame if not name.startswith("__index_level_")]  # row names that had no name
    return pd.DataFrame(_columns(path, {name: _stacked(frame[name]) for name in kept}))


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
    import pandas as pd

    try:
        with zipfile.ZipFile(path) as parts, np.load(path, allow_pickle=False) as stored:
            refuse_bomb(path, path.stat().st_size, sum(part.file_size for part in parts.infolist()))
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
    if not arrays:
        raise RequestError(f"{path} holds no array")
    return pd.DataFrame(_columns(path, arrays))


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


def read_json_lines(path: Path) -> DataFrame:
    """An object per line; texts stay texts."""
    import pandas as pd

    try:
        frame = pd.read_json(path, lines=True, dtype=False, precise_float=True)
    except (ValueError, OverflowError, TypeError, AttributeError) as error:
        raise RequestError(f"{path} is not json lines ({reason(error)}); expected an object per line") from error
    if not all(isinstance(name, str) for name in frame.columns):
        raise RequestError(f"{path} is not json lines of objects; expected {{'name': value, ...}} on each line")
    return frame


def read_svmlight(path: Path) -> DataFrame:
    """Columns ``label`` and ``x_0`` to ``x_d-1``; what a line leaves out is 0."""
    import pandas as pd
    from sklearn.datasets import load_svmlight_file

    try:
        x, labels = load_svmlight_file(str(path), dtype=np.float64)
    except (ValueError, OverflowError, MemoryError) as error:
        raise RequestError(f"{path} is not svmlight ({reason(error)}); expected lines such as 1 0:0.5 3:2") from error
    refuse_bomb(path, path.stat().st_size, 8 * x.shape[0] * x.shape[1])
    whole = labels.astype(np.int64)
    columns = {"label": whole if (whole == labels).all() else labels, "x": x.toarray()}
    return pd.DataFrame(_columns(path, columns))


def read_arff(path: Path) -> DataFrame:
    """Attributes of named values become a categorical type."""
    import pandas as pd

    kinds: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                if found := _ATTRIBUTE.match(line.strip()):
                    kinds[found[1].strip("'\"")] = found[2].strip()
                elif line.strip().lower() == "@data":
                    break
            options: dict[str, Any] = {"header": None, "names": list(kinds), "index_col": False, "quotechar": "'"}
            options |= {"escapechar": "\\", "comment": "%", "skipinitialspace": True, "na_values": ["?"]}
            frame = pd.read_csv(lines, **options)
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        raise RequestError(f"{path} is not ARFF, or a damaged one ({reason(error)})") from error
    first = frame.iloc[:1, 0].astype(str)
    if first.str.startswith("{").any():
        raise RequestError(f"{path} is sparse ARFF, which is not read; save it as csv or svmlight")
    named = [name for name, kind in kinds.items() if kind.startswith("{")]
    return frame.astype(dict.fromkeys(named, "category"))


def read_excel(path: Path, texts: Collection[str], say: Say, *, no_header: bool = False) -> DataFrame:
    """The first sheet; names are in its first row. Rows without any value are left out."""
    import pandas as pd

    if find_spec("openpyxl") is None:
        raise RequestError(
            f"{path}: Excel files are read by openpyxl, which is not installed "
            "(pip install 'pubench-datasets-tables[excel]'); or save the table as CSV"
        )
    from xml.etree.ElementTree import ParseError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what openpyxl thinks of styles and extensions
            rows = _rows_of_sheet(path, say)
    except zipfile.BadZipFile as error:
        raise RequestError(f"{path} is not an Excel file (.xlsx), or a damaged one ({reason(error)})") from error
    except (ValueError, LookupError, TypeError, AttributeError, EOFError, NotImplementedError) as error:
        raise RequestError(f"{path} is a damaged Excel file ({reason(error)})") from error
    except (ParseError, zlib.error, OverflowError) as error:
        raise RequestError(f"{path} is a damaged Excel file ({reason(error)})") from error
    if not rows:
        raise RequestError(f"{path} is empty")
    width = max(map(len, rows))
    header = [] if no_header else rows.pop(0)
    names = [str(header[k]) if k < len(header) and header[k] is not None else f"Unnamed: {k}" for k in range(width)]
    names = [f"c{k}" for k in range(1, width + 1)] if no_header else names
    refuse_data_as_names(path, names)
    each_once(path, names)
    columns = {n: pd.Series([row[k] if k < len(row) else None for row in rows]) for k, n in enumerate(names)}
    frame = pd.DataFrame(columns)
    for name in names:
        if name in texts:
            frame[name] = frame[name].map(str, na_action="ignore")
        elif pd.api.types.infer_dtype(frame[name].dropna()) == "string":
            frame[name] = numbers_in_text(frame[name], commas=True)
    return frame


def _rows_of_sheet(path: Path, say: Say) -> list[list[Any]]:
    """Cells of the rows that have a value, of texts without the spaces around them; a blank text is a gap."""
    import openpyxl  # type: ignore[import-untyped]
    from openpyxl.utils import get_column_letter  # type: ignore[import-untyped]
    from pandas._libs.parsers import STR_NA_VALUES

    content = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        refuse_bomb(path, len(content), sum(part.file_size for part in parts.infolist()))
        sheets = [name for name in parts.namelist() if name.startswith("xl/worksheets/")]
        formulas = any(b"<f" in parts.read(name) for name in sheets)
    absent = {*NO_VALUE, *STR_NA_VALUES}

    def rows_of(*, values: bool) -> Any:
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=values, keep_links=False)
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # what a file says of its size may be wrong
        return book, sheet, sheet.iter_rows(values_only=True)

    book, sheet, cells = rows_of(values=True)
    written = rows_of(values=False)[2] if formulas else None
    rows: list[list[Any]] = []
    empty, unknown, last = 0, [], 0
    for number, given in enumerate(cells, 1):
        row = [cell.strip() if isinstance(cell, str) else cell for cell in given]
        row = [None if isinstance(cell, str) and cell in absent else cell for cell in row]
        if written is not None:
            same = next(written)
            unknown += [number for value, cell in zip(given, same, strict=False) if value is None and cell is not None]
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
    if len(book.sheetnames) > 1:
        say(f"{path.name}: the first of {len(book.sheetnames)} sheets is read, '{sheet.title}'")
    if empty:
        say(f"{path.name}: {empty} rows without any value are left out, and rows counted without them")
    if unknown:
        say(
            f"{path.name}: {counted(len(unknown), 'formula')} without a stored value, the first in row {unknown[0]}, "
            "count as empty; open the file in Excel and save it"
        )
    return rows
