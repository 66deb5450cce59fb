"""Carrying out one run, in three parts: what a stored record covers, computing the rest, publishing it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch

from ..data.dataset import DataRoot, Progress, silent
from ..data.roots import data_root
from ..data.store import digest_now, located
from ..engine.building import open_data
from ..errors import Hint, Notice, RecordError, RequestError, RunFailed
from ..plugins.events import RunFinished
from ..plugins.listeners import Listeners
from ..records.files import FAILURE
from ..records.store import Record, RecordStore
from ..request.plan import Plan
from ..results import Code, Result
from .compute import Audience, choose_device, compute
from .coverage import answer, coverage, stored_record
from .publish import failure_of, publish, publish_answer

Say = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """``result``: as recorded in ``folder``; ``reused``: nothing was trained for it."""

    result: Result
    folder: Path
    reused: bool


def execute(
    plan: Plan,
    *,
    listeners: Iterable[Any] = (),
    display: Any = None,
    force: bool = False,
    say: Say = lambda text: None,
    progress: Progress = silent,
) -> Outcome:
    """Carries out a plan, or returns its stored result if that answers it; ``say`` is called with which and why.

    ``listeners``: objects with any of the lifecycle hooks as attributes; no others are called. While the run trains,
    they get nothing that needs true labels. ``display``: one such object of the caller's own that gets everything at
    once, to show it to a person.

    Raises RequestError if the request cannot be met (with a record, once the data were opened), RunFailed (with a
    record) if training fails, RecordError if the result cannot be stored; that error carries the result.
    """
    store = RecordStore(plan.spec.execution.results)
    root = data_root(plan.spec.execution, say, progress=progress)
    if not force:
        found = _covered(plan, store, root, say)
        if isinstance(found, Outcome):
            return found
        plan = found
    store.check_writable()
    device = choose_device(plan)
    audience = Audience(Listeners(listeners), Listeners([] if display is None else [display]))
    try:
        opened = open_data(plan, root)
    except RequestError:  # the files are not here, or not as they were: nothing about this run is known
        raise
    # Whatever a loader raises ends this run and nothing else: it is recorded, with its traceback, and reported.
    except Exception as error:
        raise _recorded(plan, plan.code, error, device, store, audience) from error
    code = plan.code_reading(opened.digest)
    try:
        done = compute(plan, opened, root, device, audience)
    except RequestError as error:  # what this split cannot meet: recorded as refused
        _recorded(plan, code, error, device, store, audience)
        raise
    # So is whatever a mechanism, an estimator or a method raises.
    except Exception as error:
        raise _recorded(plan, code, error, device, store, audience) from error
    record = publish(store, done)
    _finished(audience, RunFinished(plan.run_id, "finished", record.folder, done.result))
    return Outcome(done.result, record.folder, reused=False)


def _covered(plan: Plan, store: RecordStore, root: DataRoot, say: Say) -> Outcome | Plan:
    """The stored result where it answers the plan, else the plan to carry out."""
    stored = stored_record(plan, store)
    if stored is None:
        return plan
    if isinstance(stored, str):
        say(f"{stored}; running again, the older record is kept")
        return plan
    found = coverage(plan, stored, _code_now(plan, root, stored, say))
    if found.record is None:
        say(f"{found.reason}; running again, the older record is kept")
        return found.plan
    result = answer(plan, found.record)
    say(Notice(f"stored result of {result.finished_at}: same run, same code", Hint("run again")))
    if result is not found.record.result:
        try:
            publish_answer(store, found.record, result)
        except RecordError as error:  # a folder that only the owner may change: the answer is right all the same
            say(f"measured from stored scores and not stored: {error}")
    return Outcome(result, found.record.folder, reused=True)


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


def _finished(audience: Audience, event: RunFinished) -> None:
    """The run is over: everybody gets everything."""
    event = replace(event, epochs=tuple(audience.epochs))
    for listeners in (audience.display, audience.listeners):
        listeners.notify("pubench_run_finished", event)


def _recorded(
    plan: Plan, code: Code, error: Exception, device: torch.device, store: RecordStore, audience: Audience
) -> RunFailed:
    """Records a failure or refusal, calls the listeners, and gives the error that names the record."""
    failure = failure_of(plan, code, error, device)
    folder = store.write_failure(failure)
    status: Literal["refused", "failed"] = "refused" if failure.cause == "refused" else "failed"
    _finished(audience, RunFinished(plan.run_id, status, folder, failure=failure))
    return RunFailed(
        f"{failure.reason}; failure record {folder / FAILURE}",
        cause=failure.cause,
        stage=failure.stage,
        epoch=failure.epoch,
        batch=failure.batch,
    )
