"""Columns of two values: who is labeled, and what is true."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench_core.errors import RequestError

from .cells import is_nested

if TYPE_CHECKING:
    from pandas import DataFrame, Series

BoolArray = npt.NDArray[np.bool_]
#: Values, as texts, that mean positive or not without a word of the user.
_PLAIN_VALUES = frozenset({"0", "1", "-1", "0.0", "1.0", "-1.0", "True", "False"})
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
class TwoValued:
    """``positive``: (n,) True where positive. ``reading``: how its values were read.

    ``words``: those of the spec's ``positive_value`` that are a value of this column. ``blank``: rows without a value,
    which count as not positive; ``others``: the values that are there and are not positive.
    """

    positive: BoolArray
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
        """Rows that are not."""
        return len(self.positive) - self.n_positive


def two_valued(frame: DataFrame, column: str, role: Role, words: Sequence[str], file: str) -> TwoValued:
    """A column of {1, 0}, {1, -1}, {True, False}, or of two values of which one of ``words`` names the positive one.

    A blank cell of the labels means unlabeled, so one value next to blank cells is enough. Every row needs a true
    label. ``file``: its name, for messages. Raises RequestError for any other column.
    """
    values = frame[column]
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
    given = values[~blank]
    found = list(given.unique())
    if not found:
        raise RequestError(
            f"{where} is empty in every row; PU data need labeled positives", field=role.field, value=column
        )
    is_number = values.dtype.kind in "biuf"
    try:
        positive = _positive_of(found, words, where, is_number=is_number, blank=bool(blank.any()))
    except RequestError as error:
        error.field = error.field or role.field
        raise
    rest = [value for value in found if value != positive]
    said = _plainly if blank.any() and is_number else str  # a gap made floats of whole numbers
    others = tuple(map(said, rest))
    return TwoValued(
        (values == positive).fillna(False).to_numpy(dtype=bool),
        ", ".join(
            (
                f"{said(positive)} = {role.positive}",
                *(f"{value} = {role.other}" for value in others),
                *([f"blank = {role.other}"] if blank.any() else []),
            )
        ),
        frozenset(word for word in words if any(_means(word, value) for value in found)),
        int(blank.sum()),
        others,
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


def _positive_of(found: Sequence[Any], words: Sequence[str], where: str, *, is_number: bool, blank: bool) -> Any:
    """The one of a column's values that means positive. ``where``: the column, for messages; ``blank``: whether cells
    of it hold no value.

    Raises RequestError if that is not clear.
    """
    named = [value for value in found if any(_means(word, value) for word in words)]
    if len(named) == 1 and len(found) <= 2:
        return named[0]
    if words and not set(map(str, found)) <= _PLAIN_VALUES:
        raise RequestError(
            f"{where} has the values {some_of(found)}; data.own.positive_value must name exactly one of two",
            field="data.own.positive_value",
            value=tuple(words),
        )
    if is_number and ({float(v) for v in found} <= {0.0, 1.0} or {float(v) for v in found} <= {-1.0, 1.0}):
        return next((value for value in found if value == 1), 1)
    if blank and len(found) == 1:
        if str(found[0]).strip().lower() not in _DOUBTFUL:
            return found[0]
        raise RequestError(
            f"{where} has the value {found[0]} and blank cells; if {found[0]} means positive, say so with "
            f"data.own.positive_value={found[0]}",
            field="data.own.positive_value",
        )
    if len(found) == 2:
        raise RequestError(
            f"{where} has the values {some_of(found)}; say which is positive with data.own.positive_value",
            field="data.own.positive_value",
        )
    raise RequestError(
        f"{where} has the values {some_of(found)}; expected 1 and 0, 1 and -1, true and false, or two texts"
    )


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
