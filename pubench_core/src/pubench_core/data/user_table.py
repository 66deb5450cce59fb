"""A user's own table as PU data: which rows are labeled, what became of every column, and what looked odd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..errors import RequestError, unknown
from ..specs import UserTableSpec
from .encoding import Column, encode, encoding_of, feature_columns, gaps_in, texts_of
from .labels import BoolArray, two_valued
from .tables import read_table

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class UserTable:
    """``x``: (n, d) float32, NaN where a number is missing (the training pool's median is put there later).

    ``labeled``: (n,) True for labeled positives. ``truth``: (n,) int8 1 positive, 0 negative; None without a truth
    column. ``x_test``/``truth_test``: rows of the test file. ``notes``: what was read and what looked odd.
    """

    x: npt.NDArray[np.float32]
    labeled: BoolArray
    truth: npt.NDArray[np.int8] | None
    x_test: npt.NDArray[np.float32] | None
    truth_test: npt.NDArray[np.int8] | None
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def can_be_tested(self) -> bool:
        """Whether there are true labels to measure against: a test file, or truth from which a part is split off."""
        return self.truth is not None or self.truth_test is not None


@lru_cache(maxsize=2)
def read_user_table(own: UserTableSpec) -> UserTable:
    """Reads and encodes a user's file as its spec says.

    Raises RequestError for a column that is not there, labels that are not two-valued, no labeled or no unlabeled
    row, infinite values, or no feature left.
    """
    frame = read_table(own.path)
    notes: list[str] = []
    name = own.path.name
    _known_columns(own, frame)
    if own.truth_col == own.label_col:
        raise RequestError(f"{name}: '{own.label_col}' is named as the labels and as the truth; they are two columns")
    used: set[str] = set()
    labeled, how = two_valued(own, frame, own.label_col, "label", used)
    n, n_labeled = len(frame), int(labeled.sum())
    if not n_labeled:
        raise RequestError(f"{name}: column '{own.label_col}' labels no row ({how}); PU data need labeled positives")
    if n_labeled == n:
        raise RequestError(f"{name}: column '{own.label_col}' labels every row ({how}); PU data need unlabeled rows")
    notes.append(
        f"{name}: {n} rows; '{own.label_col}': {how}; {n_labeled} labeled positives, {n - n_labeled} unlabeled"
    )

    truth = None
    if own.truth_col is not None and own.truth_col in frame:
        positive, how = two_valued(own, frame, own.truth_col, "truth", used)
        truth = positive.astype(np.int8)
        notes.append(f"'{own.truth_col}': {how}; {int(truth.sum())} positive, {n - int(truth.sum())} negative")
        if wrong := int((labeled & ~positive).sum()):
            notes.append(f"{wrong} labeled rows are negative by '{own.truth_col}'; their labels are kept as given")
    features = feature_columns(own, frame)
    columns = encoding_of(own, frame, features, notes)
    _oddities(own, frame, columns, labeled, notes)
    x = encode(frame, columns, name)
    x_test = truth_test = None
    if own.test is not None:
        x_test, truth_test = _test_part(own, columns, notes, used)
    elif own.truth_col is not None and truth is None:
        raise unknown(f"column of {name} (data.own.truth_col)", own.truth_col, list(frame.columns))
    if unused := [word for word in own.positive_value if word not in used]:
        raise RequestError(
            f"{name}: data.own.positive_value={unused[0]} is no value of '{own.label_col}' or of the truth"
        )
    return UserTable(x, labeled, truth, x_test, truth_test, columns, tuple(notes))


def _known_columns(own: UserTableSpec, frame: DataFrame) -> None:
    known = list(frame.columns)
    if own.label_col not in known:
        raise unknown(f"column of {own.path.name} (data.own.label_col)", own.label_col, known)
    for name in own.drop:
        if name not in known:
            raise unknown(f"column of {own.path.name} (data.own.drop)", name, known)


def _oddities(
    own: UserTableSpec, frame: DataFrame, columns: Sequence[Column], labeled: BoolArray, notes: list[str]
) -> None:
    if gaps := gaps_in(frame, columns):
        notes.append(gaps)
    repeated = frame[[c.name for c in columns]].duplicated(keep=False).to_numpy()
    if repeated.any():
        extra = int(frame[[c.name for c in columns]].duplicated().sum())
        both = ""
        if (repeated & labeled).any() and (repeated & ~labeled).any():
            both = ", labeled rows among them"
        notes.append(f"{extra} rows repeat an earlier one{both}; they are kept")
    if labeled.mean() > 0.5:
        notes.append(
            f"{100 * labeled.mean():.0f} % of the rows are labeled positives; is '{own.label_col}' read the right way "
            "round? (data.own.positive_value)"
        )


def _test_part(
    own: UserTableSpec, columns: Sequence[Column], notes: list[str], used: set[str]
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int8]]:
    assert own.test is not None
    if own.truth_col is None:
        raise RequestError(
            f"data.own.test={own.test.name} needs data.own.truth_col: the column of true labels to measure against "
            "(rows without true labels are scored with a saved model)"
        )
    frame = read_table(own.test, texts_of(columns))
    if own.truth_col not in frame:
        raise unknown(f"column of {own.test.name} (data.own.truth_col)", own.truth_col, list(frame.columns))
    tested = UserTableSpec(**{**own.model_dump(), "path": own.test})
    positive, how = two_valued(tested, frame, own.truth_col, "truth", used)
    x = encode(frame, columns, own.test.name, notes.append)
    notes.append(f"{own.test.name}: {len(x)} test rows; {how}; {int(positive.sum())} positive")
    if own.test_sha256 == own.sha256:
        notes.append(f"{own.test.name} is the file that is trained on; what is measured on it is no test")
    return x, positive.astype(np.int8)
