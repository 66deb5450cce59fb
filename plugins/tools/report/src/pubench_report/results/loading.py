"""The records of a folder, or those of one study in it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from os.path import isdir, isfile
from pathlib import Path

from pubench.field_names import InvalidRequest, PubenchWarning, in_words
from pubench.running import RunResult
from pubench_core.errors import RecordError, counted, shortened
from pubench_core.records.files import FAILED, RESULT
from pubench_core.records.record import read_failure
from pubench_core.records.store import RecordStore, failures_in

from ..grouping import FailedRun, but_for_seed, spec_of
from .runs import Results


def load_results(folder: str | Path = "results", *, study: str | None = None) -> Results:
    """All records of a folder, oldest first, without those of single folds.

    Neither torch nor a plugin's implementation is imported.

    ``study``: the name of a study that was planned there; only its runs then, in the plan's order and under the names
    that it gives to rows, whatever code made them, with those that failed and have no result among the failures.

    A record that cannot be read (damaged, or of another version of pubench) is left out with a PubenchWarning that says
    why. A run that failed is among the failures where a run with another seed and the same settings has a result, so
    that a mean over seeds says how many are missing; where none has, a PubenchWarning names it.

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
            f"folder: {shortened(str(path))} is {what}; expected the folder of records, by default 'results'"
        )
    if isfile(path / RESULT):
        raise InvalidRequest(f"folder: {path} is one record; expected the folder that holds it: {path.parent}")
    if study is not None:
        return _of_study(path, study)
    records = RecordStore(path).all()
    for error in records.unreadable:
        warnings.warn(f"left out: {error}", PubenchWarning, stacklevel=2)
    named = {record.result.run_id for record in records.readable if record.folder.name == record.result.run_id}
    done = []
    for record in records.readable:
        run_id = record.result.run_id
        if record.result.spec.validation.fold is not None:
            continue
        if run_id in named and record.folder.name != run_id:
            said = f"left out: {shortened(str(record.folder))} is a copy of the record {run_id}"
            warnings.warn(said, PubenchWarning, stacklevel=2)
        else:
            done.append(RunResult(record.result, record.folder, reused=True))
    return Results([*done, *_failed_beside(path, done)])


def _failed_beside(folder: Path, done: Sequence[RunResult]) -> list[FailedRun]:
    """The latest failure of each run that has no result while another seed has; warns of the others."""
    finished = {run.run_id for run in done}
    latest = [read_failure(paths[-1]) for run_id, paths in failures_in(folder).items() if run_id not in finished]
    failed = [
        FailedRun(one.spec.method.key, one.run_id, one.spec, one.cause, one.reason)
        for one in latest
        if one is not None and one.spec.validation.fold is None
    ]
    if not failed:
        return []
    settings = {but_for_seed(run.result.spec) for run in done}
    beside = [run for run in failed if but_for_seed(run.spec) in settings]
    alone = [run for run in failed if run not in beside]
    if alone:
        named = dict.fromkeys(f"{run.name} on {run.spec.data.key} ({run.cause})" for run in alone)
        more = f" and {len(named) - 3} more" if len(named) > 3 else ""
        warnings.warn(
            f"left out: {counted(len(alone), 'failed run')} of settings that no seed has a result of: "
            f"{', '.join([*named][:3])}{more}; {shortened(str(folder / FAILED))} says why",
            PubenchWarning,
            stacklevel=3,
        )
    return beside


def _of_study(folder: Path, name: str) -> Results:
    """The runs of a study that have records, and the latest failure of those that have none."""
    from pubench_study.plan import read_plan, shown_row
    from pubench_study.study_file import folder_of

    with in_words():
        plan = read_plan(folder_of(folder, name))
    assert plan is not None  # folder_of names studies that have one
    store, failures = RecordStore(folder), failures_in(folder)
    runs: list[RunResult | FailedRun] = []
    names: list[str] = []
    for planned in plan.runs:
        if planned.is_fold:
            continue
        try:
            record = store.find(planned.run_id)
        except RecordError as error:
            warnings.warn(f"left out: {error}", PubenchWarning, stacklevel=3)
            continue
        failed = [found for path in failures.get(planned.run_id, ()) if (found := read_failure(path)) is not None]
        if record is not None:
            spec = planned.spec  # its criterion, whatever the run that is stored was asked for
            view = record.result.viewed(spec.selection.criterion, spec.decision.rule)
            runs.append(RunResult(view, record.folder, reused=True))
        elif failed:
            runs.append(FailedRun(planned.row, planned.run_id, planned.spec, failed[-1].cause, failed[-1].reason))
        else:
            continue
        names.append(shown_row(planned.row, spec_of(runs[-1])))
    return Results(runs, names)
