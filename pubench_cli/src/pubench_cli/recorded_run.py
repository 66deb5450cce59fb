"""The record of a run as a user names it."""

from __future__ import annotations

import re
from os.path import isdir, isfile  # False where a folder may not be entered; pathlib's raise there
from pathlib import Path

from pubench_core.errors import RequestError, shortened
from pubench_core.records.files import FAILURE, RESULT
from pubench_core.records.record import read_failure
from pubench_core.records.store import failures_in


def folder_of_run(results: Path, run: str) -> Path:
    """The folder of a finished record, by run id, by its first digits, or by path.

    Raises RequestError if there is none, or more than one.
    """
    given = Path(run)
    if isfile(given / RESULT):
        return given
    named = results.glob(f"{run}*") if re.fullmatch(r"\w+", run) and isdir(results) else []
    folders = [p for p in named if isfile(p / RESULT)]
    if len(folders) == 1:
        return folders[0]
    if not folders and (failed := _failed(results, run)) is not None:
        raise RequestError(_unfinished(failed))
    if isfile(given / "model" / RESULT):  # the folder of an answer to which method
        raise RequestError(f"{shortened(run)} is no record; did you mean {given / 'model'}?")
    ids = ", ".join(sorted(p.name for p in folders))
    raise RequestError(
        f"several runs start with '{shortened(run)}': {ids}; give more digits"
        if folders
        else f"no finished run '{shortened(run)}' in {results}; name another folder (execution.results)",
        field="execution.results",
    )


def _failed(results: Path, run: str) -> Path | None:
    """The folder of the latest failure of a run; None if no or several runs fit."""
    if isfile(Path(run) / FAILURE):
        return Path(run)
    latest = [paths[-1] for run_id, paths in failures_in(results).items() if run and run_id.startswith(run)]
    return latest[0] if len(latest) == 1 and isfile(latest[0] / FAILURE) else None


def _unfinished(folder: Path) -> str:
    """That a run has no record, why, and what to do; ``folder``: of its failure record."""
    path, failure = folder / FAILURE, read_failure(folder)
    if failure is None:
        return f"{path} is of a run that did not finish, and cannot be read; run it again"
    ended = "was refused" if failure.cause == "refused" else "failed"
    return (
        f"run {failure.run_id} {ended}, so it has no record: {shortened(failure.reason, 300)}; {path} has the rest. "
        "Run it again once that is mended"
    )
