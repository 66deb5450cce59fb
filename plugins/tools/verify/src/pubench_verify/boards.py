"""Writing a dated board, and checking one."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from os.path import isdir, isfile, lexists
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pubench_report.rows import BOARD, Board, as_file, read_board
from pubench_report.rows.files import BIBTEX, FACTS, FORMAT, ROWS, SUMS
from pubench_report.rows.record import digest_of
from pubench_study.export import add_member

from pubench_core.data.cache import sha256_of
from pubench_core.engine.identity import ENGINE_REVISION
from pubench_core.errors import RecordError, RequestError, shortened
from pubench_core.metric import Knowledge, Measurer, Scored
from pubench_core.records.files import SCORES, read_scores
from pubench_core.records.scores import scores_name
from pubench_core.records.store import RecordStore

from .board_rows import CELL, board_rows
from .derived import installed_metrics
from .folder import MOST_TOLD, compared_sums

if TYPE_CHECKING:
    from pandas import DataFrame

#: Rows have their measures in percent, rounded to four digits.
ROUNDED = 1e-6
#: 2026.12, lite-2026.12, 2026.12.1
_NAME = re.compile(r"([a-z][a-z0-9-]*-)?(?P<year>20\d\d)\.(?P<month>0[1-9]|1[0-2])(\.[1-9]\d*)?")


@dataclass(frozen=True)
class Built:
    """``scores``: archive of the scores of its runs; None if no source has any."""

    folder: Path
    scores: Path | None
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
    rows, notes = board_rows(sources)
    aside = out / f".{name}-{os.getpid()}"
    try:
        aside.mkdir(parents=True)
        scores = _write_scores(aside / archive.name, sources, set(rows["run_id"]))
        facts = _facts(name, rows, notes, sources)
        if scores:
            facts["scores"] = {"file": archive.name, "sha256": sha256_of(aside / archive.name), "runs": scores}
        (aside / name).mkdir()
        _write_rows(rows, aside / name / ROWS)
        (aside / name / FACTS).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
        (aside / name / BIBTEX).write_text(_bibtex(name, dated, sha256_of(aside / name / ROWS)), encoding="utf-8")
        lines = [f"{sha256_of(aside / name / file)}  {file}\n" for file in (BIBTEX, FACTS, ROWS)]
        (aside / name / SUMS).write_text("".join(lines), encoding="utf-8")
        if scores:
            (aside / archive.name).rename(archive)
        (aside / name).rename(folder)
    except OSError as error:
        raise RecordError(f"{folder} could not be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            shutil.rmtree(aside)
    return Built(folder, archive if scores else None, len(rows), int(rows["run_id"].nunique()), tuple(notes))


def problems_of(folder: Path) -> list[str]:
    """Problems of a board: its checksums, format, names, double rows, scores archive. Empty for a sound one.

    Raises RequestError for what is no board.
    """
    if not isdir(folder) or not isfile(folder / FACTS):
        raise RequestError(f"{shortened(str(folder))} holds no {FACTS}; expected the folder of a board")
    sums, problems = compared_sums(folder)
    found = [str(problem) for problem in problems]
    listed = set(sums or ())
    for file in (BIBTEX, FACTS, ROWS):
        if file not in listed:
            found.append(f"{SUMS}: {file} is not listed")
    found += [
        f"{path.name}: it is not listed in {SUMS}" for path in folder.iterdir() if path.name not in {SUMS, *listed}
    ]
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
    scores = board.facts.get("scores")
    archive = folder.parent / f"{board.name}-scores.tar"
    if isfile(archive) and sha256_of(archive) != (scores or {}).get("sha256"):
        found.append(f"{archive.name}: it is not the archive that {FACTS} names")
    elif isfile(archive):
        found += islice(_other_measures(board, archive), MOST_TOLD)
    return found


def _other_measures(board: Board, archive: Path) -> Iterator[str]:
    """Test measures of rows that the scores in the archive next to a board do not give."""
    names = frozenset(name.removeprefix("test_") for name in board.rows if name.startswith("test_"))
    metrics = installed_metrics(names)
    measurer = Measurer(metrics)
    with tarfile.open(archive) as members:
        for member in members:
            run_id, file = member.name.removesuffix(".npz"), members.extractfile(member)
            rows = board.rows[(board.rows["run_id"] == run_id) & (board.rows["scores"] != "")]
            arrays = {} if file is None else dict(np.load(io.BytesIO(file.read()), allow_pickle=False))
            states = {digest_of(one): one for name, one in arrays.items() if name.startswith(scores_name("test", ""))}
            for _, row in rows.iterrows():
                of_row = f"{ROWS}: {row['name']}, run {run_id}, {row['criterion']}"
                if (scores := states.get(row["scores"])) is None:
                    yield f"{of_row}: {archive.name} does not have its scores"
                    continue
                scored = Scored.of(scores, Knowledge(truth=arrays["test_labels"]))
                for name in sorted(names & metrics.keys()):
                    value, now = float(row[f"test_{name}"]), measurer.measure(name, scored).value
                    if now is not None and not abs(value - now) <= ROUNDED:  # no number is no such value
                        yield f"{of_row}: {name} is {value:.6g}; its scores give {now:.6g}"


def _write_scores(path: Path, sources: Sequence[Path], runs: set[str]) -> int:
    """Packs ``RUN.npz`` of every run that has scores; how many. No file is left if none has.

    The arrays are read first, so that a damaged file is not published.
    """
    seen: set[str] = set()
    with tarfile.open(path, "w") as archive:
        for run_id, file in sorted(_scores_in(sources)):
            if run_id in runs and run_id not in seen:
                seen.add(run_id)
                read_scores(file.parent)
                add_member(archive, f"{run_id}.npz", file.read_bytes())
    if not seen:
        path.unlink()
    return len(seen)


def _scores_in(sources: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    for source in filter(isdir, sources):
        for record in RecordStore(source).each():
            if not isinstance(record, RecordError) and isfile(record.folder / SCORES):
                yield record.result.run_id, record.folder / SCORES


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


def _write_rows(rows: DataFrame, path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.Table.from_pandas(as_file(rows, BOARD), preserve_index=False)
    noted = table.replace_schema_metadata({**(table.schema.metadata or {}), b"pubench-board": str(FORMAT).encode()})
    stream = io.BytesIO()
    pyarrow.parquet.write_table(noted, stream, compression="zstd")
    path.write_bytes(stream.getvalue())


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
