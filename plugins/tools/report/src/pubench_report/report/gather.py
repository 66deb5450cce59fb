"""The runs of a report: those of a study, with what is missing of it, or all records of a folder."""

from __future__ import annotations

import gc
import re
import warnings
from collections.abc import Sequence
from os.path import isdir
from pathlib import Path

from pubench_study.study_file import STUDIES, StudyFolder, studies_in

from pubench.field_names import PubenchWarning
from pubench.running import RunResult
from pubench_core.errors import RequestError, counted, shortened
from pubench_core.records.files import FAILED, FAILURE

from ..draws import NamedRun, best_of_draws, left_out
from ..grouping import FailedRun, grid_of, spec_of
from ..results import load_results
from ..results.frames import known_of
from ..results.loading import study_runs
from ..rows import FRAME, names
from ..suspicion import lines_on
from .gathered import Gathered, collection_off

#: What ``--only`` is about, hyper-parameters apart.
_CONDITIONS = ("method", "data", "mechanism", "c", "positive_rate", "scheme", "prior_from", "seed", "preset", "epochs")
_RUN_ID = re.compile(r"[0-9a-f]{16}")


def gather(
    given: str | None, results: Path, study: str | None, criterion: str | None = None, only: Sequence[str] = ()
) -> Gathered:
    """The runs that a command names. Of a study's hyper-parameter draws, on each split the one that ``criterion``
    prefers (None means the one that names the results).

    ``given``: a folder of records, a study's own folder in it, or the name of a study in ``results``; None means the
    folder ``results``. ``study``: one of a folder's studies. ``only``: conditions, as :func:`fitting` takes them.

    Raises RequestError (InvalidRequest) if there is no such folder or study, or nothing in it has a result.
    """
    folder, named = folder_and_study(given, results, study)
    with warnings.catch_warnings(record=True) as heard, collection_off():
        warnings.simplefilter("always")
        every, drawn = study_runs(folder, named) if named else (load_results(folder).named, False)
        misnamed = {run.run_id: why for _, run in every if isinstance(run, RunResult) and (why := why_misnamed(run))}
        runs = [(name, run) for name, run in every if run.run_id not in misnamed]
        if not named:  # in an order that does not depend on when they were carried out
            runs.sort(key=lambda one: place_of(one[1]))
        runs, note = fitting(runs, only), ""
        unchosen: tuple[RunResult, ...] = ()
        if drawn:  # the runs of a study share the criterion that names their results
            drawn_from, (runs, note) = runs, best_of_draws(runs, criterion or spec_of(runs[0][1]).selection.criterion)
            unchosen = left_out(drawn_from, runs)
        grid = grid_of(runs, drawn={run.run_id for _, run in runs} if drawn else ())
        done = [run.result for _, run in every if isinstance(run, RunResult) and run.run_id not in misnamed]
        gc.freeze()  # thousands of records are millions of objects that stay: no later collection looks at them
    notes = [str(one.message) for one in heard if issubclass(one.category, PubenchWarning)]
    notes += [*misnamed.values(), *grid.notes, *([note] if note else []), *lines_on(done)]
    found = Gathered(folder, named, tuple(runs), grid, tuple(notes), drawn, unchosen)
    if not found.done:
        what = f"study {named}" if named else shortened(str(folder))
        why = (
            f"{len(found.failed)} failed, {found.missing} are to be run"
            if named
            else "; ".join(misnamed.values()) or why_none(folder)
        )
        raise RequestError(f"{what} has no finished run to report: {why}")
    return found


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


def why_misnamed(run: RunResult) -> str:
    """Why a record is left out of reports and sites; empty where its folder is called as its run is."""
    if not _RUN_ID.fullmatch(run.run_id):
        return f"left out: {run.folder}: '{shortened(run.run_id)}' is no run id"
    return "" if run.folder.name == run.run_id else f"left out: {run.folder} holds run {run.run_id}; give it that name"


def why_none(folder: Path) -> str:
    """Why a folder has no finished run."""
    failures = sum(1 for _ in (folder / FAILED).glob(f"*/{FAILURE}"))
    if failures:
        return f"{counted(failures, 'run')} failed, and {shortened(str(folder / FAILED))} says why"
    return "it holds no records"


def folder_and_study(given: str | None, results: Path, study: str | None) -> tuple[Path, str]:
    """(folder of records, name of a study or nothing) that a command names as :func:`gather` has it.

    Raises RequestError if there is neither.
    """
    if given is None:
        return results, study or ""
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
