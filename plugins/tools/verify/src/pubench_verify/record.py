"""One record: what files, spec, code, data and scores give, compared with what it says; nothing is carried out."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pubench_study.folds import folds_of, refit_of
from pydantic import ValidationError

from pubench_core.data.table_reader import in_memory
from pubench_core.errors import PluginError, PubenchError, RecordError, RequestError, counted, shortened
from pubench_core.metric import MetricPlugin
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry
from pubench_core.records.files import SCORES, TRAINING_SCORES, Arrays, read_scores
from pubench_core.records.record import Record
from pubench_core.results import Code, DataFacts, Result
from pubench_core.specs.run import TEST, run_id

from .files import MOST_LISTED, RUN_ID, digest_within, wrong_files
from .findings import Derived, RecordProblem, Say, close, differences
from .scores import STATE, StoredScores

if TYPE_CHECKING:
    from pubench_core.engine.plan import Plan

#: When a run finished, as the engine writes it, and where it was computed.
_TIME = re.compile(r"20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\dZ", re.ASCII)
_DEVICE = re.compile(r"cpu|cuda(:\d{1,3})?", re.ASCII)
#: Most seconds of a run, and most bytes that one takes: ten years, and a pebibyte.
_LONGEST, _LARGEST = 10 * 365 * 86_400.0, 1 << 50
#: Criteria that do not read the scores: two epochs with the same scores are two choices, and one state.
_UNSCORED = ("last", "native")


class RecordChecker:
    """Looks at one record after the other, and keeps what is looked up once for all.

    ``data_root``: folder of data files; ``sums``: path -> checksum, if there is a list. ``submitted``: the records are
    a submission, which has no models and may name no table.
    """

    def __init__(self, data_root: Path, sums: Mapping[str, str] | None, say: Say, *, submitted: bool = False) -> None:
        self._data_root, self._sums, self._submitted, self._say = data_root, sums, submitted, say
        self.derived = 0
        """of how many records the measures were derived again so far"""
        self.missing: dict[str, str] = {}
        """run id -> data of it that are not here, so that it is not checked as a whole"""
        self.notes: dict[str, None] = {}
        """what a reader must know besides the problems, each once"""
        self._draws: dict[str, _Drawn] = {}
        self._own_functions: set[frozenset[str]] = set()

    def at(self, record: Record) -> list[RecordProblem]:
        """Problems of a record."""
        result, found = record.result, list[str]()
        plain = result.model_dump(mode="json", exclude={"criteria": {"__all__": {"measures", "at_prior"}}})
        for one in self._checked(record):
            lines = [one] if isinstance(one, str) else differences(one.stored or plain, one.fields, one.gives)
            found += map(str, lines)
        return [RecordProblem(result.run_id, text) for text in found]

    def _checked(self, record: Record) -> Iterator[str | Derived]:
        result, folder = record.result, record.folder
        if (name := folder.resolve().name) != result.run_id:
            if RUN_ID.fullmatch(name):
                yield f"its folder is called {name}"
            else:  # a copy that somebody keeps, as `advise` does
                self.notes.setdefault(f"{result.run_id}: its folder is called {shortened(name)}; reports leave it out")
        yield from wrong_files(folder, result, self._sums, models=not self._submitted)
        yield from _impossible_facts(result)
        yield from _impossible_states(result)
        named = {*result.metrics, *result.spec.evaluation.metrics}
        metrics = installed_metrics(frozenset(named | result.criteria.keys()))
        for name in sorted(named - metrics.keys()):
            self.notes.setdefault(f"metric {shortened(name)} is not installed, so its values cannot be derived again")
        plan = drawn = None
        try:
            plan = self._plan(result)
            if plan is not None:
                if (drawn := self._drawn(plan)) is None:
                    self.missing[result.run_id] = f"data set {plan.data.info.key} is not here"
                changed = list(_other_code(plan, result, drawn))
                yield from changed
                if any(isinstance(one, str) for one in changed):
                    drawn = None
            yield from _claims(metrics, plan, result)
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
        yield from StoredScores(metrics, plan, result, arrays, training).problems()
        if plan is not None and drawn is not None:
            yield from _other_rows(plan, drawn, arrays)

    def _plan(self, result: Result) -> Plan | None:
        """Plan of a record; None, and a reason in ``missing``, if its table is not here. Raises RequestError, and
        PluginError if a plugin has replaced a function that the plan calls.
        """
        from pubench_core.engine.source_location import packages_called
        from pubench_core.plugins.replaced import refuse_replaced

        own = self._submitted and result.spec.data.own is not None
        if absent := "it is of a user table, which nobody else can check" if own else absent_table(result):
            self.missing[result.run_id] = absent
            return None
        plan = plan_here(result, self._data_root)
        packages = packages_called(plan)
        if packages not in self._own_functions:
            refuse_replaced(packages)
            self._own_functions.add(packages)
        if beyond := _beyond_preset(plan):
            self.notes.setdefault(beyond)
        return plan

    def _drawn(self, plan: Plan) -> _Drawn | None:
        """What a plan's spec draws; methods and their settings decide nothing of it. None if its data are not here."""
        from pubench_core.data.dataset import data_root
        from pubench_core.engine.open import open_data

        spec = plan.spec
        key = spec.model_dump_json(include={"seed", "data", "mechanism", "validation"})
        if key not in self._draws:
            root = data_root(spec.execution, self._say)
            try:
                self._draws[key] = _draw(plan, open_data(plan, root), root)
            except RequestError as error:
                self.notes.setdefault(f"data set {plan.data.info.key} is not here to be compared: {error}")
                return None
        return self._draws[key]


# -------------------------------------------------------------------- what no run has


def _impossible_facts(result: Result) -> Iterator[str]:
    """Times, memory, counts and devices that no run has."""
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
    if not _DEVICE.fullmatch(result.device):
        yield f"it names an unknown device, {shortened(result.device)}; expected cpu or cuda:NUMBER"


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


# -------------------------------------------------------------------- spec and plugins


def plan_here(result: Result, data_root: object) -> Plan:
    """Plan of its spec under the installed plugins, with the data of a folder that the record does not choose.

    Metrics that are not installed are left out. Raises RequestError, PluginError if it cannot be resolved.
    """
    from pubench_core.engine.layers import Layer
    from pubench_core.engine.resolve import resolve, stored_spec

    spec, _ = stored_spec(result, registry())
    spec["execution"] |= {"data_root": str(data_root), "encoder": None, "device": "auto", "threads": None}
    return resolve([Layer(spec)], registry())


def absent_table(result: Result) -> str:
    """Why the user's table that a record names is not here; empty if it is, and for a data set.

    Nothing but a file of a table's size is read, and nothing of its content is said. Raises RequestError for a file
    that is another table.
    """
    own = result.spec.data.own
    for path, sha256 in () if own is None else ((own.path, own.sha256), (own.test, own.test_sha256)):
        if path is None or in_memory(path):
            continue
        name = shortened(str(path))
        try:
            if not os.path.getsize(path):  # as of devices, pipes and what the kernel makes up
                raise OSError(errno.ENODATA, "it is empty")
            if digest_within(path, MOST_LISTED) != sha256:
                raise RequestError(f"{name} is not the table that the run read")
        except OSError as error:
            why = "is not here" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
            return f"{name} {why} (a relative path counts from the current folder)"
    return ""


@cache
def installed_metrics(named: frozenset[str]) -> Mapping[str, MetricPlugin]:
    """Installed metrics, with those of the named ones that take a number."""
    from pubench_core.engine.criteria import Installed

    return Installed.of(registry(), named).usable


def _beyond_preset(plan: Plan) -> str:
    """Settings that are not those of the preset that a spec names; a user may set them, and a reader must know."""
    spec, info = plan.spec, plan.method.info
    usual = {} if spec.method.preset is None else info.presets[spec.method.preset].resolve(plan.data.info.key)
    free = set() if spec.validation.folds is None else {"patience"}  # one epoch is chosen for all folds
    apart = [name for name, value in usual.items() if name not in free and not close(spec.method.config[name], value)]
    return f"{info.key} has its preset {spec.method.preset}, but another {' and '.join(apart)}" if apart else ""


def _claims(metrics: Mapping[str, MetricPlugin], plan: Plan | None, result: Result) -> Iterator[str | Derived]:
    """Fields as spec, plugins, prior and counts give them. ``plan``: None if its table is not here.

    Raises RequestError, PluginError, ValidationError for a false method.
    """
    spec, known = result.spec, {name for name in result.criteria if name in ("native", "last") or name in metrics}
    yield from (f"criterion {name} is not installed" for name in result.criteria if name not in known)
    if result.selected not in result.criteria:
        yield f"selected is {result.selected!r}, a criterion that it did not track"
    by_spec = {
        "selected": spec.selection.criterion,
        "decision": None if spec.decision.rule == "zero" else spec.decision.rule,
    }
    if plan is None:
        from pubench_core.engine.resolve_method import method_class

        method = method_class(registry().find(MethodInfo, spec.method.key))
        config = method.Config.model_validate(spec.method.config)
        requires, by_spec["run_id"] = method.requires(config), run_id(spec, config)
    else:
        requires, by_spec["run_id"] = plan.method.requires, plan.run_id
        yield from _of_plan(plan, result)
    yield Derived("its spec gives", by_spec)
    installed: dict[str, Any] = {"oracle": "truth" in requires or spec.prior == TEST}
    for name in known:
        plugin = metrics.get(name)
        installed[f"criteria.{name}.oracle"] = plugin is not None and plugin.info.oracle
        installed[f"criteria.{name}.code"] = None if plugin is None else plugin.code
    for name in {*result.metrics, *spec.evaluation.metrics} & metrics.keys():
        installed[f"metrics.{name}"] = metrics[name].code
    yield Derived("the installed plugins give", installed)


def _of_plan(plan: Plan, result: Result) -> Iterator[Derived]:
    """Folds, calibration and priors. The share to believe of U is compared if the record has one; older ones do not."""
    from pubench_core.engine.build import calibration_of
    from pubench_core.engine.priors import prior_given
    from pubench_core.engine.problem import share_to_believe

    refit, calibration, spec = refit_of(plan), calibration_of(plan), result.spec
    prior, train, test, by_counts = result.data.prior, result.data.train, result.data.test, dict[str, Any]()
    by_spec: dict[str, Any] = {
        "folds": [fold.run_id for fold in folds_of(plan)] or None,
        "refit": None if refit is None else refit.run_id,
        "data.calibrated": calibration.calibrated,
    }
    labeled, estimate, known = train.labeled or 0, prior.estimate, prior.true
    if spec.prior == TEST:
        known = None if test is None or test.positive is None else test.positive / test.rows
    share = estimate.share if estimate is not None else None
    given = prior_given(spec.prior, known, share, labeled, train.rows, spec.data.scheme)
    if prior.given is not None and given is not None:
        (by_spec if estimate is None else by_counts)["data.prior.given"] = given
    if estimate is not None and train.unlabeled and train.unlabeled_positive is not None:
        by_counts["data.prior.estimate.true_share"] = train.unlabeled_positive / train.unlabeled
    if prior.given_unlabeled is not None and train.labeled is not None and labeled < train.rows:
        share = share_to_believe(prior.given, spec.data.scheme, labeled, train.rows, whole=any(calibration))
        by_counts["data.prior.given_unlabeled"] = share
    yield Derived("its spec gives", by_spec)
    yield Derived("its prior and counts give", by_counts)


# -------------------------------------------------------------------- code and data


#: Facts of the data that the draw does not decide: the method does, and the code is compared.
_BY_RECORD = ("prior", "calibrated", "digest")


class _Drawn(NamedTuple):
    """Rows and labels that a spec draws from the data that are here."""

    digest: str
    """of the data; empty for a user's table"""
    arrays: Mapping[str, str]
    """digests of the arrays of rows and labels, as ``scores.npz`` has them"""
    fields: Mapping[str, Any]
    """as ``result.json`` has them"""
    wrong: str = ""
    """why nothing can be drawn"""


def _draw(plan: Plan, opened: Any, root: Any) -> _Drawn:
    from pubench_core.engine.build import drawn

    try:
        draw, _ = drawn(plan, opened, root)
    except PubenchError as error:
        return _Drawn(opened.digest, {}, {}, f"its rows cannot be drawn here: {error}")
    facts = draw.facts().model_dump(mode="json")
    fields = {f"data.{name}": facts.get(name) for name in DataFacts.model_fields if name not in _BY_RECORD}
    arrays = {name: _digest(array) for name, array in draw.known().items()}
    return _Drawn(opened.digest, arrays, {**fields, "data.prior.true": draw.prior_true})


def _other_code(plan: Plan, result: Result, drawn: _Drawn | None) -> Iterator[str | Derived]:
    """Code or data of a record that are not those of its plan; data that are not here are taken to be those of the
    record.
    """
    parts = result.code.parts
    given = {"code.hash": Code.of(parts, {}).hash, "data.digest": parts.get(f"data {result.spec.data.key}") or None}
    yield Derived("the parts of its code give", given)
    now = plan.code_reading(result.data.digest if drawn is None else drawn.digest)
    if changed := now.changed_since(result.code):
        yield f"it is of other code than is installed (changed: {', '.join(changed)})"


def _other_rows(plan: Plan, drawn: _Drawn, arrays: Arrays) -> Iterator[str | Derived]:
    """Stored rows, labels, counts and facts that are not those that its spec draws here.

    Of mechanisms that need a posterior the test part alone is compared: its last digits, which versions and processors
    decide, can label other rows.
    """
    if drawn.wrong:
        yield drawn.wrong
        return
    fitted, key = plan.mechanism is not None and plan.mechanism.info.needs_posterior, plan.spec.data.key
    for name, digest in drawn.arrays.items():
        compared = not fitted or name.startswith("test_")
        if compared and (name not in arrays or _digest(arrays[name]) != digest):
            yield f"{SCORES}: {name} are not those that its spec draws from {key}"
    yield Derived(f"drawn from {key} it is", drawn.fields)


def _digest(array: npt.NDArray[Any]) -> str:
    """Digest of whole numbers or truth values."""
    return hashlib.sha256(array.astype(np.int64).tobytes()).hexdigest()
