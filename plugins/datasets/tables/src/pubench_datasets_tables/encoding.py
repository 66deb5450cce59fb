"""How the columns of a table become features: numbers as they are, categories one-hot.

An encoding is plain data: it is recorded with the run, and the same one reads the test file and the files that a saved
model scores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench_core.data.labeled import Column
from pubench_core.errors import RequestError, counted, shortened
from pubench_core.specs import UserTableSpec

from .cells import is_nested
from .labels import some_of

if TYPE_CHECKING:
    from pandas import DataFrame, Series

#: A text column with more different values than this is not a category.
MAX_CATEGORIES = 100
#: Up to here a 64-bit float tells whole numbers apart.
EXACT_UP_TO = 2**53
#: An id with more characters is a text rather than a name.
_LONGEST_ID = 64
#: Share of the rows that have a value of their own, at least, in a column that names them.
_LEAST_DISTINCT = 0.9
#: Numbers that are looked at together.
_BLOCK = 1 << 22
_DAY = r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))"
_DATE = re.compile(rf"{_DAY}([ T]\d{{1,2}}:\d{{2}}(:\d{{2}}([.,]\d+)?)?( ?[AaPp][Mm])?(Z| ?[+-]\d{{2}}:?\d{{2}})?)?")
#: A number with a sign of money or percent, or in groups of three digits.
_WITH_SIGNS = re.compile(r"[$€£¥]? ?-?(\d+|\d{1,3}([, ]\d{3})+)(\.\d+)? ?[%$€£¥]?")
_ID_NAME = re.compile(r"(^|[_\W])(id|uuid|guid|index|rownum|row)($|[_\W])|^unnamed: 0$", re.IGNORECASE)


def encode(
    frame: DataFrame, columns: Sequence[Column], name: str, say: Callable[[str], None] | None = None
) -> npt.NDArray[np.float32]:
    """(n, d) float32 features of a table. An unseen category has no feature: its row is zero there, which is said.

    ``name``: the table's, for messages. ``say``: called with a line about unseen categories, and one about numbers
    that are rounded.

    Raises RequestError for a column that is missing or not numeric.
    """
    if absent := [column.name for column in columns if column.name not in frame]:
        features = {column.name for column in columns}
        raise _lacking(name, absent, [str(other) for other in frame if other not in features])
    plain = _plain_numbers(frame[[column.name for column in columns if column.kind == "number"]])
    parts: list[npt.NDArray[np.float32]] = []
    for column in columns:
        if column.name in plain:
            parts.append(plain[column.name].astype(np.float32)[:, None])
            continue
        values = frame[column.name]
        if column.kind == "number":
            parts.append(_numbers(values, name, column.name)[:, None])
            if say is not None and _is_inexact(values):
                say(f"{name}: '{column.name}' has whole numbers beyond 2^53; they are rounded")
            continue
        words = _words(values)
        parts.append(np.stack([words == value for value in column.categories], axis=1).astype(np.float32))
        if say is not None and (new := sorted(set(words) - set(column.categories))):
            say(f"{name}: '{column.name}' has values that training did not have ({', '.join(new[:3])}); all zero")
    return np.ascontiguousarray(np.concatenate(parts, axis=1))


def _numbers(values: Series[Any], table: str, column: str) -> npt.NDArray[np.float32]:
    """(n,) float32, NaN where a value is missing. Raises RequestError for what is no number or not finite."""
    import pandas as pd

    if _is_time(values):
        raise RequestError(f"{table}: column '{column}' holds dates or times; training had numbers")
    try:
        numbers = pd.to_numeric(values).to_numpy(dtype=np.float64, na_value=np.nan)
    except (ValueError, TypeError) as error:
        raise RequestError(f"{table}: column '{column}' is not numeric ({error})") from error
    infinite = np.flatnonzero(np.isinf(numbers) | (np.abs(numbers) > np.finfo(np.float32).max))
    if len(infinite):
        value = numbers[infinite[0]]
        limit = "finite values" if np.isinf(value) else "values up to 3.4e38, as 32 bits hold them"
        raise RequestError(
            f"{table}: row {infinite[0]} of column '{column}' is {value:g}, expected {limit} (leave a cell empty if it "
            "is unknown)"
        )
    return np.asarray(numbers, dtype=np.float32)


# -------------------------------------------------------------------- deciding what a column becomes


@dataclass(frozen=True)
class Encoding:
    """``columns``: of features, in the file's order. ``notes``: what the user should know of how they were read.

    ``left_out``: column -> why it is no feature. ``ids``: those among them, and among the dropped ones, that name rows.
    """

    columns: tuple[Column, ...]
    notes: tuple[str, ...]
    left_out: Mapping[str, str]
    ids: tuple[str, ...]


def encoding_of(spec: UserTableSpec, frame: DataFrame) -> Encoding:
    """Encoding of each column that may be a feature. Raises RequestError if none is left."""
    names = _feature_columns(spec, frame)
    plain = _plain_numbers(frame[names])
    decisions = {
        name: _Decision(Column(name, "number"))
        if name in plain
        else _decide(name, frame[name], by_name=name in spec.features)
        for name in names
    }
    columns = tuple(d.column for d in decisions.values() if d.column is not None)
    left_out = {name: d.left_out for name, d in decisions.items() if d.left_out}
    listed = [f"'{name}' ({reason})" for name, reason in left_out.items()]
    if not columns:
        reason = f": {', '.join(listed)}" if listed else ""
        raise RequestError(f"{spec.path.name}: no column is left as a feature{reason}")
    notes = [*(d.note for d in decisions.values() if d.note), _summary(columns)]
    if listed:
        notes.append("left out: " + "; ".join(listed))
    ids = tuple(
        name
        for name in frame.columns
        if (name in decisions and decisions[name].is_id) or (name in spec.drop and _names_rows(frame[name]))
    )
    if ids:
        notes.append("the rows are named by " + ", ".join(f"'{name}'" for name in ids))
    return Encoding(columns, tuple(notes), left_out, ids)


def _lacking(name: str, absent: Sequence[str], others: Sequence[str]) -> RequestError:
    """``others``: columns of the table that the model does not know, of which one may be an absent one."""
    more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
    near = get_close_matches(absent[0], others, n=1)
    hint = f"; '{near[0]}' may be that, under another name" if near else ""
    return RequestError(
        f"{name} lacks '{shortened(absent[0])}'{more}; expected a table with every feature of the training rows{hint}"
    )


def _feature_columns(spec: UserTableSpec, frame: DataFrame) -> list[str]:
    """Columns that may be features: those that ``features`` names, or all but labels, truth and dropped ones."""
    apart = {spec.label_col, spec.truth_col, spec.groups, spec.weights, *spec.drop}
    free = [name for name in frame.columns if name not in apart]
    if not spec.features:
        return free
    for pattern in spec.features:
        if not any(fnmatchcase(name, pattern) for name in free):
            raise RequestError(
                f"{spec.path.name}: data.own.features={pattern} matches no column; columns are {some_of(free)}",
                field="data.own.features",
                value=spec.features,
            )
    return [name for name in free if any(fnmatchcase(name, pattern) for pattern in spec.features)]


@dataclass(frozen=True)
class _Decision:
    """``column``: None where it is ``left_out``, for that reason. ``note``: what is odd about one that is kept.

    ``is_id``: whether it is left out because its values name the rows.
    """

    column: Column | None = None
    left_out: str = ""
    note: str = ""
    is_id: bool = False


def _decide(name: str, values: Series[Any], *, by_name: bool) -> _Decision:
    """``by_name``: whether the user named this column, and not a pattern, as a feature."""
    import pandas as pd

    if is_nested(values):
        return _Decision(left_out="lists of different lengths, or of something else than numbers")
    distinct = values.nunique(dropna=False)
    if distinct <= 1:
        return _Decision(left_out="empty" if values.isna().any() else "constant")
    if _is_time(values):
        return _Decision(left_out=_TIME)
    if odd := _numbers_but_for(values):
        if distinct > MAX_CATEGORIES or distinct == len(values):
            return _Decision(left_out=f"text: {odd}")
        return _Decision(_category(name, values), note=f"'{name}' is read as text: {odd}")
    dates = are_dates(values)
    if not by_name and _is_id(name, values):
        if dates:
            return _Decision(left_out=_TIME)
        reason = "probably an id: every value differs; data.own.features keeps it"
        return _Decision(left_out=reason, is_id=_names_rows(values))
    if _is_whole(values) and _is_inexact(values):
        beyond = "whole numbers beyond 2^53, of which a float keeps the first 16 digits"
        if distinct <= MAX_CATEGORIES and distinct < len(values):
            return _Decision(_category(name, values), note=f"'{name}' is read as text: {beyond}")
        if not by_name:
            reason = f"{beyond}: an id, a code or a time; data.own.features keeps it, rounded"
            return _Decision(left_out=reason, is_id=_names_rows(values))
    if pd.api.types.is_bool_dtype(values) or pd.api.types.is_numeric_dtype(values) or _is_whole(values):
        return _number(name, values)
    if distinct > MAX_CATEGORIES:
        text = f"text with {distinct} different values, more than {MAX_CATEGORIES} categories"
        return _Decision(left_out=_TIME if dates else text, is_id=not dates and _names_rows(values))
    note = f"'{name}' holds dates and becomes {distinct} features, one for each; turn it into numbers, or leave it out"
    return _Decision(_category(name, values), note=f"{note}: data.own.drop={name}" if dates else "")


def decided(name: str, values: Series[Any]) -> tuple[Column | None, str]:
    """Encoding of a column that nobody named, or None and why it is no feature."""
    decision = _decide(name, values, by_name=False)
    return decision.column, decision.left_out


_TIME = "a date or a time; turn it into numbers to use it"


def _number(name: str, values: Series[Any]) -> _Decision:
    """A column of numbers, with a note where most of its values become the same ones as 32-bit features."""
    import pandas as pd

    distinct = values.nunique()
    numbers = pd.to_numeric(values).to_numpy(dtype=np.float64, na_value=np.nan)
    with np.errstate(over="ignore"):  # a number too large for any feature is refused later, with its row
        left = pd.Series(numbers.astype(np.float32)).nunique()
    remedy = "subtract an offset or rescale it to keep them apart"
    if left <= 1 and distinct > 1 and not values.isna().any():
        return _Decision(left_out=f"its {distinct} different values are one 32-bit number; {remedy}")
    note = ""
    if 2 * left < distinct:
        note = f"'{name}' has {distinct} different values, of which {left} are left as 32-bit features; {remedy}"
    elif _is_inexact(values):
        note = f"'{name}' has whole numbers beyond 2^53, which are rounded"
    elif left > 2 and _are_days(numbers):
        note = (
            f"'{name}' holds dates written as numbers ({numbers[np.isfinite(numbers)][0]:.0f}), which do not count days"
        )
    return _Decision(Column(name, "number"), note=note)


def _category(name: str, values: Series[Any]) -> Column:
    return Column(name, "category", tuple(sorted(set(_words(values)))))


def _summary(columns: Sequence[Column]) -> str:
    """How many features there are, and of which columns."""
    categories = [c for c in columns if c.kind == "category"]
    features = sum(len(c.features) for c in columns)
    text = f"{counted(features, 'feature')}: {counted(len(columns) - len(categories), 'numeric column')}"
    if categories:
        listed = ", ".join(f"'{c.name}' ({len(c.categories)})" for c in categories[:8])
        more = f" and {len(categories) - 8} more" if len(categories) > 8 else ""
        text += f", {len(categories)} categorical as one-hot: {listed}{more}"
    return text


def gaps_in(frame: DataFrame, columns: Sequence[Column]) -> str:
    """Where values are missing and what stands for them; empty if none is."""
    counts = frame[[c.name for c in columns]].isna().sum()
    gaps = [f"'{name}' {count}" for name, count in counts[counts > 0].items()]
    more = f" and {len(gaps) - 8} more columns" if len(gaps) > 8 else ""
    stand_in = "numbers get the training pool's median, categories one of their own ('?')"
    return f"missing values: {', '.join(gaps[:8])}{more}; {stand_in}" if gaps else ""


# -------------------------------------------------------------------- what a column is


def _plain_numbers(frame: DataFrame) -> dict[str, npt.NDArray[Any]]:
    """Name -> (n,) values of the columns that are numbers and nothing else: :func:`_decide` would keep them so without
    a note, and :func:`_numbers` take them as they are. A look at all of them together is what makes a table of 100,000
    columns quick.

    Decimals without gaps, most of whose different values stay different in 32 bits, not all of them whole; or whole
    numbers up to 2^24, not all different, which is what ids are.
    """
    found: dict[str, npt.NDArray[Any]] = {}
    for names, values in number_blocks(frame):
        with np.errstate(over="ignore", invalid="ignore"):
            distinct, left = _distinct(values), _distinct(values.astype(np.float32))
            fits = np.isfinite(values.astype(np.float32)).all(axis=0) & (left > 1)
            if values.dtype.kind == "f":
                fits &= (2 * left >= distinct) & (values % 1 != 0).any(axis=0)
            else:
                fits &= (np.abs(values) <= 2**24).all(axis=0) & (distinct < len(values))
        found |= {name: values[:, k] for k, name in enumerate(names) if fits[k]}
    return found


def number_blocks(frame: DataFrame) -> Iterator[tuple[list[str], npt.NDArray[Any]]]:
    """(names, (n, k) values) of the columns of 64-bit numbers, as many at a time as take a few MiB."""
    step = max(1, _BLOCK // max(len(frame), 1))
    for kind in ("float64", "int64"):
        names = [str(name) for name, dtype in frame.dtypes.items() if dtype == kind]
        for some in (names[start : start + step] for start in range(0, len(names), step)):
            yield some, frame[some].to_numpy()


def _distinct(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """(d,) how many different values each column of (n, d) has."""
    ordered = np.sort(values, axis=0)
    return np.asarray((ordered[1:] != ordered[:-1]).sum(axis=0) + 1)


def _is_time(values: Series[Any]) -> bool:
    import pandas as pd

    times = ("datetime64", "datetime", "date", "timedelta64", "timedelta", "time", "period")
    return values.dtype.kind in "mM" or pd.api.types.infer_dtype(values, skipna=True) in times


def are_dates(values: Series[Any]) -> bool:
    """Whether every text that is there is a date, or a date with a time."""
    import pandas as pd

    if values.dtype.kind in "biufmM" or pd.api.types.infer_dtype(values, skipna=True) != "string":
        return False
    return all(_DATE.fullmatch(text.strip()) for text in values.dropna())


def _are_days(numbers: npt.NDArray[np.float64]) -> bool:
    """Whether every number is a day of 1900 to 2100 as YYYYMMDD."""
    given = numbers[np.isfinite(numbers)]
    if not len(given) or not ((given >= 19000101) & (given <= 21001231) & (given % 1 == 0)).all():
        return False
    month, day = given // 100 % 100, given % 100
    return bool(((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all())


def _numbers_but_for(values: Series[Any]) -> str:
    """Why a column of texts is no column of numbers, where at least half of them are, or all with signs; else empty."""
    import pandas as pd

    if pd.api.types.infer_dtype(values, skipna=True) not in ("string", "mixed", "mixed-integer"):
        return ""
    given = values[values.notna()]
    strange = given[pd.to_numeric(given, errors="coerce").isna()]
    if not len(strange):
        return ""
    if all(isinstance(text, str) and _WITH_SIGNS.fullmatch(text.strip()) for text in strange):
        return f"row {strange.index[0]} is '{strange.iloc[0]}'; write plain numbers to have it read as numbers"
    if 2 * len(strange) > len(given):
        return ""
    return (
        f"{len(given) - len(strange)} of {len(given)} values are numbers, row {strange.index[0]} is "
        f"'{strange.iloc[0]}'; leave unknown cells empty to have it read as numbers"
    )


def _is_whole(values: Series[Any]) -> bool:
    """Whether every value is a whole number, of any size; numbers with gaps may have become floats."""
    import pandas as pd

    return values.dtype.kind in "iu" or pd.api.types.infer_dtype(values, skipna=True) == "integer"


def _is_inexact(values: Series[Any]) -> bool:
    """Whether whole numbers are among them that a float does not tell apart, or did not when the file was read.

    A column of whole numbers with a gap is read as floats; large measurements without one are what they are.
    """
    given = values.dropna()
    if not len(given) or not (_is_whole(given) or (given.dtype.kind == "f" and len(given) < len(values))):
        return False
    if given.dtype.kind == "f" and not (given % 1 == 0).all():
        return False
    return bool(given.max() > EXACT_UP_TO or given.min() < -EXACT_UP_TO)


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


def _names_rows(values: Series[Any]) -> bool:
    """Whether values are short texts or whole numbers, nearly all of which differ: some rows may be there twice."""
    if is_nested(values) or values.dtype.kind in "fmM" or values.isna().any():
        return False
    if values.nunique() < _LEAST_DISTINCT * len(values):
        return False
    return values.dtype.kind in "iu" or int(values.map(str).str.len().max()) <= _LONGEST_ID


def _words(values: Series[Any]) -> npt.NDArray[Any]:
    """(n,) texts; a missing value is the category '?'."""
    words: npt.NDArray[Any] = values.astype(object).where(values.notna(), "?").map(str).to_numpy(dtype=object)
    return words
