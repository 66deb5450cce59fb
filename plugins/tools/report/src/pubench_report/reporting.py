"""Reports of finished runs as files: what ``pubench study report`` writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pubench.field_names import in_words
from pubench.running import RunResult

from .grouping import FailedRun
from .report.gathered import gathered_of
from .report.write import report_to

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
    folders = {run.folder.parent for _, run in runs if isinstance(run, RunResult)}
    results = folders.pop() if len(folders) == 1 else Path("several folders")
    with in_words():
        gathered = gathered_of(runs, results)
        return report_to(
            gathered, path, format, figures=figures, baseline=baseline, criterion=criterion, measure=measure
        )
