"""``pubench submit``: what it writes and prints."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

from pubench_report.rows import read_board

from pubench_cli.console import err, out
from pubench_cli.machine import print_json
from pubench_cli.messages import said
from pubench_core.errors import counted

from ..checking import check
from ..packing import issue_text, pack_records


def submit_records(
    folder: Path,
    name: str,
    *,
    study: str | None,
    methods: Sequence[str],
    board: str | None,
    rerun: int,
    out: Path,
    data_root: Path | None,
    as_json: bool,
) -> bool:
    """Packs, checks and writes what the issue form needs; returns whether the submission is sound.

    Nothing is left but the comment if it is not.
    """
    against = None if board is None else read_board(board)
    made = pack_records(folder, name, out, study=study, methods=methods)
    with redirect_stdout(sys.stderr):
        found = check(made.archive, board=against, rerun=rerun, data_root=data_root, progress=_say)
    comment, issue = out / f"{name}-check.md", out / f"{name}.md"
    comment.write_text(found.markdown(), encoding="utf-8")
    if found.ok:
        issue.write_text(issue_text(made, found.markdown()), encoding="utf-8")
    else:
        made.archive.unlink()
    if as_json:
        written = {"archive": str(made.archive), "issue": str(issue)} if found.ok else {}
        print_json({"ok": found.ok, "sha256": made.sha256, "reasons": list(found.reasons), **written})
    else:
        _print(found.markdown(), [made.archive, issue, comment] if found.ok else [comment], len(made.records))
    return found.ok


def _print(comment: str, written: Sequence[Path], records: int) -> None:
    console = out()
    console.print(said(comment.rstrip()), markup=False, soft_wrap=True)
    for path in written:
        err().print(f"written: {path}", markup=False, soft_wrap=True)
    if len(written) > 1:
        err().print(
            f"send {counted(records, 'record')}: open the issue form Submission, drop {written[0].name} on it, and "
            f"copy the fields of {written[1].name}",
            markup=False,
            soft_wrap=True,
        )


def _say(text: str) -> None:
    err().print(said(text), markup=False, soft_wrap=True)
