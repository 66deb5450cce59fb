"""Parts that readers of tables have in common: names and lists of columns, cells and numbers as texts, bounds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench_core.errors import unknown

if TYPE_CHECKING:
    from pandas import Series

Say = Callable[[str], None]
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


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


def words_of(values: Series[Any]) -> npt.NDArray[Any]:
    """(n,) texts; a missing value is the category '?', and a whole number that a gap made a float has no point."""
    plain = values.astype(object)
    if values.dtype.kind == "f" or (values.dtype.name == "category" and values.cat.categories.dtype.kind == "f"):
        plain = plain.map(lambda value: int(value) if value % 1 == 0 else value, na_action="ignore")
    words: npt.NDArray[Any] = plain.where(values.notna(), "?").map(str).to_numpy(dtype=object)
    return words


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
