"""Columns of two values: who is labeled, and what is true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ..errors import RequestError
from ..specs import UserTableSpec
from .tables import is_nested

if TYPE_CHECKING:
    from pandas import DataFrame

BoolArray = npt.NDArray[np.bool_]


def two_valued(
    own: UserTableSpec, frame: DataFrame, column: str, what: Literal["label", "truth"], used: set[str]
) -> tuple[BoolArray, str]:
    """(n,) True where positive, and how it was read: {1, 0}, {1, -1}, {True, False}, or two texts.

    Words of ``positive_value`` that name a value here are added to ``used``.
    """
    values, field = frame[column], "data.own.label_col" if what == "label" else "data.own.truth_col"
    where = f"{own.path.name}: column '{column}' ({field})"
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
            told = some_of(found)
            raise RequestError(f"{where} has the values {told}; data.own.positive_value must name exactly one of two")
    numbers = {float(v) for v in found} if values.dtype.kind in "biuf" else None
    if numbers is not None and (numbers <= {0.0, 1.0} or numbers <= {-1.0, 1.0}):
        positive = (values == 1).to_numpy(dtype=bool)
        named, rest = [v for v in found if v == 1], [v for v in found if v != 1]
        return positive, _reading(named[0] if named else 1, rest, other)
    if len(found) == 2:
        raise RequestError(
            f"{where} has the values {some_of(found)}; say which is positive with data.own.positive_value"
        )
    raise RequestError(
        f"{where} has the values {some_of(found)}; 1 and 0, 1 and -1, true and false, or two texts are right"
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


def some_of(values: Sequence[Any]) -> str:
    texts = [str(v) for v in values[:5]]
    return ", ".join(texts) + (f" and {len(values) - 5} more" if len(values) > 5 else "")
