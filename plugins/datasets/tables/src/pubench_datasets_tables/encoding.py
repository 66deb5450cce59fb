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

from pubench_core.data.labeled import POOLED, Column, LabeledData
from pubench_core.data.table_reader import A_NUMBER, ColumnUse, Use
from pubench_core.errors import RequestError, counted, shortened
from pubench_core.specs import UserTableSpec

from .cells import NUMBER, is_blank, is_nested, listed, named_columns

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
_YYYYMMDD = r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])"
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
        near = get_close_matches(absent[0], [str(other) for other in frame if other not in features], n=1)
        quoted = listed([f"'{shortened(column)}'" for column in absent], 1)
        hint = f"; '{near[0]}' may be that, under another name" if near else ""
        raise RequestError(f"{name} lacks {quoted}; expected a table with every feature of the training rows{hint}")
    frame = frame.assign(**{c.name: without(frame[c.name], c.missing) for c in columns if c.missing})
    plain = _plain_numbers(frame[[column.name for column in columns if column.kind == "number"]])
    dtype = np.float64 if any(column.wide for column in columns) else np.float32
    parts: list[npt.NDArray[Any]] = []
    for column in columns:
        if column.kind == "category":
            words = words_of(frame[column.name])
            parts.append(np.stack([words == value for value in column.categories], axis=1).astype(dtype))
            if column.pooled:
                parts.append((parts[-1].sum(axis=1, keepdims=True) == 0).astype(dtype))
            elif say is not None and (new := sorted(set(words) - set(column.categories))):
                say(f"{name}: '{column.name}' has values that training did not have ({', '.join(new[:3])}); all zero")
            continue
        numbers = plain.get(column.name)
        if numbers is None:
            numbers = _numbers(frame[column.name], name, column.name)
            if say is not None and _is_inexact(frame[column.name]):
                say(f"{name}: '{column.name}' has whole numbers beyond 2^53; they are rounded")
        parts.append(numbers.astype(dtype)[:, None])
    return np.ascontiguousarray(np.concatenate(parts, axis=1))


def _numbers(values: Series[Any], table: str, column: str) -> npt.NDArray[np.float64]:
    """(n,), NaN if a value is missing. Raises RequestError for what is no number or not finite in 32 bits."""
    import pandas as pd

    if _kind(values) == "time":
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
        return values.mask(values.isin([float(word) for word in words if NUMBER.fullmatch(word)]))
    rest = values.mask(values.map(str).isin(words))
    numbers = pd.to_numeric(rest, errors="coerce")
    return rest if rest.equals(values) or (numbers.isna() & rest.notna()).any() else numbers


# -------------------------------------------------------------------- deciding what a column becomes


def encoding_of(
    spec: UserTableSpec, frame: DataFrame, missing: Mapping[str, tuple[str, ...]], notes: list[str]
) -> tuple[tuple[Column, ...], dict[str, str], list[str]]:
    """Columns of features, in the file's order; column -> why it is no feature; and those of the others that name rows.

    ``missing`` values of a column are gaps in ``frame``. Raises RequestError if no feature is left.
    """
    file = spec.path.name
    dropped = named_columns(spec.drop, frame.columns, "data.own.drop", file)
    apart = {spec.label_col, spec.truth_col, spec.groups, spec.weights, *dropped}
    names = [name for name in frame.columns if name not in apart]
    codes = named_columns(spec.codes, names, "data.own.codes", file)
    if spec.features:
        named = named_columns(spec.features, names, "data.own.features", file)
        names = [name for name in names if name in set(named)]
    plain = _plain_numbers(frame[[name for name in names if name not in codes]])
    decisions = {
        name: _Decision(Column(name, "number"))
        if name in plain
        else _decide(name, frame[name], by_name=name in spec.features, is_code=name in codes)
        for name in names
    }
    columns = tuple(replace(d.column, missing=missing.get(name, ())) for name, d in decisions.items() if d.column)
    left_out = {name: d.left_out for name, d in decisions.items() if d.left_out}
    reasons = [f"'{name}' ({reason})" for name, reason in left_out.items()]
    if not columns:
        raise RequestError(f"{file}: no column is left as a feature{': ' if reasons else ''}{', '.join(reasons)}")
    many = [f"'{c.name}' ({len(c.categories)})" for c in columns if c.kind == "category"]
    features = counted(sum(len(c.features) for c in columns), "feature")
    notes += [d.note for d in decisions.values() if d.note]
    notes.append(
        f"{features}: {counted(len(columns) - len(many), 'numeric column')}"
        + (f", {len(many)} categorical as one-hot: {listed(many)}" if many else "")
    )
    ids = [name for name, d in decisions.items() if d.is_id] + [name for name in dropped if _names_rows(frame[name])]
    ids = [name for name in frame.columns if name in ids]
    notes += ["left out: " + "; ".join(reasons)] if reasons else []
    notes += ["the rows are named by " + ", ".join(f"'{name}'" for name in ids)] if ids else []
    return columns, left_out, ids


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
    if is_nested(values):
        return _Decision(left_out="lists of different lengths, or of something else than numbers")
    distinct = values.nunique(dropna=False)
    few = distinct <= MAX_CATEGORIES and distinct < len(values)
    if distinct <= 1:
        return _Decision(left_out="empty" if values.isna().any() else "constant")
    if is_code or values.dtype.name == "category":
        return _categories(name, values, at_least=0.0)
    kind = _kind(values)
    if kind == "time":
        return _Decision(left_out=_TIME)
    if kind == "other" and (odd := _numbers_but_for(values)):
        found = replace(_categories(name, values), note=f"'{name}' is read as text: {odd}")
        return found if few else _Decision(left_out=f"text: {odd}")
    is_id = not by_name and _is_id(name, values)
    if kind == "dates" and (is_id or distinct > MAX_CATEGORIES):
        return _Decision(left_out=_TIME)
    if is_id:
        many = "every value differs" if distinct == len(values) else f"{distinct} of {len(values)} values differ"
        reason = f"probably an id: {many}; data.own.features keeps it"
        return _Decision(left_out=reason, is_id=_names_rows(values))
    if kind == "whole" and _is_inexact(values) and (few or not by_name):
        beyond = "whole numbers beyond 2^53, of which a float keeps the first 16 digits"
        if few:
            return replace(_categories(name, values), note=f"'{name}' is read as text: {beyond}")
        reason = f"{beyond}: an id, a code or a time; data.own.features keeps it, rounded"
        return _Decision(left_out=reason, is_id=_names_rows(values))
    if kind in ("whole", "number"):
        return _number(name, values)
    found = _categories(name, values)
    if found.left_out:
        return replace(found, is_id=_names_rows(values))
    note = f"'{name}' holds dates and becomes {distinct} features, one for each; turn it into numbers, or leave it out"
    return replace(found, note=f"{note}: data.own.drop={name}") if kind == "dates" else found


def _number(name: str, values: Series[Any]) -> _Decision:
    """A column of numbers, kept in 64 bits if most of its values would become the same ones in 32."""
    import pandas as pd

    numbers = pd.to_numeric(values).to_numpy(dtype=np.float64, na_value=np.nan)
    given = numbers[np.isfinite(numbers)]
    with np.errstate(over="ignore"):  # a number too large for any feature is refused later, with its row
        left = pd.Series(numbers.astype(np.float32)).nunique()
    note = ""
    if _is_inexact(values):
        note = f"'{name}' has whole numbers beyond 2^53, which are rounded"
    elif left > 2 and all(re.fullmatch(_YYYYMMDD, f"{day:.12g}") for day in np.unique(given)):
        note = f"'{name}' holds dates written as numbers ({given[0]:.0f}), which do not count days"
    return _Decision(Column(name, "number", wide=bool(2 * left < values.nunique())), note=note)


def _categories(name: str, values: Series[Any], at_least: float = 0.5) -> _Decision:
    """A column of categories. Of many values, the frequent ones, if they are those of a share ``at_least`` of rows."""
    import pandas as pd

    found = pd.Series(words_of(values)).value_counts().sort_index()
    levels, counts = found.index.to_numpy(dtype=object), found.to_numpy()
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


def gaps_in(frame: DataFrame, columns: Collection[Column]) -> str:
    """Columns with missing values and what stands for them; empty if none has any."""
    counts = frame[[c.name for c in columns]].isna().sum()
    gaps = [f"'{name}' {count}" for name, count in counts[counts > 0].items()]
    stand_in = "numbers get the training pool's median, categories one of their own ('?')"
    return f"missing values: {listed(gaps)}; {stand_in}" if gaps else ""


# -------------------------------------------------------------------- what a column is


def _plain_numbers(frame: DataFrame) -> dict[str, npt.NDArray[Any]]:
    """Name -> (n,) values of columns that are numbers and nothing else: :func:`_decide` would keep them so without a
    note, and :func:`_numbers` take them as they are.

    Decimals without gaps, most of whose different values stay different in 32 bits, not all of them whole; or whole
    numbers up to 2^24, not nearly all different, which is what ids are. A look at many columns together is what makes
    a table of 100,000 quick.
    """
    found: dict[str, npt.NDArray[Any]] = {}
    for kind in ("float64", "int64"):
        for part in _parts(frame[[name for name, dtype in frame.dtypes.items() if dtype == kind]]):
            values = part.to_numpy()
            with np.errstate(over="ignore", invalid="ignore"):
                rounded = values.astype(np.float32)
                distinct, left = ((np.diff(np.sort(v, axis=0), axis=0) != 0).sum(axis=0) + 1 for v in (values, rounded))
                fits = np.isfinite(rounded).all(axis=0) & (left > 1)
                if kind == "float64":
                    fits &= (2 * left >= distinct) & (values % 1 != 0).any(axis=0)
                else:
                    fits &= (np.abs(values) <= 2**24).all(axis=0) & (distinct < LEAST_DISTINCT * len(values))
            found |= {str(name): values[:, k] for k, name in enumerate(part) if fits[k]}
    return found


def _parts(frame: DataFrame) -> Iterator[DataFrame]:
    """As many columns at a time as take a few MiB."""
    step = max(1, _BLOCK // max(len(frame), 1))
    yield from (frame.iloc[:, start : start + step] for start in range(0, frame.shape[1], step))


def _kind(values: Series[Any]) -> str:
    """``whole``, ``number``, ``time``, ``dates`` (texts that all are), or ``other``; gaps do not count."""
    import pandas as pd

    found = pd.api.types.infer_dtype(values, skipna=True)
    if values.dtype.kind in "iu" or found == "integer":
        return "whole"
    if pd.api.types.is_numeric_dtype(values):
        return "number"
    if values.dtype.kind in "mM" or found.startswith(("date", "time", "period")):
        return "time"
    dates = found == "string" and all(_DATE.fullmatch(text.strip()) for text in values.dropna())
    return "dates" if dates else "other"


def _numbers_but_for(values: Series[Any]) -> str:
    """Why a column of texts is no column of numbers, if at least half of them are, or all with signs; else empty."""
    import pandas as pd

    given = values.dropna()
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


def _is_inexact(values: Series[Any]) -> bool:
    """Whether whole numbers are among them that a float does not tell apart, or did not when the file was read.

    A column of whole numbers with a gap is read as floats; large measurements without one are what they are.
    """
    given = values.dropna()
    with_gaps = given.dtype.kind == "f" and 0 < len(given) < len(values) and bool((given % 1 == 0).all())
    return (_kind(given) == "whole" or with_gaps) and bool(given.max() > EXACT_UP_TO or given.min() < -EXACT_UP_TO)


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


# -------------------------------------------------------------------- what nobody said of a table


#: A repeated whole number stands apart if it is farther from the others than these from each other; one value is wild
#: if it is so many times as far. Without the outer ``_TAIL`` of them on each side.
_APART, _WILD, _TAIL = 1.0, 50.0, 0.005
#: A value that means missing is there so often, at least.
_OFTEN = 3
#: From so many rows on, it means something that nearly all values differ.
_ENOUGH = 50
#: So many columns are named in one line, or have a line each.
_NAMED = 8


def notices(spec: UserTableSpec, frame: DataFrame, columns: Sequence[Column]) -> Iterator[str]:
    """``frame``: with gaps for what was said to be missing."""
    lines, few, many = list[str](), dict[str, str](), dict[str, str]()
    for part in _parts(frame[[column.name for column in columns if column.kind == "number"]]):
        values = np.sort(part.to_numpy(dtype=np.float64, na_value=np.nan), axis=0)  # gaps last
        distinct = (values[1:] > values[:-1]).sum(axis=0) + 1
        whole = (np.isnan(values) | (values % 1 == 0)).all(axis=0)
        for k, (name, dtype) in enumerate(part.dtypes.items()):
            lines += _apart(frame, str(name), values[: len(frame) - np.isnan(values[:, k]).sum(), k])
            said = {str(name): f"'{name}' ({distinct[k]} values)"} if whole[k] else {}
            few |= said if 2 < distinct[k] <= min(MAX_CATEGORIES, len(frame) / 5) else {}
            many |= said if dtype.kind in "iu" and distinct[k] >= max(LEAST_DISTINCT * len(frame), _ENOUGH) else {}
    yield from lines[:_NAMED]
    if len(lines) > _NAMED:
        yield f"{len(lines) - _NAMED} more columns have values far from all others"
    for what, found, role, field in (
        ("with few values", few, "codes of categories", "codes"),
        ("that nearly all differ", many, "ids", "drop"),
    ):
        if found:
            quoted = listed(list(found.values()), _NAMED)
            option = f"data.own.{field}={','.join(list(found)[:_NAMED])}"
            yield f"whole numbers {what} are read as quantities: {quoted}; if they are {role}: {option}"
    if spec.groups is None:
        yield from _repeated_ids(spec, frame, {column.name for column in columns})


def _apart(frame: DataFrame, name: str, values: npt.NDArray[np.float64]) -> Iterator[str]:
    """A line for the lowest or highest of a column's sorted ``values`` if it is far from all others."""
    for sign, given in ((1, values), (-1, -values[::-1])):
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
            yield (
                f"'{name}': {what}, far from all others ({lowest:g} to {highest:g}); if that means "
                f"missing: data.own.missing_values={name}={value:.15g}"
            )


def _repeated_ids(spec: UserTableSpec, frame: DataFrame, features: set[str]) -> Iterator[str]:
    """A line for a column that names things of which each has several rows."""
    for name in [name for name, dtype in frame.dtypes.items() if dtype.kind not in "fbmM"]:
        values = frame[name]
        if name in (spec.label_col, spec.truth_col, spec.weights) or is_nested(values):
            continue
        distinct = int(values.nunique())
        likely = ID_NAME.search(name) or (name not in features and values.dtype.kind not in "iu")
        if likely and max(10, len(values) / 50) <= distinct <= len(values) / 1.5:
            yield (
                f"'{name}': {len(values)} rows have {distinct} values; if rows of one value belong together, as those "
                f"of a patient: data.own.groups={name}"
            )


# -------------------------------------------------------------------- use of every column, before anything is trained

#: Values of a column that are shown, and the most characters of one.
SHOWN, LONGEST = 3, 24
_ROLES: tuple[tuple[str, Use, str], ...] = (
    ("label_col", "labels", "who is labeled"),
    ("truth_col", "truth", "true labels, for measuring only"),
    ("groups", "groups", "rows of one value are never parted"),
    ("weights", "weights", "weights of the rows"),
)


def column_uses(
    frame: DataFrame, own: UserTableSpec | None = None, table: LabeledData | None = None
) -> list[ColumnUse]:
    """One per column, in the table's order; without ``own``, what would become of each one if it were a feature."""
    if own is None or table is None:
        decisions = {str(name): _decide(str(name), values) for name, values in frame.items()}
        roles, ids = dict[str, tuple[Use, str]](), dict[str, npt.NDArray[Any]]()
    else:
        unnamed = _Decision(
            left_out="dropped" if own.drop and not own.features else "dropped, or not among the features"
        )
        decisions = {str(name): unnamed for name in frame}
        decisions |= {name: _Decision(left_out=reason) for name, reason in table.left_out.items()}
        decisions |= {column.name: _Decision(column) for column in table.columns}
        roles, ids = {getattr(own, role): (use, what) for role, use, what in _ROLES}, dict(table.ids)
    found = []
    for name, values in frame.items():
        use, what = roles.get(str(name), ("names rows" if name in ids else "left out", decisions[str(name)].left_out))
        if (column := decisions[str(name)].column) is not None:
            dates = " (dates)" if _kind(values) == "dates" else ""
            use, what = "feature", f"{len(column.categories)} categories, one feature each{dates}"
            what = A_NUMBER if column.kind == "number" else what
        given = values[~is_blank(values)]
        different = given.drop_duplicates() if not is_nested(given) else given.map(str).drop_duplicates()
        some = ids.get(str(name), different.to_numpy(dtype=object))[:SHOWN].tolist()  # ids as written in the file
        shown = tuple(
            text if len(text := str(value)) <= LONGEST or isinstance(value, (int, float)) else text[: LONGEST - 1] + "…"
            for value in some
        )
        found.append(ColumnUse(str(name), use, what, len(different), len(values) - len(given), shown))
    return found
