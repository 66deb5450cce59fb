"""The section ``data.own`` of a spec: the columns of a table and the checksums of its files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pubench_core.engine.explain import explain
from pubench_core.errors import RequestError
from pubench_core.plugins.info import DatasetInfo
from pubench_core.specs import UserTableSpec

from .files import read_table
from .held import sha256_of


def table_spec(own: Mapping[str, Any], origins: Mapping[tuple[str, ...], str]) -> UserTableSpec:
    """The fields of a table with the checksums of its files. ``origins``: where fields were written.

    Raises RequestError if the files are not those that the spec was written for.
    """
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
        raise explain(error, UserTableSpec, ("data", "own"), origins, owner="data.own") from None


def table_info(own: UserTableSpec, load: str) -> DatasetInfo:
    """Info record of a table, like that of a data set plugin. ``load``: what read it."""
    return DatasetInfo(
        key="own",
        name=own.path.name,
        summary="a table of the user's own",
        load=load,
        modality="tabular",
        classes=("negative", "positive"),
        positive=(1,),
        negative=(0,),
        backbone="mlp",
        preprocess="standardize",
    )
