"""A filled sheet and the design that it was drawn by, from their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pubench_datasets_tables.user_table import written

from pubench_core.data.labeled import LabeledData
from pubench_core.data.table_reader import Say, table_reader
from pubench_core.errors import RequestError, nearest
from pubench_core.plugins.registry import registry
from pubench_core.specs import UserTableSpec

from ..scored_rows import FloatArray, IntArray
from .sample import COLUMNS, AuditSample

#: What the design of a sheet is called, next to it.
DESIGN = ".design.npz"
#: As many columns as a person reads of a row: a sheet shows those that the scores follow most.
MOST_SHOWN = 40
#: Rows by which that is judged.
_JUDGED = 10_000


def read_sheet(
    sheet: Path,
    design: Path | None = None,
    *,
    field: str = "answers",
    folders: Sequence[Path] = (),
    say: Say = lambda text: None,
) -> tuple[AuditSample, dict[int, Any]]:
    """The draw and row -> answer of a sheet that was filled in.

    ``design``: its file; by default looked for next to the sheet and in ``folders``. ``field``: what messages call the
    sheet. Raises RequestError for another table, or if the design is not found or of another audit.
    """
    frame = table_reader(registry()).frame(sheet, texts=("answer",), say=say)
    where = f"{field}={sheet}"
    if lacking := [name for name in COLUMNS if name not in frame]:
        known = nearest(lacking[0], frame.columns)
        raise RequestError(
            f"{where}: there is no column '{lacking[0]}' ({known}); it must be the sheet that pubench audit wrote",
            field=field,
        )
    keys = sorted(set(frame["audit"].dropna().astype(str)))
    if len(keys) != 1:
        raise RequestError(f"{where}: expected one audit in column 'audit', found {len(keys)}", field=field)
    row = frame["row"]
    if row.dtype.kind not in "iuf" or row.isna().any() or (row % 1 != 0).any() or row.duplicated().any():
        raise RequestError(f"{where}: column 'row' must name every row once, by its whole number", field=field)
    sample = AuditSample.load(design) if design is not None else _found(sheet, keys[0], folders, where)
    if sample.key != keys[0]:
        raise RequestError(f"design={design}: expected the design of audit {keys[0]}, found that of {sample.key}")
    return sample, dict(zip(row.astype(int).tolist(), frame["answer"].tolist(), strict=True))


def _found(sheet: Path, key: str, folders: Sequence[Path], where: str) -> AuditSample:
    for path in sorted({path for folder in (sheet.parent, *folders) for path in folder.glob(f"*{DESIGN}")}):
        sample = AuditSample.load(path)
        if sample.key == key:
            return sample
    raise RequestError(
        f"{where}: no design of audit {key} is next to {sheet}; name it with design=FILE (*{DESIGN}, "
        "written with the sheet)"
    )


# -------------------------------------------------------------------- columns of a table, for a person who checks rows


def columns_of_table(own: UserTableSpec, names: Sequence[str], say: Say) -> Mapping[str, npt.NDArray[np.object_]]:
    """Columns of a table as its file has them: name -> (n,) texts."""
    return written(own, table_reader(registry()).rows(own, names, say), names)


def most_used(read: LabeledData, rows: IntArray, scores: FloatArray) -> list[str]:
    """The columns that a model uses most, at most :data:`MOST_SHOWN`, in the order of the table.

    A column counts by the variance of the rank of the score that the tenths of its values explain: whatever the model.
    ``rows``: (n,) positions of the rows with ``scores``, (n,).
    """
    names = [column.name for column in read.columns]
    if len(names) <= MOST_SHOWN or not isinstance(read.x, np.ndarray):
        return names[:MOST_SHOWN]
    part = np.linspace(0, len(rows) - 1, min(len(rows), _JUDGED)).astype(int)
    ranks = scores[part].argsort().argsort()
    of_feature = iter([_explained(values, ranks) for values in read.x[rows[part]].T])
    explained = {column.name: max(next(of_feature) for _ in column.features) for column in read.columns}
    chosen = sorted(names, key=lambda name: -explained[name])[:MOST_SHOWN]
    return [name for name in names if name in chosen]


def _explained(values: npt.NDArray[np.float32], ranks: IntArray) -> float:
    """Variance of ``ranks`` between the tenths of ``values``; gaps are a group of their own."""
    known = values[~np.isnan(values)]
    edges = np.unique(np.quantile(known, np.linspace(0.1, 0.9, 9))) if len(known) else known
    group = np.where(np.isnan(values), len(edges) + 1, np.searchsorted(edges, values, "right"))
    size, total = np.bincount(group), np.bincount(group, ranks)
    return float((total[size > 0] ** 2 / size[size > 0]).sum() / len(ranks) - ranks.mean() ** 2)
