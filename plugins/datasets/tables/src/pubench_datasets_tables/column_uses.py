"""Use of every column of a user's table, before anything is trained."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench_core.data.labeled import Column, LabeledData
from pubench_core.data.table_reader import A_NUMBER, ColumnUse, Use
from pubench_core.specs import UserTableSpec

from .cells import is_nested
from .encoding import Encoding, are_dates, decided
from .labels import is_blank

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_LABEL_NAME = re.compile(
    r"label|target|class|positive|known|confirmed|presence|present|observed|outcome|fraud|^(y|s|pu|made|hit|active)$",
    re.IGNORECASE,
)
#: Values of a column that are shown, and the most characters of one.
SHOWN, LONGEST = 3, 24


def column_uses(
    frame: DataFrame, spec: UserTableSpec | None = None, table: LabeledData | None = None
) -> list[ColumnUse]:
    """One per column, in the table's order; without a spec, what would become of each one if it were a feature."""
    encoding: Encoding | None = None
    ids: Mapping[str, npt.NDArray[np.object_]] = {}
    if table is not None:
        ids = table.ids
        encoding = Encoding(table.columns, table.notes, table.left_out, tuple(ids))
    found = [_use(str(name), frame[name], spec, encoding) for name in frame.columns]
    return [
        replace(use, examples=tuple(ids[use.name][:SHOWN].tolist())) if use.use == "names rows" else use
        for use in found
    ]


def _use(name: str, values: Series[Any], spec: UserTableSpec | None, encoding: Encoding | None) -> ColumnUse:
    shown = _examples(values)
    missing = int(is_blank(values).sum()) if not is_nested(values) else 0
    distinct = int(values.nunique()) if not is_nested(values) else 0

    def used(use: Use, what: str) -> ColumnUse:
        return ColumnUse(name, use, what, distinct, missing, shown)

    if spec is None or encoding is None:
        column, reason = decided(name, values)
        return used("feature", _becomes(column, values)) if column is not None else used("left out", reason)
    features = {column.name: column for column in encoding.columns}
    if name in features:
        return used("feature", _becomes(features[name], values))
    if name == spec.label_col:
        return used("labels", "who is labeled")
    if name == spec.truth_col:
        return used("truth", "true labels, for measuring only")
    if name == spec.groups:
        return used("groups", "rows of one value are never parted")
    if name == spec.weights:
        return used("weights", "weights of the rows")
    reason = encoding.left_out.get(
        name, "dropped" if spec.drop and not spec.features else "dropped, or not among the features"
    )
    return used("names rows" if name in encoding.ids else "left out", reason)


def _becomes(column: Column, values: Series[Any]) -> str:
    if column.kind == "number":
        return A_NUMBER
    return f"{len(column.categories)} categories, one feature each{' (dates)' if are_dates(values) else ''}"


def _examples(values: Series[Any]) -> tuple[str, ...]:
    given = values.dropna()
    found = given.head(SHOWN).tolist() if is_nested(values) else given.unique()[:SHOWN].tolist()
    return tuple(
        text if len(text := str(value)) <= LONGEST or isinstance(value, (int, float)) else text[: LONGEST - 1] + "…"
        for value in found
    )


def label_candidates(frame: DataFrame) -> list[str]:
    """Columns that could say who is labeled, the likely ones first: of that name, or of one value and blank cells."""
    found = [(str(name), kinds) for name in frame.columns if (kinds := _label_values(frame[name]))]
    return [name for name, kinds in sorted(found, key=lambda one: (_LABEL_NAME.search(one[0]) is None, one[1]))]


def _label_values(values: Series[Any]) -> int:
    """How many values a column has that may hold labels: 2, or 1 next to blank cells; else 0."""
    if is_nested(values):
        return 0
    blank = is_blank(values)
    distinct = int(values[~blank].nunique())
    return distinct if distinct == 2 or (distinct == 1 and bool(np.any(blank))) else 0
