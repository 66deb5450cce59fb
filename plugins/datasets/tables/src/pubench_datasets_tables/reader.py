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
from .positives import LABELED, rows_of
from .user_table import read_user_table, written

if TYPE_CHECKING:
    from pandas import DataFrame


#: Files of a table besides its own.
_MORE_FILES = ("positives", "test")


class Tables(TableReader):
    def frame(
        self, path: Path, texts: Collection[str] = (), say: Say = lambda text: None, *, no_header: bool = False
    ) -> DataFrame:
        return read_table(path, texts, say, no_header=no_header)

    def rows(self, own: UserTableSpec, texts: Collection[str] = (), say: Say = lambda text: None) -> DataFrame:
        return rows_of(own, texts, say)

    def checksum(self, path: Path) -> str:
        return sha256_of(path)

    def spec(self, own: Mapping[str, Any], origins: Mapping[tuple[str, ...], str] | None = None) -> UserTableSpec:
        checked = {name: value for name, value in own.items() if value is not None}
        for role in ("path", *_MORE_FILES):
            if role in checked:
                checked[role] = Path(str(checked[role]))
        if unlabeled := checked.pop("unlabeled", None):
            if "positives" in checked:
                raise RequestError(
                    f"{unlabeled.name}: give data.own.unlabeled or data.own.positives, not both",
                    field="data.own.unlabeled",
                )
            checked |= {"path": unlabeled, "positives": checked["path"]}
        path = checked["path"]
        if "positives" in checked:
            if checked.setdefault("label_col", LABELED) != LABELED:
                raise RequestError(
                    f"{path.name}: data.own.label_col={checked['label_col']} and data.own.positives="
                    f"{checked['positives'].name} both say who is labeled; leave one out",
                    field="data.own.label_col",
                )
        elif not checked.get("label_col"):
            columns = list(read_table(path, no_header=bool(checked.get("no_header"))).columns)
            listed = ", ".join(columns if len(columns) <= 12 else [*columns[:6], "...", *columns[-6:]])
            raise RequestError(
                f"{path.name}: data.own.label_col=COLUMN must name the column of labels; columns are {listed}",
                field="data.own.label_col",
            )
        for role, name in (("path", "sha256"), *((role, f"{role}_sha256") for role in _MORE_FILES)):
            if role not in checked:
                continue
            found, given = sha256_of(checked[role]), checked.get(name)
            if given not in (None, found):
                raise RequestError(
                    f"{checked[role]} is not the file this spec was written for: sha256 {found[:16]}, "
                    f"{str(given)[:16]} in the spec; leave {name} out to take the file as it is",
                    field=f"data.own.{name}",
                    value=given,
                )
            checked[name] = found
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
    ) -> npt.NDArray[Any]:
        return encode(frame, columns, name, say)

    def gaps(self, frame: DataFrame, columns: Sequence[Column]) -> str:
        return gaps_in(frame, columns)

    def as_written(
        self, path: Path, frame: DataFrame, names: Sequence[str], *, no_header: bool = False
    ) -> dict[str, npt.NDArray[np.object_]]:
        return as_written(path, frame, names, no_header=no_header)

    def written(self, own: UserTableSpec, frame: DataFrame, names: Sequence[str]) -> dict[str, npt.NDArray[np.object_]]:
        return written(own, frame, names)

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
