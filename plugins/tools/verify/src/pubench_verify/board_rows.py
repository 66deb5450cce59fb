"""Rows of a board: what records, or files of rows, say of each run and criterion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os.path import isdir, isfile
from pathlib import Path
from typing import TYPE_CHECKING

from pubench_report.rows import BOARD, RowSource, names, rows_of
from pubench_report.rows.columns import typed
from pubench_report.rows.files import sources_in
from pubench_report.rows.runs import Row, each_run, row_name

from pubench_core.errors import RecordError, RequestError, counted, shortened
from pubench_core.plugins.registry import registry

if TYPE_CHECKING:
    from pandas import DataFrame

#: What names a value of a table: a method with its settings on a problem.
CELL = ["problem", "name", "seed", "criterion"]


def board_rows(sources: Iterable[Path]) -> tuple[DataFrame, list[str]]:
    """The rows of all runs in folders of records and files of rows, sorted; notes on what is left out.

    A run that is in several sources counts once: with the newest engine revision, then from the first source. Of draws
    of hyper-parameters, each criterion keeps the one that it values most. Runs on user tables and single folds are
    left out.

    Raises RequestError for a source that is not there, or if no run is left.
    """
    import pandas

    measures = [f"test_{name}" for name in registry().headline()]
    columns = [*names(BOARD), "draw", *measures]
    found: list[tuple[object, ...]] = []  # a tenth of the memory of as many mappings
    notes: list[str] = []
    for source in sources:
        if isdir(source):
            found += (tuple(row[name] for name in columns) for row in _of_records(source, measures, notes))
        elif isfile(source):
            found += (tuple(row[name] for name in columns) for row in _of_file(source, measures, notes))
        else:
            raise RequestError(
                f"{shortened(str(source))} is not there; expected a folder of records or a file of rows (.csv)"
            )
    if not found:
        raise RequestError("the sources hold no finished run that a board can have")
    frame = typed(found, columns)
    found.clear()
    revision = pandas.to_numeric(frame["revision"], errors="coerce").fillna(-1)
    read = len(frame)
    frame = frame.iloc[(-revision).argsort(kind="stable")].drop_duplicates(["run_id", "criterion"])
    if twice := read - len(frame):
        notes.append(f"{counted(twice, 'row')} of a run that another source has: the newest engine revision counts")
    frame = _with_presets(_best_of_draws(frame))
    double = frame.duplicated(CELL)
    if double.any():
        notes.append(f"{counted(int(double.sum()), 'row')} of the same cell and seed as another: the first counts")
    return frame.loc[~double].sort_values([*CELL, "run_id"], kind="stable", ignore_index=True), notes


def _best_of_draws(frame: DataFrame) -> DataFrame:
    """Of draws, the one with the highest value of each criterion; rows that are no draws as they are."""
    import pandas

    drawn = frame[frame["draw"] != ""].dropna(subset=["criterion_value"])
    best = drawn.sort_values("criterion_value", ascending=False, kind="stable").drop_duplicates(CELL)
    return pandas.concat([frame[frame["draw"] == ""], best])


def _with_presets(frame: DataFrame) -> DataFrame:
    """The name of a row has its preset if a problem has the row with several."""
    several = frame.groupby(["problem", "name"])["preset"].transform("nunique") > 1
    named = frame["name"] + " preset=" + frame["preset"].where(frame["preset"] != "", "none")
    return frame.assign(name=frame["name"].where(~several, named))


def _of_records(folder: Path, measures: list[str], notes: list[str]) -> Iterator[Row]:
    errors: list[RecordError] = []
    for source in sources_in(folder, errors):
        result = source.result
        if result.spec.data.own is not None or result.spec.validation.fold is not None:
            notes.append(f"{result.run_id} is left out: it is of a user table or of a single fold")
            continue
        for row in rows_of(source, [*names(BOARD), "draw"], measures=measures):
            yield row | {"name": row_name(source.spec.method.key, row["settings"], drawn=bool(source.draw))}
    notes += [f"left out: {error}" for error in errors]


def _of_file(path: Path, measures: list[str], notes: list[str]) -> Iterator[Row]:
    """Rows of a file, and what they lack from the runs that are made of them."""
    said: list[str] = []
    empty = dict.fromkeys((*names(BOARD), "draw", *measures))
    for run, rows in each_run(path, said):
        lacking = [name for name in ("problem", "oracle", "alike") if name not in rows[0]]
        of_run = {more["criterion"]: more for more in rows_of(RowSource(run.result), ["criterion", *lacking])}
        for row in rows:
            name = row_name(row["method"], row["settings"], drawn=bool(row.get("draw")))
            yield {**empty, **row, **of_run[row["criterion"]], "name": name}
    notes += [note for note in said if "left out" in note]
