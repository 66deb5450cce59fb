"""One planned run, carried out wherever it was sent to: what goes there, and what comes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pubench_core.errors import Cause, PubenchError, RecordError, RequestError, RunFailed, RunTaken
from pubench_core.plugins.events import EpochFinished
from pubench_core.plugins.registry import Registry, registry
from pubench_core.results import Result

from .measure_names import shown_first

if TYPE_CHECKING:
    from pubench_core.engine.plan import Plan

#: ``finished``: trained and stored. ``found``: a stored record answered it, measured again where that was needed.
#: ``taken``: another process carries it out. ``unstored``: trained, and its record could not be written.
#: ``stopped``: given up by who watches it, with nothing recorded.
Status = Literal["finished", "found", "failed", "refused", "taken", "unstored", "died", "stopped"]
#: Those of runs whose failure was recorded.
NO_RESULT: tuple[Status, ...] = ("failed", "refused", "died")
#: Seconds between two reports of one run's progress.
_OFTEN = 0.5


class Watch(Protocol):
    """Listener of a run that may give it up, by :class:`GivenUp`. It is sent to the process that trains."""

    def pubench_epoch_finished(self, event: EpochFinished) -> None:
        """Implements the lifecycle hook."""


class GivenUp(KeyboardInterrupt):
    """Ends a run as an interrupt does: whatever carries it out lets this pass, and nothing unfinished is recorded."""


@dataclass(frozen=True)
class RunTask:
    """``spec``: the planned one, as plain data; ``execution``: what of its section is to be otherwise here.

    ``at_once``: how many runs share the machine, at most. ``watch``: who may give it up.
    """

    run_id: str
    spec: Mapping[str, Any]
    execution: Mapping[str, Any]
    at_once: int
    watch: Watch | None = None

    @property
    def timeout(self) -> float | None:
        """Seconds after which the run is ended."""
        given: float | None = {**self.spec.get("execution", {}), **self.execution}.get("timeout")
        return given


@dataclass(frozen=True)
class Progressed:
    """An epoch of a run is over. ``epoch`` counts from 1 in its stage, which has ``of`` epochs."""

    run_id: str
    stage: str
    epoch: int
    of: int


@dataclass(frozen=True)
class Ended:
    """Outcome of a run.

    ``text``: why it has no result, or what is to be known of one. ``seconds``: of its result; ``headline``: its first
    measure and the criterion that chose it.
    """

    run_id: str
    status: Status
    text: str = ""
    cause: Cause | None = None
    seconds: float | None = None
    headline: str = ""


def plan_of(task: RunTask, plugins: Registry | None = None) -> Plan:
    """The plan of a task. Raises RequestError if the plugins, by default the installed ones, resolve another run."""
    from pubench_core.engine.layers import Layer
    from pubench_core.engine.resolve import resolve  # torch, which nothing else here needs

    execution = {**task.spec.get("execution", {}), **task.execution}
    plan = resolve([Layer({**task.spec, "execution": execution})], plugins or registry())
    if plan.run_id != task.run_id:
        raise RequestError(f"run {task.run_id} of the plan now resolves to {plan.run_id}: other plugins are installed")
    return plan


def ended_with(result: Result, status: Status, text: str = "") -> Ended:
    """Message about a result."""
    if "accuracy" in result.test:
        first = shown_first("accuracy", result.test, result.decision)
        value = result.test[first]
    else:
        first, measure = "pa", result.chosen.measured("validation").get("pa")
        value = None if measure is None else measure.value
    headline = f"{'done' if value is None else f'{first} {value:.4f}'} by {result.selected}"
    return Ended(result.run_id, status, text, seconds=result.seconds.total, headline=headline)


def ended_by(run_id: str, error: PubenchError) -> Ended:
    """Message about a run without a stored result."""
    if isinstance(error, RunTaken):
        return Ended(run_id, "taken", str(error))
    if isinstance(error, RunFailed):
        return Ended(run_id, "failed", str(error), error.cause)
    if isinstance(error, RequestError):
        return Ended(run_id, "refused", str(error), "refused")
    if isinstance(error, RecordError):
        return Ended(run_id, "unstored", str(error))
    return Ended(run_id, "failed", str(error), "error")


def carry_out(task: RunTask, report: Callable[[Progressed], None]) -> Ended:
    """Trains and stores a planned run, or finds its record; ``report`` is called as it goes on."""
    from pubench_core.engine.execute import execute

    try:
        plan = plan_of(task)
        outcome = execute(plan, display=Reporter(task.run_id, report, task.watch), wait=False, at_once=task.at_once)
    except GivenUp as stop:
        return Ended(task.run_id, "stopped", str(stop))
    except PubenchError as error:
        return ended_by(task.run_id, error)
    return ended_with(outcome.result, "found" if outcome.reused else "finished")


class Reporter:
    """Display of a run that reports its progress every now and then."""

    def __init__(self, run_id: str, report: Callable[[Progressed], None], watch: Watch | None = None) -> None:
        self._run_id, self._report, self._last, self._watch = run_id, report, 0.0, watch

    def pubench_epoch_finished(self, event: EpochFinished) -> None:
        """Implements the lifecycle hook."""
        if time.monotonic() - self._last > _OFTEN:
            self._last = time.monotonic()
            self._report(Progressed(self._run_id, event.stage, event.in_stage, event.stage_epochs))
        if self._watch is not None:
            self._watch.pubench_epoch_finished(event)


@dataclass(frozen=True)
class Orders:
    """Where and how the runs of a study are carried out; the fields are those of a run's section ``execution``."""

    results: Path
    data_root: Path | None = None
    encoder: Path | None = None
    offline: bool = False
    threads: int = 1
    timeout: float | None = None

    def execution(self, device: str) -> dict[str, Any]:
        """The section, for a worker with this device, whose current folder may be another."""
        places = {"results": self.results, "data_root": self.data_root, "encoder": self.encoder}
        return {
            **{name: None if place is None else str(place.absolute()) for name, place in places.items()},
            "offline": self.offline,
            "threads": self.threads,
            "device": device,
            "tracking": False,
            **({} if self.timeout is None else {"timeout": self.timeout}),
        }
