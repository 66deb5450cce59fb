"""The runs of a folder of records, a file of rows or a board, or those of one study in it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from os.path import isdir, isfile
from pathlib import Path

from pubench.field_names import InvalidRequest, PubenchWarning, in_words
from pubench.running import RunResult
from pubench_core.errors import RecordError, counted, shortened, unknown
from pubench_core.records.files import FAILED, RESULT
from pubench_core.records.record import read_failure
from pubench_core.records.store import RecordStore, failures_in

from ..draws import NamedRun
from ..grouping import MISSING, FailedRun, but_for_seed, spec_of
from ..rows.files import FACTS, has_rows
from .runs import Results


def load_results(folder: str | Path = "results", *, study: str | None = None) -> Results:
    """All records of a folder, oldest first, without those of single folds; or the runs of a file of rows or board.

    Of records, neither torch nor a plugin's implementation is imported.

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
    if isfile(path / FACTS) or (isfile(path) and has_rows(path)):
        return _of_rows(path, study)
    if not isdir(path):
        what = "a file" if isfile(path) else "not there"
        raise InvalidRequest(
            f"folder: {shortened(str(path))} is {what}; expected the folder of records, by default 'results'"
        )
    if isfile(path / RESULT):
        raise InvalidRequest(f"folder: {path} is one record; expected the folder that holds it: {path.parent}")
    if study is not None:
        named, _ = study_runs(path, study)
        there = [(name, run) for name, run in named if isinstance(run, RunResult) or run.cause != MISSING]
        return Results([run for _, run in there], [name for name, _ in there])
    records = RecordStore(path).all()
    for error in records.unreadable:
        warnings.warn(f"left out: {error}", PubenchWarning, stacklevel=2)
    ids = {record.result.run_id for record in records.readable if record.folder.name == record.result.run_id}
    done = []
    for record in records.readable:
        run_id = record.result.run_id
        if record.result.spec.validation.fold is not None:
            continue
        if run_id in ids and record.folder.name != run_id:
            said = f"left out: {shortened(str(record.folder))} is a copy of the record {run_id}"
            warnings.warn(said, PubenchWarning, stacklevel=2)
        else:
            done.append(RunResult(record.result, record.folder, reused=True))
    return Results([*done, *_failed_beside(path, done)])


def _of_rows(path: Path, study: str | None) -> Results:
    """The runs of a file of rows or board, or those of one study in it."""
    from ..rows.runs import WHOLE_RUNS, read_runs

    with in_words():
        read = read_runs(path)
        if study is not None and study not in read.names:
            raise unknown("study", study, read.names)
    for note in read.notes:
        if note != WHOLE_RUNS:
            warnings.warn(note, PubenchWarning, stacklevel=3)
    return Results([run for run in read.runs if study is None or study in read.studies.get(run.run_id, ())])


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


def study_runs(folder: Path, name: str) -> tuple[list[NamedRun], bool]:
    """The runs of a study in the plan's order, and whether hyper-parameters are drawn.

    A run without a record is its latest failure, or ``missing``. Records that cannot be read are warned of.
    """
    from pubench_study.plan import read_plan, shown_row
    from pubench_study.study_file import folder_of

    with in_words():
        plan = read_plan(folder_of(folder, name))
    assert plan is not None  # folder_of names studies that have one
    store, failures = RecordStore(folder), failures_in(folder)
    found: list[NamedRun] = []
    for planned in plan.runs:
        if planned.is_fold:
            continue
        try:
            record = store.find(planned.run_id)
        except RecordError as error:
            warnings.warn(f"left out: {error}", PubenchWarning, stacklevel=3)
            record = None
        spec = planned.spec  # its criterion, whatever the run that is stored was asked for
        if record is not None:
            view = record.result.viewed(spec.selection.criterion, spec.decision.rule)
            run: RunResult | FailedRun = RunResult(view, record.folder, reused=True)
        else:
            failed = [one for path in failures.get(planned.run_id, ()) if (one := read_failure(path)) is not None]
            why = (failed[-1].cause, failed[-1].reason) if failed else (MISSING, "it was not carried out yet")
            run = FailedRun(planned.row, planned.run_id, spec, *why)
        found.append((shown_row(planned.row, spec_of(run)), run))
    return found, any(run.draw is not None for run in plan.runs)
