"""The reader of users' tables that core finds: its parts are the modules of this package."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench_core.data.labeled import Column, LabeledData
from pubench_core.data.table_reader import ColumnUse, Say, TableReader
from pubench_core.plugins.info import DatasetInfo
from pubench_core.specs import UserTableSpec

from .column_uses import column_uses, label_candidates
from .encoding import encode, gaps_in
from .files import as_written, read_table
from .held import sha256_of
from .labels import LABEL, TRUTH, two_valued
from .spec import table_info, table_spec
from .user_table import read_user_table

if TYPE_CHECKING:
    from pandas import DataFrame


class Tables(TableReader):
    def frame(self, path: Path, texts: Collection[str] = (), say: Say = lambda text: None) -> DataFrame:
        return read_table(path, texts, say)

    def checksum(self, path: Path) -> str:
        return sha256_of(path)

    def spec(self, own: Mapping[str, Any], origins: Mapping[tuple[str, ...], str] | None = None) -> UserTableSpec:
        return table_spec(own, origins or {})

    def describe(self, own: UserTableSpec) -> DatasetInfo:
        return table_info(own, self.info.load)

    def read(self, own: UserTableSpec) -> LabeledData:
        return read_user_table(own)

    def encode(
        self, frame: DataFrame, columns: Sequence[Column], name: str, say: Say | None = None
    ) -> npt.NDArray[np.float32]:
        return encode(frame, columns, name, say)

    def gaps(self, frame: DataFrame, columns: Sequence[Column]) -> str:
        return gaps_in(frame, columns)

    def as_written(self, path: Path, frame: DataFrame, names: Sequence[str]) -> dict[str, npt.NDArray[np.object_]]:
        return as_written(path, frame, names)

    def positives(
        self, frame: DataFrame, column: str, words: Sequence[str], name: str, *, truth: bool = False
    ) -> npt.NDArray[np.bool_]:
        return two_valued(frame, column, TRUTH if truth else LABEL, words, name).positive

    def uses(
        self, frame: DataFrame, own: UserTableSpec | None = None, table: LabeledData | None = None
    ) -> list[ColumnUse]:
        return column_uses(frame, own, table)

    def label_candidates(self, frame: DataFrame) -> list[str]:
        return label_candidates(frame)
