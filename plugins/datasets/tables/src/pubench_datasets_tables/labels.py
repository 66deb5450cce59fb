"""Columns that say who is labeled, who is known to be negative, and what is true."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench_core.errors import RequestError

from .cells import is_nested
from .names import rejoined

if TYPE_CHECKING:
    from pandas import DataFrame, Series

BoolArray = npt.NDArray[np.bool_]
#: Texts that hardly mean positive: one of them alone next to blank cells needs a word of the user.
_DOUBTFUL = frozenset(
    {"0", "-1", "no", "n", "false", "f", "neg", "negative", "unlabeled", "unlabelled", "u", "unknown", "none", "-"}
)


@dataclass(frozen=True)
class Role:
    """Meaning of a column of two values. ``field``: names the column in the spec; the two values' meanings in words."""

    field: str
    positive: str
    other: str


LABEL = Role("data.own.label_col", "labeled positive", "unlabeled")
TRUTH = Role("data.own.truth_col", "positive", "negative")


@dataclass(frozen=True)
class Labels:
    """``positive``: (n,) True where positive. ``known_negative``: (n,) True where a third value says so.

    ``reading``: how the values were read. ``words``: those of the spec's ``positive_value`` and ``known_negative`` that
    are a value of this column. ``blank``: rows without a value, which count as not positive; ``others``: the values
    that are there and mean neither.
    """

    positive: BoolArray
    known_negative: BoolArray
    reading: str
    words: frozenset[str]
    blank: int = 0
    others: tuple[str, ...] = ()

    @property
    def n_positive(self) -> int:
        """Rows that are positive."""
        return int(self.positive.sum())

    @property
    def n_other(self) -> int:
        """Rows that are neither positive nor known to be negative."""
        return len(self.positive) - self.n_positive - int(self.known_negative.sum())


def labels_of(
    frame: DataFrame, column: str, role: Role, words: Sequence[str], file: str, negative: Sequence[str] = ()
) -> Labels:
    """A column of {1, 0}, {1, -1}, {True, False}, of 1, 0 and -1 for known negatives, or of any values of which
    ``words`` name the positive ones and ``negative`` the known negatives.

    A blank cell of the labels means unlabeled, so one value next to blank cells is enough. Every row needs a true
    label. ``file``: its name, for messages. Raises RequestError for any other column.
    """
    values = frame[column]
    if values.dtype.name == "category":
        values = values.astype(object).infer_objects()
    where = f"{file}: column '{column}' ({role.field})"
    if is_nested(values):
        raise RequestError(f"{where} holds lists; expected one value per row", field=role.field, value=column)
    blank = is_blank(values)
    if blank.any() and role is not LABEL:
        raise RequestError(
            f"{where} is empty in row {int(np.flatnonzero(blank)[0])}; true labels must be complete, or leave the "
            "column out (data.own.drop)",
            field=role.field,
            value=column,
        )
    found = list(values[~blank].unique())
    if not found:
        raise RequestError(
            f"{where} is empty in every row; PU data need labeled positives", field=role.field, value=column
        )
    words, negative = rejoined(words, map(str, found)), rejoined(negative, map(str, found))
    is_number = values.dtype.kind in "biuf" or values.dtype.name in ("boolean", "Int64", "Float64")
    positives = [value for value in found if any(_means(word, value) for word in words)]
    negatives = [value for value in found if any(_means(word, value) for word in negative)] if role is LABEL else []
    if not positives or (len(positives) == len(found) and role is TRUTH):
        try:
            positives = [_positive_of(found, where, words, is_number=is_number, blank=bool(blank.any()))]
        except RequestError as error:
            error.field = error.field or role.field
            raise
    if role is LABEL and not negative and is_number and set(map(float, found)) == {-1.0, 0.0, 1.0}:
        negatives = [value for value in found if value == -1 and value not in positives]
    said = _plainly if blank.any() and is_number else str  # a gap made floats of whole numbers
    rest = [value for value in found if value not in positives and value not in negatives]
    kinds = ((positives, role.positive), (negatives, "known negative"), (rest, role.other))
    read = [f"{some_of(list(map(said, some)))} = {meaning}" for some, meaning in kinds if some]
    return Labels(
        values.isin(positives).to_numpy(dtype=bool),
        values.isin(negatives).to_numpy(dtype=bool),
        ", ".join([*read, *([f"blank = {role.other}"] if blank.any() else [])]),
        frozenset(word for word in (*words, *negative) if any(_means(word, value) for value in found)),
        int(blank.sum()),
        tuple(map(said, rest)),
    )


def is_blank(values: Series[Any]) -> BoolArray:
    """(n,) True where a cell holds nothing: a missing value, or a text without a character that can be seen."""
    blank: BoolArray = values.isna().to_numpy(dtype=bool)
    if values.dtype.kind in "biufmM" or values.dtype.name == "boolean":
        return blank
    texts = [isinstance(value, str) and not value.strip() for value in values.astype(object)]
    return np.asarray(blank | np.array(texts, dtype=bool))


def _plainly(value: Any) -> str:
    return f"{value:g}" if isinstance(value, (float, np.floating)) else str(value)


def _positive_of(found: Sequence[Any], where: str, words: Sequence[str], *, is_number: bool, blank: bool) -> Any:
    """The one of a column's values that means positive, if nobody says so. ``blank``: whether cells hold no value.

    Raises RequestError if that is not clear. ``where``: the column; ``words``: what was said, for messages.
    """
    if is_number and (kinds := {float(value) for value in found}) <= {-1.0, 0.0, 1.0} and kinds != {-1.0, 0.0}:
        return next((value for value in found if value == 1), 1)
    if blank and len(found) == 1 and str(found[0]).strip().lower() not in _DOUBTFUL:
        return found[0]
    has = f"{where} has the value{'s' if len(found) > 1 else ''} {some_of(found)}{' and blank cells' if blank else ''}"
    if words and not is_number:
        remedy = f"data.own.positive_value={words[0]} must name some of them and not all"
    elif len(found) == 1:
        remedy = f"if {found[0]} means positive, say so with data.own.positive_value={found[0]}"
    else:
        remedy = (
            "expected 1 and 0, 1 and -1, or true and false; say which mean positive with data.own.positive_value, and "
            "which mean a known negative, if any, with data.own.known_negative"
        )
    raise RequestError(f"{has}; {remedy}", field="data.own.positive_value", value=tuple(words))


def _means(word: str, value: Any) -> bool:
    """Whether what the user wrote is this value: ``0`` is 0.0 and False, ``TRUE`` is True."""
    if isinstance(value, (bool, np.bool_)) and word.lower() in ("true", "false"):
        return bool(value) == (word.lower() == "true")
    if isinstance(value, (int, np.integer)) and re.fullmatch(r"\s*[+-]?\d+\s*", word):
        return int(word) == int(value)  # a float does not tell whole numbers beyond 2^53 apart
    if isinstance(value, (bool, np.bool_, int, float, np.number)):
        try:
            return float(word) == float(value)
        except ValueError:
            return False
    return word == str(value)


def some_of(values: Sequence[Any]) -> str:
    """The first five, and how many more there are."""
    texts = [str(v) for v in values[:5]]
    return ", ".join(texts) + (f" and {len(values) - 5} more" if len(values) > 5 else "")
