"""Whether a stored record answers a request, and what is missing where it does not. Imports no torch of its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ..metric import Knowledge, Measurer
from ..records.asked import Asked, lacks, unmeasured
from ..records.files import Arrays, read_scores
from ..records.measures import Measures, measures_of
from ..records.record import OtherFormat, Record
from ..records.scores import knowledge_of, scores_of
from ..records.store import RecordStore
from ..request.plan import Plan
from ..results import Code, Measure, Result


@dataclass(frozen=True)
class Coverage:
    """``record``: answers the request; None where there is none. ``reason``: why a stored one does not answer it.

    ``plan``: what to carry out then. It keeps what the stored record of the same code has beside the request, so
    that no request loses what an earlier one has computed.
    """

    record: Record | None
    reason: str
    plan: Plan


def stored_record(plan: Plan, store: RecordStore) -> Record | str | None:
    """The record of a plan's run id; a reason where it cannot be read by this version; None where there is none."""
    try:
        return store.find(plan.run_id)
    except OtherFormat as error:
        return f"the stored record is of format {error.version}, which this version of pubench does not read"


def coverage(plan: Plan, record: Record, code: Code) -> Coverage:
    """Whether a record of the plan's run id answers the plan. ``code``: that would run now, data included."""
    if record.result.code.hash != code.hash:
        changed = ", ".join(code.changed_since(record.result.code))
        return Coverage(None, f"the stored result is of other code (changed: {changed})", plan)
    missing = list(lacks(asked_of(plan), record))
    if missing:
        return Coverage(None, f"the stored record has {', '.join(missing)}", _widened(plan, record))
    return Coverage(record, "", plan)


def asked_of(plan: Plan) -> Asked:
    """What a record must have to answer a plan."""
    return Asked(
        spec=plan.spec,
        criteria={name: plan.criterion_code(name) for name in plan.spec.selection.criteria},
        metrics={name: plan.metrics[name].code for name in plan.spec.evaluation.metrics},
        own_table=plan.data.table is not None,
    )


def _widened(plan: Plan, record: Record) -> Plan:
    """The plan with what the record has beside it: criteria, metrics, artifacts, traced parts, a model."""
    spec, stored = plan.spec, record.result.spec
    known = {*plan.metrics, "native", "last"}
    criteria = dict.fromkeys([*spec.selection.criteria, *(name for name in record.result.criteria if name in known)])
    metrics = dict.fromkeys([*spec.evaluation.metrics, *(m for m in record.result.metrics if m in plan.metrics)])
    evaluation = {
        "metrics": tuple(metrics),
        "trace": tuple(dict.fromkeys([*spec.evaluation.trace, *stored.evaluation.trace])),
    }
    execution = {
        "artifacts": tuple(dict.fromkeys([*spec.execution.artifacts, *stored.execution.artifacts])),
        "save_model": spec.execution.save_model or record.result.model is not None,
    }
    return plan.with_spec(
        spec.model_copy(
            update={
                "selection": spec.selection.model_copy(update={"criteria": tuple(criteria)}),
                "evaluation": spec.evaluation.model_copy(update=evaluation),
                "execution": spec.execution.model_copy(update=execution),
            }
        )
    )


def answer(plan: Plan, record: Record) -> Result:
    """The record's result for the plan: under its criterion, with metrics that were not measured yet.

    Nothing is trained: what is new is measured from the stored scores.
    """
    result, names = record.result, unmeasured(asked_of(plan), record.result)
    selected = plan.spec.selection.criterion
    if not names:
        return result if result.selected == selected else result.model_copy(update={"selected": selected})
    arrays, measurer = read_scores(record.folder), Measurer(plan.metrics)
    knowledge = knowledge_in(arrays, result)
    criteria = {}
    for name, criterion in result.criteria.items():
        measured = measures_of(scores_of(arrays, criterion.snapshot), knowledge, names, measurer)
        kept = {part: _without(measures, names) for part, measures in criterion.measures.items()}
        criteria[name] = criterion.model_copy(update={"measures": _joined(kept, measured)})
    warnings = [line for line in result.warnings if line not in _failures(result, names)]
    return result.model_copy(
        update={
            "selected": selected,
            "criteria": criteria,
            "metrics": {**result.metrics, **{name: plan.metrics[name].code for name in names}},
            "warnings": tuple(dict.fromkeys([*warnings, *measurer.failed.values()])),
        }
    )


def knowledge_in(arrays: Arrays, result: Result) -> dict[str, Knowledge]:
    """What a record says of the rows behind its scores. Raises KeyError for arrays that are not there."""
    data, scheme = result.data, result.spec.data.scheme
    estimate, train = data.prior.estimate, data.train
    interval = estimate.prior_interval(train.labeled or 0, train.rows, scheme) if estimate else None
    return knowledge_of(arrays, prior=data.prior.given, scheme=scheme, prior_interval=interval)


def _without(measures: Mapping[str, Measure], names: Collection[str]) -> dict[str, Measure]:
    return {name: measure for name, measure in measures.items() if name not in names}


def _failures(result: Result, names: Collection[str]) -> set[str]:
    """Why these metrics had no value, as it was said."""
    parts = [measures for criterion in result.criteria.values() for measures in criterion.measures.values()]
    return {measures[name].undefined for measures in parts for name in names if name in measures}


def _joined(old: Measures, new: Measures) -> Measures:
    both = {part: {**old.get(part, {}), **new.get(part, {})} for part in {**old, **new}}
    return {part: measures for part, measures in both.items() if measures}
