"""A user's own table as PU data: which rows are labeled, what became of every column, and what looked odd.

The encoding (columns, categories) is plain data: it is recorded with the run, and the same encoding reads the test file
and the files that ``pubench predict`` is given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ..errors import RequestError, unknown
from ..specs import OwnFile
from .tables import is_nested, read_table

if TYPE_CHECKING:
    from pandas import DataFrame, Series

BoolArray = npt.NDArray[np.bool_]

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


@dataclass(frozen=True)
class OwnData:
    """``x``: (n, d) float32, NaN where a number is missing (the training pool's median is put there later).

    ``labeled``: (n,) True for labeled positives. ``truth``: (n,) int8 1 positive, 0 negative; None without a truth
    column. ``x_test``/``truth_test``: rows of the test file. ``notes``: what was read and what looked odd.
    """

    x: npt.NDArray[np.float32]
    labeled: BoolArray
    truth: npt.NDArray[np.int8] | None
    x_test: npt.NDArray[np.float32] | None
    truth_test: npt.NDArray[np.int8] | None
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def can_be_tested(self) -> bool:
        """Whether there are true labels to measure against: a test file, or truth from which a part is split off."""
        return self.truth is not None or self.truth_test is not None


@lru_cache(maxsize=2)
def read_own(own: OwnFile) -> OwnData:
    """Reads and encodes a user's file as its spec says.

    Raises RequestError for a column that is not there, labels that are not two-valued, no labeled or no unlabeled
    row, infinite values, or no feature left.
    """
    frame = read_table(own.path)
    notes: list[str] = []
    name = own.path.name
    _known_columns(own, frame)
    if own.truth_col == own.label_col:
        raise RequestError(f"{name}: '{own.label_col}' is named as the labels and as the truth; they are two columns")
    used: set[str] = set()
    labeled, how = _two_valued(own, frame, own.label_col, "label", used)
    n, n_labeled = len(frame), int(labeled.sum())
    if not n_labeled:
        raise RequestError(f"{name}: column '{own.label_col}' labels no row ({how}); PU data need labeled positives")
    if n_labeled == n:
        raise RequestError(f"{name}: column '{own.label_col}' labels every row ({how}); PU data need unlabeled rows")
    notes.append(
        f"{name}: {n} rows; '{own.label_col}': {how}; {n_labeled} labeled positives, {n - n_labeled} unlabeled"
    )

    truth = None
    if own.truth_col is not None and own.truth_col in frame:
        positive, how = _two_valued(own, frame, own.truth_col, "truth", used)
        truth = positive.astype(np.int8)
        notes.append(f"'{own.truth_col}': {how}; {int(truth.sum())} positive, {n - int(truth.sum())} negative")
        if wrong := int((labeled & ~positive).sum()):
            notes.append(f"{wrong} labeled rows are negative by '{own.truth_col}'; their labels are kept as given")
    features = _chosen(own, frame)
    columns = _encoding(own, frame, features, notes)
    _oddities(own, frame, columns, labeled, notes)
    x = encode(frame, columns, name)
    x_test = truth_test = None
    if own.test is not None:
        x_test, truth_test = _test_part(own, columns, notes, used)
    elif own.truth_col is not None and truth is None:
        raise unknown(f"column of {name} (--truth-col)", own.truth_col, list(frame.columns))
    if unused := [word for word in own.positive_value if word not in used]:
        raise RequestError(f"{name}: --positive-value {unused[0]} is no value of '{own.label_col}' or of the truth")
    return OwnData(x, labeled, truth, x_test, truth_test, columns, tuple(notes))


def encode(frame: DataFrame, columns: Sequence[Column], name: str, say: Any = None) -> npt.NDArray[np.float32]:
    """(n, d) float32 features of a table. An unseen category has no feature: its row is zero there, which is said.

    ``say`` is told of unseen categories and of missing values.

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
    if say is not None and (gaps := _gaps(frame, columns)):
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


# -------------------------------------------------------------------- labels


def _two_valued(
    own: OwnFile, frame: DataFrame, column: str, what: Literal["label", "truth"], used: set[str]
) -> tuple[BoolArray, str]:
    """(n,) True where positive, and how it was read: {1, 0}, {1, -1}, {True, False}, or two texts.

    Words of ``positive_value`` that name a value here are added to ``used``.
    """
    values, flag = frame[column], "--label-col" if what == "label" else "--truth-col"
    where = f"{own.path.name}: column '{column}' ({flag})"
    if is_nested(values):
        raise RequestError(f"{where} holds lists; one value per row is right")
    if values.isna().any():
        row = int(np.flatnonzero(values.isna())[0])
        raise RequestError(f"{where} is empty in row {row}; give every row a value, 0 for unlabeled rows")
    found = list(values.unique())
    other = "unlabeled" if what == "label" else "negative"
    if own.positive_value:
        used |= {word for word in own.positive_value if any(_means(word, v) for v in found)}
        named = [v for v in found if any(_means(word, v) for word in own.positive_value)]
        if len(named) == 1 and len(found) <= 2:
            rest = [v for v in found if v is not named[0]]
            return (values == named[0]).to_numpy(dtype=bool), _reading(named[0], rest, other)
        if not set(map(str, found)) <= {"0", "1", "-1", "0.0", "1.0", "-1.0", "True", "False"}:
            told = _some(found)
            raise RequestError(f"{where} has the values {told}; --positive-value must name exactly one of two")
    numbers = {float(v) for v in found} if values.dtype.kind in "biuf" else None
    if numbers is not None and (numbers <= {0.0, 1.0} or numbers <= {-1.0, 1.0}):
        positive = (values == 1).to_numpy(dtype=bool)
        named, rest = [v for v in found if v == 1], [v for v in found if v != 1]
        return positive, _reading(named[0] if named else 1, rest, other)
    if len(found) == 2:
        raise RequestError(f"{where} has the values {_some(found)}; say which is positive with --positive-value")
    raise RequestError(
        f"{where} has the values {_some(found)}; 1 and 0, 1 and -1, true and false, or two texts are right"
    )


def _means(word: str, value: Any) -> bool:
    """Whether what the user wrote is this value: ``0`` is 0.0 and False, ``TRUE`` is True."""
    if isinstance(value, (bool, np.bool_)) and word.lower() in ("true", "false"):
        return bool(value) == (word.lower() == "true")
    if isinstance(value, (bool, np.bool_, int, float, np.number)):
        try:
            return float(word) == float(value)
        except ValueError:
            return False
    return word == str(value)


def _reading(positive: Any, rest: Sequence[Any], other: str) -> str:
    meaning = "labeled positive" if other == "unlabeled" else "positive"
    return f"{positive} = {meaning}" + "".join(f", {value} = {other}" for value in rest)


def _some(values: Sequence[Any]) -> str:
    texts = [str(v) for v in values[:5]]
    return ", ".join(texts) + (f" and {len(values) - 5} more" if len(values) > 5 else "")


# -------------------------------------------------------------------- features


def _known_columns(own: OwnFile, frame: DataFrame) -> None:
    known = list(frame.columns)
    if own.label_col not in known:
        raise unknown(f"column of {own.path.name} (--label-col)", own.label_col, known)
    for name in own.drop:
        if name not in known:
            raise unknown(f"column of {own.path.name} (--drop)", name, known)


def _chosen(own: OwnFile, frame: DataFrame) -> list[str]:
    """Columns that may be features: those that --features names, or all but labels, truth and dropped ones."""
    apart = {own.label_col, own.truth_col, *own.drop}
    free = [name for name in frame.columns if name not in apart]
    if not own.features:
        return free
    for pattern in own.features:
        if not any(fnmatchcase(name, pattern) for name in free):
            raise RequestError(f"{own.path.name}: --features {pattern} matches no column; columns are {_some(free)}")
    return [name for name in free if any(fnmatchcase(name, pattern) for pattern in own.features)]


def _encoding(own: OwnFile, frame: DataFrame, names: Sequence[str], notes: list[str]) -> tuple[Column, ...]:
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
            left_out.append(f"'{name}' (looks like an id: every value differs; --features keeps it)")
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


def _oddities(own: OwnFile, frame: DataFrame, columns: Sequence[Column], labeled: BoolArray, notes: list[str]) -> None:
    if gaps := _gaps(frame, columns):
        notes.append(gaps)
    repeated = frame[[c.name for c in columns]].duplicated(keep=False).to_numpy()
    if repeated.any():
        extra = int(frame[[c.name for c in columns]].duplicated().sum())
        both = ""
        if (repeated & labeled).any() and (repeated & ~labeled).any():
            both = ", labeled rows among them"
        notes.append(f"{extra} rows repeat an earlier one{both}; they are kept")
    if labeled.mean() > 0.5:
        notes.append(
            f"{100 * labeled.mean():.0f} % of the rows are labeled positives; is '{own.label_col}' read the right way "
            "round? (--positive-value)"
        )


def _gaps(frame: DataFrame, columns: Sequence[Column]) -> str:
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


def _test_part(
    own: OwnFile, columns: Sequence[Column], notes: list[str], used: set[str]
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int8]]:
    assert own.test is not None
    if own.truth_col is None:
        raise RequestError(
            f"--test {own.test.name} needs --truth-col: the column of true labels to measure against (rows without "
            "true labels are scored by pubench predict)"
        )
    frame = read_table(own.test, texts_of(columns))
    if own.truth_col not in frame:
        raise unknown(f"column of {own.test.name} (--truth-col)", own.truth_col, list(frame.columns))
    positive, how = _two_valued(OwnFile(**{**own.model_dump(), "path": own.test}), frame, own.truth_col, "truth", used)
    x = encode(frame, columns, own.test.name, notes.append)
    notes.append(f"{own.test.name}: {len(x)} test rows; {how}; {int(positive.sum())} positive")
    if own.test_sha256 == own.sha256:
        notes.append(f"{own.test.name} is the file that is trained on; what is measured on it is no test")
    return x, positive.astype(np.int8)
