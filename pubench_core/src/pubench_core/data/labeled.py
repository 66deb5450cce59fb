"""Data that bring their labels, so that none are simulated, and how columns of a table became features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from ..specs import Scheme
from ..specs.fields import short_hash
from .dataset import PNDataset, fingerprint
from .sparse import SparseRows

BoolArray = npt.NDArray[np.bool_]


#: The feature of a category's rare values.
POOLED = "(other)"


@dataclass(frozen=True)
class Column:
    """How one column of the table becomes features: numbers as they are, categories one-hot in this order.

    ``missing``: values that mean missing. ``pooled``: whether one more feature is of all values that are not listed.
    ``wide``: whether its values need 64 bits to stay apart.
    """

    name: str
    kind: Literal["number", "category"]
    categories: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    pooled: bool = False
    wide: bool = False

    @property
    def features(self) -> list[str]:
        """Names of the features it becomes."""
        if self.kind == "number":
            return [self.name]
        return [f"{self.name}={value}" for value in (*self.categories, *((POOLED,) if self.pooled else ()))]


def as_plain(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """The columns as plain data, for records; what is as usual is left out."""
    return [
        {"name": c.name, "kind": c.kind, "categories": list(c.categories)}
        | ({"missing": list(c.missing)} if c.missing else {})
        | ({"pooled": True} if c.pooled else {})
        | ({"wide": True} if c.wide else {})
        for c in columns
    ]


def texts_of(columns: Sequence[Column]) -> tuple[str, ...]:
    """Columns that another file must be read with as texts: a category ``10`` is not the number 10."""
    return tuple(column.name for column in columns if column.kind == "category")


@dataclass(frozen=True)
class LabeledData:
    """Rows that come with labels: those of a user's table.

    ``x``: (n, d) float32, or float64 if a column needs it; NaN if a number is missing (the training pool's median is
    put there later). Sparse rows have no ``columns``, and so no names.

    ``labeled``: (n,) True for labeled positives. ``truth``: (n,) int8 1 positive, 0 negative; None without a truth
    column. ``x_test``/``truth_test``: rows of the test file. ``notes``: what was read and what is unusual about it.
    ``left_out``: column -> why it is no feature. ``ids``: column that names the rows -> (n,) texts, as in the file.

    ``groups``: (n,) int64 codes; rows of one code are never parted. ``weights``: (n,) float64, at least 0.
    ``known_negative``: (n,) True for rows that are known to be negative: neither labeled nor unlabeled. ``scheme``:
    what the files suggest; two-sample if positives are rows of a file of their own.
    """

    x: npt.NDArray[Any] | SparseRows
    labeled: BoolArray
    truth: npt.NDArray[np.int8] | None
    x_test: npt.NDArray[Any] | None
    truth_test: npt.NDArray[np.int8] | None
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    ids: Mapping[str, npt.NDArray[np.object_]] = field(default_factory=dict)
    groups: npt.NDArray[np.int64] | None = None
    weights: npt.NDArray[np.float64] | None = None
    known_negative: BoolArray | None = None
    scheme: Scheme = "one-sample"

    @property
    def can_be_tested(self) -> bool:
        """Whether there are true labels to measure against: a test file, or truth from which a part is split off."""
        return self.truth is not None or self.truth_test is not None

    @property
    def negative(self) -> BoolArray:
        """(n,) True for rows that are known to be negative."""
        return np.zeros(len(self.x), bool) if self.known_negative is None else self.known_negative

    @property
    def digest(self) -> str:
        """16 digits over the arrays and over which features are the values of one category."""
        named: dict[str, npt.NDArray[Any] | None] = {"labeled": self.labeled, "truth": self.truth}
        named |= self.x.arrays() if isinstance(self.x, SparseRows) else {"x": self.x}
        named |= {"x_test": self.x_test, "truth_test": self.truth_test}
        named |= {"groups": self.groups, "weights": self.weights, "known_negative": self.known_negative}
        arrays = {name: fingerprint(array) for name, array in named.items() if array is not None}
        return short_hash([arrays, as_plain(self.columns)])

    def problem(self, key: str) -> PNDataset:
        """The rows as a binary problem of that name; a row of weight 0 is absent."""
        kept = np.ones(len(self.x), bool) if self.weights is None else self.weights > 0
        return PNDataset(
            key=key,
            modality="tabular",
            x=cast("npt.NDArray[np.float32]", self.x),  # code that does more than take rows asks which it is
            y=self.truth,
            rows=np.flatnonzero(kept & ~self.negative),
            negatives=np.flatnonzero(kept & self.negative),
            x_test=self.x_test,
            y_test=self.truth_test,
            rows_test=np.arange(len(self.x_test)) if self.x_test is not None else None,
            labeled=self.labeled,
            groups=self.groups,
            weights=self.weights,
        )
