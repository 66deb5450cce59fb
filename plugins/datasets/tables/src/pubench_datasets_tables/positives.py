"""Labeled positives in a file of their own: rows like those of the table, or a list of their ids."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pubench_core.errors import RequestError, counted, shortened
from pubench_core.specs import UserTableSpec

from .cells import Say, is_nested
from .delimited import DELIMITED
from .encoding import LEAST_DISTINCT
from .files import read_table
from .labels import is_blank

if TYPE_CHECKING:
    from pandas import DataFrame

#: The column that says which rows are of the file of positives.
LABELED = "(labeled)"


def rows_of(spec: UserTableSpec, texts: Collection[str] = (), say: Say = lambda text: None) -> DataFrame:
    """The rows of a table; after them those of its file of positives, if that has rows. Arguments as for reading."""
    frame = read_table(spec.path, texts, say, no_header=spec.no_header)
    if spec.positives is None:
        return frame
    if (ids := _listed(spec.positives)) is not None:
        return frame.assign(**{LABELED: _found(spec, frame, ids, say)})
    import pandas as pd

    more = read_table(spec.positives, texts, say, no_header=spec.no_header)
    both = [name for name in frame if name in more]
    if spec.truth_col in frame and spec.truth_col not in both:
        more[spec.truth_col] = next(iter(spec.positive_value), 1)
        both.append(str(spec.truth_col))
    if not both:
        raise RequestError(
            f"{spec.positives.name} and {spec.path.name} have no column in common; expected the same columns, or ids",
            field="data.own.positives",
        )
    if apart := [str(name) for name in (*frame, *more) if name not in both]:
        say(f"{spec.positives.name} and {spec.path.name} do not both have {shortened(', '.join(apart))}; left out")
    say(f"{spec.positives.name}: {counted(len(more), 'row')}, all labeled; those of {spec.path.name} are unlabeled")
    joined = pd.concat([frame[both], more[both]], ignore_index=True)
    return joined.assign(**{LABELED: np.arange(len(joined)) >= len(frame)})


def is_list(path: Path) -> bool:
    """Whether a file of positives has ids and no rows."""
    return _listed(path) is not None


def _listed(path: Path) -> list[str] | None:
    """Ids, one a line; None if the file is a table."""
    if not path.name.lower().endswith(DELIMITED):
        return None
    try:
        lines = [line.strip().strip('"') for line in path.read_text(encoding="utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError):  # read_table says what is wrong
        return None
    given = [line for line in lines if line]
    return None if not given or any(sign in given[0] for sign in ",;\t|") else given


def _found(spec: UserTableSpec, frame: DataFrame, ids: list[str], say: Say) -> npt.NDArray[np.bool_]:
    """(n,) rows that the list names, by the column that has most of its ids. Raises RequestError if none has."""
    assert spec.positives is not None
    best, hits, rows = "", 0, np.zeros(len(frame), dtype=bool)
    for name in frame.columns:
        values = frame[name]
        if values.dtype.kind in "fbmM" or is_nested(values) or values.nunique() < LEAST_DISTINCT * len(values):
            continue
        words = values.where(~is_blank(values), "").map(str).str.strip()
        listed = words.isin(ids) & (words != "")
        if (count := int(words[listed].nunique())) > hits:
            best, hits, rows = str(name), count, listed.to_numpy(dtype=bool)
    wanted = set(ids) - {best}
    if 2 * hits < len(wanted):
        raise RequestError(
            f"{spec.positives.name}: {hits} of its {len(wanted)} ids are in a column of {spec.path.name}, not all",
            field="data.own.positives",
        )
    lost = f"; {len(wanted) - hits} ids are in no row" if len(wanted) > hits else ""
    say(f"{spec.positives.name}: {counted(hits, 'id')} of '{best}', {counted(int(rows.sum()), 'row')} labeled{lost}")
    return rows
