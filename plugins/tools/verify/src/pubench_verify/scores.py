"""Measures, choices and warnings of a record, next to what its stored scores give."""

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
from pubench_core.records.scores import MEASURED, knowledge_in, measured, scores_name, scores_of, why_undefined
from pubench_core.results import NEVER, CriterionResult, Result

from .findings import Derived, close

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
        found = measured(result, self.arrays | self.training, names, self._measurer)
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
                before, after = (one.model_dump(mode="json") for one in (criterion, again))
                given = {f"criteria.{name}.{field}": after.get(field) for field in before | after}
                yield Derived("its scores give", given, {"criteria": {name: before}})
        if silent := [line for line in self._measurer.failed.values() if line not in result.warnings]:
            yield f"it does not say that {silent[0]}"

    @cached_property
    def _measurer(self) -> Measurer:
        return Measurer(self.metrics)

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
        return value_over_folds(name, scores, parts_of_folds(self._validation, fold), self._measurer)

    def _undefined(self, name: str, criterion: CriterionResult) -> str | None:
        """Reason why a criterion has no value, as the engine finds it; None if that cannot be derived."""
        if name == "last":
            why = criterion.undefined
            return why if f"{why}; the epochs before count" in self.result.warnings else ""
        labeled = self.arrays["validation_labeled"]
        if len(labeled) and name not in ("native", *self.metrics):
            return None
        reason = why_undefined(name, labeled, self._validation, self._measurer)
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
        if not plugin.info.oracle and self._ranks_best(criterion.snapshot):
            return  # chosen for its ranking if the state with the best value decides every row alike
        for state in self._states:
            other, epoch = self._value(name, state), int((STATE.match(state) or [0, 0])[1])
            in_time = criterion.stopped_at is None or epoch <= criterion.stopped_at
            if other is None or close(other, value) or not in_time or self._held_out(state).alike:
                continue
            if (other > value) == plugin.info.higher_is_better:
                yield f"criterion {name} is {value:.6g} in the state that it chose, and {other:.6g} in {state}"

    def _ranks_best(self, chosen: str) -> bool:
        """Whether no stored state that could be chosen ranks the validation rows better than this one."""
        ranking = self._held_out(chosen).ranking
        return all(self._held_out(state).ranking <= ranking for state in self._states)

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
