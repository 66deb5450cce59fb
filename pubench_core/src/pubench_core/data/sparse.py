"""Rows of which most values are 0, such as the words of texts; no dense table of them is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import RequestError

#: Bytes of the largest dense table that is made of sparse rows.
MOST_DENSE = 2 << 30


@dataclass(frozen=True, eq=False)
class SparseRows:
    """(n, d) float32 rows in compressed form, indexed by rows as an array is.

    Row i has ``values[starts[i]:starts[i + 1]]``, finite, in these ``columns``, ascending, each once; the rest is 0.
    """

    values: npt.NDArray[np.float32]
    columns: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    width: int
    dtype: ClassVar[np.dtype[np.float32]] = np.dtype(np.float32)
    ndim: ClassVar[int] = 2

    @classmethod
    def of(cls, matrix: Any) -> SparseRows:
        """The rows of a sparse matrix of scipy, of any format."""
        rows = matrix.tocsr().astype(np.float32)
        if not rows.has_canonical_format:
            rows = rows.copy()  # the caller's stays as it is
            rows.sum_duplicates()
        return cls(rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int64), matrix.shape[1])

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)."""
        return len(self), self.width

    def __getitem__(self, rows: npt.NDArray[Any]) -> SparseRows:
        """The rows at these positions, or where a mask is true."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        counts = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(counts)])
        at = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], counts)
        return SparseRows(self.values[at], self.columns[at], starts, self.width)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays behind the rows, by name."""
        return {"starts": self.starts, "columns": self.columns, "values": self.values, "width": np.array(self.width)}

    def scaled(self, deviation: npt.NDArray[np.float64]) -> SparseRows:
        """Every column divided by its number."""
        values = (self.values / deviation[self.columns]).astype(np.float32)
        return SparseRows(values, self.columns, self.starts, self.width)

    def deviation(self) -> npt.NDArray[np.float64]:
        """(d,) standard deviation of every column."""
        values, n = self.values.astype(np.float64), max(len(self), 1)
        mean = np.bincount(self.columns, values, self.width) / n
        centered = (values - mean[self.columns]) ** 2
        absent = n - np.bincount(self.columns, minlength=self.width)
        return np.asarray(np.sqrt((np.bincount(self.columns, centered, self.width) + absent * mean**2) / n))

    def dense(self) -> npt.NDArray[np.float32]:
        """(n, d) with its zeros. Raises RequestError for more than :data:`MOST_DENSE` bytes."""
        n, d = self.shape
        if 4 * n * d > MOST_DENSE:
            raise RequestError(
                f"{n:,} sparse rows of {d:,} features are {4e-9 * n * d:.3g} GB as the dense table that this needs; "
                "put scikit-learn's TruncatedSVD(100) before it, or take a method that keeps rows sparse",
                field="method.key",
            )
        found = np.zeros((n, d), np.float32)
        found[np.repeat(np.arange(n), np.diff(self.starts)), self.columns] = self.values
        return found
