"""All that ``data.preprocess`` does to features: row by row, or fitted on the training pool and on nothing else."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .dataset import IntArray

FloatArray = npt.NDArray[np.float64]
#: Kinds that need no other row: they are carried out once, when a data set's prepared copy is made.
_ROW_WISE = frozenset({"l2"})


def row_wise_part(kind: str) -> str:
    """What :func:`row_wise` does of a kind, as a kind: ``none`` where it leaves rows as they are."""
    return kind if kind in _ROW_WISE else "none"


def row_wise(x: npt.NDArray[Any], kind: str) -> npt.NDArray[Any]:
    """(n, *shape) after the part of ``kind`` that needs no other row; the same array where there is none.

    ``l2``: float32, every row scaled to Euclidean length 1 (rows of zeros stay).
    """
    if row_wise_part(kind) == "none":
        return x
    values = x.astype(np.float32) / np.float32(255) if x.dtype == np.uint8 else x.astype(np.float32)
    norm = np.linalg.norm(values.reshape(len(values), -1), axis=1).clip(min=1e-12)
    return np.asarray(values / norm.reshape(-1, *[1] * (values.ndim - 1)), dtype=np.float32)


@dataclass(frozen=True)
class Preprocessing:
    """``fill``: per feature, what stands for a missing value (the pool's median); None where none can be missing.

    It is there although the pool has no gap: the rows of a test file or those that a saved model scores may have one.
    ``mean``/``deviation``: per feature, of the pool after filling; None where features are not standardized.
    """

    kind: str = "none"
    fill: FloatArray | None = None
    mean: FloatArray | None = None
    deviation: FloatArray | None = None

    @classmethod
    def fit(cls, x: npt.NDArray[Any], pool: IntArray, kind: str) -> Preprocessing:
        """``x``: rows after :func:`row_wise`. ``standardize`` takes mean and deviation of the pool.

        A feature that is missing in the whole pool is filled with 0; a constant one is centered and not scaled.
        """
        fill = mean = deviation = None
        may_miss = _may_miss(x, kind)
        reference = x[pool] if kind == "standardize" or may_miss else x[:0]
        if may_miss:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # a column without any value: its median is NaN
                fill = np.nan_to_num(np.nanmedian(reference.astype(np.float64), axis=0))
            reference = _filled(reference, fill)
        if kind == "standardize":
            values = reference.astype(np.float64) / (255 if x.dtype == np.uint8 else 1)
            mean, deviation = values.mean(axis=0), values.std(axis=0)
            deviation[deviation == 0] = 1.0
        return cls(kind, fill, mean, deviation)

    def apply(self, x: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """(n, *shape) from rows after :func:`row_wise`; the same array where nothing is to be done, else float32."""
        if self.fill is not None:
            x = _filled(x, self.fill)
        if self.mean is None or self.deviation is None:
            return x
        values = x.astype(np.float32) / np.float32(255 if x.dtype == np.uint8 else 1)
        return np.asarray((values - self.mean) / self.deviation, dtype=np.float32)

    def apply_to_raw(self, x: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """(n, *shape) from rows as they were read."""
        return self.apply(row_wise(x, self.kind))

    def arrays(self) -> dict[str, FloatArray]:
        """The fitted numbers by name, for a saved model."""
        named = {"fill": self.fill, "mean": self.mean, "deviation": self.deviation}
        return {name: value for name, value in named.items() if value is not None}

    @classmethod
    def of(cls, kind: str, arrays: Mapping[str, FloatArray]) -> Preprocessing:
        """What ``kind`` and :meth:`arrays` described."""
        return cls(kind, arrays.get("fill"), arrays.get("mean"), arrays.get("deviation"))


def _may_miss(x: npt.NDArray[Any], kind: str) -> bool:
    """Only tables may have gaps: data sets are refused with one, and a row-wise kind is for data sets alone."""
    return x.dtype.kind == "f" and x.ndim == 2 and row_wise_part(kind) == "none"


def _filled(x: npt.NDArray[Any], fill: FloatArray) -> npt.NDArray[Any]:
    """The same array where nothing is missing."""
    gaps = np.isnan(x)
    return np.where(gaps, fill, x).astype(np.float32) if gaps.any() else x
