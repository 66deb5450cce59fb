"""How the columns of a table become features: numbers as they are, categories one-hot.

An encoding is plain data: it is recorded with the run, and the same one reads the test file and the files that a saved
model scores.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench_core.data.labeled import POOLED, Column, LabeledData
from pubench_core.data.table_reader import A_NUMBER, ColumnUse, Say, Use
from pubench_core.errors import RequestError, counted, shortened
from pubench_core.specs import UserTableSpec

from .cells import listed, named_columns, without, words_of

if TYPE_CHECKING:
    from pandas import DataFrame, Series

#: A category has at most so many features. Of a column with more values, those are kept that are in ``FREQUENT`` rows.
MAX_CATEGORIES, FREQUENT = 100, 5
#: Why dates and times are no features.
_TIME = "a date or a time; turn it into numbers, or have categories: data.own.codes={}"
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
_YYYYMMDD = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
ID_NAME = re.compile(
    r"(^|[_\W])(id|uuid|guid|index|rownum|row|key|nr|no|number)($|[_\W])|[a-z](Id|ID|Nr|NR|nr|nummer)$|^unnamed: 0$"
    r"|^(account|customer|patient|subject|person|user|client|donor|site|plot|order|case)s?$",
    re.IGNORECASE,
)


def encode(frame: DataFrame, columns: Sequence[Column], name: str, say: Say = lambda text: None) -> npt.NDArray[Any]:
    """(n, d) features of a table, in 32 bits, or in 64 if a column needs them; NaN if a number is missing.

    An unseen category counts as a rare one, or has no feature: its row is zero there, which is said. ``name``: the
    table's, for messages. Raises RequestError for a column that is missing, not numeric or not finite in 32 bits.
    """
    import pandas as pd

    features = [column.name for column in columns]
    if absent := [column for column in features if column not in frame]:
        near = get_close_matches(absent[0], sorted(set(frame) - set(features)), n=1)
        quoted = listed([f"'{shortened(column)}'" for column in absent], 1)
        hint = f"; '{near[0]}' may be that, under another name" if near else ""
        raise RequestError(f"{name} lacks {quoted}; expected a table with every feature of the training rows{hint}")
    frame = frame.assign(**{c.name: without(frame[c.name], c.missing) for c in columns if c.missing})
    numeric, changed = frame[[column.name for column in columns if column.kind == "number"]], dict[str, Any]()
    for column, values in [
        (column, numeric[column]) for column, dtype in numeric.dtypes.items() if dtype.kind not in "biuf"
    ]:
        if is_time(values):
            raise RequestError(f"{name}: column '{column}' holds dates or times; training had numbers")
        try:
            plain = values.astype(object) if values.dtype.name == "category" else values
            changed[str(column)] = pd.to_numeric(plain).to_numpy(dtype=np.float64, na_value=np.nan)
        except (ValueError, TypeError) as error:
            raise RequestError(f"{name}: column '{column}' is not numeric ({error})") from error
    numbers: npt.NDArray[np.float64] = numeric.assign(**changed).to_numpy(dtype=np.float64, na_value=np.nan)
    beyond: npt.NDArray[np.bool_] = np.abs(numbers) > np.finfo(np.float32).max
    for k in np.flatnonzero(beyond.any(axis=0))[:1]:
        row, column = int(beyond[:, k].argmax()), numeric.columns[k]
        limit = "finite values" if np.isinf(numbers[row, k]) else "values up to 3.4e38, as 32 bits hold them"
        remedy = f"leave a cell empty if it is unknown: data.own.missing_values={column}={numbers[row, k]:g}"
        wrong = f"row {row} of column '{column}' is {numbers[row, k]:g}, expected {limit}"
        raise RequestError(f"{name}: {wrong} ({remedy})")
    parts, of_numbers = list[npt.NDArray[Any]](), iter(numbers.T)
    for feature in columns:
        if feature.kind == "number":
            parts.append(next(of_numbers)[:, None])
            continue
        words = words_of(frame[feature.name])
        parts.append(np.stack([words == value for value in feature.categories], axis=1))
        rest = ~np.asarray(parts[-1].any(axis=1), dtype=bool)
        if feature.pooled:
            parts.append(rest[:, None])
        elif rest.any():
            new = ", ".join(sorted(set(words[rest]))[:3])
            say(f"{name}: '{feature.name}' has values that training did not have ({new}); all zero")
    dtype = np.float64 if any(column.wide for column in columns) else np.float32
    return np.ascontiguousarray(np.concatenate(parts, axis=1, dtype=dtype, casting="same_kind"))


# -------------------------------------------------------------------- what a column is


@dataclass(frozen=True)
class _Numbers:
    """``values``: those of a column of numbers that are there, sorted; how many differ, in 64 and in 32 bits; whether
    all are whole."""

    values: npt.NDArray[np.float64]
    distinct: int
    in_32_bits: int
    whole: bool


@dataclass(frozen=True)
class Described:
    """A column as a feature, with its ``numbers`` if it has any, or why it is none; what is odd about it; whether it
    is left out as its values name the rows."""

    column: Column | None = None
    left_out: str = ""
    note: str = ""
    is_id: bool = False
    numbers: _Numbers | None = None


def _numbers_of(frame: DataFrame) -> dict[str, _Numbers]:
    """Name -> what is known of a column of numbers: many at a time, which makes a table of 100,000 columns quick."""
    found: dict[str, _Numbers] = {}
    numeric = frame[[name for name, dtype in frame.dtypes.items() if dtype.kind in "biuf"]]
    step = max(1, _BLOCK // max(len(frame), 1))
    for start in range(0, numeric.shape[1], step):
        part = numeric.iloc[:, start : start + step]
        values = np.sort(part.to_numpy(dtype=np.float64, na_value=np.nan), axis=0)  # gaps last
        with np.errstate(over="ignore", invalid="ignore"):  # a number too large for any feature is refused later
            distinct, left = ((np.diff(v, axis=0) > 0).sum(axis=0) + 1 for v in (values, values.astype(np.float32)))
            whole = (np.isnan(values) | (values % 1 == 0)).all(axis=0)
        there = len(values) - np.isnan(values).sum(axis=0)
        for k, name in enumerate(part):
            found[str(name)] = _Numbers(values[: there[k], k], int(distinct[k]), int(left[k]), bool(whole[k]))
    return found


def describe(frame: DataFrame, named: Collection[str] = ()) -> dict[str, Described]:
    """``named``: columns that the user named as features, and not by a pattern."""
    numbers, found = _numbers_of(frame), dict[str, Described]()
    for name, values in frame.items():
        by_name = name in named
        known = numbers.get(name)
        found[name] = _text(name, values, by_name) if known is None else _number(name, values, known, by_name)
    return found


def _number(name: str, values: Series[Any], known: _Numbers, by_name: bool) -> Described:
    """A column of numbers, kept in 64 bits if most of its values would become the same ones in 32."""
    given, n = known.values, len(values)
    is_whole = values.dtype.kind in "iu" or (known.whole and len(given) < n)  # a gap made floats of whole numbers
    beyond = is_whole and len(given) > 0 and np.abs(given[[0, -1]]).max() > EXACT_UP_TO
    if known.distinct == 1 and len(given) in (0, n) and not beyond:
        return Described(left_out="constant" if len(given) else "empty")
    if is_whole and not by_name:
        distinct = values.nunique() if beyond else known.distinct
        dense = given[-1] - given[0] < 2 * n
        if distinct > 2 and all(_YYYYMMDD.fullmatch(f"{day:.12g}") for day in np.unique(given)):
            return Described(left_out=_TIME.format(name))
        if n >= 10 and distinct >= LEAST_DISTINCT * n and (dense or beyond or ID_NAME.search(name)):
            return _id(values, distinct)
        if beyond:
            return _text(name, values.astype(object))
    return Described(Column(name, "number", wide=2 * known.in_32_bits < known.distinct), numbers=known)


def _text(name: str, values: Series[Any], by_name: bool = False) -> Described:
    """A column of anything else than numbers."""
    import pandas as pd

    distinct = values.nunique(dropna=False)
    if distinct <= 1:
        return Described(left_out="empty" if values.isna().any() else "constant")
    if values.dtype.name == "category":
        return _categories(name, values, at_least=0.0)
    if is_time(values):
        return Described(left_out=_TIME.format(name))
    odd = _numbers_but_for(values)
    if pd.api.types.infer_dtype(values, skipna=True) == "integer":
        odd = "whole numbers beyond 2^53, of which a float keeps the first 16 digits"
    if not odd and not by_name and len(values) >= 10 and values.nunique() == len(values):
        return _id(values, len(values))
    found = _categories(name, values)
    if odd and (found.column is None or distinct == len(values)):
        return Described(left_out=f"text: {odd}")
    return replace(found, note=f"'{name}' is read as text: {odd}") if odd else found


def _id(values: Series[Any], distinct: int) -> Described:
    many = "every value differs" if distinct == len(values) else f"{distinct} of {len(values)} values differ"
    return Described(left_out=f"probably an id: {many}; data.own.features keeps it", is_id=_names_rows(values))


def _categories(name: str, values: Series[Any], at_least: float = 0.5) -> Described:
    """A column of categories. Of many values, the frequent ones, if they are those of a share ``at_least`` of rows."""
    import pandas as pd

    found = pd.Series(words_of(values)).value_counts().sort_index()
    if len(found) <= MAX_CATEGORIES:
        return Described(Column(name, "category", tuple(found.index)))
    kept = found.sort_values(ascending=False, kind="stable")[: MAX_CATEGORIES - 1]
    kept = kept[kept >= FREQUENT].sort_index()
    if not len(kept) or kept.sum() < at_least * len(values):
        what = f"text with {len(found)} different values, more than {MAX_CATEGORIES} categories"
        reason = f"{what}, of which few repeat; data.own.codes={name} keeps the frequent ones"
        return Described(left_out=reason, is_id=_names_rows(values))
    note = (
        f"'{name}' has {len(found)} values: {len(kept)} frequent ones become a feature each, the other "
        f"{len(found) - len(kept)} ({len(values) - kept.sum()} rows) one together, {name}={POOLED}"
    )
    return Described(Column(name, "category", tuple(kept.index), pooled=True), note=note)


def is_time(values: Series[Any]) -> bool:
    """Whether values are dates or times, also if written as texts."""
    import pandas as pd

    found = pd.api.types.infer_dtype(values, skipna=True)
    if values.dtype.kind in "mM" or found.startswith(("date", "time", "period")):
        return True
    return found == "string" and all(_DATE.fullmatch(text.strip()) for text in values.dropna())


def _numbers_but_for(values: Series[Any]) -> str:
    """Why a column of texts is no column of numbers, if at least half of them are, or all without signs; else empty."""
    import pandas as pd

    given = values.dropna().map(str)
    strange = given[pd.to_numeric(given, errors="coerce").isna()]
    if not len(strange):
        return ""
    word, place = strange.iloc[0], f"row {strange.index[0]} is '{strange.iloc[0]}'"
    if pd.to_numeric(strange.str.replace("[$€£¥%, ]", "", regex=True), errors="coerce").notna().all():
        return f"{place}; write plain numbers to have it read as numbers"
    if 2 * len(strange) > len(given):
        return ""
    remedy = "leave unknown cells empty to have it read as numbers"
    if re.fullmatch(r"[\w.#/*-]+", word):  # others do not fit in a list of options
        remedy = f"if that means missing: data.own.missing_values={word}"
    return f"{len(given) - len(strange)} of {len(given)} values are numbers, {place}; {remedy}"


def _names_rows(values: Series[Any]) -> bool:
    """Whether values are short texts or whole numbers, nearly all of which differ: some rows may be there twice."""
    if values.dtype.kind in "fmM" or values.isna().any() or values.nunique() < LEAST_DISTINCT * len(values):
        return False
    return values.dtype.kind in "iu" or int(values.map(str).str.len().max()) <= _LONGEST_ID


# -------------------------------------------------------------------- what the columns of a table are, and what is odd


def encoding_of(
    spec: UserTableSpec,
    frame: DataFrame,
    roles: Collection[str],
    missing: Mapping[str, tuple[str, ...]],
    notes: list[str],
) -> tuple[tuple[Column, ...], dict[str, str], list[str]]:
    """Columns of features, in the file's order; column -> why it is no feature; and those of the others that name rows.

    ``missing`` values of a column are gaps in ``frame``. Raises RequestError if no feature is left.
    """
    file = spec.path.name
    dropped = named_columns(spec.drop, frame.columns, "drop", file)
    names = [name for name in frame.columns if name not in {*roles, *dropped}]
    if spec.features:
        named = {*named_columns(spec.features, names, "features", file)}
        names = [name for name in names if name in named]
    found = describe(frame[names], spec.features)
    columns = tuple(replace(one.column, missing=missing.get(name, ())) for name, one in found.items() if one.column)
    left_out = {name: one.left_out for name, one in found.items() if one.left_out}
    reasons = [f"'{name}' ({reason})" for name, reason in left_out.items()]
    if not columns:
        raise RequestError(f"{file}: no column is left as a feature{': ' if reasons else ''}{', '.join(reasons)}")
    many = [f"'{c.name}' ({len(c.categories)})" for c in columns if c.kind == "category"]
    counts = [counted(sum(len(c.features) for c in columns), "feature")]
    counts += [counted(len(columns) - len(many), "numeric column")]
    as_one_hot = f", {len(many)} categorical as one-hot: {listed(many)}" if many else ""
    notes += [*(one.note for one in found.values() if one.note), f"{': '.join(counts)}{as_one_hot}"]
    ids = {name for name, one in found.items() if one.is_id} | {name for name in dropped if _names_rows(frame[name])}
    in_order = [name for name in frame.columns if name in ids]
    notes += ["left out: " + "; ".join(reasons)] if reasons else []
    notes += ["the rows are named by " + ", ".join(f"'{name}'" for name in in_order)] if ids else []
    notes += notices(spec, frame, found)
    return columns, left_out, in_order


def gaps_in(frame: DataFrame, columns: Collection[Column]) -> str:
    """Columns with missing values and what stands for them; empty if none has any."""
    counts = frame[[c.name for c in columns]].isna().sum()
    gaps = [f"'{name}' {count}" for name, count in counts[counts > 0].items()]
    stand_in = "numbers get the training pool's median, categories one of their own ('?')"
    return f"missing values: {listed(gaps)}; {stand_in}" if gaps else ""


#: A repeated whole number stands apart if it is farther from the others than these from each other; one value is wild
#: if it is so many times as far. Without the outer ``_TAIL`` of them on each side.
_APART, _WILD, _TAIL = 1.0, 50.0, 0.005
#: A value that means missing is there so often, at least.
_OFTEN = 3
#: From so many rows on, it means something that nearly all values differ.
_ENOUGH = 50
#: So many columns are named in one line, or have a line each.
_NAMED = 8


def notices(spec: UserTableSpec, frame: DataFrame, described: Mapping[str, Described]) -> Iterator[str]:
    """A line for each unusual thing that the spec does not mention. ``frame``: with gaps for missing values."""
    numbers = {name: one.numbers for name, one in described.items() if one.numbers is not None}
    n, lines = len(frame), list[str]()
    lowest_and_highest = [
        (name, sign, known.values[::sign] * sign) for name, known in numbers.items() for sign in (1, -1)
    ]
    for name, sign, given in lowest_and_highest:
        others = given[np.searchsorted(given, given[0], side="right") :] if len(given) else given
        if len(others) < 3:
            continue
        low, high = others[[int(share * (len(others) - 1)) for share in (_TAIL, 1 - _TAIL)]]
        far = (others[0] - given[0]) / (high - low) if high > low else 0.0
        count, value = len(given) - len(others), sign * given[0]
        is_sentinel = far > _APART and count >= _OFTEN and value % 1 == 0
        if is_sentinel or far > _WILD:
            row = int(np.flatnonzero(frame[name] == value)[0])
            what = f"{count} of {len(given)} values are {value:g}" if is_sentinel else f"row {row} is {value:g}"
            lowest, highest = sorted((sign * others[0], sign * others[-1]))
            lines.append(
                f"'{name}': {what}, far from all others ({lowest:g} to {highest:g}); if that means "
                f"missing: data.own.missing_values={name}={value:.15g}"
            )
    yield from lines[:_NAMED]
    if len(lines) > _NAMED:
        yield f"{len(lines) - _NAMED} more columns have values far from all others"
    counts = {name: known.distinct for name, known in numbers.items() if known.whole}
    few = [name for name, count in counts.items() if 2 < count <= min(MAX_CATEGORIES, n / 5)]
    many = [name for name, count in counts.items() if count >= max(LEAST_DISTINCT * n, _ENOUGH)]
    for what, found, role, field in (
        ("with few values", few, "codes of categories", "codes"),
        ("that nearly all differ", [name for name in many if frame[name].dtype.kind in "iu"], "ids", "drop"),
    ):
        if found:
            quoted = listed([f"'{name}' ({counts[name]} values)" for name in found], _NAMED)
            option = f"data.own.{field}={','.join(found[:_NAMED])}"
            yield f"whole numbers {what} are read as quantities: {quoted}; if they are {role}: {option}"
    for name, values in frame.items() if spec.groups is None else ():  # ids that repeat
        if values.dtype.kind in "fbmM" or name in (spec.label_col, spec.truth_col, spec.weights):
            continue
        is_feature = name in described and described[name].column is not None
        likely = ID_NAME.search(name) or not (is_feature or values.dtype.kind in "iu" or is_time(values))
        if likely and max(10, n / 50) <= values.nunique() <= n / 1.5:
            yield (
                f"'{name}': {n} rows have {values.nunique()} values; if rows of one value belong together, as those of "
                f"a patient: data.own.groups={name}"
            )


#: Values of a column that are shown, and the most characters of one.
SHOWN, LONGEST = 3, 24
#: Fields that name a column which is no feature, and what it is then.
ROLES: dict[str, tuple[Use, str]] = {
    "label_col": ("labels", "who is labeled"),
    "truth_col": ("truth", "true labels, for measuring only"),
    "groups": ("groups", "rows of one value are never parted"),
    "weights": ("weights", "weights of the rows"),
}


def column_uses(
    frame: DataFrame, own: UserTableSpec | None = None, table: LabeledData | None = None
) -> list[ColumnUse]:
    """One per column, in the table's order; without ``own``, what would become of each one if it were a feature."""
    if own is None or table is None:
        described, roles, ids = describe(frame), dict[str, tuple[Use, str]](), dict[str, Any]()
        columns = [one.column for one in described.values() if one.column]
        found = {name: one.left_out for name, one in described.items()}
    else:
        roles, ids = {getattr(own, role): use for role, use in ROLES.items()}, dict(table.ids)
        what = "dropped" if own.drop and not own.features else "dropped, or not among the features"
        columns, found = list(table.columns), {str(name): table.left_out.get(str(name), what) for name in frame}
    of = {
        c.name: A_NUMBER if c.kind == "number" else f"{len(c.categories)} categories, one feature each" for c in columns
    }
    uses = []
    for name, values in frame.items():
        use, what = roles.get(name, ("names rows" if name in ids else "left out", found[name]))
        if name in of and name not in roles:
            use, what = "feature", of[name]
        different = values.dropna().drop_duplicates()
        first = different.head(SHOWN)
        some = ids[name][first.index] if name in ids else first.to_numpy(dtype=object)  # ids as written in the file
        shown = tuple(
            text if len(text := str(value)) <= LONGEST or isinstance(value, (int, float)) else text[: LONGEST - 1] + "…"
            for value in some.tolist()
        )
        uses.append(ColumnUse(name, use, what, len(different), int(values.isna().sum()), shown))
    return uses
