"""One run, carried out: a stored record that answers it, or open, build, train, score, select, publish."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import torch

from ..data.dataset import DataRoot, Progress, data_root, silent
from ..data.table_reader import Say
from ..errors import OutOfTime, RecordError, RequestError, RunFailed
from ..plugins.events import Listeners, RunFinished
from ..plugins.replaced import refuse_replaced
from ..records.files import FAILURE
from ..records.record import Record
from ..records.store import RecordStore
from ..results import Environment, Failure, RunResult
from .compute import Audience, compute, left_unchanged
from .coverage import covered
from .finish import Finished
from .interrupts import Deferred, ending_after
from .machine import captured, choose_device
from .open import OpenedData, open_data
from .plan import Plan
from .publish import failure_of, publish
from .source_location import packages_called, packages_of, raised_at


def execute(
    plan: Plan,
    *,
    listeners: Iterable[Any] = (),
    display: Any = None,
    force: bool = False,
    say: Say = lambda text: None,
    progress: Progress = silent,
    stored: Callable[[RunResult], None] = lambda outcome: None,
    wait: bool = True,
    at_once: int | None = None,
) -> RunResult:
    """Carries out a plan, or returns its stored result if that answers it; ``say`` is called with which and why.

    ``listeners``: objects with any of the lifecycle hooks as attributes; no others are called. While the run trains,
    they get nothing that needs true labels. ``display``: one such object of the caller's own that gets everything at
    once, to show it to a person. ``stored`` is called as soon as there is a record, before any listener hears of it:
    what a listener does may take long.

    A run that another process carries out is waited for, and its result returned; unless ``wait``, RunTaken is raised.
    Once training is over, an interrupt counts when the record is there. ``at_once``: how many runs share the machine,
    where that is known; recorded.

    Raises RequestError if the request cannot be met (with a record, once the data were opened), RunFailed (with a
    record) if training fails, RecordError if the result cannot be stored; that error carries the result. PluginError if
    a plugin has replaced a function of another one: the hash of its code would be that of a function not called.
    """
    refuse_replaced(packages_called(plan))
    listeners = tuple(listeners)
    store = RecordStore(plan.spec.execution.results)
    root = data_root(plan.spec.execution, say, progress=progress)
    seen, found = store.stamp(plan.run_id), plan if force else covered(plan, store, root, say)
    if isinstance(found, Record):
        stored(answered := RunResult(found.result, found.folder, reused=True))
        return answered
    store.check_writable(plan.run_id)
    audience = Audience(Listeners(listeners), Listeners([] if display is None else [display]))
    device = choose_device(found)
    carried_out_by = plan.joined_by or Work
    work = carried_out_by(store, root, device, captured(found, device), audience, say)
    carry_out = partial(
        execute, listeners=listeners, display=display, force=force, say=say, progress=progress, at_once=at_once
    )
    parts = work.prepare(found, carry_out)
    with Deferred() as interrupts, store.claim(plan.run_id, say, wait=wait or bool(parts)):
        if not force and store.stamp(plan.run_id) != seen:  # another process has just carried it out
            found = covered(found, store, root, say)
        reused = isinstance(found, Record)
        if isinstance(found, Plan):
            found = publish(store, work.finish(found, parts, interrupts.start, at_once))
        outcome = RunResult(found.result, found.folder, reused)
        stored(outcome)
    if not reused:
        audience.finished(RunFinished(plan.run_id, "finished", outcome.folder, outcome.result))
    return outcome


@dataclass(frozen=True)
class Failed:
    """A run without a result: its failure, to be recorded, and the error behind it."""

    failure: Failure
    error: Exception


@dataclass(frozen=True)
class Work:
    """All that a run needs, made before anything is trained, and the two steps that train.

    A run that joins folds is the work of a subclass (``Plan.joined_by``).
    """

    store: RecordStore
    root: DataRoot
    device: torch.device
    environment: Environment
    audience: Audience
    say: Say

    def prepare(self, plan: Plan, carry_out: Callable[[Plan], RunResult]) -> list[Any]:
        """Carries out the runs that this one joins, before it is claimed; :meth:`finish` takes them as ``parts``."""
        return []

    def finish(self, plan: Plan, parts: list[Any], ended: Callable[[], None], at_once: int | None) -> Finished:
        """Result of a run. Raises RequestError or RunFailed when a refusal or failure has been recorded."""
        at_first = self.store.in_work()
        done = attempt(plan, self.root, self.device, self.environment, self.audience, ended, self.say)
        if isinstance(done, Failed):
            raised = self.recorded(plan, done)
            if isinstance(done.error, RequestError):
                raise done.error
            raise raised from done.error
        if at_once is None:
            return done
        most = max(at_once, at_first, self.store.in_work())  # others may work in this folder
        return replace(done, result=done.result.model_copy(update={"at_once": most}))

    def recorded(self, plan: Plan, failed: Failed) -> RunFailed:
        """Records a failure or refusal, calls the listeners, and gives the error that names the record.

        One that cannot be recorded is raised all the same, with both reasons.
        """
        failure = failed.failure
        status: Literal["refused", "failed"] = "refused" if failure.cause == "refused" else "failed"
        try:
            folder = self.store.write_failure(failure)
            where = f"failure record {folder / FAILURE}"
        except RecordError as unwritten:
            folder, where = self.store.root, str(unwritten)
        self.audience.finished(RunFinished(plan.run_id, status, folder, failure=failure))
        line = raised_at(failed.error, packages_of(plan))
        return RunFailed(
            f"{failure.reason}{f' ({line})' if line else ''}; {where}",
            cause=failure.cause,
            stage=failure.stage,
            epoch=failure.epoch,
            step=failure.step,
        )


def attempt(
    plan: Plan,
    root: DataRoot,
    device: torch.device,
    environment: Environment,
    audience: Audience,
    ended: Callable[[], None] = lambda: None,
    say: Say = lambda text: None,
) -> Finished | Failed:
    """Outcome of a run, or why it failed; nothing is stored. ``ended`` is called when training is over.

    Raises RequestError where the files are not here, or not as they were: then nothing about this run is known.
    """
    opened: OpenedData | None = None
    try:
        with left_unchanged(plan, say):
            opened = open_data(plan, root)
        with ending_after(plan.spec.execution.timeout):
            return compute(plan, opened, root, device, audience, ended, say)
    except OutOfTime as over:  # outside of training, whose place is known
        error: Exception = RunFailed(str(over), cause="timeout")
    # Whatever a loader, a mechanism, an estimator or a method raises, and what this split cannot meet, ends this run
    # and nothing else: it is recorded, with its traceback, and reported.
    except Exception as raised:
        if opened is None and isinstance(raised, RequestError):
            raise
        error = raised
    return Failed(failure_of(plan, plan.code if opened is None else opened.code, error, environment), error)
