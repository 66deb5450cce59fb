"""Parts that readers of tables have in common: names and lists of columns, cells and numbers as texts, errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from pubench_core.errors import RequestError, unknown

if TYPE_CHECKING:
    from pandas import Series

NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


def refused(field: str, text: str, value: Any = None) -> RequestError:
    """The error for what is wrong with a field of ``data.own``."""
    return RequestError(text, field=f"data.own.{field}", value=value)


def listed(values: Sequence[Any], most: int = 8, form: str = "{}") -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(form.format(value) for value in values[:most]) + more


def words_of(values: Series[Any], gap: str = "?") -> npt.NDArray[Any]:
    """(n,) texts, ``gap`` for a missing value; a whole number that a gap made a float has no point."""
    plain = values.astype(object)
    if values.dtype.kind == "f" or (values.dtype.name == "category" and values.cat.categories.dtype.kind == "f"):
        plain = plain.map(lambda value: int(value) if value % 1 == 0 else value, na_action="ignore")
    words: npt.NDArray[Any] = plain.where(values.notna(), gap).map(str).to_numpy(dtype=object)
    return words


def without(values: Series[Any], words: Sequence[str]) -> Series[Any]:
    """The values with gaps instead of those that ``words`` name; numbers, if the others all are."""
    import pandas as pd

    if values.dtype.kind in "iufb":
        return values.mask(values.isin([float(word) for word in words if NUMBER.fullmatch(word)]))
    rest = values.mask(values.map(str).isin(words))
    if values.dtype.name == "category" or rest.equals(values):
        return rest
    numbers = pd.to_numeric(rest, errors="coerce")
    return rest if (numbers.isna() & rest.notna()).any() else numbers


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
        found += names or [one_of(known, word, field, file)]
    return list(dict.fromkeys(found))


def one_of(known: Iterable[str], name: str, field: str, file: str) -> str:
    """A column that a field names. Raises RequestError, with the nearest spelling, if there is none of that name."""
    if name not in (columns := list(known)):
        raise unknown(f"column of {file} (data.own.{field})", name, columns, field=f"data.own.{field}")
    return name
