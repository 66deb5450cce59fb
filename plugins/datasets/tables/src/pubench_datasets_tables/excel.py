"""Excel files: the first sheet, as its cells show it."""

from __future__ import annotations

import warnings
import zipfile
import zlib
from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pubench_core.errors import RequestError

from .cells import Say, each_once, numbers_in_text, reason

if TYPE_CHECKING:
    from pandas import DataFrame


def read_excel(path: Path, texts: Collection[str], say: Say) -> DataFrame:
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
    each_once(path, names)
    columns = {name: pd.Series([row[k] for row in rows]) for k, name in enumerate(names)}
    frame = pd.DataFrame(columns)
    for name in names:
        given = frame[name].dropna()
        if name in texts:
            frame[name] = frame[name].map(str, na_action="ignore")
        elif pd.api.types.infer_dtype(given) == "string":
            frame[name] = numbers_in_text(frame[name], commas=True)
    return frame


def _first_sheet(path: Path, say: Say) -> DataFrame:
    """The cells as they are, of texts without the spaces around them; a blank text is a gap."""
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
            with pd.ExcelFile(path, engine="openpyxl") as book:
                sheet, *others = book.sheet_names
                cells = book.parse(sheet, header=None, dtype=object, na_values=["?"])
    except zipfile.BadZipFile as error:
        raise RequestError(f"{path} is not an Excel file (.xlsx), or a damaged one ({reason(error)})") from error
    except (ValueError, LookupError, TypeError, AttributeError, EOFError, NotImplementedError) as error:
        raise RequestError(f"{path} is a damaged Excel file ({reason(error)})") from error
    except (ParseError, zlib.error) as error:
        raise RequestError(f"{path} is a damaged Excel file ({reason(error)})") from error
    if others:
        say(f"{path.name}: the first of {len(others) + 1} sheets is read, '{sheet}'")
    cells = cells.map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
    return cells.mask(cells == "")
