"""Whether a stored record answers a request, and what is missing where it does not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Any

import torch

from ..data.dataset import DataRoot
from ..data.store import digest_now, located
from ..data.table_reader import Say
from ..errors import Hint, Notice, RecordError, RequestError
from ..metric import Measurer
from ..plugins.registry import part
from ..records.record import OtherFormat, Record
from ..records.requirements import Requirements, lacks, unmeasured
from ..records.scores import arrays_of, measured
from ..records.store import RecordStore
from ..results import Code, Result
from .plan import Plan
from .publish import publish_answer


def covered(plan: Plan, store: RecordStore, root: DataRoot, say: Say = lambda text: None) -> Record | Plan:
    """The stored record if it answers the plan, else the plan to carry out. ``say`` is called with why."""
    stored = stored_record(plan, store)
    if stored is None:
        return plan
    if isinstance(stored, str):
        say(f"{stored}; running again, the older record is kept")
        return plan
    why_not, wider = coverage(plan, stored, _code_now(plan, root, stored, say))
    if why_not:
        say(f"{why_not}; running again, the older record is kept")
        return wider
    result = answer(plan, stored)
    here, rounding = plan.spec.execution.threads or torch.get_num_threads(), ""
    if result.device == "cpu" and result.threads != here:  # another number of threads sums in another order
        rounding = (
            f", computed with {result.threads} threads where {here} would be used now: the last digits may differ"
        )
    say(Notice(f"stored result of {result.finished_at}: same run, same code{rounding}", Hint("run again")))
    if result is not stored.result:
        try:
            publish_answer(stored, result)
        except RecordError as error:  # only the owner may change the folder; the answer does not depend on that
            say(f"measured from stored scores and not stored: {error}")
    return Record(stored.folder, result)


def _code_now(plan: Plan, root: DataRoot, stored: Record, say: Say) -> Code:
    """The code with the digest of the data as they are now; as stored where they are not here to compare."""
    source = plan.data.source
    if source is None:
        return plan.code
    try:
        files = located(source, root)
    except RequestError as error:
        say(f"the data behind the stored result are not here to compare: {error}")
        return plan.code_reading(stored.result.data.digest)
    return plan.code_reading(digest_now(source, files, root, preprocess=plan.spec.data.preprocess))


def stored_record(plan: Plan, store: RecordStore) -> Record | str | None:
    """The record of a plan's run id; a reason where it cannot be read by this version; None if there is none."""
    try:
        return store.find(plan.run_id)
    except OtherFormat as error:
        return f"the stored record is of format {error.version}, which this version of pubench does not read"


def coverage(plan: Plan, record: Record, code: Code) -> tuple[str, Plan]:
    """Why a record of the plan's run id does not answer it, empty if it does, and the plan to carry out then.

    ``code``: that would run now, data included. The plan keeps what a record of the same code has besides the request:
    no request loses what an earlier one has computed.
    """
    result, spec, stored = record.result, plan.spec, record.result.spec
    if result.code.hash != code.hash:
        changed = ", ".join(code.changed_since(result.code))
        return f"the stored result is of other code (changed: {changed})", plan
    if not (missing := list(lacks(requirements_of(plan), record))):
        return "", plan

    def both(*lists: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(chain(*lists)))

    keeps_model = spec.execution.save_model or result.model is not None
    criteria = (name for name in result.criteria if name in {*plan.metrics, "native", "last"})
    metrics = (name for name in result.metrics if name in plan.metrics)
    sections: dict[str, dict[str, Any]] = {
        "selection": {"criteria": both(spec.selection.criteria, criteria)},
        "evaluation": {
            "metrics": both(spec.evaluation.metrics, metrics),
            "trace": both(spec.evaluation.trace, stored.evaluation.trace),
        },
        "execution": {
            "artifacts": both(spec.execution.artifacts, stored.execution.artifacts),
            "save_model": keeps_model,
        },
    }
    update = {name: getattr(spec, name).model_copy(update=values) for name, values in sections.items()}
    writer = part("pubench_model_writer", "execution.save_model") if keeps_model else None
    wider = replace(plan, spec=spec.model_copy(update=update), model_writer=writer)
    return f"the stored record has {', '.join(missing)}", wider


def requirements_of(plan: Plan) -> Requirements:
    """Requirements that a record must meet to answer a plan."""
    return Requirements(
        spec=plan.spec,
        criteria={name: plan.criterion_code(name) for name in plan.spec.selection.criteria},
        metrics={name: plan.metrics[name].code for name in plan.spec.evaluation.metrics},
        own_table=plan.data.table is not None,
    )


def answer(plan: Plan, record: Record) -> Result:
    """View of a record that a plan asks for: under its criterion, with metrics that were not measured yet.

    Nothing is trained, and the record stays as it is: what is new is measured from the stored scores.
    """
    result, names = record.result, unmeasured(requirements_of(plan), record.result)
    view = (plan.spec.selection.criterion, plan.spec.decision.rule)
    if not names:
        return result.viewed(*view)
    measurer = Measurer(plan.metrics)
    criteria = measured(result, arrays_of(record.folder), names, measurer)
    parts = [measures for criterion in result.criteria.values() for measures in criterion.measures.values()]
    failures = {measures[name].undefined for measures in parts for name in names if name in measures}
    warnings = [line for line in result.warnings if line not in failures]
    return result.model_copy(
        update={
            "criteria": criteria,
            "metrics": {**result.metrics, **{name: plan.metrics[name].code for name in names}},
            "warnings": tuple(dict.fromkeys([*warnings, *measurer.failed.values()])),
        }
    ).viewed(*view)
