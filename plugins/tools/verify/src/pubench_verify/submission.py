"""Checks of a submission, for a board's workflow and for its author before sending it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pubench_report.comparison import BOARD_HEAD, SideBySide, beside_board
from pubench_report.rendering import md_escaped, md_rows
from pubench_report.results import load_results
from pubench_report.rows import Board

from pubench_core.data.cache import sha256_of
from pubench_core.errors import RequestError, counted, shortened
from pubench_core.records.store import RecordStore

from .archive import SUBMISSION, Refused, Submission, named_runs, unpack
from .duplicates import Alike, resembling
from .result import Again
from .verification import verify


@dataclass(frozen=True)
class CheckedSubmission:
    """Verdict on an archive."""

    archive: Path
    sha256: str
    records: int
    reasons: tuple[str, ...]
    """why it is refused, a line each; empty for a sound submission"""
    again: tuple[Again, ...] = ()
    """runs carried out again without a problem"""
    resembles: tuple[Alike, ...] = ()
    """runs of other methods with nearly identical scores"""
    notes: tuple[str, ...] = ()
    standing: SideBySide | None = None
    """on the board"""

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
        lines += [f"- {md_escaped(str(one))}" for one in self.again]
        lines += [f"- a person must look: {one.run_id}: {md_escaped(str(one))}" for one in self.resembles]
        lines += [f"- note: {md_escaped(note)}" for note in self.notes]
        return "\n".join(lines) + "\n"


def issue_text(made: Submission, check: str) -> str:
    """The text of the issue, in the order of the form's fields. ``check``: what the check said, as Markdown."""
    fields = {
        "Name": made.archive.name.removesuffix(".tar.gz"),
        "Archive": f"(drop {made.archive.name} here)",
        "SHA-256 of the archive": made.sha256,
        "Package": "(NAME==VERSION, or an address of git with a commit; _No response_ for methods of pubench)",
        "Method": f"{made.methods}: paper, official code, what differs",
        "Who ran it, on what": "(name or handle; machine; time)",
        "Check on your machine": check,
    }
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in fields.items()) + "\n"


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
            runs = named_runs(folder)
            there = {path.name for path in folder.iterdir() if path.is_dir()}
            records = [one for one in RecordStore(folder).all().readable if one.folder.name in runs]
            resembles = resembling(records, board)
            identical = {one.run_id: one for one in resembles if one.identical}
            reasons = [
                *(f"{run} is listed in {SUBMISSION} and not there" for run in sorted(runs - there)),
                *(f"{run} is not listed in {SUBMISSION}" for run in sorted(there - runs)),
                # nothing says that they are its own
                *(f"{run}: {one}" for run, one in identical.items() if not rerun),
            ]
            times = 0 if reasons else rerun
            found = verify(
                folder, rerun=times, data_root=data_root, progress=progress, submitted=True, also=identical.keys()
            )
        except (Refused, RequestError) as error:
            return CheckedSubmission(archive, digest, 0, (str(error).replace(f"{scratch}/", ""),))
        reasons += map(str, found.problems)
        reasons += [f"{run} cannot be checked as a whole: {why}" for run, why in found.unchecked.items()]
        if not found.records:
            reasons.append("it holds no record that can be read")
        return CheckedSubmission(
            archive,
            digest,
            found.records,
            tuple(reason.replace(f"{scratch}/", "") for reason in reasons),
            found.again,
            tuple(resembles),
            found.notes,
            None if board is None or reasons else beside_board(load_results(folder), board),
        )
