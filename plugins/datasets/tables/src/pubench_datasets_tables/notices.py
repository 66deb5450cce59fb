"""Notices of what nobody said of a table: one line each, with the option that says it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench_core.data.labeled import Column
from pubench_core.specs import UserTableSpec

from .cells import is_nested
from .encoding import ID_NAME, LEAST_DISTINCT, MAX_CATEGORIES, number_blocks

if TYPE_CHECKING:
    from pandas import DataFrame

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
    numbers = [column.name for column in columns if column.kind == "number"]
    lines = list(_apart(frame[numbers]))
    yield from lines[:_NAMED]
    if len(lines) > _NAMED:
        yield f"{len(lines) - _NAMED} more columns have values far from all others"
    few, many = [], []
    for names, values in number_blocks(frame[numbers]):
        given = np.sort(np.where(np.isfinite(values), values, np.nan), axis=0)
        whole = (np.isnan(given) | (given % 1 == 0)).all(axis=0)
        distinct = (given[1:] > given[:-1]).sum(axis=0) + 1
        for k in np.flatnonzero(whole & (distinct > 2) & (distinct <= min(MAX_CATEGORIES, len(frame) / 5))):
            few.append((names[k], int(distinct[k])))
        if values.dtype.kind == "i" and len(frame) >= _ENOUGH:
            many += [(names[k], int(distinct[k])) for k in np.flatnonzero(distinct >= LEAST_DISTINCT * len(frame))]
    if few:
        yield (
            f"whole numbers with few values are read as quantities: {_listed(few)}; if they are codes of categories: "
            f"data.own.codes={','.join(name for name, _ in few[:_NAMED])}"
        )
    if many:
        yield (
            f"whole numbers that nearly all differ are read as quantities: {_listed(many)}; if they are ids: "
            f"data.own.drop={','.join(name for name, _ in many[:_NAMED])}"
        )
    if spec.groups is None:
        yield from _repeated_ids(spec, frame, {column.name: column for column in columns})


def _listed(found: Sequence[tuple[str, int]]) -> str:
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return ", ".join(f"'{name}' ({count} values)" for name, count in found[:_NAMED]) + more


def _apart(frame: DataFrame) -> Iterator[str]:
    """A line for the lowest or highest value of a column if it is far from all others."""
    for names, values in number_blocks(frame):
        given = np.isfinite(values) if values.dtype.kind == "f" else np.ones(values.shape, dtype=bool)
        for sign in (1, -1):
            block = np.sort(np.where(given, sign * values.astype(np.float64), np.inf), axis=0)
            n = given.sum(axis=0)
            count = (block == block[0]).sum(axis=0)
            rest = np.maximum(n - count, 1)
            low, high = (_row(block, np.minimum(count + share * (rest - 1), n - 1)) for share in (_TAIL, 1 - _TAIL))
            nearest = _row(block, np.minimum(count, n - 1))
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                far = np.where((n - count > 2) & (high > low), (nearest - block[0]) / (high - low), 0.0)
            sentinel = (far > _APART) & (count >= _OFTEN) & (block[0] % 1 == 0)
            for k in np.flatnonzero(sentinel | (far > _WILD)):
                value, others = sign * block[0, k], sorted((sign * nearest[k], sign * _row(block, n - 1)[k]))
                what = f"{count[k]} of {n[k]} values are {value:g}"
                if not sentinel[k]:
                    what = f"row {int(np.flatnonzero(values[:, k] == value)[0])} is {value:g}"
                yield (
                    f"'{names[k]}': {what}, far from all others ({others[0]:g} to {others[1]:g}); if that means "
                    f"missing: data.own.missing_values={names[k]}={value:.15g}"
                )


def _row(block: npt.NDArray[np.float64], index: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """(d,) the entry of each column at its index."""
    return np.asarray(np.take_along_axis(block, np.maximum(index, 0).astype(np.int64)[None], axis=0)[0])


def _repeated_ids(spec: UserTableSpec, frame: DataFrame, features: Collection[str]) -> Iterator[str]:
    """A line for a column that names things of which each has several rows."""
    for name in [name for name, dtype in frame.dtypes.items() if dtype.kind not in "fbmM"]:
        values = frame[name]
        if name in (spec.label_col, spec.truth_col, spec.weights) or is_nested(values):
            continue
        distinct = int(values.nunique())
        if not max(10, len(values) / 50) <= distinct <= len(values) / 1.5:
            continue
        if ID_NAME.search(name) or (name not in features and values.dtype.kind not in "iu"):
            yield (
                f"'{name}': {len(values)} rows have {distinct} values; if rows of one value belong together, as those "
                f"of a patient: data.own.groups={name}"
            )
