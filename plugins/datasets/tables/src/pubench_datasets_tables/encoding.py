"""How the columns of a table become features: numbers as they are, categories one-hot.

An encoding is plain data: it is recorded with the run, and the same one reads the test file and the files that a saved
model scores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench_core.data.labeled import POOLED, Column
from pubench_core.errors import RequestError, counted, shortened
from pubench_core.specs import UserTableSpec

from .cells import is_nested
from .names import named_columns

if TYPE_CHECKING:
    from pandas import DataFrame, Series

#: A category has at most so many features. Of a column with more values, those are kept that are in ``FREQUENT`` rows.
MAX_CATEGORIES, FREQUENT = 100, 5
#: Up to here a 64-bit float tells whole numbers apart.
EXACT_UP_TO = 2**53
#: An id with more characters is a text rather than a name.
_LONGEST_ID = 64
#: Share of the rows that have a value of their own, at least, in a column that names them.
LEAST_DISTINCT = 0.9
#: Numbers that are looked at together.
_BLOCK = 1 << 22
_DAY = r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))"
_DATE = re.compile(rf"{_DAY}([ T]\d{{1,2}}:\d{{2}}(:\d{{2}}([.,]\d+)?)?( ?[AaPp][Mm])?(Z| ?[+-]\d{{2}}:?\d{{2}})?)?")
#: A number with a sign of money or percent, or in groups of three digits.
_WITH_SIGNS = re.compile(r"[$€£¥]? ?-?(\d+|\d{1,3}([, ]\d{3})+)(\.\d+)? ?[%$€£¥]?")
ID_NAME = re.compile(
    r"(^|[_\W])(id|uuid|guid|index|rownum|row|key|nr|no|number)($|[_\W])|[a-z](Id|ID|Nr|NR|nr|nummer)$|^unnamed: 0$"
    r"|^(account|customer|patient|subject|person|user|client|donor|site|plot|order|case)s?$",
    re.IGNORECASE,
)
_TIME = "a date or a time; turn it into numbers to use it"


def encode(
    frame: DataFrame, columns: Sequence[Column], name: str, say: Callable[[str], None] | None = None
) -> npt.NDArray[Any]:
    """(n, d) features of a table, in 32 bits, or in 64 if a column needs them.

    An unseen category counts as a rare one, or has no feature: its row is zero there, which is said. ``name``: the
    table's, for messages. ``say``: called with a line about unseen categories, and one about numbers that are rounded.

    Raises RequestError for a column that is missing or not numeric.
    """
    if absent := [column.name for column in columns if column.name not in frame]:
        features = {column.name for column in columns}
        raise _lacking(name, absent, [str(other) for other in frame if other not in features])
    known = {column.name: without(frame[column.name], column.missing) for column in columns if column.missing}
    frame = frame.assign(**known) if known else frame
    plain = _plain_numbers(frame[[column.name for column in columns if column.kind == "number"]])
    dtype = np.float64 if any(column.wide for column in columns) else np.float32
    parts: list[npt.NDArray[Any]] = []
    for column in columns:
        if column.name in plain:
            parts.append(plain[column.name].astype(dtype)[:, None])
            continue
        values = frame[column.name]
        if column.kind == "number":
            parts.append(_numbers(values, name, column.name).astype(dtype)[:, None])
            if say is not None and _is_inexact(values):
                say(f"{name}: '{column.name}' has whole numbers beyond 2^53; they are rounded")
            continue
        words = words_of(values)
        parts.append(np.stack([words == value for value in column.categories], axis=1).astype(dtype))
        if column.pooled:
            parts.append((parts[-1].sum(axis=1, keepdims=True) == 0).astype(dtype))
        elif say is not None and (new := sorted(set(words) - set(column.categories))):
            say(f"{name}: '{column.name}' has values that training did not have ({', '.join(new[:3])}); all zero")
    return np.ascontiguousarray(np.concatenate(parts, axis=1))


def _numbers(values: Series[Any], table: str, column: str) -> npt.NDArray[np.float64]:
    """(n,), NaN if a value is missing. Raises RequestError for what is no number or not finite in 32 bits."""
    import pandas as pd

    if _is_time(values):
        raise RequestError(f"{table}: column '{column}' holds dates or times; training had numbers")
    try:
        plain = values.astype(object) if values.dtype.name == "category" else values
        numbers = pd.to_numeric(plain).to_numpy(dtype=np.float64, na_value=np.nan)
    except (ValueError, TypeError) as error:
        raise RequestError(f"{table}: column '{column}' is not numeric ({error})") from error
    infinite = np.flatnonzero(np.isinf(numbers) | (np.abs(numbers) > np.finfo(np.float32).max))
    if len(infinite):
        value = numbers[infinite[0]]
        limit = "finite values" if np.isinf(value) else "values up to 3.4e38, as 32 bits hold them"
        raise RequestError(
            f"{table}: row {infinite[0]} of column '{column}' is {value:g}, expected {limit} (leave a cell empty if it "
            f"is unknown: data.own.missing_values={column}={value:g})"
        )
    return np.asarray(numbers, dtype=np.float64)


def without(values: Series[Any], words: Sequence[str]) -> Series[Any]:
    """The values with gaps instead of those that ``words`` name; numbers, if the others all are."""
    import pandas as pd

    if is_nested(values):
        return values
    if values.dtype.kind in "iufb":
        numbers = [float(word) for word in words if re.fullmatch(r"\s*[+-]?\d*\.?\d+([eE][+-]?\d+)?\s*", word)]
        found = values.isin(numbers)
        return values.mask(found) if found.any() else values
    found = values.map(str).isin(words)
    if not found.any():
        return values
    rest = values.mask(found)
    numbers_of_rest = pd.to_numeric(rest, errors="coerce")
    return rest if (numbers_of_rest.isna() & rest.notna()).any() else numbers_of_rest


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


def encoding_of(spec: UserTableSpec, frame: DataFrame, missing: Mapping[str, tuple[str, ...]]) -> Encoding:
    """Encoding of each column that may be a feature; its ``missing`` values are gaps in ``frame``.

    Raises RequestError if none is left.
    """
    file, dropped = spec.path.name, named_columns(spec.drop, frame.columns, "data.own.drop", spec.path.name)
    apart = {spec.label_col, spec.truth_col, spec.groups, spec.weights, *dropped}
    names = [name for name in frame.columns if name not in apart]
    codes = set(named_columns(spec.codes, names, "data.own.codes", file))
    if spec.features:
        named = set(named_columns(spec.features, names, "data.own.features", file))
        names = [name for name in names if name in named]
    plain = _plain_numbers(frame[[name for name in names if name not in codes]])
    decisions = {
        name: _Decision(Column(name, "number"))
        if name in plain
        else _decide(name, frame[name], by_name=name in spec.features, is_code=name in codes)
        for name in names
    }
    columns = tuple(
        replace(d.column, missing=missing.get(name, ())) for name, d in decisions.items() if d.column is not None
    )
    left_out = {name: d.left_out for name, d in decisions.items() if d.left_out}
    listed = [f"'{name}' ({reason})" for name, reason in left_out.items()]
    if not columns:
        reason = f": {', '.join(listed)}" if listed else ""
        raise RequestError(f"{file}: no column is left as a feature{reason}")
    notes = [*(d.note for d in decisions.values() if d.note), _summary(columns)]
    if listed:
        notes.append("left out: " + "; ".join(listed))
    ids = tuple(
        name
        for name in frame.columns
        if (name in decisions and decisions[name].is_id) or (name in dropped and _names_rows(frame[name]))
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


@dataclass(frozen=True)
class _Decision:
    """``column``: None if it is ``left_out``, for that reason. ``note``: what is odd about one that is kept.

    ``is_id``: whether it is left out because its values name the rows.
    """

    column: Column | None = None
    left_out: str = ""
    note: str = ""
    is_id: bool = False


def _decide(name: str, values: Series[Any], *, by_name: bool = False, is_code: bool = False) -> _Decision:
    """``by_name``: whether the user named this column, and not a pattern, as a feature; ``is_code``: as a category."""
    import pandas as pd

    if is_nested(values):
        return _Decision(left_out="lists of different lengths, or of something else than numbers")
    distinct = values.nunique(dropna=False)
    if distinct <= 1:
        return _Decision(left_out="empty" if values.isna().any() else "constant")
    if is_code or values.dtype.name == "category":
        return _categories(name, values, at_least=0.0)
    if _is_time(values):
        return _Decision(left_out=_TIME)
    if odd := _numbers_but_for(values):
        if distinct > MAX_CATEGORIES or distinct == len(values):
            return _Decision(left_out=f"text: {odd}")
        return replace(_categories(name, values), note=f"'{name}' is read as text: {odd}")
    dates = are_dates(values)
    if not by_name and _is_id(name, values):
        if dates:
            return _Decision(left_out=_TIME)
        many = "every value differs" if distinct == len(values) else f"{distinct} of {len(values)} values differ"
        reason = f"probably an id: {many}; data.own.features keeps it"
        return _Decision(left_out=reason, is_id=_names_rows(values))
    if _is_whole(values) and _is_inexact(values):
        beyond = "whole numbers beyond 2^53, of which a float keeps the first 16 digits"
        if distinct <= MAX_CATEGORIES and distinct < len(values):
            return replace(_categories(name, values), note=f"'{name}' is read as text: {beyond}")
        if not by_name:
            reason = f"{beyond}: an id, a code or a time; data.own.features keeps it, rounded"
            return _Decision(left_out=reason, is_id=_names_rows(values))
    if pd.api.types.is_bool_dtype(values) or pd.api.types.is_numeric_dtype(values) or _is_whole(values):
        return _number(name, values)
    if dates and distinct > MAX_CATEGORIES:
        return _Decision(left_out=_TIME)
    note = f"'{name}' holds dates and becomes {distinct} features, one for each; turn it into numbers, or leave it out"
    found = _categories(name, values)
    if found.left_out:
        return replace(found, is_id=_names_rows(values))
    return replace(found, note=f"{note}: data.own.drop={name}") if dates else found


def decided(name: str, values: Series[Any]) -> tuple[Column | None, str]:
    """Encoding of a column that nobody named, or None and why it is no feature."""
    decision = _decide(name, values)
    return decision.column, decision.left_out


def _number(name: str, values: Series[Any]) -> _Decision:
    """A column of numbers, kept in 64 bits if most of its values would become the same ones in 32."""
    import pandas as pd

    distinct = values.nunique()
    numbers = pd.to_numeric(values).to_numpy(dtype=np.float64, na_value=np.nan)
    with np.errstate(over="ignore"):  # a number too large for any feature is refused later, with its row
        left = pd.Series(numbers.astype(np.float32)).nunique()
    note = ""
    if _is_inexact(values):
        note = f"'{name}' has whole numbers beyond 2^53, which are rounded"
    elif left > 2 and _are_days(numbers):
        day = numbers[np.isfinite(numbers)][0]
        note = f"'{name}' holds dates written as numbers ({day:.0f}), which do not count days"
    return _Decision(Column(name, "number", wide=bool(2 * left < distinct)), note=note)


def _categories(name: str, values: Series[Any], at_least: float = 0.5) -> _Decision:
    """A column of categories. Of many values, the frequent ones, if they are those of a share ``at_least`` of rows."""
    levels, counts = np.unique(words_of(values), return_counts=True)
    if len(levels) <= MAX_CATEGORIES:
        return _Decision(Column(name, "category", tuple(levels)))
    order = np.argsort(-counts, kind="stable")[: MAX_CATEGORIES - 1]
    kept = np.sort(order[counts[order] >= FREQUENT])
    rows = int(counts[kept].sum())
    if not rows or rows < at_least * counts.sum():
        what = f"text with {len(levels)} different values, more than {MAX_CATEGORIES} categories"
        return _Decision(left_out=f"{what}, of which few repeat; data.own.codes={name} keeps the frequent ones")
    note = (
        f"'{name}' has {len(levels)} values: {len(kept)} frequent ones become a feature each, the other "
        f"{len(levels) - len(kept)} ({counts.sum() - rows} rows) one together, {name}={POOLED}"
    )
    return _Decision(Column(name, "category", tuple(levels[kept]), pooled=True), note=note)


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


def gaps_in(frame: DataFrame, columns: Collection[Column]) -> str:
    """Columns with missing values and what stands for them; empty if none has any."""
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
    numbers up to 2^24, not nearly all different, which is what ids are.
    """
    found: dict[str, npt.NDArray[Any]] = {}
    for names, values in number_blocks(frame):
        with np.errstate(over="ignore", invalid="ignore"):
            distinct, left = _distinct(values), _distinct(values.astype(np.float32))
            fits = np.isfinite(values.astype(np.float32)).all(axis=0) & (left > 1)
            if values.dtype.kind == "f":
                fits &= (2 * left >= distinct) & (values % 1 != 0).any(axis=0)
            else:
                fits &= (np.abs(values) <= 2**24).all(axis=0) & (distinct < LEAST_DISTINCT * len(values))
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
    """Why a column of texts is no column of numbers, if at least half of them are, or all with signs; else empty."""
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
    word = str(strange.iloc[0])
    remedy = f"if that means missing: data.own.missing_values={word}" if re.fullmatch(r"[\w.#/*-]+", word) else ""
    return (
        f"{len(given) - len(strange)} of {len(given)} values are numbers, row {strange.index[0]} is '{word}'; "
        f"{remedy or 'leave unknown cells empty to have it read as numbers'}"
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
    """Texts that all differ, or whole numbers of which nine in ten do, named like ids or with few gaps in between."""
    distinct = values.nunique()
    if len(values) < 10 or distinct < LEAST_DISTINCT * len(values) or values.dtype.kind == "f":
        return False
    if values.dtype.kind not in "iu":
        return bool(distinct == len(values))
    dense = int(values.max()) - int(values.min()) < 2 * len(values)
    return dense or ID_NAME.search(name) is not None


def _names_rows(values: Series[Any]) -> bool:
    """Whether values are short texts or whole numbers, nearly all of which differ: some rows may be there twice."""
    if is_nested(values) or values.dtype.kind in "fmM" or values.isna().any():
        return False
    if values.nunique() < LEAST_DISTINCT * len(values):
        return False
    return values.dtype.kind in "iu" or int(values.map(str).str.len().max()) <= _LONGEST_ID


def words_of(values: Series[Any]) -> npt.NDArray[Any]:
    """(n,) texts; a missing value is the category '?', and a whole number that a gap made a float has no point."""
    plain = values.astype(object)
    if values.dtype.kind == "f" or (values.dtype.name == "category" and values.cat.categories.dtype.kind == "f"):
        plain = plain.map(lambda value: int(value) if value % 1 == 0 else value, na_action="ignore")
    words: npt.NDArray[Any] = plain.where(values.notna(), "?").map(str).to_numpy(dtype=object)
    return words
