"""One record: everything that can be wrong with it and is seen without carrying its run out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from pubench_core.errors import PluginError, RecordError, RequestError, counted, shortened
from pubench_core.records.files import SCORES, TRAINING_SCORES, read_scores
from pubench_core.records.record import Record
from pubench_core.results import Result

from .derived import DataHere, absent_table, installed_metrics, other_claims, other_code, plan_here
from .difference import alike
from .folder import RUN_ID, wrong_files
from .result import RecordProblem
from .score_checks import STATE, other_measures

if TYPE_CHECKING:
    from pubench_core.engine.plan import Plan

#: When a run finished, as the engine writes it.
_TIME = re.compile(r"20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\dZ", re.ASCII)
#: Most seconds of a run, and most bytes that one takes: ten years, and a pebibyte.
_LONGEST, _LARGEST = 10 * 365 * 86_400.0, 1 << 50
#: Criteria that do not read the scores: two epochs with the same scores are two choices, and one state.
_UNSCORED = ("last", "native")


class RecordChecker:
    """Looks at one record after the other, and keeps what is looked up once for all.

    ``data_root``: folder of data files; ``sums``: path -> checksum, if there is a list. ``submitted``: the records are
    a submission, which has no models and may name no table.

    ``derived``: of how many records the measures were derived again so far; ``notes``: what a reader must know besides
    the problems, each once; ``missing``: run id -> data of it that are not here, so that it is not checked as a whole.
    """

    def __init__(
        self, data_root: Path, sums: Mapping[str, str] | None, say: Callable[[str], None], *, submitted: bool = False
    ) -> None:
        self._data_root, self._sums, self._submitted = data_root, sums, submitted
        self.derived, self.missing = 0, dict[str, str]()
        self.notes: dict[str, None] = {}
        self._data = DataHere(say, self.notes.setdefault)
        self._own_functions: set[frozenset[str]] = set()

    def at(self, record: Record) -> list[RecordProblem]:
        """Problems of a record."""
        run_id = record.result.run_id
        return [RecordProblem(run_id, text) for text in self._wrong(record)]

    def _wrong(self, record: Record) -> Iterator[str]:
        result, folder = record.result, record.folder
        plain = result.model_dump(mode="json", exclude={"criteria": {"__all__": {"measures", "at_prior"}}})
        if (name := folder.resolve().name) != result.run_id:
            if RUN_ID.fullmatch(name):
                yield f"its folder is called {name}"
            else:  # a copy that somebody keeps, as `advise` does
                self.notes.setdefault(f"{result.run_id}: its folder is called {shortened(name)}; reports leave it out")
        yield from wrong_files(folder, result, plain, self._sums, models=not self._submitted)
        yield from _impossible_facts(result)
        yield from _impossible_states(result)
        named = {*result.metrics, *result.spec.evaluation.metrics}
        metrics = installed_metrics(frozenset(named | result.criteria.keys()))
        for name in sorted(named - metrics.keys()):
            self.notes.setdefault(f"metric {shortened(name)} is not installed, so its values cannot be derived again")
        plan, changed = None, [""]
        try:
            plan = self._plan(result)
            digest = None if plan is None else self._data.digest(plan)
            if plan is not None:
                if beyond := _beyond_preset(plan):
                    self.notes.setdefault(beyond)
                if digest is None:
                    self.missing[result.run_id] = f"data set {plan.data.info.key} is not here"
                changed = list(other_code(plan, result, plain, digest))
                yield from changed
            yield from other_claims(metrics, plan, result, plain)
        except (RequestError, PluginError, ValidationError) as error:
            yield f"its spec does not resolve here: {shortened(str(error), 300)}"
        if not isfile(folder / SCORES):
            return
        try:
            arrays = read_scores(folder)
            training = read_scores(folder, TRAINING_SCORES) if isfile(folder / TRAINING_SCORES) else {}
        except RecordError as error:
            yield str(error)
            return
        self.derived += 1
        yield from other_measures(metrics, plan, result, arrays, training)
        if plan is not None and result.run_id not in self.missing and not changed:
            yield from self._data.other_rows(plan, plain, arrays)

    def _plan(self, result: Result) -> Plan | None:
        """Plan of a record; None, and a line in ``missing``, if its table is not here. Raises RequestError."""
        own = self._submitted and result.spec.data.own is not None
        absent = "it is of a user table" if own else absent_table(result)
        if absent:
            self.missing[result.run_id] = absent
            return None
        plan = plan_here(result, self._data_root)
        self._refuse_replaced(plan)
        return plan

    def _refuse_replaced(self, plan: Plan) -> None:
        """Raises PluginError if a plugin has replaced a function that a plan calls."""
        from pubench_core.engine.source_location import packages_called
        from pubench_core.plugins.replaced import refuse_replaced

        packages = packages_called(plan)
        if packages not in self._own_functions:
            refuse_replaced(packages)
            self._own_functions.add(packages)


def _beyond_preset(plan: Plan) -> str:
    """Settings that are not those of the preset that a spec names; a user may set them, and a reader must know."""
    spec, info = plan.spec, plan.method.info
    usual = {} if spec.method.preset is None else info.presets[spec.method.preset].resolve(plan.data.info.key)
    free = set() if spec.validation.folds is None else {"patience"}  # one epoch is chosen for all folds
    apart = [name for name, value in usual.items() if name not in free and not alike(spec.method.config[name], value)]
    return f"{info.key} has its preset {spec.method.preset}, but another {' and '.join(apart)}" if apart else ""


def _impossible_facts(result: Result) -> Iterator[str]:
    """Times, memory and counts that no run has."""
    most = {f"seconds.{name}": (value, 0, _LONGEST) for name, value in result.seconds.model_dump().items()}
    most["peak_memory.bytes"] = (result.peak_memory.bytes, 0, _LARGEST)
    most |= {"threads": (result.threads, 1, 1 << 20), "epochs": (result.epochs, 0, 1 << 40)}
    if result.at_once is not None:
        most["at_once"] = (result.at_once, 1, 1 << 20)
    for name, (value, low, high) in most.items():
        if not low <= value <= high:
            yield f"{name} must be in [{low}, {high:g}], got {value:g}"
    if not _TIME.fullmatch(result.finished_at):
        yield f"finished_at must be a time like 2026-11-26T12:00:00Z, got {shortened(result.finished_at)!r}"


def _impossible_states(result: Result) -> Iterator[str]:
    """Epochs that were not trained, or are not those of the stored states; a model of a state that is not there."""
    chosen = {name: criterion for name, criterion in result.criteria.items() if criterion.epoch is not None}
    for name, criterion in chosen.items():
        epoch, stopped = criterion.epoch or 0, criterion.stopped_at
        if stopped is not None and not epoch <= stopped <= result.epochs:
            yield f"criterion {name} says that its patience ran out at epoch {stopped}, after epoch {epoch}"
        if not 1 <= epoch <= result.epochs or (name == "last" and epoch != result.epochs):
            yield f"criterion {name} chose epoch {epoch} of {counted(result.epochs, 'epoch')}"
        elif (state := STATE.match(criterion.snapshot)) is not None:
            others = {other.epoch for other in chosen.values()} if name in _UNSCORED else {epoch}
            if int(state[1]) not in others:
                yield f"criterion {name} chose epoch {epoch}, and its scores are those of {criterion.snapshot}"
    if result.model is not None and all(one.snapshot != result.model.snapshot for one in result.criteria.values()):
        yield f"its model is of {shortened(result.model.snapshot)}, which no criterion chose"
