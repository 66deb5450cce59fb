"""Facts of a table before anything is trained, and what in it would make any answer worthless."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from pubench_datasets_tables.frames import frame_of

from pubench import PUTable
from pubench_core.errors import RequestError, counted

from ..scored_rows import BoolArray

if TYPE_CHECKING:
    from pubench_core.data.labeled import LabeledData

#: A classifier needs so many labeled rows in every fold.
FEWEST = 12
#: What bagged trees train on without a check.
FEWEST_TO_TRAIN = 10
FEWEST_UNLABELED = 50
#: A column alone that tells labeled rows from unlabeled ones this well probably says who was labeled.
TELLS = 0.99


@dataclass(frozen=True)
class Look:
    """Facts of the table before anything is trained."""

    name: str
    rows: int
    labeled: int
    features: int
    """columns after encoding"""
    leaks: tuple[str, ...]
    """columns that nearly say who is labeled"""
    copies: int
    """labeled rows that are in the table a second time, unlabeled"""
    notes: tuple[str, ...]
    """how the file was read"""

    @property
    def unlabeled(self) -> int:
        """Rows without a label."""
        return self.rows - self.labeled

    @property
    def warnings(self) -> Iterator[str]:
        """Warnings that come first."""
        for column in self.leaks:
            yield (
                f"'{column}' alone tells labeled rows from unlabeled ones. If it was filled in because a row was "
                f"labeled, leave it out (drop) and ask again: every number below is about that column"
            )
        if self.copies:
            said = "row is" if self.copies == 1 else "rows are"
            yield (
                f"{self.copies:,} labeled {said} in the table a second time, unlabeled; both are scored by models that "
                "saw neither. Remove the copies if they are the same case"
            )


def looked_at(table: PUTable, read: LabeledData) -> Look:
    """Raises RequestError for a table with too few labeled or unlabeled rows for held-out scores."""
    import pandas as pd

    labeled, x = read.labeled, read.x
    assert isinstance(x, np.ndarray)  # files and frames are dense
    other = ~labeled & ~read.negative
    n, n_labeled = int((labeled | other).sum()), int(labeled.sum())
    if n_labeled < FEWEST:
        instead = (
            f"rank without a check: {_unchecked(table)}" if n_labeled >= FEWEST_TO_TRAIN else "look at rows by hand"
        )
        raise RequestError(
            f"{table.name}: {counted(n_labeled, 'labeled row')} cannot train and check a model; at least {FEWEST} are "
            f"needed. Label more rows, or {instead}",
            field="data.own.label_col",
        )
    if n - n_labeled < FEWEST_UNLABELED:
        raise RequestError(
            f"{table.name}: {counted(n - n_labeled, 'unlabeled row')} are too few to rank; at least {FEWEST_UNLABELED} "
            "are needed. Add unlabeled rows, or look at them by hand",
            field="data.own.path",
        )
    if read.groups is not None and (one := len(np.unique(read.groups[labeled]))) < 2:
        raise RequestError(
            f"{table.name}: the labeled rows are of {counted(one, 'group')}, and held-out scores need two; label rows "
            "of another group",
            field="data.own.groups",
        )
    owners = [column.name for column in read.columns for _ in column.features]
    found = dict.fromkeys(name for name, auc in zip(owners, _aucs(x, labeled), strict=True) if auc >= TELLS)
    keys = pd.util.hash_pandas_object(frame_of(x, "x"), index=False).to_numpy()
    copies = int(np.isin(keys[labeled], keys[other]).sum())
    return Look(table.name, n, n_labeled, x.shape[1], tuple(found), copies, tuple(map(str, table.notes)))


def _unchecked(table: PUTable) -> str:
    """What ranks the rows of a table by bagged trees that train on all labeled rows."""
    from pubench_cli.options import FLAGS

    if str(table.own["path"]).startswith("memory:"):
        return 'pubench.run("pu-bagging", table, validation.fraction=0, criterion="last")'
    words = ["--data", str(table.own["path"]), *(("--scheme", table.scheme) if table.scheme else ())]
    for name, value in table.own.items():
        if name != "path" and (flag := FLAGS.get(f"data.own.{name}")) and value:
            listed = value if isinstance(value, (list, tuple)) else [str(value)]
            each = ",".join(f'"{one}"' if "," in one and len(listed) > 1 else one for one in listed)
            words += [flag] if value is True else [flag, each]
    return f"pubench run --method pu-bagging {shlex.join(words)} --set validation.fraction=0 --select last"


def _aucs(x: npt.NDArray[np.float32], labeled: BoolArray) -> Iterator[float]:
    """For each feature alone, its AUC for labeled against unlabeled rows in the better direction; gaps are lowest or
    highest.
    """
    n_p, n_u = int(labeled.sum()), int((~labeled).sum())
    for values in x.T:  # scipy.stats takes longer to import than this
        best, gaps = 0.5, np.isnan(values)
        for gap in (-np.inf, np.inf) if gaps.any() else (0.0,):
            filled = np.where(gaps, gap, values)
            of_u = np.sort(filled[~labeled])
            auc = sum(np.searchsorted(of_u, filled[labeled], side).sum() for side in ("left", "right")) / (
                2 * n_p * n_u
            )
            best = max(best, auc, 1 - auc)
        yield best
