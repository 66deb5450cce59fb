"""Parts that formats of tables have in common: names of columns, numbers written as texts, bounds on memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pubench_core.errors import RequestError, shortened

if TYPE_CHECKING:
    from pandas import Series

Say = Callable[[str], None]
#: A packed file may take this much memory, or so many times its size; only one made to fill memory takes more.
_USUAL, _TIMES = 2**30, 64
#: Characters of the longest text in a cell.
LONGEST_TEXT = 2**20
#: What a cell of a text or an Excel file holds if it has no value, besides what pandas takes for that.
NO_VALUE = ("?", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!")


def refuse_bomb(path: Path, size: int, needed: int) -> None:
    """RequestError for a file of ``size`` bytes that unpacks to far more. ``needed``: bytes, or more than those."""
    if needed > max(_USUAL, _TIMES * size):
        raise RequestError(
            f"{path} has {size / 2**20:.1f} MiB and would take {needed / 2**30:.1f} GiB or more in memory; expected at "
            f"most {_TIMES} times its size; save fewer rows, or an uncompressed file"
        )


def is_nested(values: Series[Any]) -> bool:
    """Whether entries are lists or mappings, which are no features and cannot be compared."""
    return values.dtype == object and any(isinstance(v, (list, tuple, dict, set, np.ndarray)) for v in values)


def refuse_data_as_names(path: Path, names: Sequence[str]) -> None:
    """RequestError if line 1 looks like a row of data: names are numbers with signs, or twice the same."""
    numbers = [name for name in names if _is_number(name)]
    odd = len(set(numbers)) < len(numbers) or any(not name.isdigit() for name in numbers)
    if 2 * len(numbers) > len(names) and odd:
        raise RequestError(
            f"{path}: line 1 looks like data ({shortened(', '.join(names[:4]))}); expected names of columns; a "
            "file without is read with data.own.no_header",
            field="data.own.no_header",
        )


def each_once(path: Path, names: Sequence[str]) -> None:
    """RequestError if two columns have one name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise RequestError(f"{path}: column '{name}' appears twice; rename one")
        seen.add(name)


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def numbers_in_text(values: Series[Any], *, commas: bool) -> Series[Any]:
    """Numbers, if every text is one: a whole number beyond 64 bits, which pandas 2 leaves as text; one with a minus
    sign or a space of print; with ``commas``, one with a decimal comma, as spreadsheets write them in many countries.
    """
    import pandas as pd

    plain = values.str.replace("\u2212", "-").str.replace(r"[\u00a0\u202f]", "", regex=True)
    said = plain.dropna().str
    if said.fullmatch(r"[+-]?\d+").all() and said.len().max() > 18:
        return plain.map(int, na_action="ignore").astype(object)
    form = r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?" if commas else r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?"
    return pd.to_numeric(plain.str.replace(",", ".")) if said.fullmatch(form).all() else values


def reason(error: BaseException) -> str:
    """The first line of an error's message; its class if it has none."""
    return next(iter(str(error).splitlines()), type(error).__name__)
