"""One record: what files, spec, code, data and scores give, compared with what it says; nothing is carried out."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pubench_report.rows.files import RUN_ID
from pubench_study.folds import folds_of, parts_of_folds, refit_of, value_over_folds
from pydantic import ValidationError

from pubench_core.data.table_reader import in_memory
from pubench_core.errors import PubenchError, RecordError, RequestError, counted, shortened
from pubench_core.metric import Knowledge, Measurer, MetricPlugin, Scored
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry
from pubench_core.plugins.replaced import refuse_replaced
from pubench_core.records.files import SCORES, TRAINING_SCORES, Arrays, read_scores
from pubench_core.records.record import Record
from pubench_core.records.scores import MEASURED, knowledge_in, measured, scores_name, scores_of, why_undefined
from pubench_core.results import NEVER, Code, CriterionResult, DataFacts, Result
from pubench_core.specs.run import TEST, run_id

from .files import MOST_LISTED, digest_within, environment_of, wrong_files
from .findings import Derived, RecordProblem, Say, close, differences

if TYPE_CHECKING:
    from pubench_core.engine.plan import Plan

#: A state that a criterion chose: its epoch, and the network's name. ``last`` is apart.
STATE = re.compile(r"epoch-(\d+)(-|$)")
#: Scores that a fold keeps of an epoch which none of its own criteria chose.
_CHECKPOINT = re.compile(r"(test|validation)_(auxiliary_.+_|scores_)epoch-\d+(-|$)")
#: Array of ``scores.npz`` that is no score -> kinds of numbers that it holds.
_INTEGERS = ("test_rows", "test_labels", "validation_rows", "validation_labels", "validation_fold", "unlabeled_rows")
_KINDS = {**dict.fromkeys(_INTEGERS, "iu"), "validation_labeled": "b"}
#: Criteria that do not read the scores: two epochs with the same scores are two choices, and one state.
_UNSCORED = ("last", "native")


class Drawn(NamedTuple):
    """Rows and labels that a spec draws from the data that are here."""

    digest: str
    """of the data; empty for a user's table"""
    arrays: Mapping[str, str]
    """digests of the arrays of rows and labels, as ``scores.npz`` has them"""
    fields: Mapping[str, Any]
    """as ``result.json`` has them"""


class RecordChecker:
    """Looks at one record after the other, and keeps what is looked up once for all.

    ``data_root``: folder of data files; ``sums``: path -> checksum, if there is a list. ``submitted``: the records are
    a submission, which may name no table.
    """

    def __init__(self, data_root: Path, sums: Mapping[str, str] | None, say: Say, *, submitted: bool = False) -> None:
        self._data_root, self._sums, self._submitted, self._say = data_root, sums, submitted, say
        self.scored = 0
        """records whose measures were derived again so far"""
        self.missing: dict[str, str] = {}
        """run id -> data of it that are not here, so that it is not checked as a whole"""
        self.notes: dict[str, None] = {}
        """what a reader must know besides the problems, each once"""
        self._draws: dict[str, Drawn] = {}
        self._refuse_replaced = cache(refuse_replaced)

    def at(self, record: Record) -> list[RecordProblem]:
        """Problems of a record."""
        plain, found = record.result.model_dump(mode="json"), list[object]()
        try:
            known = environment_of(record.folder)
        except RecordError:  # a problem that the files have
            known = None
        redrawn = known is not None and known["packages"].get("numpy") != np.__version__
        for one in self._checked(record):
            found += [one] if isinstance(one, str) else differences(plain, one.fields, one.gives, redrawn=redrawn)
        return [RecordProblem(record.result.run_id, str(one)) for one in found]

    def _checked(self, record: Record) -> Iterator[str | Derived]:
        result, folder = record.result, record.folder
        if (name := folder.resolve().name) != result.run_id:
            if RUN_ID.fullmatch(name):
                yield f"its folder is called {name}"
            else:  # a copy that somebody keeps, as `advise` does
                self.notes.setdefault(f"{result.run_id}: its folder is called {shortened(name)}; reports leave it out")
        yield from wrong_files(folder, result, self._sums)
        yield from _impossible_states(result)
        named = {*result.metrics, *result.spec.evaluation.metrics}
        metrics = installed_metrics(frozenset(named | result.criteria.keys()))
        for name in sorted(named - metrics.keys()):
            self.notes.setdefault(f"metric {shortened(name)} is not installed, so its values cannot be derived again")
        plan = drawn = None
        try:
            if (plan := self._plan(result)) is not None:
                drawn, parts = self._drawn(plan), result.code.parts
                digest = parts.get(f"data {result.spec.data.key}") or None
                given = {"code.hash": Code.of(parts, {}).hash, "data.digest": digest}
                yield Derived("the parts of its code give", given)
                # data that are not here are taken to be those of the record
                now = plan.code_reading(result.data.digest if drawn is None else drawn.digest)
                if changed := now.changed_since(result.code):
                    yield f"it is of other code than is installed (changed: {', '.join(changed)})"
                    drawn = None
            yield from _claims(metrics, plan, result)
        except (PubenchError, ValidationError) as error:
            yield f"its spec does not resolve here: {shortened(str(error), 300)}"
        if not isfile(folder / SCORES):
            return
        try:
            arrays = read_scores(folder)
            training = read_scores(folder, TRAINING_SCORES) if isfile(folder / TRAINING_SCORES) else {}
        except RecordError as error:
            yield str(error)
            return
        self.scored += 1
        yield from StoredScores(metrics, plan, result, arrays, training, Measurer(metrics)).problems()
        if plan is not None and drawn is not None:
            yield from _other_rows(plan, drawn, arrays)

    def _plan(self, result: Result) -> Plan | None:
        """Plan of a record; None, and a reason in ``missing``, if its table is not here. Raises RequestError, and
        PluginError if a plugin has replaced a function that the plan calls.
        """
        from pubench_core.engine.source_location import packages_called

        own = self._submitted and result.spec.data.own is not None
        if absent := "it is of a user table, which nobody else can check" if own else absent_table(result):
            self.missing[result.run_id] = absent
            return None
        plan = plan_here(result, self._data_root)
        self._refuse_replaced(packages_called(plan))
        return plan

    def _drawn(self, plan: Plan) -> Drawn | None:
        """What a plan's spec draws; methods and their settings decide nothing of it. None, and a reason in ``missing``,
        if its data are not here. Raises PubenchError if nothing can be drawn.
        """
        from pubench_core.data.dataset import data_root
        from pubench_core.engine.build import drawn
        from pubench_core.engine.open import open_data

        key = plan.spec.model_dump_json(include={"seed", "data", "mechanism", "checked", "validation"})
        if key not in self._draws:
            data, root = f"data set {plan.data.info.key} is not here", data_root(plan.spec.execution, self._say)
            try:
                opened = open_data(plan, root)
            except RequestError as error:
                self.notes.setdefault(f"{data} to be compared: {error}")
                self.missing[plan.run_id] = data
                return None
            draw, _ = drawn(plan, opened, root)
            facts = draw.facts().model_dump(mode="json")
            fields = {f"data.{name}": facts.get(name) for name in DataFacts.model_fields if name not in _BY_RECORD}
            arrays = {name: _digest(array) for name, array in draw.known().items()}
            self._draws[key] = Drawn(opened.digest, arrays, {**fields, "data.prior.true": draw.prior_true})
        return self._draws[key]


#: Facts of the data that the draw does not decide: the method does, and the code is compared.
_BY_RECORD = ("prior", "calibrated", "negatives", "digest")


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

    refit, calibration, scheme = refit_of(plan), calibration_of(plan), result.spec.data.scheme
    prior, train, test, by_counts = result.data.prior, result.data.train, result.data.test, dict[str, Any]()
    by_spec: dict[str, Any] = {
        "folds": [fold.run_id for fold in folds_of(plan)] or None,
        "refit": None if refit is None else refit.run_id,
        "data.calibrated": calibration[0],
    }
    labeled, estimate, known = train.labeled or 0, prior.estimate, prior.true
    if result.spec.prior == TEST:
        known = None if test is None or test.positive is None else test.positive / test.rows
    share = None if estimate is None else estimate.share
    given = prior_given(result.spec.prior, known, share, labeled, train.rows, scheme)
    if prior.given is not None and given is not None:
        (by_spec if estimate is None else by_counts)["data.prior.given"] = given
    if estimate is not None and train.unlabeled and train.unlabeled_positive is not None:
        by_counts["data.prior.estimate.true_share"] = train.unlabeled_positive / train.unlabeled
    if prior.given_unlabeled is not None and train.labeled is not None and labeled < train.rows:
        share = share_to_believe(prior.given, scheme, labeled, train.rows, result.data.checked[1], any(calibration))
        by_counts["data.prior.given_unlabeled"] = share
    yield Derived("its spec gives", by_spec)
    yield Derived("its prior and counts give", by_counts)


def _other_rows(plan: Plan, drawn: Drawn, arrays: Arrays) -> Iterator[str | Derived]:
    """Stored rows, labels, counts and facts that are not those that its spec draws here.

    Of mechanisms that need a posterior the test part alone is compared: its last digits, which versions and processors
    decide, can label other rows.
    """
    fitted, key = plan.mechanism is not None and plan.mechanism.info.needs_posterior, plan.spec.data.key
    for name, digest in drawn.arrays.items():
        compared = not fitted or name.startswith("test_")
        if compared and (name not in arrays or _digest(arrays[name]) != digest):
            yield f"{SCORES}: {name} are not those that its spec draws from {key}"
    yield Derived(f"drawn from {key} it is", drawn.fields)


def _digest(array: npt.NDArray[Any]) -> str:
    """Digest of whole numbers or truth values."""
    return hashlib.sha256(array.astype(np.int64).tobytes()).hexdigest()


# -------------------------------------------------------------------- what its scores give


@dataclass(frozen=True)
class StoredScores:
    """Stored scores of a record, and what its measures, choices and warnings are if they follow from these."""

    metrics: Mapping[str, MetricPlugin]
    """that are installed"""
    plan: Plan | None
    """of the record; None if its table is not here, which decides no measure"""
    result: Result
    arrays: Arrays
    training: Arrays
    """scores of the training part, empty if the record has none"""
    measurer: Measurer

    def problems(self) -> Iterator[str | Derived]:
        """Arrays that do not fit; fields that they do not give; choices that they contradict."""
        from pubench_core.engine.decision_warnings import warnings_of
        from pubench_core.engine.score import State

        shapes = list(self._shapes())
        yield from shapes
        if shapes:
            return
        result = self.result
        parts = [
            part for one in result.criteria.values() for by in (one.measures, one.at_prior) for part in by.values()
        ]
        for name in sorted({name for part in parts for name in part} - result.metrics.keys()):
            yield f"it has measures of {shortened(name)}, a metric that it does not name"
        names = tuple(name for name in result.metrics if name in self.metrics)
        found = measured(result, self.arrays | self.training, names, self.measurer)
        for name, criterion in result.criteria.items():
            reason = self._undefined(name, criterion)
            now: dict[str, Any] = {} if reason is None else {"undefined": reason}
            if not criterion.undefined:
                scores = scores_of(self.arrays, criterion.snapshot)
                if not scores:
                    yield f"{SCORES} has no scores of the epoch that {name} chose"
                    continue
                if name in self.metrics or name == "last":
                    now["value"] = self._value(name, criterion.snapshot) if name in self.metrics else None
                if self.plan is not None and result.code.versions == self.plan.code.versions:
                    table, prior = self.plan.data.table, result.data.prior.given
                    labeled = None if table is None else table.labeled
                    now["warnings"] = warnings_of(self.plan, State(name, scores), prior=prior, labeled=labeled)
                else:  # another version may say it in other words
                    decided = next((scores[part] > 0 for part in ("test", "unlabeled") if part in scores), np.empty(0))
                    if len(decided) and decided.all() == decided.any() and not criterion.decided_alike:
                        yield f"all rows are decided alike at the epoch that {name} chose, and it does not say so"
                yield from self._better_states(name, criterion)
            again = found[name].model_copy(update=now)
            if criterion != again:  # dumped only then: a record has 300 measures
                yield Derived("its scores give", {f"criteria.{name}": again.model_dump(mode="json")})
        if silent := [line for line in self.measurer.failed.values() if line not in result.warnings]:
            yield f"it does not say that {silent[0]}"

    @cached_property
    def _validation(self) -> Knowledge:
        return knowledge_in(self.arrays, self.result)["validation"]

    @cached_property
    def _states(self) -> list[str]:
        """Stored states that a criterion chose by its value."""
        states = {one.snapshot for one in self.result.criteria.values() if STATE.match(one.snapshot)}
        return sorted(state for state in states if scores_of(self.arrays, state))

    def _value(self, name: str, state: str) -> float | None:
        """Value of a criterion in a state; under cross-fitting, its mean over the folds."""
        scores = scores_of(self.arrays, state).get("validation")
        if scores is None:
            return None
        fold = self.arrays.get("validation_fold", np.zeros(len(scores)))
        return value_over_folds(name, scores, parts_of_folds(self._validation, fold), self.measurer)

    def _undefined(self, name: str, criterion: CriterionResult) -> str | None:
        """Reason why a criterion has no value, as the engine finds it; None if that cannot be derived."""
        if name == "last":
            why = criterion.undefined
            return why if f"{why}; the epochs before count" in self.result.warnings else ""
        labeled = self.arrays["validation_labeled"]
        if len(labeled) and name not in ("native", *self.metrics):
            return None
        reason = why_undefined(name, labeled, self._validation, self.measurer)
        if reason or not criterion.undefined or name == "native":
            return reason
        return "" if any(self._value(name, state) is not None for state in self._states) else NEVER

    def _better_states(self, name: str, criterion: CriterionResult) -> Iterator[str]:
        """Stored states that a criterion could have chosen and that have a better value: it looked at them, and they
        decide validation rows both ways.
        """
        plugin = self.metrics.get(name)
        value = None if plugin is None else self._value(name, criterion.snapshot)
        if plugin is None or value is None:
            return
        ranking = self._held_out(criterion.snapshot).ranking
        if not plugin.info.oracle and all(self._held_out(state).ranking <= ranking for state in self._states):
            return  # chosen for its ranking if the state with the best value decides every row alike
        for state in self._states:
            other, epoch = self._value(name, state), int((STATE.match(state) or [0, 0])[1])
            in_time = criterion.stopped_at is None or epoch <= criterion.stopped_at
            if other is None or close(other, value) or not in_time or self._held_out(state).alike:
                continue
            if (other > value) == plugin.info.higher_is_better:
                yield f"criterion {name} is {value:.6g} in the state that it chose, and {other:.6g} in {state}"

    def _held_out(self, state: str) -> Any:
        from pubench_core.engine.select import HeldOut

        return HeldOut.of(Scored.of(scores_of(self.arrays, state)["validation"], self._validation))

    def _shapes(self) -> Iterator[str]:
        """Arrays that do not fit each other, or the counts of the record."""
        arrays, test = self.arrays, self.result.data.test
        needed = ["validation_rows", "validation_labeled", *(["test_rows", "test_labels"] if test else [])]
        if lacking := [name for name in needed if name not in arrays]:
            yield f"{SCORES} has no {lacking[0]}"
            return
        states = {one.snapshot for one in self.result.criteria.values() if one.snapshot}
        scores = {scores_name(part, state) for part in (*MEASURED, "unlabeled") for state in states}
        for name, array in arrays.items():
            part = name.partition("_")[0]
            rows = arrays.get(f"{part}_rows", array)
            auxiliary = name.startswith("test_auxiliary_") and any(name.endswith(f"_{state}") for state in states)
            kept = self.result.spec.validation.fold is not None and _CHECKPOINT.match(name)
            if name not in _KINDS and name not in scores and not auxiliary and not kept:
                yield f"{SCORES}: {name} is of no state that a criterion chose"
            elif array.dtype.kind not in _KINDS.get(name, "f"):
                yield f"{SCORES}: {name} has numbers of the type {array.dtype}"
            if array.shape[:1] != rows.shape[:1]:
                yield f"{SCORES}: {name} has {len(array)} rows, {part}_rows has {len(rows)}"
            elif array.dtype.kind == "f" and not np.isfinite(array).all():
                yield f"{SCORES}: {name} has values that are not finite"
            elif name in ("test_labels", "validation_labels") and not np.isin(array, (0, 1)).all():
                yield f"{SCORES}: {name} has other labels than 0 and 1"
        for state in sorted(states):
            found = scores_of(arrays, state)
            if found and (missing := [part for part in MEASURED if part not in found and (test or part != "test")]):
                yield f"{SCORES} has scores of {state} and no {scores_name(missing[0], state)}"
        if test is not None:
            there, positive = len(arrays["test_rows"]), int((arrays["test_labels"] == 1).sum())
            if there != test.rows:
                yield f"{SCORES} has {there} test rows, its result {test.rows}"
            elif test.positive not in (None, positive):
                yield f"{SCORES} has {positive} positive test rows, its result {test.positive}"
