"""The records of a folder, or those of one study in it."""

from __future__ import annotations

import warnings
from os.path import isdir, isfile
from pathlib import Path

from pubench_core.errors import RecordError, shortened
from pubench_core.records.files import RESULT
from pubench_core.records.store import RecordStore

from ..grouping import FailedRun
from ..running import RunResult
from ..words import InvalidRequest, PubenchWarning, in_words
from .runs import Results


def load_results(folder: str | Path = "results", *, study: str | None = None) -> Results:
    """All records of a folder, oldest first. Neither torch nor a plugin's implementation is imported.

    ``study``: the name of a study that was planned there; only its runs then, in the plan's order and under the names
    that it gives to rows, whatever code made them, with those that failed and have no result among the failures.

    A record that cannot be read (damaged, or of another version of pubench) is left out with a PubenchWarning that says
    why. Runs that failed are in ``failed/`` of the folder and not among the results.

    Raises InvalidRequest (a ValueError) if there is no such folder.

    >>> import pubench
    >>> _ = pubench.run("upu", "digits", config={"epochs": 1}, tracking=False, results="my-results")
    >>> load_results("my-results")
    Results: 1 run of 1 method (upu) on 1 data set (digits), seed 2
    """
    path = Path(folder)
    if not isdir(path):
        what = "a file" if isfile(path) else "not there"
        raise InvalidRequest(
            f"folder: {shortened(str(path))} is {what}; the folder of records is right, by default 'results'"
        )
    if isfile(path / RESULT):
        raise InvalidRequest(f"folder: {path} is one record; the folder that holds it is right: {path.parent}")
    if study is not None:
        return _of_study(path, study)
    records = RecordStore(path).all()
    for error in records.unreadable:
        warnings.warn(f"left out: {error}", PubenchWarning, stacklevel=2)
    return Results(RunResult(record.result, record.folder, reused=True) for record in records.readable)


def _of_study(folder: Path, name: str) -> Results:
    """The runs of a study that have records, and the latest failure of those that have none."""
    from pubench_core.study.files import folder_of
    from pubench_core.study.plan import read_plan
    from pubench_core.study.state import failure_in, failures_in

    with in_words():
        plan = read_plan(folder_of(folder, name))
    assert plan is not None  # folder_of names studies that have one
    store, failures = RecordStore(folder), failures_in(folder)
    runs: list[RunResult | FailedRun] = []
    names: list[str] = []
    for planned in plan.runs:
        try:
            record = store.find(planned.run_id)
        except RecordError as error:
            warnings.warn(f"left out: {error}", PubenchWarning, stacklevel=3)
            continue
        failed = [found for path in failures.get(planned.run_id, ()) if (found := failure_in(path)) is not None]
        if record is not None:
            runs.append(RunResult(record.result, record.folder, reused=True))
        elif failed:
            runs.append(FailedRun(planned.row, planned.run_id, planned.spec, failed[-1].cause, failed[-1].reason))
        else:
            continue
        names.append(planned.row)
    return Results(runs, names)
