"""Reports of finished runs as files: what ``pubench study report`` writes.

Tables, figures and pages are made by ``pubench-cli``, the distribution of the command line, which is imported when a
report is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from .commands import command_line
from .grouping import FailedRun
from .running import RunResult
from .words import in_words

Format = Literal["table", "md", "csv", "latex", "html"]


def write_report(
    runs: Sequence[tuple[str, RunResult | FailedRun]],
    path: Path,
    format: Format | None,
    *,
    measure: str,
    criterion: str | None,
    baseline: str | None,
    figures: Path | None,
) -> list[Path]:
    """The files that were written, the report first. ``runs``: with the names of their rows, in order.

    Raises InvalidRequest as :meth:`pubench.Results.report` says.
    """
    gather, write = (command_line(f"report.{name}") for name in ("gather", "write"))
    folders = {run.folder.parent for _, run in runs if isinstance(run, RunResult)}
    results = folders.pop() if len(folders) == 1 else Path("several folders")
    with in_words():
        gathered = gather.gathered_of(runs, results)
        written: list[Path] = write.report_to(
            gathered, path, format, figures=figures, baseline=baseline, criterion=criterion, measure=measure
        )
    return written
