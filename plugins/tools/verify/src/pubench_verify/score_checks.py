"""The measures of a record, against those that its stored scores give."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from pubench_study.folds import parts_of_folds, value_over_folds

from pubench_core.errors import shortened
from pubench_core.metric import Knowledge, Measurer, MetricPlugin, Scored
from pubench_core.records.files import SCORES, Arrays
from pubench_core.records.scores import MEASURED, scores_name, scores_of
from pubench_core.results import NEVER, CriterionResult, Result, said_alike

from .difference import close, differences

if TYPE_CHECKING:
    from pubench_core.engine.plan import Plan

#: A state that a criterion chose: its epoch, and the network's name. ``last`` is apart.
STATE = re.compile(r"epoch-(\d+)(-|$)")
#: Scores that a fold keeps of an epoch which none of its own criteria chose.
_CHECKPOINT = re.compile(r"(test|validation)_(auxiliary_.+_|scores_)epoch-\d+(-|$)")
#: Array of ``scores.npz`` that is no score -> kinds of numbers that it holds.
_KINDS = {
    "test_rows": "iu",
    "test_labels": "iu",
    "validation_rows": "iu",
    "validation_labeled": "b",
    "validation_labels": "iu",
    "validation_fold": "iu",
    "unlabeled_rows": "iu",
}


def other_measures(
    metrics: Mapping[str, MetricPlugin], plan: Plan | None, result: Result, arrays: Arrays, training: Arrays
) -> Iterator[str]:
    """Arrays that do not fit; measures, values of criteria and warnings of a record that they do not give.

    ``metrics``: that are installed. ``plan``: of the record; None if its table is not here, which decides no measure.
    ``training``: scores of the training part, empty if the record has none.
    """
    from pubench_core.engine.coverage import recomputed

    shapes = list(_shapes(result, arrays))
    yield from shapes
    if shapes:
        return
    parts = [part for one in result.criteria.values() for by in (one.measures, one.at_prior) for part in by.values()]
    for name in sorted({name for part in parts for name in part} - result.metrics.keys()):
        yield f"it has measures of {shortened(name)}, a metric that it does not name"
    measurer = Measurer(metrics)
    names = tuple(name for name in result.metrics if name in metrics)
    found = recomputed(result, arrays | training, names, measurer)
    derived = _Choices(metrics, result, arrays, measurer, {one.snapshot: one for one in found.values() if one.snapshot})
    for name, criterion in result.criteria.items():
        reason = derived.undefined(name, criterion)
        now: dict[str, Any] = {} if reason is None else {"undefined": reason}
        if not criterion.undefined:
            if not scores_of(arrays, criterion.snapshot):
                yield f"{SCORES} has no scores of the epoch that {name} chose"
                continue
            if name in metrics or name == "last":
                now["value"] = derived.value(name, criterion.snapshot) if name in metrics else None
            if plan is not None and result.code.versions == plan.code.versions:
                now["warnings"] = _warnings(plan, result, name, scores_of(arrays, criterion.snapshot))
        again = found[name].model_copy(update=now)
        if criterion != again:  # dumped only then: a record has 300 measures
            before, after = (one.model_dump(mode="json") for one in (criterion, again))
            given = {f"criteria.{name}.{field}": after.get(field) for field in before | after}
            yield from map(str, differences({"criteria": {name: before}}, given, "its scores give"))
        if not criterion.undefined:
            if "warnings" not in now:  # another version may say it in other words
                yield from derived.unsaid(name, criterion)
            yield from derived.better_states(name, criterion)
    if silent := [line for line in measurer.failed.values() if line not in result.warnings]:
        yield f"it does not say that {silent[0]}"


def _warnings(plan: Plan, result: Result, name: str, scores: Mapping[str, Any]) -> tuple[str, ...]:
    from pubench_core.engine.decision_warnings import warnings_of
    from pubench_core.engine.score import State

    labeled = None if plan.data.table is None else plan.data.table.labeled
    return warnings_of(plan, State(name, dict(scores)), prior=result.data.prior.given, labeled=labeled)


@dataclass(frozen=True)
class _Choices:
    """Choices of criteria among the stored states. ``states``: state -> a criterion that chose it."""

    metrics: Mapping[str, MetricPlugin]
    result: Result
    arrays: Arrays
    measurer: Measurer
    states: Mapping[str, CriterionResult]

    @cached_property
    def validation(self) -> Knowledge:
        """Knowledge of the validation rows."""
        from pubench_core.engine.coverage import knowledge_in

        return knowledge_in(self.arrays, self.result)["validation"]

    def undefined(self, name: str, criterion: CriterionResult) -> str | None:
        """Reason why a criterion has no value, as the engine finds it; None if that cannot be derived."""
        if name == "last":
            why = criterion.undefined
            return why if f"{why}; the epochs before count" in self.result.warnings else ""
        if not len(self.arrays["validation_rows"]):
            return "there is no validation part"
        if name == "native":
            return "" if self.arrays["validation_labeled"].any() else "no labeled validation positive"
        if name not in self.metrics:
            return None
        constant = np.zeros(len(self.arrays["validation_rows"]))
        reason = self.measurer.measure(name, Scored.of(constant, self.validation)).undefined
        if reason or not criterion.undefined:
            return reason
        return "" if any(self.value(name, state) is not None for state in self._selectable) else NEVER

    @cached_property
    def _selectable(self) -> list[str]:
        """States that a criterion chose by its value."""
        return [state for state in self.states if STATE.match(state) and scores_of(self.arrays, state)]

    def value(self, name: str, state: str) -> float | None:
        """Value of a criterion in a state."""
        measured = self.states[state].measures.get("validation", {})
        if name in measured and "validation_fold" not in self.arrays:
            return measured[name].value
        scores = scores_of(self.arrays, state).get("validation")
        if scores is None:
            return None
        if "validation_fold" in self.arrays:
            parts = parts_of_folds(self.validation, self.arrays["validation_fold"])
            return value_over_folds(name, scores, parts, self.measurer)
        return self.measurer.measure(name, Scored.of(scores, self.validation)).value

    def unsaid(self, name: str, criterion: CriterionResult) -> Iterator[str]:
        """The warning of decisions that are all alike, if the record does not have it."""
        scores = scores_of(self.arrays, criterion.snapshot)
        part = next((part for part in ("test", "unlabeled") if len(scores.get(part, ()))), None)
        if part is None:
            return
        positive = scores[part] > 0
        begins = said_alike(part, positive=bool(positive.any()), rows=len(positive))
        one_sided = positive.all() or not positive.any()
        if one_sided and not any(text.startswith(begins) for text in criterion.warnings):
            yield f"{begins} at the epoch that {name} chose, and it does not say so"

    def better_states(self, name: str, criterion: CriterionResult) -> Iterator[str]:
        """Stored states that a criterion could have chosen and that have a better value: it looked at them, and they
        decide validation rows both ways.
        """
        plugin = self.metrics.get(name)
        value = None if plugin is None else self.value(name, criterion.snapshot)
        if plugin is None or value is None:
            return
        if not plugin.info.oracle and self._ranks_best(criterion.snapshot):
            return  # chosen for its ranking if the state with the best value decides every row alike
        for state in self._selectable:
            other, epoch = self.value(name, state), int((STATE.match(state) or [0, 0])[1])
            positive = scores_of(self.arrays, state)["validation"] > 0
            in_time = criterion.stopped_at is None or epoch <= criterion.stopped_at
            if other is None or close(other, value) or not in_time or positive.all() or not positive.any():
                continue
            if (other > value) == plugin.info.higher_is_better:
                yield f"criterion {name} is {value:.6g} in the state that it chose, and {other:.6g} in {state}"

    def _ranks_best(self, chosen: str) -> bool:
        """Whether no stored state that could be chosen ranks the validation rows better than this one."""
        from pubench_core.engine.select import HeldOut

        ranking = {
            state: HeldOut.of(Scored.of(scores_of(self.arrays, state)["validation"], self.validation)).ranking
            for state in {*self._selectable, chosen}
        }
        return ranking[chosen] >= max(ranking.values())


def _shapes(result: Result, arrays: Arrays) -> Iterator[str]:
    """Arrays that do not fit each other, or the counts of the record."""
    test = result.data.test
    needed = ["validation_rows", "validation_labeled", *(["test_rows", "test_labels"] if test else [])]
    if lacking := [name for name in needed if name not in arrays]:
        yield f"{SCORES} has no {lacking[0]}"
        return
    states = {one.snapshot for one in result.criteria.values() if one.snapshot}
    scores = {scores_name(part, state) for part in (*MEASURED, "unlabeled") for state in states}
    for name, array in arrays.items():
        part = name.partition("_")[0]
        rows = arrays.get(f"{part}_rows", array)
        auxiliary = name.startswith("test_auxiliary_") and any(name.endswith(f"_{state}") for state in states)
        kept = result.spec.validation.fold is not None and _CHECKPOINT.match(name)
        if name not in _KINDS and name not in scores and not auxiliary and not kept:
            yield f"{SCORES}: {name} is of no state that a criterion chose"
        elif array.dtype.kind not in _KINDS.get(name, "f"):
            yield f"{SCORES}: {name} has numbers of the type {array.dtype}"
        if array.shape[:1] != rows.shape[:1]:
            yield f"{SCORES}: {name} has {array.shape[0] if array.ndim else 0} rows, {part}_rows has {len(rows)}"
        elif array.dtype.kind == "f" and not np.isfinite(array).all():
            yield f"{SCORES}: {name} has values that are not finite"
        elif name in ("test_labels", "validation_labels") and not np.isin(array, (0, 1)).all():
            yield f"{SCORES}: {name} has other labels than 0 and 1"
    for state in sorted(states):
        found = scores_of(arrays, state)
        if found and (missing := [part for part in ("validation", *(["test"] if test else [])) if part not in found]):
            yield f"{SCORES} has scores of {state} and no {scores_name(missing[0], state)}"
    if test is not None:
        there, positive = len(arrays["test_rows"]), int((arrays["test_labels"] == 1).sum())
        if there != test.rows:
            yield f"{SCORES} has {there} test rows, its result {test.rows}"
        elif test.positive not in (None, positive):
            yield f"{SCORES} has {positive} positive test rows, its result {test.positive}"
