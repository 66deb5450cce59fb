"""Preprocessing that is fitted on the training pool, and on nothing else."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from .dataset import IntArray
from .sparse import SparseRows
from .store import row_wise_part

Rows = TypeVar("Rows", npt.NDArray[Any], SparseRows)
FloatArray = npt.NDArray[np.float64]
#: Bytes of the float64 numbers that are worked on at once.
_BLOCK = 4 * 2**20
#: A feature is wild if its deviation is so many times that of its values without the outer ``_TAIL`` of each side, as
#: the others would become one number. No shipped data set comes near (Spambase: 57). Beyond ``_BOUND`` deviations of
#: the inner values, it grows as a logarithm.
_WILD, _TAIL, _BOUND = 100.0, 0.005, 10.0
#: So many values tell what is usual.
_ENOUGH = 20


@dataclass(frozen=True)
class Preprocessing:
    """``fill``: per feature, what stands for a missing value (the pool's median); None where none can be missing.

    It is there although the pool has no gap: the rows of a test file or those that a saved model scores may have one.
    ``mean``/``deviation``: per feature, of the pool after filling; None where features are not standardized.
    ``bound``: per feature, the number of deviations from which on it grows as a logarithm, which keeps the order and
    lets no single value flatten the others; None if no feature needs it.
    """

    kind: str = "none"
    fill: FloatArray | None = None
    mean: FloatArray | None = None
    deviation: FloatArray | None = None
    bound: FloatArray | None = None

    @classmethod
    def fit(cls, x: npt.NDArray[Any] | SparseRows, pool: IntArray, kind: str) -> Preprocessing:
        """``x``: rows after :func:`row_wise`. ``standardize`` takes mean and deviation of the pool.

        A feature that is missing in the whole pool is filled with 0; a constant one is centered and not scaled.
        Sparse rows are scaled and not centered, which would leave no zero: their mean is taken to be 0.
        """
        if isinstance(x, SparseRows):
            deviation = x[pool].deviation()
            deviation[deviation == 0] = 1.0
            return cls(kind, None, np.zeros(x.width), deviation) if kind == "standardize" else cls(kind)
        # Only tables may have gaps: data sets are refused with one, and a row-wise kind is for data sets alone.
        may_miss = x.dtype.kind == "f" and x.ndim == 2 and row_wise_part(kind) == "none"
        standardize = kind == "standardize"
        if not (may_miss or standardize):
            return cls(kind)
        flat = x.reshape(len(x), -1)
        fill, mean, deviation = np.zeros((3, flat.shape[1]))
        bound = np.full(flat.shape[1], np.finfo(np.float64).max)
        for columns in _column_blocks(flat.shape[1], len(pool)):
            values = flat[pool, columns].astype(np.float64)
            if may_miss:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", RuntimeWarning)  # a column without any value: its median is NaN
                    fill[columns] = np.nan_to_num(np.nanmedian(values, axis=0))
                values = np.where(np.isnan(values), fill[columns].astype(x.dtype), values)
            if standardize:
                values /= _unit(x)
                mean[columns], deviation[columns] = values.mean(axis=0), values.std(axis=0)
            if standardize and may_miss and len(pool) >= _ENOUGH:
                outer = math.ceil(_TAIL * len(values))
                values.sort(axis=0)
                center, usual = values[outer:-outer].mean(axis=0), values[outer:-outer].std(axis=0)
                wild = (usual > 0) & (deviation[columns] > _WILD * usual)
                for numbers, instead in ((mean, center), (deviation, usual), (bound, _BOUND)):
                    numbers[columns] = np.where(wild, instead, numbers[columns])
        deviation[deviation == 0] = 1.0
        scale = (mean.reshape(x.shape[1:]), deviation.reshape(x.shape[1:])) if standardize else (None, None)
        has_wild = bool((bound == _BOUND).any())
        return cls(kind, fill if may_miss else None, scale[0], scale[1], bound if has_wild else None)

    def apply(self, x: Rows, *, in_place: bool = False) -> Rows:
        """(n, *shape) from rows after :func:`row_wise`; the same array where nothing is to be done, else float32.

        ``in_place``: ``x`` is the caller's own and may be written over, which saves a second array where it is float32.
        What is needed besides the arrays is a few MiB.
        """
        if isinstance(x, SparseRows):
            return x if self.deviation is None else x.scaled(self.deviation)
        if self.mean is None:
            gaps = self.fill is not None and any(bool(np.isnan(x[rows]).any()) for rows in _row_blocks(x))
            if not gaps:
                return x.astype(np.float32) if x.dtype == np.float64 else x
        out = x if in_place and x.dtype == np.float32 else np.empty(x.shape, np.float32)
        for rows in _row_blocks(x):
            values = x[rows] if x.dtype == np.float64 else x[rows].astype(np.float32)
            if self.fill is not None:
                values = np.where(np.isnan(values), self.fill, values).astype(values.dtype)
            if self.mean is not None and self.deviation is not None:
                values = (values / np.float32(_unit(x)) - self.mean) / self.deviation
            if self.bound is not None:
                over = np.maximum(np.abs(values) - self.bound, 0)
                values = np.where(over > 0, np.sign(values) * (self.bound + np.log1p(over)), values)
            out[rows] = values
        return out

    def arrays(self) -> dict[str, FloatArray]:
        """The fitted numbers by name, for a saved model."""
        named = {"fill": self.fill, "mean": self.mean, "deviation": self.deviation, "bound": self.bound}
        return {name: value for name, value in named.items() if value is not None}


def _unit(x: npt.NDArray[Any]) -> int:
    """The stored value that means 1."""
    return 255 if x.dtype == np.uint8 else 1


# -------------------------------------------------------------------- a little at a time


def _row_blocks(x: npt.NDArray[Any]) -> Iterator[slice]:
    """All rows, of which a block is at most ``_BLOCK`` bytes in float64."""
    step = max(1, _BLOCK // (8 * math.prod(x.shape[1:]) or 1))
    return (slice(start, start + step) for start in range(0, len(x), step))


def _column_blocks(d: int, n: int) -> Iterator[slice]:
    """All of ``d`` columns, of which a block of ``n`` rows is about ``_BLOCK`` bytes in float64.

    A block has two columns at least: NumPy adds up a single column in another order.
    """
    step = max(2, _BLOCK // (8 * max(n, 1)))
    starts = range(0, max(d - 1, 1), step)
    return (slice(start, d if start == starts[-1] else start + step) for start in starts)
