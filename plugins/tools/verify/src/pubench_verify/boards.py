"""Dated boards: written from records and files of rows, and checked."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from os.path import isdir, isfile, lexists
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pubench_report.rows import BOARD, Board, RowSource, as_file, names, read_board, rows_of
from pubench_report.rows.columns import typed
from pubench_report.rows.files import BIBTEX, FACTS, FORMAT, ROWS, SUMS, sources_in
from pubench_report.rows.record import digest_of
from pubench_report.rows.runs import Row, each_run, row_name
from pubench_study.export import add_member

from pubench_core.data.cache import sha256_of
from pubench_core.engine.identity import ENGINE_REVISION
from pubench_core.errors import RecordError, RequestError, counted, shortened
from pubench_core.metric import Knowledge, Measurer, Scored
from pubench_core.plugins.registry import registry
from pubench_core.records.files import SCORES, Arrays, read_scores
from pubench_core.records.scores import scores_name
from pubench_core.records.store import RecordStore

from .folder import MOST_TOLD, compared_sums
from .record import installed_metrics

if TYPE_CHECKING:
    from pandas import DataFrame

#: Rows have their measures in percent, rounded to four digits.
ROUNDED = 1e-6
#: 2026.12, lite-2026.12, 2026.12.1
_NAME = re.compile(r"([a-z][a-z0-9-]*-)?(?P<year>20\d\d)\.(?P<month>0[1-9]|1[0-2])(\.[1-9]\d*)?")
#: What names a value of a table: a method with its settings on a problem.
CELL = ["problem", "name", "seed", "criterion"]


@dataclass(frozen=True)
class Built:
    """A board that was written."""

    folder: Path
    scores: Path | None
    """archive of the scores of its runs; None if no source has any"""
    rows: int
    runs: int
    notes: tuple[str, ...]


def build(name: str, sources: Sequence[Path], out: Path) -> Built:
    """Writes ``out/NAME/`` with rows, facts, checksums and BibTeX, and ``out/NAME-scores.tar`` next to it.

    The same sources give the same bytes. A board that is there is never changed.

    Raises RequestError for a name that is no date, a board that is there, and sources that hold no runs; RecordError if
    the board cannot be written.
    """
    if (dated := _NAME.fullmatch(name)) is None:
        raise RequestError(f"a board is named after its month: 2026.12 or lite-2026.12, got {shortened(name)}")
    folder, archive = out / name, out / f"{name}-scores.tar"
    for path in (folder, archive):
        if lexists(path):
            raise RequestError(f"{path} is there, and a dated board is never changed; choose another name or folder")
    rows, notes = _board_rows(sources)
    aside = out / f".{name}-{os.getpid()}"
    made = aside / name
    try:
        made.mkdir(parents=True)
        scores = _write_scores(aside / archive.name, sources, set(rows["run_id"]))
        facts = _facts(name, rows, notes, sources)
        if scores:
            facts["scores"] = {"file": archive.name, "sha256": sha256_of(aside / archive.name), "runs": scores}
        as_file(rows, BOARD).to_parquet(made / ROWS, index=False, compression="zstd")
        (made / FACTS).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
        (made / BIBTEX).write_text(_bibtex(name, dated, sha256_of(made / ROWS)), encoding="utf-8")
        lines = [f"{sha256_of(made / file)}  {file}\n" for file in (BIBTEX, FACTS, ROWS)]
        (made / SUMS).write_text("".join(lines), encoding="utf-8")
        if scores:
            (aside / archive.name).rename(archive)
        made.rename(folder)
    except OSError as error:
        raise RecordError(f"{folder} could not be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            shutil.rmtree(aside)
    return Built(folder, archive if scores else None, len(rows), int(rows["run_id"].nunique()), tuple(notes))


def _write_scores(path: Path, sources: Sequence[Path], runs: set[str]) -> int:
    """Packs ``RUN.npz`` of every run that has scores; how many. No file is left if none has.

    The arrays are read first, so that a damaged file is not published.
    """
    found: dict[str, Path] = {}
    for source in filter(isdir, sources):
        for record in RecordStore(source).each():
            if not isinstance(record, RecordError) and isfile(record.folder / SCORES):
                found.setdefault(record.result.run_id, record.folder)
    packed = sorted(found.keys() & runs)
    if packed:
        with tarfile.open(path, "w") as archive:
            for run_id in packed:
                read_scores(found[run_id])
                add_member(archive, f"{run_id}.npz", (found[run_id] / SCORES).read_bytes())
    return len(packed)


def _facts(name: str, rows: DataFrame, notes: Sequence[str], sources: Sequence[Path]) -> dict[str, Any]:
    """The content of ``board.json``; no path of the building machine, no time."""
    runs = rows.drop_duplicates("run_id")
    revisions = runs["revision"].replace("", "unknown").value_counts().sort_index()
    return {
        "format": FORMAT,
        "name": name,
        "pubench": version("pubench-core"),
        "engine_revision": str(ENGINE_REVISION),
        "unit": "percent",
        "rows": len(rows),
        "runs": len(runs),
        "runs_by_revision": {str(revision): int(count) for revision, count in revisions.items()},
        "problems": int(rows["problem"].nunique()),
        "data": sorted(set(rows["data"])),
        "methods": sorted(set(rows["method"])),
        "criteria": sorted(set(rows["criterion"])),
        "sources": [{"name": path.name, **({"sha256": sha256_of(path)} if isfile(path) else {})} for path in sources],
        "scores": None,
        "notes": [note for note in notes if "/" not in note],
    }


def _bibtex(name: str, dated: re.Match[str], rows: str) -> str:
    return (
        f"@misc{{pubench-board-{name.replace('.', '-')},\n"
        f"  title        = {{pubench board {name}}},\n"
        "  author       = {{The pubench authors}},\n"
        f"  year         = {{{dated['year']}}},\n"
        f"  month        = {{{int(dated['month'])}}},\n"
        f"  howpublished = {{pubench {version('pubench-core')}, engine revision {ENGINE_REVISION}}},\n"
        f"  note         = {{rows.parquet: SHA-256 {rows}}},\n"
        "}\n"
    )


# -------------------------------------------------------------------- rows


def _board_rows(sources: Iterable[Path]) -> tuple[DataFrame, list[str]]:
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
        if not (isdir(source) or isfile(source)):
            raise RequestError(
                f"{shortened(str(source))} is not there; expected a folder of records or a file of rows (.csv)"
            )
        rows = _of_records(source, measures, notes) if isdir(source) else _of_file(source, notes)
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
    return frame.loc[~double].sort_values([*CELL, "run_id"], kind="stable", ignore_index=True), notes


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


def _of_file(path: Path, notes: list[str]) -> Iterator[Row]:
    """Rows of a file, and what they lack from the runs that are made of them."""
    said: list[str] = []
    for run, rows in each_run(path, said):
        lacking = [name for name in ("problem", "oracle", "alike") if name not in rows[0]]
        of_run = {more["criterion"]: more for more in rows_of(RowSource(run.result), ["criterion", *lacking])}
        for row in rows:
            name = row_name(row["method"], row["settings"], drawn=bool(row.get("draw")))
            yield {**row, **of_run[row["criterion"]], "name": name}
    notes += [note for note in said if "left out" in note]


# -------------------------------------------------------------------- checks


def problems_of(folder: Path) -> list[str]:
    """Problems of a board: its checksums, format, names, double rows, scores archive. Empty for a sound one.

    Raises RequestError for what is no board.
    """
    if not isdir(folder) or not isfile(folder / FACTS):
        raise RequestError(f"{shortened(str(folder))} holds no {FACTS}; expected the folder of a board")
    sums, problems = compared_sums(folder)
    listed = set(sums or ())
    found = [
        *map(str, problems),
        *(f"{SUMS}: {file} is not listed" for file in (BIBTEX, FACTS, ROWS) if file not in listed),
    ]
    more = [path.name for path in folder.iterdir() if path.name not in {SUMS, *listed}]
    found += [f"{name}: it is not listed in {SUMS}" for name in more]
    try:
        board = read_board(folder)
    except RequestError as error:
        return [*found, str(error)]
    if board.name != folder.name:
        found.append(f"{FACTS}: it is called {shortened(board.name)}, its folder {folder.name}")
    if (board.rows["name"].str.partition(" ")[0] != board.rows["method"]).any():
        found.append(f"{ROWS}: the name of a row does not begin with its method")
    if board.rows.duplicated(CELL).any():
        found.append(f"{ROWS}: two rows are of the same problem, row, seed and criterion")
    archive = _archive(board)
    if isfile(archive) and sha256_of(archive) != (board.facts.get("scores") or {}).get("sha256"):
        found.append(f"{archive.name}: it is not the archive that {FACTS} names")
    else:
        found += islice(_other_measures(board), MOST_TOLD)
    return found


def _archive(board: Board) -> Path:
    return board.folder.parent / f"{board.name}-scores.tar"


def stored_scores(board: Board) -> Iterator[tuple[str, Arrays]]:
    """Run id and arrays of each run in the archive next to a board; nothing if the archive is not there."""
    if isfile(_archive(board)):
        with tarfile.open(_archive(board)) as members:
            for member in members:
                if (file := members.extractfile(member)) is not None:
                    arrays = dict(np.load(io.BytesIO(file.read()), allow_pickle=False))
                    yield member.name.removesuffix(".npz"), arrays


def scores_on_test(arrays: Arrays) -> Arrays:
    """Scores of test rows among the arrays of a run: of each state."""
    return {name: array for name, array in arrays.items() if name.startswith(scores_name("test", ""))}


def _other_measures(board: Board) -> Iterator[str]:
    """Test measures of rows that the scores in the archive next to a board do not give."""
    wanted = frozenset(board.measures)
    metrics = installed_metrics(wanted)
    measurer = Measurer(metrics)
    for run_id, arrays in stored_scores(board):
        rows = board.rows[(board.rows["run_id"] == run_id) & (board.rows["scores"] != "")]
        states = {digest_of(scores): scores for scores in scores_on_test(arrays).values()}
        for _, row in rows.iterrows():
            of_row = f"{ROWS}: {row['name']}, run {run_id}, {row['criterion']}"
            if (scores := states.get(row["scores"])) is None:
                yield f"{of_row}: {_archive(board).name} does not have its scores"
                continue
            scored = Scored.of(scores, Knowledge(truth=arrays["test_labels"]))
            for name in sorted(wanted & metrics.keys()):
                value, now = float(row[f"test_{name}"]), measurer.measure(name, scored).value
                if now is not None and not abs(value - now) <= ROUNDED:  # no number is no such value
                    yield f"{of_row}: {name} is {value:.6g}; its scores give {now:.6g}"
