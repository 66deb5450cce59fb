"""The runs of a report: those of a study, with what is missing of it, or all records of a folder."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from os.path import isdir, isfile
from pathlib import Path
from typing import Literal

from pubench_study.plan import read_plan, shown_row
from pubench_study.study_file import STUDIES, StudyFolder, folder_of, studies_in

from pubench.running import RunResult
from pubench_core.errors import RecordError, RequestError, counted, shortened, unknown
from pubench_core.records.files import FAILED, FAILURE
from pubench_core.records.record import read_failure
from pubench_core.records.store import RecordStore, failures_in

from ..cells import metric_info
from ..grouping import MISSING, FailedRun, Grid, NamedRun, but_for_config, but_for_seed, grid_of, spec_of
from ..rows.columns import FRAME, names
from ..rows.files import FACTS, RUN_ID
from ..rows.record import known_of
from ..rows.runs import Row, each_run
from ..suspicion import lines_on

#: What ``--only`` is about, hyper-parameters apart.
_CONDITIONS = ("method", "data", "mechanism", "c", "positive_rate", "scheme", "prior_from", "seed", "preset", "epochs")
#: What a note on chosen draws begins with.
DRAWS = "hyper-parameters: the best of"


@dataclass(frozen=True)
class Gathered:
    """Runs of a source, with the names of their rows, in order."""

    results: Path
    """where they are from"""
    study: str
    """empty for all runs of the source"""
    runs: Sequence[NamedRun]
    """a run without a result is a FailedRun, whose cause is ``missing`` if it was never carried out"""
    notes: tuple[str, ...] = ()
    drawn: frozenset[str] = frozenset()
    """ids of runs whose hyper-parameters are draws"""
    unchosen: Sequence[RunResult] = ()
    """finished draws that were not chosen"""
    by_name: bool = False
    """whether methods are in the order of their names instead of their appearance"""

    @cached_property
    def grid(self) -> Grid:
        """Runs by row and column. Raises RequestError if a seed is there twice, or data files changed in between."""
        grid = grid_of(self.runs, drawn=self.drawn)
        return replace(grid, rows=tuple(sorted(grid.rows))) if self.by_name else grid

    def with_notes(self, *notes: str) -> Gathered:
        """The same runs and the same grid with these notes."""
        found = replace(self, notes=notes)
        vars(found)["grid"] = self.grid  # which takes as long as reading the runs
        return found

    @property
    def title(self) -> str:
        """The study's name, or the folder's."""
        return self.study or self.results.resolve().name

    @property
    def done(self) -> list[RunResult]:
        """Runs that have a result."""
        return [run for _, run in self.runs if isinstance(run, RunResult)]

    @property
    def missing(self) -> int:
        """Planned runs that were never carried out."""
        return sum(isinstance(run, FailedRun) and run.cause == MISSING for _, run in self.runs)

    @property
    def failed(self) -> list[FailedRun]:
        """Runs that failed or were refused."""
        return [run for _, run in self.runs if isinstance(run, FailedRun) and run.cause != MISSING]


def gather(
    given: str | None, results: Path, study: str | None, criterion: str | None = None, only: Sequence[str] = ()
) -> Gathered:
    """The runs that a command names. Of a study's hyper-parameter draws, on each split the one that ``criterion``
    prefers (None means the one that names the results).

    ``given``: a folder of records, a study's own folder in it, a file of rows, a board's folder, or the name of a study
    in ``results``; None means the folder ``results``. ``study``: one that is there. ``only``: conditions, as
    :func:`fitting` takes them.

    Raises RequestError (InvalidRequest) if there is no such folder or study, or nothing in it has a result.
    """
    path, named = folder_and_study(given, results, study)
    with collection_off():
        found = StoredRuns(path).chosen(named, criterion, only)
        if not named:  # in an order that does not depend on when they were carried out
            found = replace(found, runs=sorted(found.runs, key=lambda one: place_of(one[1])))
        suspect = lines_on(run.result for run in (*found.done, *found.unchosen))
        found = found.with_notes(*found.notes, *found.grid.notes, *suspect)
        gc.freeze()  # thousands of records are millions of objects that stay: no later collection looks at them
    return found


# -------------------------------------------------------------------- what is stored


@dataclass(frozen=True)
class StoredRuns:
    """A folder of records, a file of rows, or the folder of a dated board."""

    path: Path

    @property
    def kind(self) -> Literal["records", "rows", "board"]:
        """Kind of the source."""
        return "rows" if isfile(self.path) else "board" if isfile(self.path / FACTS) else "records"

    @cached_property
    def _rows(self) -> tuple[list[tuple[RunResult, list[Row]]], list[str]]:
        notes: list[str] = []
        return list(each_run(self.path, notes)), notes

    @cached_property
    def studies(self) -> list[str]:
        """Names of its studies."""
        if self.kind == "records":
            return [one.name for one in studies_in(self.path)]
        return sorted({row["study"] for _, rows in self._rows[0] for row in rows if row["study"]})

    def stored(self, study: str = "", *, any_name: bool = False) -> Gathered:
        """All runs, or those of a study; of records oldest first or in the plan's order, without those of single folds.

        A failed run of a folder is there if another seed of the same settings has a result. One of a study without a
        record is its latest failure, or ``missing``. The notes say what is left out. ``any_name``: whether a record
        whose folder is not called as its run is there, if no other is.

        Raises RequestError for another study, and for a file that cannot be read.
        """
        if self.kind == "records":
            return _of_study(self.path, study) if study else _of_records(self.path, any_name=any_name)
        if study and study not in self.studies:
            raise unknown("study", study, self.studies)
        mine = [(run, rows) for run, rows in self._rows[0] if not study or any(row["study"] == study for row in rows)]
        drawn = [run.run_id for run, _ in mine] if study and any(rows[0].get("draw") for _, rows in mine) else []
        named = [(run.result.spec.method.key, run) for run, _ in mine]
        return Gathered(self.path, study, named, tuple(self._rows[1]), frozenset(drawn))

    def chosen(self, study: str, criterion: str | None, only: Sequence[str] = ()) -> Gathered:
        """:meth:`stored`, of draws on each split the one that the criterion prefers. Raises RequestError if no run is
        finished.
        """
        found = self.stored(study)
        if not found.done:
            what = f"study {study}" if study else shortened(str(self.path))
            why = f"{len(found.failed)} failed, {found.missing} are to be run"
            why = why if study else "; ".join(found.notes) or why_none(self.path)
            raise RequestError(f"{what} has no finished run to report: {why}")
        runs = fitting(found.runs, only)
        if not found.drawn:
            return replace(found, runs=runs)
        chosen, note = best_of_draws(runs, criterion or spec_of(runs[0][1]).selection.criterion)
        notes, ids = (*found.notes, *([note] if note else [])), {run.run_id for _, run in chosen}
        unchosen = [run for _, run in runs if isinstance(run, RunResult) and run.run_id not in ids]
        return replace(found, runs=chosen, notes=notes, unchosen=unchosen)


def _of_records(folder: Path, *, any_name: bool) -> Gathered:
    records, unreadable = RecordStore(folder).all()
    ids = {record.folder.name for record in records}
    notes = [f"left out: {error}" for error in unreadable]
    named: list[NamedRun] = []
    for record in records:
        run = RunResult(record.result, record.folder, reused=True)
        why = why_misnamed(run)
        if why and run.run_id in ids and run.run_id != run.folder.name:
            notes.append(f"left out: {shortened(str(run.folder))} is a copy of the record {run.run_id}")
        elif why and not any_name:
            notes.append(why)
        elif run.result.spec.validation.fold is None:
            named.append((run.result.spec.method.key, run))
    finished, settings = {run.run_id for _, run in named}, {but_for_seed(spec_of(run)) for _, run in named}
    alone: list[str] = []
    for run_id, paths in failures_in(folder).items():
        one = None if run_id in finished else read_failure(paths[-1])
        if one is None or one.spec.validation.fold is not None:
            continue
        if but_for_seed(one.spec) in settings:
            key = one.spec.method.key
            named.append((key, FailedRun(key, one.run_id, one.spec, one.cause, one.reason)))
        else:
            alone.append(f"{one.spec.method.key} on {one.spec.data.key} ({one.cause})")
    if alone:
        kinds = list(dict.fromkeys(alone))
        more = f" and {len(kinds) - 3} more" if len(kinds) > 3 else ""
        notes.append(
            f"left out: {counted(len(alone), 'failed run')} of settings that no seed has a result of: "
            f"{', '.join(kinds[:3])}{more}; {shortened(str(folder / FAILED))} says why"
        )
    return Gathered(folder, "", named, tuple(notes))


def _of_study(folder: Path, study: str) -> Gathered:
    plan = read_plan(folder_of(folder, study))
    assert plan is not None  # folder_of names studies that have one
    store, failures = RecordStore(folder), failures_in(folder)
    named: list[NamedRun] = []
    notes: list[str] = []
    for planned in plan.runs:
        if planned.is_fold:
            continue
        spec, record = planned.spec, None
        try:
            record = store.find(planned.run_id)
        except RecordError as error:
            notes.append(f"left out: {error}")
        run: RunResult | FailedRun
        if record is not None:  # by the study's criterion, whatever the run that is stored was asked for
            view = record.result.viewed(spec.selection.criterion, spec.decision.rule)
            run = RunResult(view, record.folder, reused=True)
            if misnamed := why_misnamed(run):
                notes.append(misnamed)
                continue
        else:
            failed = [one for path in failures.get(planned.run_id, ()) if (one := read_failure(path)) is not None]
            why = (failed[-1].cause, failed[-1].reason) if failed else (MISSING, "it was not carried out yet")
            run = FailedRun(planned.row, planned.run_id, spec, *why)
        named.append((shown_row(planned.row, spec_of(run)), run))
    return Gathered(
        folder, study, named, tuple(notes), frozenset(one.run_id for one in plan.runs if one.draw is not None)
    )


def fitting(runs: Sequence[NamedRun], only: Sequence[str]) -> list[NamedRun]:
    """The runs that fit every condition ``NAME=VALUE,VALUE`` on a column of :meth:`pubench.Results.to_frame`, or on a
    hyper-parameter (``config.epochs=40``).

    Raises RequestError for what is no condition, an unknown name, and a condition that no run fits.
    """
    kept = list(runs)
    for text in only:
        name, _, values = text.partition("=")
        facts = [known_of(row, run).get(name) for row, run in kept]
        there = sorted({_text(value) for value in facts if value is not None})
        if not values or not (there or name in names(FRAME)):
            raise RequestError(
                f"--only {shortened(text)} must be NAME=VALUES, NAME one of {', '.join(_CONDITIONS)} or config.NAME"
            )
        kept = [one for one, value in zip(kept, facts, strict=True) if _text(value) in values.split(",")]
        if not kept:
            raise RequestError(f"--only {shortened(text)}: no run has {name} {values}; there are {', '.join(there)}")
    return kept


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


# -------------------------------------------------------------------- draws of hyper-parameters


def best_of_draws(named: Iterable[NamedRun], criterion: str) -> tuple[list[NamedRun], str]:
    """Best run, by its criterion, among those that differ in hyper-parameters alone; and a note.

    The first of equal ones. Where no run of a group has a value - every one failed, or the criterion has none, as
    ``last`` - the group's first run stands for it.
    """
    groups: dict[tuple[str, str], list[NamedRun]] = {}
    for name, run in named:
        groups.setdefault((name, but_for_config(run)), []).append((name, run))
    info = metric_info(criterion)
    sign = 1.0 if info is None or info.higher_is_better else -1.0

    def value(one: NamedRun) -> float:
        found = None if isinstance(one[1], FailedRun) else one[1].result.criteria.get(criterion)
        return -float("inf") if found is None or found.value is None else sign * found.value

    finished = [sum(isinstance(run, RunResult) for _, run in group) for group in groups.values()]
    counts, note = sorted({count for count in finished if count}), ""
    if counts and counts[-1] > 1:
        number = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        note = f"{DRAWS} {number} finished draws by {criterion}, on each split"
    return [max(group, key=value) for group in groups.values()], note


# -------------------------------------------------------------------- what a command names


def why_misnamed(run: RunResult) -> str:
    """Why a record is left out of reports and sites; empty where its folder is called as its run is."""
    if not RUN_ID.fullmatch(run.run_id):
        return f"left out: {run.folder}: '{shortened(run.run_id)}' is no run id"
    return "" if run.folder.name == run.run_id else f"left out: {run.folder} holds run {run.run_id}; give it that name"


def why_none(folder: Path) -> str:
    """Why a folder has no finished run."""
    failures = sum(1 for _ in (folder / FAILED).glob(f"*/{FAILURE}"))
    if failures:
        return f"{counted(failures, 'run')} failed, and {shortened(str(folder / FAILED))} says why"
    return "it holds no records"


def folder_and_study(given: str | None, results: Path, study: str | None) -> tuple[Path, str]:
    """(path, name of a study or nothing) that a command names as :func:`gather` has it.

    Raises RequestError if there is neither.
    """
    if given is None:
        return results, study or ""
    if isfile(given) and not given.endswith(".parquet"):  # which does not say what was set
        return Path(given), study or ""
    if isdir(given):
        path = Path(given).resolve()
        if path.parent.name == STUDIES and StudyFolder(path.parent.parent, path.name).plan.exists():
            return path.parent.parent, study or path.name
        return Path(given), study or ""
    if not isdir(results) or given not in [folder.name for folder in studies_in(results)]:
        raise RequestError(
            f"no folder of records and no study in {results} is called '{shortened(given)}'; "
            "name a folder, or a study of the folder that --results names"
        )
    return results, given


def place_of(run: RunResult | FailedRun) -> tuple[str, str, float, str, int, str]:
    """By data set, labeling, method and seed."""
    spec = spec_of(run)
    _, amount = spec.mechanism.amount or ("", 0.0)
    return spec.data.key, spec.mechanism.key, amount, spec.method.key, spec.seed, run.run_id


@contextmanager
def collection_off() -> Iterator[None]:
    """No search for garbage in cycles, of which a report leaves little: it doubles the time of reading records."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
