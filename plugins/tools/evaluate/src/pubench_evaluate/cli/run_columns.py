"""Columns of a user's table that name the rows of a run, for a person who checks them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pubench_datasets_tables.held import sha256_of

from pubench_cli.console import err
from pubench_core.data.table_reader import table_reader
from pubench_core.errors import RequestError, unknown
from pubench_core.plugins.registry import registry
from pubench_core.records.files import ids_in, read_scores
from pubench_core.records.record import read_record
from pubench_core.results import Result

from ..audit.sheet import MOST_SHOWN


def columns_of_run(
    folder: Path, rows: npt.NDArray[np.int64], named: Sequence[str]
) -> Mapping[str, npt.NDArray[np.object_]]:
    """Columns that name the rows, and the features: name -> (n,) texts for each of ``rows``, as the file has them.

    ``named``: the naming columns; by default those by which the record names its rows. Raises RequestError for a column
    that is not in the table or says what a person must not see, and if the table is needed and is not there any more.
    """
    result = read_record(folder).result
    own = result.spec.data.own
    if own is None:
        if named:
            raise RequestError(f"--ids {named[0]}: run {result.run_id} is on {result.spec.data.key}, not on a table")
        return {}
    if not own.path.is_file() or sha256_of(own.path) != own.sha256:
        state = "was changed since" if own.path.is_file() else "no longer exists"
        if named:
            raise RequestError(f"--ids {named[0]}: {own.path}, the table of run {result.run_id}, {state}")
        err().print(f"{own.path} {state}: the sheet has no features", markup=False)
        return _ids_in_record(folder, rows)
    ids = list(named or _ids_in_record(folder, rows[:0]))
    ids += [own.groups] if own.groups is not None and own.groups not in ids else []
    shown = [*ids, *(name for name in _features(result) if name not in ids)]
    reader = table_reader(registry())
    frame = reader.rows(own, texts=shown, say=lambda text: err().print(text, markup=False))
    for name in named:
        if name not in frame:
            raise unknown(f"column of {own.path.name} (--ids)", name, list(frame.columns))
        if name in (own.label_col, own.truth_col):
            raise RequestError(f"--ids {name} is a column of labels, which the person who checks rows must not see")
    return {name: texts[rows] for name, texts in reader.written(own, frame, shown).items()}


def _features(result: Result) -> list[str]:
    """The first columns that the run used, as many as a person reads."""
    names = [str(column["name"]) for column in result.data.encoding or ()]
    if len(names) > MOST_SHOWN:
        err().print(
            f"the sheet shows the first {MOST_SHOWN} of {len(names)} features; --ids names further columns",
            markup=False,
        )
    return names[:MOST_SHOWN]


def _ids_in_record(folder: Path, rows: npt.NDArray[np.int64]) -> dict[str, Any]:
    """What names the unlabeled rows in the record's predictions; empty texts for other rows."""
    try:
        ids = ids_in(folder)
    except OSError:  # the run kept no predictions
        return {}
    place = {row: k for k, row in enumerate(read_scores(folder)["unlabeled_rows"].tolist())}
    return {
        name: np.array([texts[place[row]] if row in place else "" for row in rows.tolist()], dtype=object)
        for name, texts in ids.items()
    }
