"""How the columns of a table become features: numbers as they are, categories one-hot.

An encoding is plain data: it is recorded with the run, and the same one reads the test file and the files that a saved
model scores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ..errors import RequestError, unknown
from ..specs import UserTableSpec
from .labels import some_of
from .tables import is_nested

if TYPE_CHECKING:
    from pandas import DataFrame, Series

#: A text column with more different values than this is not a category.
MAX_CATEGORIES = 100
_ID_NAME = re.compile(r"(^|[_\W])(id|uuid|guid|index|rownum|row)($|[_\W])|^unnamed: 0$", re.IGNORECASE)


@dataclass(frozen=True)
class Column:
    """How one column of the table becomes features: numbers as they are, categories one-hot in this order."""

    name: str
    kind: Literal["number", "category"]
    categories: tuple[str, ...] = ()

    @property
    def features(self) -> list[str]:
        """Names of the features it becomes."""
        return [self.name] if self.kind == "number" else [f"{self.name}={value}" for value in self.categories]


def encode(
    frame: DataFrame, columns: Sequence[Column], name: str, say: Callable[[str], None] | None = None
) -> npt.NDArray[np.float32]:
    """(n, d) float32 features of a table. An unseen category has no feature: its row is zero there, which is said.

    ``say``: called with a line about unseen categories and one about missing values.

    Raises RequestError for a column that is missing or not numeric.
    """
    import pandas as pd

    parts: list[npt.NDArray[np.float32]] = []
    for column in columns:
        if column.name not in frame:
            raise unknown(f"column: {name} lacks", column.name, list(frame.columns))
        values = frame[column.name]
        if column.kind == "number":
            if _is_time(values):
                raise RequestError(f"{name}: column '{column.name}' holds dates or times; training had numbers")
            try:
                numbers = pd.to_numeric(values).to_numpy(dtype=np.float64, na_value=np.nan)
            except (ValueError, TypeError) as error:
                raise RequestError(f"{name}: column '{column.name}' is not numeric ({error})") from error
            infinite = np.flatnonzero(np.isinf(numbers) | (np.abs(numbers) > np.finfo(np.float32).max))
            if len(infinite):
                raise RequestError(
                    f"{name}: row {infinite[0]} of column '{column.name}' is {numbers[infinite[0]]:g}; finite values "
                    "are right (leave a cell empty if it is unknown)"
                )
            parts.append(numbers.astype(np.float32)[:, None])
        else:
            words = _words(values)
            parts.append(np.stack([words == value for value in column.categories], axis=1).astype(np.float32))
            if say is not None and (new := sorted(set(words) - set(column.categories))):
                say(f"{name}: '{column.name}' has values that training did not have ({', '.join(new[:3])}); all zero")
    if say is not None and (gaps := gaps_in(frame, columns)):
        say(f"{name}: {gaps}")
    return np.ascontiguousarray(np.concatenate(parts, axis=1))


def texts_of(columns: Sequence[Column]) -> tuple[str, ...]:
    """Columns that another file must be read with as texts: a category ``10`` is not the number 10."""
    return tuple(column.name for column in columns if column.kind == "category")


def as_plain(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """The encoding as plain data, for records."""
    return [{"name": c.name, "kind": c.kind, "categories": list(c.categories)} for c in columns]


def from_plain(columns: Sequence[Mapping[str, Any]]) -> tuple[Column, ...]:
    """The encoding that :func:`as_plain` wrote."""
    return tuple(Column(c["name"], c["kind"], tuple(c["categories"])) for c in columns)


def feature_columns(own: UserTableSpec, frame: DataFrame) -> list[str]:
    """Columns that may be features: those that ``features`` names, or all but labels, truth and dropped ones."""
    apart = {own.label_col, own.truth_col, *own.drop}
    free = [name for name in frame.columns if name not in apart]
    if not own.features:
        return free
    for pattern in own.features:
        if not any(fnmatchcase(name, pattern) for name in free):
            raise RequestError(
                f"{own.path.name}: data.own.features={pattern} matches no column; columns are {some_of(free)}"
            )
    return [name for name in free if any(fnmatchcase(name, pattern) for pattern in own.features)]


def encoding_of(own: UserTableSpec, frame: DataFrame, names: Sequence[str], notes: list[str]) -> tuple[Column, ...]:
    import pandas as pd

    columns, left_out = [], []
    for name in names:
        values = frame[name]
        if is_nested(values):
            left_out.append(f"'{name}' (lists of different lengths, or of something else than numbers)")
            continue
        distinct = values.nunique(dropna=False)
        if distinct <= 1:
            left_out.append(f"'{name}' ({'empty' if values.isna().any() else 'constant'})")
        elif _is_time(values):
            left_out.append(f"'{name}' (a date or a time; turn it into numbers to use it)")
        elif odd := _numbers_but_for(values):
            if distinct > MAX_CATEGORIES or distinct == len(values):
                left_out.append(f"'{name}' (text: {odd})")
            else:
                columns.append(Column(name, "category", tuple(sorted(set(_words(values))))))
                notes.append(f"'{name}' is read as text: {odd}")
        elif name not in own.features and _is_id(name, values):
            left_out.append(f"'{name}' (looks like an id: every value differs; data.own.features keeps it)")
        elif pd.api.types.is_bool_dtype(values) or pd.api.types.is_numeric_dtype(values):
            columns.append(Column(name, "number"))
        elif distinct > MAX_CATEGORIES:
            left_out.append(f"'{name}' (text with {distinct} different values, more than {MAX_CATEGORIES} categories)")
        else:
            columns.append(Column(name, "category", tuple(sorted(set(_words(values))))))
    if not columns:
        reason = f": {', '.join(left_out)}" if left_out else ""
        raise RequestError(f"{own.path.name}: no column is left as a feature{reason}")
    d = sum(len(c.features) for c in columns)
    categories = [c for c in columns if c.kind == "category"]
    told = f"{d} features: {len(columns) - len(categories)} numeric columns"
    if categories:
        listed = ", ".join(f"'{c.name}' ({len(c.categories)})" for c in categories[:8])
        more = f" and {len(categories) - 8} more" if len(categories) > 8 else ""
        told += f", {len(categories)} categorical as one-hot: {listed}{more}"
    notes.append(told)
    if left_out:
        notes.append("left out: " + "; ".join(left_out))
    return tuple(columns)


def _is_time(values: Series[Any]) -> bool:
    import pandas as pd

    times = ("datetime64", "datetime", "date", "timedelta64", "timedelta", "time", "period")
    return values.dtype.kind in "mM" or pd.api.types.infer_dtype(values, skipna=True) in times


def _numbers_but_for(values: Series[Any]) -> str:
    """Why a column of texts is no column of numbers, where at least half of them are; else empty."""
    import pandas as pd

    if pd.api.types.infer_dtype(values, skipna=True) not in ("string", "mixed", "mixed-integer"):
        return ""
    given = values[values.notna()]
    strange = given[pd.to_numeric(given, errors="coerce").isna()]
    if not len(strange) or 2 * len(strange) > len(given):
        return ""
    return (
        f"{len(given) - len(strange)} of {len(given)} values are numbers, row {strange.index[0]} is "
        f"'{strange.iloc[0]}'; leave unknown cells empty to have it read as numbers"
    )


def _is_id(name: str, values: Series[Any]) -> bool:
    """Every value differs, and it is text, is named like one, or counts the rows."""
    if values.nunique() != len(values) or len(values) < 10:
        return False
    if values.dtype.kind == "f":
        return False
    if values.dtype.kind not in "iu":
        return True
    ordered = np.sort(values.to_numpy())
    return bool(_ID_NAME.search(name)) or bool((np.diff(ordered) == 1).all())


def gaps_in(frame: DataFrame, columns: Sequence[Column]) -> str:
    gaps = {c.name: int(frame[c.name].isna().sum()) for c in columns}
    gaps = {name: count for name, count in gaps.items() if count}
    told = ", ".join(f"'{name}' {count}" for name, count in list(gaps.items())[:8])
    more = f" and {len(gaps) - 8} more columns" if len(gaps) > 8 else ""
    what = "numbers get the training pool's median, categories one of their own ('?')"
    return f"missing values: {told}{more}; {what}" if gaps else ""


def _words(values: Series[Any]) -> npt.NDArray[Any]:
    """(n,) texts; a missing value is the category '?'."""
    words: npt.NDArray[Any] = values.astype(object).where(values.notna(), "?").map(str).to_numpy(dtype=object)
    return words
