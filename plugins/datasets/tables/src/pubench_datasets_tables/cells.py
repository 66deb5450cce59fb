"""Parts that formats of tables have in common: names of columns, numbers written as texts, lists in cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pubench_core.errors import RequestError

if TYPE_CHECKING:
    from pandas import Series

Say = Callable[[str], None]


def is_nested(values: Series[Any]) -> bool:
    """Whether entries are lists or mappings, which are no features and cannot be compared."""
    return values.dtype == object and any(isinstance(v, (list, tuple, dict, set, np.ndarray)) for v in values)


def each_once(path: Path, names: Sequence[str]) -> None:
    """RequestError if two columns have one name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise RequestError(f"{path}: column '{name}' appears twice; rename one")
        seen.add(name)


def numbers_in_text(values: Series[Any], *, commas: bool) -> Series[Any]:
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


def reason(error: Exception) -> str:
    """The first line of an error's message; its class where it has none."""
    return next(iter(str(error).splitlines()), type(error).__name__)
