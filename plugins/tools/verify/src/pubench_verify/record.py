"""One record: what files, spec, code, data and scores give, compared with what it says; nothing is carried out."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pubench_study.folds import folds_of, refit_of
from pydantic import ValidationError

from pubench_core.data.labeled import as_plain
from pubench_core.data.table_reader import in_memory
from pubench_core.errors import PluginError, PubenchError, RecordError, RequestError, counted, shortened
from pubench_core.metric import MetricPlugin
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry
from pubench_core.records.files import SCORES, TRAINING_SCORES, Arrays, open_regular, read_scores
from pubench_core.records.record import Record
from pubench_core.records.scores import rows_and_labels
from pubench_core.results import Code, Result
from pubench_core.specs import is_one_sample, population_prior
from pubench_core.specs.run import TEST, run_id

from .difference import close, differences
from .folder import MOST_LISTED, RUN_ID, wrong_files
from .result import RecordProblem
from .score_checks import STATE, other_measures

if TYPE_CHECKING:
    from pubench_core.engine.plan import Plan

Say = Callable[[str], None]
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
    """

    def __init__(self, data_root: Path, sums: Mapping[str, str] | None, say: Say, *, submitted: bool = False) -> None:
        self._data_root, self._sums, self._submitted = data_root, sums, submitted
        self.derived = 0
        """of how many records the measures were derived again so far"""
        self.missing: dict[str, str] = {}
        """run id -> data of it that are not here, so that it is not checked as a whole"""
        self.notes: dict[str, None] = {}
        """what a reader must know besides the problems, each once"""
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
        plan, as_drawn = None, False
        try:
            plan = self._plan(result)
            if plan is not None:
                changed = list(self._data.other_code(plan, result, plain))
                yield from changed
                as_drawn = not changed and result.run_id not in self.missing
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
        if plan is not None and as_drawn:
            yield from self._data.other_rows(plan, plain, arrays)

    def _plan(self, result: Result) -> Plan | None:
        """Plan of a record; None if its table is not here. ``missing`` gets what is not here. Raises RequestError, and
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
        if self._data.digest(plan) is None:
            self.missing[result.run_id] = f"data set {plan.data.info.key} is not here"
        return plan


def _beyond_preset(plan: Plan) -> str:
    """Settings that are not those of the preset that a spec names; a user may set them, and a reader must know."""
    spec, info = plan.spec, plan.method.info
    usual = {} if spec.method.preset is None else info.presets[spec.method.preset].resolve(plan.data.info.key)
    free = set() if spec.validation.folds is None else {"patience"}  # one epoch is chosen for all folds
    apart = [name for name, value in usual.items() if name not in free and not close(spec.method.config[name], value)]
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
            with open_regular(path) as file:
                size = os.fstat(file.fileno()).st_size
                if not 0 < size <= MOST_LISTED:
                    return f"{name} has {size:,} bytes; 1 to {MOST_LISTED:,} are read"
                if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
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


def other_claims(
    metrics: Mapping[str, MetricPlugin], plan: Plan | None, result: Result, plain: Mapping[str, Any]
) -> Iterator[str]:
    """Fields that are not what spec, plugins, prior and counts give. ``plan``: None if its table is not here.

    Raises RequestError, PluginError, ValidationError for a false method.
    """
    known = {name for name in result.criteria if name in ("native", "last") or name in metrics}
    yield from (f"criterion {name} is not installed" for name in result.criteria if name not in known)
    if result.selected not in result.criteria:
        yield f"selected is {result.selected!r}, a criterion that it did not track"
    spec, by_spec, by_counts = result.spec, dict[str, Any](), dict[str, Any]()
    if plan is None:
        from pubench_core.engine.resolve_method import method_class

        method = method_class(registry().find(MethodInfo, spec.method.key))
        config = method.Config.model_validate(spec.method.config)
        of_spec, requires = run_id(spec, config), method.requires(config)
    else:
        of_spec, requires = plan.run_id, plan.method.requires
        by_spec, by_counts = _by_spec(plan, result), _by_counts(plan, result)
    by_spec |= {
        "run_id": of_spec,
        "selected": spec.selection.criterion,
        "decision": None if spec.decision.rule == "zero" else spec.decision.rule,
    }
    installed: dict[str, Any] = {"oracle": "truth" in requires or spec.prior == TEST}
    for name in known:
        plugin = metrics.get(name)
        installed[f"criteria.{name}.oracle"] = plugin is not None and plugin.info.oracle
        installed[f"criteria.{name}.code"] = None if plugin is None else plugin.code
    for name in {*result.metrics, *spec.evaluation.metrics} & metrics.keys():
        installed[f"metrics.{name}"] = metrics[name].code
    for given, gives in ((by_spec, "its spec gives"), (installed, "the installed plugins give")):
        yield from map(str, differences(plain, given, gives))
    yield from map(str, differences(plain, by_counts, "its prior and counts give"))


def _by_spec(plan: Plan, result: Result) -> dict[str, Any]:
    from pubench_core.engine.build import calibration_of

    refit = refit_of(plan)
    found: dict[str, Any] = {
        "folds": [fold.run_id for fold in folds_of(plan)] or None,
        "refit": None if refit is None else refit.run_id,
        "data.calibrated": calibration_of(plan).calibrated,
    }
    asked, prior, test = result.spec.prior, result.data.prior, result.data.test
    given = prior.true if asked == "true" else asked if isinstance(asked, float) else None
    if asked == TEST and test is not None and test.positive is not None:
        given = test.positive / test.rows
    if prior.given is not None and prior.estimate is None and given is not None:
        found["data.prior.given"] = given
    return found


def _by_counts(plan: Plan, result: Result) -> dict[str, Any]:
    """The prior that an estimate gives, and the share of positives that the method was to believe in U.

    Older records do not have the share.
    """
    from pubench_core.engine.build import calibration_of
    from pubench_core.engine.problem import share_to_believe

    found: dict[str, Any] = {}
    prior, train, scheme = result.data.prior, result.data.train, result.spec.data.scheme
    labeled, estimate = train.labeled or 0, prior.estimate
    if estimate is not None and prior.given is not None:
        share = estimate.share
        found["data.prior.given"] = population_prior(share, labeled, train.rows) if is_one_sample(scheme) else share
    if estimate is not None and train.unlabeled and train.unlabeled_positive is not None:
        found["data.prior.estimate.true_share"] = train.unlabeled_positive / train.unlabeled
    if prior.given_unlabeled is not None and train.labeled is not None and labeled < train.rows:
        whole = any(calibration_of(plan))
        found["data.prior.given_unlabeled"] = share_to_believe(prior.given, scheme, labeled, train.rows, whole=whole)
    return found


# -------------------------------------------------------------------- code and data


class _Drawn(NamedTuple):
    """Rows and labels of a plan's parts."""

    arrays: dict[str, str]
    """digests, as ``scores.npz`` has them"""
    fields: dict[str, Any]
    """as ``result.json`` has them"""


class DataHere:
    """Digests of the data sets that are here, and what specs draw from them; each looked up once."""

    def __init__(self, say: Say, note: Say) -> None:
        self._say, self._note = say, note
        self._digests: dict[tuple[str, str], str | None] = {}
        self._drawn: dict[str, _Drawn] = {}

    def digest(self, plan: Plan) -> str | None:
        """Digest of the data of a plan; empty for a user table, None, with a note, for data that are not here."""
        from pubench_core.data.dataset import data_root
        from pubench_core.data.store import digest_now, located

        source = plan.data.source
        if source is None:
            return ""
        key = (plan.data.info.key, plan.spec.data.preprocess)
        if key not in self._digests:
            root = data_root(plan.spec.execution, self._say)
            try:
                self._digests[key] = digest_now(source, located(source, root), root, preprocess=key[1])
            except RequestError as error:
                self._note(f"data set {key[0]} is not here to be compared: {error}")
                self._digests[key] = None
        return self._digests[key]

    def other_code(self, plan: Plan, result: Result, plain: Mapping[str, Any]) -> Iterator[str]:
        """Code or data of a record that are not those of its plan; data that are not here are taken to be those of the
        record.
        """
        parts, digest = result.code.parts, self.digest(plan)
        given = {"code.hash": Code.of(parts, {}).hash, "data.digest": parts.get(f"data {result.spec.data.key}") or None}
        yield from map(str, differences(plain, given, "the parts of its code give"))
        now = plan.code_reading(result.data.digest if digest is None else digest)
        if changed := now.changed_since(result.code):
            yield f"it is of other code than is installed (changed: {', '.join(changed)})"

    def other_rows(self, plan: Plan, plain: Mapping[str, Any], arrays: Arrays) -> Iterator[str]:
        """Stored rows, labels, counts and facts that are not those that its spec draws here.

        Of mechanisms that need a posterior the test part alone is compared: its last digits, which versions and
        processors decide, can label other rows.
        """
        key = plan.spec.data.key
        try:
            drawn = self._draw(plan)
        except PubenchError as error:
            yield f"its rows cannot be drawn here: {error}"
            return
        fitted = plan.mechanism is not None and plan.mechanism.info.needs_posterior
        for name, digest in drawn.arrays.items():
            compared = not fitted or name.startswith("test_")
            if compared and (name not in arrays or _digest(arrays[name]) != digest):
                yield f"{SCORES}: {name} are not those that its spec draws from {key}"
        yield from map(str, differences(plain, drawn.fields, f"drawn from {key} it is"))

    def _draw(self, plan: Plan) -> _Drawn:
        """Rows and labels of a plan's parts; methods and their settings decide nothing of them.

        Raises PubenchError if the data cannot be drawn from.
        """
        from pubench_core.data.dataset import data_root
        from pubench_core.engine.build import draw_split
        from pubench_core.engine.open import open_data
        from pubench_core.engine.priors import true_prior
        from pubench_core.engine.problem import parts_of

        spec = plan.spec
        key = spec.model_dump_json(include={"seed", "data", "mechanism", "validation"})
        if key not in self._drawn:
            root = data_root(spec.execution, self._say)
            opened = open_data(plan, root)
            (split, truth, _), given = draw_split(plan, opened, root), opened.data.labeled
            unlabeled = None if given is None or opened.columns is None else np.flatnonzero(~given)
            rows = rows_and_labels(split, truth.test, truth.validation, unlabeled)
            parts: Mapping[str, Any] = parts_of(split, spec.data.scheme, *truth)
            self._drawn[key] = _Drawn(
                arrays={name: _digest(array) for name, array in rows.items()},
                fields={
                    **{f"data.{part}": counts and counts.model_dump(mode="json") for part, counts in parts.items()},
                    "data.prior.true": true_prior(spec, split, truth.train),
                    "data.modality": opened.data.modality,
                    "data.shape": opened.data.shape,
                    "data.dropped": opened.data.dropped,
                    "data.encoding": None if opened.columns is None else as_plain(opened.columns),
                    "data.notes": opened.notes or None,
                },
            )
        return self._drawn[key]


def _digest(array: npt.NDArray[Any]) -> str:
    """Digest of whole numbers or truth values."""
    return hashlib.sha256(array.astype(np.int64).tobytes()).hexdigest()
