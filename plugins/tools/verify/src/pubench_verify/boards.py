"""Dated boards: written from records and files of rows, and checked."""

from __future__ import annotations

import io
import json
import re
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from itertools import islice
from os.path import isdir, isfile, lexists
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pubench_report.rows.columns import BOARD, names, typed
from pubench_report.rows.files import FACTS, FORMAT, ROWS, SUMS, Board, as_file, read_board, sources_in
from pubench_report.rows.record import RowSource, digest_of, rows_of
from pubench_report.rows.runs import ROUNDED, Row, each_run, row_name
from pubench_study.export import add_member

from pubench_core.data.cache import sha256_of
from pubench_core.engine.identity import ENGINE_REVISION
from pubench_core.errors import RecordError, RequestError, counted, shortened
from pubench_core.metric import Knowledge, Measurer, Scored
from pubench_core.plugins.registry import registry
from pubench_core.records.files import SCORES, read_scores
from pubench_core.records.scores import scores_name

from .files import MOST_TOLD, compared_sums
from .findings import RecordProblem, Say, Verification
from .record import installed_metrics

if TYPE_CHECKING:
    from pandas import DataFrame

#: 2026.12, lite-2026.12, 2026.12.1
_NAME = re.compile(r"([a-z][a-z0-9-]*-)?20\d\d\.(0[1-9]|1[0-2])(\.[1-9]\d*)?")
#: What names a value of a table: a method with its settings on a problem.
CELL = ["problem", "name", "seed", "criterion"]


def build(name: str, sources: Sequence[Path], out: Path, say: Say = lambda text: None) -> Board:
    """Writes ``out/NAME/`` with rows, facts and checksums, and ``out/NAME-scores.zip`` next to it, if a source
    has scores.

    The same sources give the same bytes. A board that is there is never changed. ``say``: called with what is left out.

    Raises RequestError for a name that is no date, a board that is there, and sources that hold no runs; RecordError if
    the board cannot be written.
    """
    if not _NAME.fullmatch(name):
        raise RequestError(f"a board is named after its month: 2026.12 or lite-2026.12, got {shortened(name)}")
    folder, archive = out / name, out / f"{name}-scores.zip"
    for path in (folder, archive):
        if lexists(path):
            raise RequestError(f"{path} is there, and a dated board is never changed; choose another name or folder")
    folders, notes = dict[str, Path](), list[str]()
    rows = _board_rows(sources, folders, notes)
    scored = sorted({*rows["run_id"]} & folders.keys())
    for note in notes:
        say(f"note: {note}")
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=out, ignore_cleanup_errors=True) as aside:
            made, packed = Path(aside, name), Path(aside, archive.name)
            made.mkdir()
            facts = _facts(name, rows, notes, sources)
            if scored:
                with zipfile.ZipFile(packed, "w") as scores:
                    for run_id in scored:
                        read_scores(folders[run_id])  # a damaged file is not published
                        add_member(scores, f"{run_id}.npz", (folders[run_id] / SCORES).read_bytes())
                facts["scores"] = {"file": archive.name, "sha256": sha256_of(packed), "runs": len(scored)}
            as_file(rows, BOARD).to_parquet(made / ROWS, index=False, compression="zstd")
            (made / FACTS).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
            lines = [f"{sha256_of(made / file)}  {file}\n" for file in (FACTS, ROWS)]
            (made / SUMS).write_text("".join(lines), encoding="utf-8")
            if scored:
                packed.rename(archive)
            made.rename(folder)
    except OSError as error:
        raise RecordError(f"{folder} could not be written: {error.strerror or error}") from error
    return read_board(folder)


def _facts(name: str, rows: DataFrame, notes: Sequence[str], sources: Sequence[Path]) -> dict[str, Any]:
    """The content of ``board.json``; no path of the building machine, no time."""
    return {
        "format": FORMAT,
        "name": name,
        "pubench": version("pubench-core"),
        "engine_revision": str(ENGINE_REVISION),
        "unit": "percent",
        "rows": len(rows),
        "runs": int(rows["run_id"].nunique()),
        "sources": [{"name": path.name, **({"sha256": sha256_of(path)} if isfile(path) else {})} for path in sources],
        "scores": None,
        "notes": [note for note in notes if "/" not in note],
    }


# -------------------------------------------------------------------- rows


def _board_rows(sources: Iterable[Path], folders: dict[str, Path], notes: list[str]) -> DataFrame:
    """The rows of all runs in folders of records and files of rows, sorted.

    ``folders`` gets those of runs that have scores, ``notes`` what is left out.

    A run that is in several sources counts once: with the newest engine revision, then from the first source. Of draws
    of hyper-parameters, each criterion keeps the one that it values most. Runs on user tables and single folds are
    left out.

    Raises RequestError for a source that is not there, or if no run is left.
    """
    import pandas

    measures = [f"test_{name}" for name in registry().headline()]
    columns = [*names(BOARD), "draw", *measures]
    found: list[tuple[object, ...]] = []  # a tenth of the memory of as many mappings
    for source in sources:
        if not (isdir(source) or isfile(source)):
            what = "is not there; expected a folder of records or a file of rows (.csv)"
            raise RequestError(f"{shortened(str(source))} {what}")
        rows = _of_records(source, columns, folders, notes) if isdir(source) else _of_file(source, notes)
        found += (tuple(map(row.get, columns)) for row in rows)
    if not found:
        raise RequestError("the sources hold no finished run that a board can have")
    frame = typed(found, columns)
    found.clear()
    revision = pandas.to_numeric(frame["revision"], errors="coerce").fillna(-1)
    read = len(frame)
    frame = frame.iloc[(-revision).argsort(kind="stable")].drop_duplicates(["run_id", "criterion"])
    if twice := read - len(frame):
        notes.append(f"{counted(twice, 'row')} of a run that another source has: the newest engine revision counts")
    drawn = frame[frame["draw"] != ""].dropna(subset=["criterion_value"])
    best = drawn.sort_values("criterion_value", ascending=False, kind="stable").drop_duplicates(CELL)
    frame = pandas.concat([frame[frame["draw"] == ""], best])
    # the name of a row has its preset if a problem has the row with several
    several = frame.groupby(["problem", "name"])["preset"].transform("nunique") > 1
    named = frame["name"] + " preset=" + frame["preset"].where(frame["preset"] != "", "none")
    frame = frame.assign(name=frame["name"].where(~several, named))
    double = frame.duplicated(CELL)
    if double.any():
        notes.append(f"{counted(int(double.sum()), 'row')} of the same cell and seed as another: the first counts")
    return frame.loc[~double].sort_values([*CELL, "run_id"], kind="stable", ignore_index=True)


def _of_records(folder: Path, columns: list[str], folders: dict[str, Path], notes: list[str]) -> Iterator[Row]:
    errors: list[RecordError] = []
    for source in sources_in(folder, errors):
        result = source.result
        if result.spec.data.own is not None or result.spec.validation.fold is not None:
            notes.append(f"{result.run_id} is left out: it is of a user table or of a single fold")
            continue
        if source.folder is not None and isfile(source.folder / SCORES):
            folders.setdefault(result.run_id, source.folder)
        for row in rows_of(source, columns):
            yield row | {"name": row_name(source.spec.method.key, row["settings"], drawn=bool(source.draw))}
    notes += [f"left out: {error}" for error in errors]


def _of_file(path: Path, notes: list[str]) -> Iterator[Row]:
    """Rows of a file, and what they lack from the runs that are made of them."""
    said, columns = list[str](), ["criterion", "problem", "oracle", "alike"]
    for run, rows in each_run(path, said):
        of_run = {one["criterion"]: one for one in rows_of(RowSource(run.result), columns)}
        for row in rows:
            name = row_name(row["method"], row["settings"], drawn=bool(row.get("draw")))
            yield {**of_run[row["criterion"]], **row, "name": name}
    notes += [note for note in said if "left out" in note]


# -------------------------------------------------------------------- checks


def check(folder: Path) -> Verification:
    """Problems of a board: checksums, format, names, double rows, measures that the scores next to it do not give."""
    sums, found = compared_sums(folder)
    listed, there = {*(sums or ())}, {path.name for path in folder.iterdir()} - {SUMS}
    found += [RecordProblem(SUMS, f"{name} is not listed") for name in (FACTS, ROWS) if name not in listed]
    found += [RecordProblem(name, f"it is not listed in {SUMS}") for name in sorted(there - listed)]
    try:
        board = read_board(folder)
    except RequestError as error:
        problems = (*found, RecordProblem(folder.name, str(error)))
        return Verification(folder, checksums=len(listed), problems=problems)
    runs = without = int(board.rows["run_id"].nunique())
    if board.name != folder.name:
        found.append(RecordProblem(FACTS, f"it is called {shortened(board.name)}, its folder {folder.name}"))
    if (board.rows["name"].str.partition(" ")[0] != board.rows["method"]).any():
        found.append(RecordProblem(ROWS, "the name of a row does not begin with its method"))
    if board.rows.duplicated(CELL).any():
        found.append(RecordProblem(ROWS, "two rows are of the same problem, row, seed and criterion"))
    archive, named = folder.parent / f"{board.name}-scores.zip", board.facts.get("scores") or {}
    if isfile(archive) and sha256_of(archive) != named.get("sha256"):
        found.append(RecordProblem(archive.name, f"it is not the archive that {FACTS} names"))
    elif isfile(archive):
        without -= int(named["runs"])
        found += (RecordProblem(ROWS, text) for text in islice(_other_measures(board, archive), MOST_TOLD))
    return Verification(folder, runs, without, checksums=len(listed), problems=tuple(found))


def _other_measures(board: Board, archive: Path) -> Iterator[str]:
    """Test measures of rows that the scores in the archive next to a board do not give."""
    wanted = frozenset(board.measures)
    metrics = installed_metrics(wanted)
    measurer = Measurer(metrics)
    with zipfile.ZipFile(archive) as members:
        for name in members.namelist():
            run_id = name.removesuffix(".npz")
            arrays = dict(np.load(io.BytesIO(members.read(name)), allow_pickle=False))
            rows = board.rows[(board.rows["run_id"] == run_id) & (board.rows["scores"] != "")]
            of_test = [array for name, array in arrays.items() if name.startswith(scores_name("test", ""))]
            states = {digest_of(scores): scores for scores in of_test}
            for _, row in rows.iterrows():
                of_row = f"{row['name']}, run {run_id}, {row['criterion']}"
                if (scores := states.get(row["scores"])) is None:
                    yield f"{of_row}: {archive.name} does not have its scores"
                    continue
                scored = Scored.of(scores, Knowledge(truth=arrays["test_labels"]))
                for name in sorted(wanted & metrics.keys()):
                    value, now = float(row[f"test_{name}"]), measurer.measure(name, scored).value
                    if now is not None and not abs(value - now) <= ROUNDED:  # no number is no such value
                        yield f"{of_row}: {name} is {value:.6g}; its scores give {now:.6g}"
