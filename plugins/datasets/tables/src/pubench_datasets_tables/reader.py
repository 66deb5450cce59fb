"""The reader of users' tables that core finds: its parts are the modules of this package."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from pubench_core.data.labeled import Column, LabeledData
from pubench_core.data.table_reader import ColumnUse, Say, TableReader
from pubench_core.engine.explain import explain
from pubench_core.errors import RequestError
from pubench_core.plugins.info import DatasetInfo
from pubench_core.specs import UserTableSpec

from .column_uses import column_uses, label_candidates
from .encoding import encode, gaps_in
from .files import as_written, read_table
from .held import sha256_of
from .labels import LABEL, TRUTH, labels_of
from .user_table import read_user_table

if TYPE_CHECKING:
    from pandas import DataFrame


class Tables(TableReader):
    def frame(self, path: Path, texts: Collection[str] = (), say: Say = lambda text: None) -> DataFrame:
        return read_table(path, texts, say)

    def checksum(self, path: Path) -> str:
        return sha256_of(path)

    def spec(self, own: Mapping[str, Any], origins: Mapping[tuple[str, ...], str] | None = None) -> UserTableSpec:
        path = Path(str(own["path"]))
        if not own.get("label_col"):
            columns = list(read_table(path).columns)
            listed = ", ".join(columns if len(columns) <= 12 else [*columns[:6], "...", *columns[-6:]])
            raise RequestError(
                f"{path.name}: data.own.label_col=COLUMN must name the column of labels; columns are {listed}",
                field="data.own.label_col",
            )
        checked = {**own, "path": path, "sha256": sha256_of(path)}
        if own.get("test") is not None:
            checked |= {"test": Path(str(own["test"])), "test_sha256": sha256_of(Path(str(own["test"])))}
        for name, file in (("sha256", path), ("test_sha256", checked.get("test"))):
            if own.get(name) not in (None, checked.get(name)):
                raise RequestError(
                    f"{file} is not the file this spec was written for: sha256 {str(checked.get(name))[:16]}, "
                    f"{str(own[name])[:16]} in the spec; leave {name} out to take the file as it is",
                    field=f"data.own.{name}",
                    value=own[name],
                )
        try:
            return UserTableSpec.model_validate(checked)
        except ValidationError as error:
            raise explain(error, UserTableSpec, ("data", "own"), origins or {}, owner="data.own") from None

    def describe(self, own: UserTableSpec) -> DatasetInfo:
        return DatasetInfo(
            key="own",
            name=own.path.name,
            summary="a table of the user's own",
            load=self.info.load,
            modality="tabular",
            classes=("negative", "positive"),
            positive=(1,),
            negative=(0,),
            backbone="mlp",
            preprocess="standardize",
        )

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
        return labels_of(frame, column, TRUTH if truth else LABEL, words, name).positive

    def uses(
        self, frame: DataFrame, own: UserTableSpec | None = None, table: LabeledData | None = None
    ) -> list[ColumnUse]:
        return column_uses(frame, own, table)

    def label_candidates(self, frame: DataFrame) -> list[str]:
        return label_candidates(frame)
