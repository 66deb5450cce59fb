"""Parts that readers of tables have in common: names and lists of columns, cells and numbers as texts, bounds."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench_core.errors import RequestError, shortened, unknown

if TYPE_CHECKING:
    from pandas import DataFrame, Series

Say = Callable[[str], None]
#: A packed file may take this much memory, or so many times its size; only one made to fill memory takes more.
_USUAL, _TIMES = 2**30, 64
#: Characters of the longest text in a cell.
_LONGEST_TEXT = 2**20
#: What a cell of a text or an Excel file holds if it has no value, besides what pandas takes for that.
NO_VALUE = ("?", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!")
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


def refuse_bomb(path: Path, size: int, needed: int) -> None:
    """RequestError for a file of ``size`` bytes that unpacks to far more. ``needed``: bytes, or more than those."""
    if needed > max(_USUAL, _TIMES * size):
        raise RequestError(
            f"{path} has {size / 2**20:.1f} MiB and would take {needed / 2**30:.1f} GiB or more in memory; expected at "
            f"most {_TIMES} times its size; save fewer rows, or an uncompressed file"
        )


def listed(values: Sequence[Any], most: int = 8) -> str:
    """The first of them, and how many more there are."""
    return ", ".join(map(str, values[:most])) + (f" and {len(values) - most} more" if len(values) > most else "")


def is_nested(values: Series[Any]) -> bool:
    """Whether entries are lists or mappings, which are no features and cannot be compared."""
    return values.dtype == object and any(isinstance(v, (list, tuple, dict, set, np.ndarray)) for v in values)


def is_blank(values: Series[Any]) -> npt.NDArray[np.bool_]:
    """(n,) True where a cell holds nothing: a missing value, or a text without a character that can be seen."""
    blank: npt.NDArray[np.bool_] = values.isna().to_numpy(dtype=bool)
    if values.dtype.kind in "biufmM" or values.dtype.name == "boolean":
        return blank
    texts = [isinstance(value, str) and not value.strip() for value in values.astype(object)]
    return np.asarray(blank | np.array(texts, dtype=bool))


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
    each_once(path, names)
    return names


def each_once(path: Path, names: Sequence[str]) -> None:
    """RequestError if two columns have one name."""
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise RequestError(f"{path}: column '{twice}' appears twice; rename one")


def read_numbers(path: Path, frame: DataFrame, texts: Collection[str], *, commas: bool) -> list[str]:
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
        if name in texts:
            continue
        plain = frame[name].str.replace("\u2212", "-").str.replace(r"[\u00a0\u202f]", "", regex=True)
        given = plain.dropna()
        if not given.str.fullmatch(form).all():
            continue
        if given.str.fullmatch(r"[+-]?\d+").all() and given.str.len().max() > 18:
            frame[name] = plain.map(int, na_action="ignore").astype(object)
        else:
            frame[name] = pd.to_numeric(plain.str.replace(",", "."))
            decimals += [name] if frame[name].dtype.kind == "f" else []
    return decimals


# -------------------------------------------------------------------- lists of columns and values


def rejoined(given: Sequence[str], known: Iterable[str]) -> list[str]:
    """The list with the parts put together again that are one name with commas in it.

    >>> rejoined(["rho", "volume", "A^3"], ["rho", "volume, A^3"])
    ['rho', 'volume, A^3']
    """
    whole = {tuple(part.strip() for part in name.split(",")): name for name in known if "," in name}
    exact, found, k = set(whole.values()), list[str](), 0
    while k < len(given):
        ends = [e for e in range(len(given), k + 1, -1) if tuple(given[k:e]) in whole and given[k] not in exact]
        found.append(whole[tuple(given[k : ends[0]])] if ends else given[k])
        k = ends[0] if ends else k + 1
    return found


def named_columns(given: Sequence[str], columns: Iterable[str], field: str, file: str) -> list[str]:
    """Columns that a list names, exactly or by shell patterns. Raises RequestError for what names none."""
    known, found = [str(name) for name in columns], list[str]()
    for word in rejoined(given, known):
        names = [word] if word in known else [name for name in known if fnmatchcase(name, word)]
        if not names:
            raise unknown(f"column of {file} ({field})", word, known, field=field)
        found += names
    return list(dict.fromkeys(found))
