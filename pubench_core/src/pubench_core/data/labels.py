"""Columns of two values: who is labeled, and what is true."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import RequestError
from .tables import is_nested

if TYPE_CHECKING:
    from pandas import DataFrame

BoolArray = npt.NDArray[np.bool_]
#: Values, as texts, that mean positive or not without a word of the user.
_PLAIN_VALUES = frozenset({"0", "1", "-1", "0.0", "1.0", "-1.0", "True", "False"})


@dataclass(frozen=True)
class Role:
    """What a column of two values says. ``field``: names the column in the spec; the two values' meanings in words."""

    field: str
    positive: str
    other: str


LABEL = Role("data.own.label_col", "labeled positive", "unlabeled")
TRUTH = Role("data.own.truth_col", "positive", "negative")


@dataclass(frozen=True)
class TwoValued:
    """``positive``: (n,) True where positive. ``reading``: how its values were read.

    ``words``: those of the spec's ``positive_value`` that are a value of this column.
    """

    positive: BoolArray
    reading: str
    words: frozenset[str]

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

    ``file``: its name, for messages. Raises RequestError for any other column.
    """
    values = frame[column]
    where = f"{file}: column '{column}' ({role.field})"
    if is_nested(values):
        raise RequestError(f"{where} holds lists; one value per row is right", field=role.field, value=column)
    if values.isna().any():
        row = int(np.flatnonzero(values.isna())[0])
        raise RequestError(
            f"{where} is empty in row {row}; give every row a value, 0 for unlabeled rows",
            field=role.field,
            value=column,
        )
    found = list(values.unique())
    positive = _positive_of(found, words, where, is_number=values.dtype.kind in "biuf")
    rest = [value for value in found if value != positive]
    return TwoValued(
        (values == positive).to_numpy(dtype=bool),
        f"{positive} = {role.positive}" + "".join(f", {value} = {role.other}" for value in rest),
        frozenset(word for word in words if any(_means(word, value) for value in found)),
    )


def _positive_of(found: Sequence[Any], words: Sequence[str], where: str, *, is_number: bool) -> Any:
    """The one of a column's values that means positive. ``where``: the column, for messages.

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
    if len(found) == 2:
        raise RequestError(
            f"{where} has the values {some_of(found)}; say which is positive with data.own.positive_value",
            field="data.own.positive_value",
        )
    raise RequestError(
        f"{where} has the values {some_of(found)}; 1 and 0, 1 and -1, true and false, or two texts are right"
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
