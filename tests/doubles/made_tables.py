"""Small tables of users: two plain columns and labels ``s``, read through a file, and what was said about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pubench_datasets_tables.held import sha256_of
from pubench_datasets_tables.user_table import read_user_table
from refusals import refusal

from pubench_core.data.labeled import LabeledData
from pubench_core.specs import UserTableSpec

N, N_LABELED = 30, 6
ROWS = np.arange(N)
LABELED = (ROWS < N_LABELED).astype(int)


def plain_columns(n: int = N) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {"a": rng.normal(size=n).round(3), "b": rng.integers(0, 5, n)}


def written_to(path: Path, columns: dict[str, Any]) -> Path:
    frame = pd.DataFrame(columns)
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    return path


def read_file(path: Path, **own: Any) -> LabeledData:
    """``own``: fields of the spec; labels are in ``s``."""
    return read_user_table(UserTableSpec(**{"path": path, "sha256": sha256_of(path), "label_col": "s", **own}))


class Reader:
    """``read(column=values, ...)``: that table, with two plain columns and labels ``s`` if none are given.

    ``_test``: columns of a test file; ``_rows``: how many rows, of which the first fifth is labeled; other names with
    an underscore are fields of the spec.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(
        self, *, _suffix: str = "csv", _test: dict[str, Any] | None = None, _rows: int = N, **given: Any
    ) -> LabeledData:
        own = {name[1:]: value for name, value in given.items() if name.startswith("_")}
        columns = {name: value for name, value in given.items() if not name.startswith("_")}
        plain = {**plain_columns(_rows), "s": (np.arange(_rows) < _rows // 5).astype(int)}
        path = written_to(self.folder / f"my.{_suffix}", plain | columns)
        if _test is not None:
            test = written_to(self.folder / f"my_test.{_suffix}", _test)
            own |= {"test": test, "test_sha256": sha256_of(test)}
        return read_file(path, **own)


def complaint(read: Reader, **given: Any) -> str:
    return refusal(lambda: read(**given))


def note(table: LabeledData, word: str) -> str:
    """The one note that has this word."""
    (found,) = [text for text in table.notes if word in text]
    return found


def names(table: LabeledData) -> list[str]:
    return [column.name for column in table.columns]


def features(table: LabeledData) -> list[str]:
    return [name for column in table.columns for name in column.features]
