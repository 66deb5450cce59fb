"""Checks of a submission, for a board's workflow and for its author before sending it."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from pubench_report.comparison import BOARD_HEAD, SideBySide, beside_board
from pubench_report.rendering import md_escaped, md_rows
from pubench_report.results import load_results
from pubench_report.rows import Board

from pubench_core.data.cache import sha256_of
from pubench_core.data.dataset import data_root as default_root
from pubench_core.errors import RequestError, counted, shortened
from pubench_core.records.record import Record
from pubench_core.records.store import RecordStore
from pubench_core.specs import ExecutionSpec

from .duplicates import Alike, RunScores, alike, problem_and_seed, scores_of_board
from .folder import read_once
from .packing import FORMAT, SUBMISSION
from .rerun import carried_out_again, drawn
from .result import Again, RecordProblem, Verification
from .unpacking import Refused, unpack
from .verification import TOLERANCE, verify


@dataclass(frozen=True)
class CheckedSubmission:
    """``reasons``: why it is refused, a line each; empty for a sound submission. ``again``: runs carried out again
    without a problem; ``resembles``: runs of other methods with nearly identical scores; ``standing``: on the board.
    """

    archive: Path
    sha256: str
    records: int
    reasons: tuple[str, ...]
    again: tuple[Again, ...] = ()
    resembles: tuple[Alike, ...] = ()
    notes: tuple[str, ...] = ()
    standing: SideBySide | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong with it."""
        return not self.reasons

    def markdown(self) -> str:
        """The comment: verdict, reasons, rank and difference to the board, runs carried out again, resemblances."""
        verdict = "sound" if self.ok else f"refused: {counted(len(self.reasons), 'reason')}"
        lines = [f"**{self.archive.name}: {verdict}.** {counted(self.records, 'record')}, SHA-256 `{self.sha256}`.", ""]
        lines += [f"- refused: {md_escaped(reason)}" for reason in self.reasons]
        if self.standing is not None and self.ok:
            head, rows = BOARD_HEAD, [map(md_escaped, cell.texts()) for cell in self.standing.cells]
            lines += [f"{md_escaped(line)}  " for line in (self.standing.title(), *self.standing.heading())]
            lines += ["", *md_rows(map(md_escaped, head), rows, range(len(head))), ""]
            lines += [f"- {md_escaped(line)}" for line in self.standing.remarks()]
        for one in self.again:
            same = "the same scores to the last bit" if one.identical else f"measures within {one.largest:.4g}"
            lines.append(f"- {one.run_id}: carried out again in {one.seconds:.1f} s: {same}")
        lines += [f"- a person must look: {one.run_id}: {md_escaped(str(one))}" for one in self.resembles]
        lines += [f"- note: {md_escaped(note)}" for note in self.notes]
        return "\n".join(lines) + "\n"


def check(
    archive: Path,
    *,
    sha256: str | None = None,
    board: Board | None = None,
    rerun: int = 1,
    data_root: Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> CheckedSubmission:
    """Unpacks a submission, verifies every record, carries some runs out again, and compares with the board.

    Refused are: an archive that is damaged or not the one whose checksum is given, problems that ``verify`` finds, runs
    whose data are not here, and runs on user tables. Runs whose test scores are those of another method, or nearly, in
    the submission or on the board, are named, for a person to judge.

    ``rerun``: how many runs are carried out again, drawn by a seed that nobody can foresee; at least one of each
    method, and every run whose scores are identical to those of another method, which are refused if it is 0.
    ``data_root``: folder of data files.
    """
    try:
        digest = sha256_of(archive)
    except OSError as error:
        raise RequestError(f"{shortened(str(archive))} cannot be read: {error.strerror or error}") from error
    if sha256 is not None and sha256 != digest:
        reason = f"the archive has the SHA-256 {digest}, the issue says {shortened(sha256)}"
        return CheckedSubmission(archive, digest, 0, (reason,))
    with tempfile.TemporaryDirectory(prefix="pubench-submission-") as scratch:
        try:
            folder = unpack(archive, Path(scratch))
            runs = _named_runs(folder)
            found = verify(folder, rerun=0, data_root=data_root, progress=progress, submitted=True)
        except (Refused, RequestError) as error:
            return CheckedSubmission(archive, digest, 0, (str(error).replace(f"{scratch}/", ""),))
        reasons = [str(problem).replace(f"{scratch}/", "") for problem in found.problems]
        records = [one for one in RecordStore(folder).all().readable if one.folder.name in runs]
        reasons += _other_runs(runs, found, folder)
        own = {record.result.run_id for record in records if record.result.spec.data.own is not None}
        reasons += [f"{run_id} is of a user table, which nobody else can check" for run_id in sorted(own)]
        unchecked = [(run_id, what) for run_id, what in found.unchecked.items() if run_id not in own]
        reasons += [f"{run_id} cannot be checked as a whole: {what}" for run_id, what in unchecked]
        resembles = _alike(records, board)
        identical = {one.run_id: one for one in resembles if one.identical}
        if not rerun:  # nothing says that they are its own
            reasons += [f"{run_id}: {one}" for run_id, one in identical.items()]
        again: list[Again] = []
        if not reasons:
            root = default_root(ExecutionSpec(data_root=data_root)).path
            for record in _drawn(records, identical.keys(), rerun):
                done = carried_out_again(record, TOLERANCE, root, progress or (lambda text: None))
                if isinstance(done, RecordProblem):
                    reasons.append(str(done).replace(f"{scratch}/", ""))
                else:
                    again.append(done)
        standing = None if board is None or reasons else beside_board(load_results(folder), board)
        return CheckedSubmission(
            archive, digest, found.records, tuple(reasons), tuple(again), tuple(resembles), found.notes, standing
        )


def _named_runs(folder: Path) -> set[str]:
    """Run ids that the submission lists. Raises Refused if its facts cannot be read."""
    try:
        facts = read_once(folder / SUBMISSION)
        if facts["format"] != FORMAT:
            raise Refused(f"it is a submission of format {shortened(str(facts['format']))}; expected {FORMAT}")
        return set(map(str, facts["runs"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise Refused(f"{SUBMISSION} cannot be read: {shortened(str(error))}") from error


def _other_runs(runs: set[str], found: Verification, folder: Path) -> list[str]:
    there = {path.name for path in folder.iterdir() if path.is_dir()}
    missing = [f"{run} is listed in {SUBMISSION} and not there" for run in sorted(runs - there)]
    more = [f"{run} is not listed in {SUBMISSION}" for run in sorted(there - runs)]
    return [*missing, *more, *([] if found.records else ["it holds no record that can be read"])]


def _alike(records: Sequence[Record], board: Board | None) -> list[Alike]:
    """Resemblances to runs of other methods, on the board and in the submission itself."""
    mine = [scored for record in records if (scored := RunScores.of_record(record)) is not None]
    problems = [problem_and_seed(record.result.spec) for record in records]
    theirs = [] if board is None else list(scores_of_board(board, problems))
    return [one for scored in mine for one in alike(scored, [*theirs, *mine], board)]


def _drawn(records: Sequence[Record], identical: Collection[str], number: int) -> list[Record]:
    """Runs to carry out again: at least ``number`` and one of each method, at random, and those of ``identical``."""
    if not number:
        return []
    methods = {record.result.spec.method.key for record in records}
    order = drawn(records, len(records), random.SystemRandom(), lambda record: record.result.spec.method.key)
    least = max(number, len(methods))
    return [one for place, one in enumerate(order) if place < least or one.result.run_id in identical]
