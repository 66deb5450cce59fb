"""From cells to arrays: numbers, one-hot attributes, class indices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .cells import Cells, Column, as_number, short, token

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Numbers:
    """``columns`` columns in a row that are numbers: one feature each."""

    columns: int

    @property
    def width(self) -> int:
        """Features that come of it."""
        return self.columns


@dataclass(frozen=True)
class OneHot:
    """``columns`` columns in a row, each with one of ``values``: a feature for each value, in their order.

    A missing value is written ``?``; where it is a value of its own, it is listed.
    """

    values: tuple[str, ...]
    columns: int = 1

    @property
    def width(self) -> int:
        """Features that come of it."""
        return self.columns * len(self.values)


Feature = Numbers | OneHot


def encode_features(cells: Cells, features: tuple[Feature, ...]) -> FloatArray:
    """(n, d), finite. Raises RequestError naming the first cell that is no number or no declared value."""
    x = np.zeros((cells.rows, sum(feature.width for feature in features)), dtype=np.float32)
    each_row, columns, at = np.arange(cells.rows), iter(cells.feature_columns), 0
    for feature in features:
        for _ in range(feature.columns):
            j = next(columns)
            if isinstance(feature, Numbers):
                x[:, at] = _numbers(cells, j)
                at += 1
            else:
                index = {value: k for k, value in enumerate(feature.values)}
                x[each_row, at + _codes(cells, j, index, "value")] = 1
                at += len(index)
    return x


def encode_classes(cells: Cells, codes: Mapping[str, int]) -> IntArray:
    """(n,) class indices. ``codes``: how the file writes each class. Raises RequestError at one that is unknown."""
    return _codes(cells, cells.label, codes, "class")


def above_mean(cells: Cells) -> IntArray:
    """(n,): 1 where the label column's number is above the mean of the file, else 0."""
    values = _numbers(cells, cells.label)
    return np.asarray(values > values.mean(), dtype=np.int64)


def _numbers(cells: Cells, j: int) -> npt.NDArray[np.float64]:
    """(n,) float64, each finite as float32 too."""
    values = np.array([as_number(cell) for cell in cells.columns[j]])
    with np.errstate(over="ignore"):
        bad = np.flatnonzero(~np.isfinite(values.astype(np.float32)))
    if len(bad):
        row = int(bad[0])
        raise cells.wrong(row, j, f"{short(cells.columns[j][row])} is not a finite number")
    return values


def _codes(cells: Cells, j: int, index: Mapping[str, int], kind: str) -> IntArray:
    column: Column = cells.columns[j]
    if cells.rows and not all(isinstance(cell, str) for cell in column):
        column = [token(cell) for cell in column]
    found = np.array([index.get(cell, -1) for cell in column], dtype=np.int64)  # type: ignore[call-overload]
    bad = np.flatnonzero(found < 0)
    if len(bad):
        row = int(bad[0])
        known = ", ".join(index)
        raise cells.wrong(row, j, f"{kind} {short(cells.columns[j][row])} is none of {known}")
    return found
