"""The data of a plan, opened: a prepared copy, or the table that the plan holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..data.dataset import DataRoot, PNDataset, PUTasks, binarize, task_of
from ..data.labeled import Column
from ..data.sparse import SparseRows
from ..data.store import open_dataset
from ..results import Code
from ..specs import DataSpec
from .plan import Plan


@dataclass(frozen=True)
class OpenedData:
    """The data of a plan before anything is split. ``code``: what computes the run, these arrays
    included. ``digest``: of the arrays; empty for a user's table.

    ``ids``: column of a user's table that names its rows -> (n,) texts.
    """

    data: PNDataset
    code: Code
    digest: str = ""
    columns: tuple[Column, ...] | None = None
    notes: tuple[str, ...] = ()
    ids: Mapping[str, npt.NDArray[np.object_]] = field(default_factory=dict)


def open_data(plan: Plan, root: DataRoot) -> OpenedData:
    """The arrays of a plan as a binary problem. Raises RequestError for files that are missing or damaged."""
    table, spec, method = plan.data.table, plan.spec, plan.method.implementation
    if table is not None:
        notes = table.notes
        if isinstance(table.x, SparseRows):
            kept = "sparse" if method.takes_sparse(plan.method.config) else "dense, a batch at a time"
            notes = (*notes, f"{plan.method.info.key} is given sparse rows {kept}")
        elif method.takes_gaps(plan.method.config) and np.isnan(table.x).any():
            notes = (*notes, f"but {plan.method.info.key} takes missing numbers as missing")
        for note in notes:
            root.say(note)
        return OpenedData(
            table.problem(spec.data.key), plan.code, columns=table.columns or None, notes=notes, ids=table.ids
        )
    assert plan.data.source is not None
    opened = open_dataset(plan.data.source, root, preprocess=spec.data.preprocess)
    code = plan.code_reading(opened.digest)
    if isinstance(opened.data, PUTasks):
        return OpenedData(task_of(plan.data.info, opened.data), code, opened.digest)
    data = binarize(plan.data.info, opened.data, spec.data)
    ignored = spec.data.test_fraction != DataSpec.model_fields["test_fraction"].default and data.x_test is not None
    if ignored:
        root.say(
            f"{data.key} has a test part of its own: data.test_fraction {spec.data.test_fraction:g} decides nothing; "
            "data.test=drawn draws one from all of its rows"
        )
    if data.dropped:
        root.say(f"{data.key}: {data.dropped} rows of classes in neither list are left out")
    return OpenedData(data, code, opened.digest)
