"""Carrying a plan out: which run goes to a worker next, and what is kept of what comes back."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Protocol

from pubench_core.errors import RecordError
from pubench_core.records.store import RecordStore, failures_in
from pubench_core.results import Environment, Failure

from .code_cache import InstalledCode
from .plan import PlannedRun
from .state import Digests, Expected, RunState, by_length, state_of
from .task import Bar, Ended, Progressed, RunTask

#: Seconds between two looks at a run that somebody else carries out.
_POLL = 1.0


class Pool(Protocol):
    """Where runs are carried out."""

    #: What they run on; None before it is known.
    environment: Environment | None

    @property
    def size(self) -> int:
        """How many runs can be in work at once."""

    @property
    def room(self) -> int:
        """How many more tasks can be taken now."""

    @property
    def in_work(self) -> list[RunTask]:
        """Tasks that were taken and have not ended."""

    def submit(self, task: RunTask) -> None:
        """Takes a task."""

    def events(self, timeout: float) -> list[Ended | Progressed]:
        """Events of runs since the last call; waits up to ``timeout`` seconds for the first."""

    def fewer(self, run_id: str) -> bool:
        """Reduces the number of runs on the device that ran out of memory; False if it is one already."""

    def close(self, *, abandon: bool = False) -> None:
        """Ends all workers; what is in work is given up if ``abandon``."""


class Stop:
    """Ctrl-C and SIGTERM while a study runs: the first starts no more runs, another gives up those in work."""

    def __init__(self, heard: Callable[[str], None] = lambda said: None) -> None:
        """``heard`` is called, with what happens now, when no more runs are started."""
        self.starting = False
        self.everything = False
        self.signal: int | None = None
        self._heard = heard

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        if self.starting or number == signal.SIGTERM:
            self.everything = True
        if not self.starting:
            self.starting = True
            if self.everything:
                self._heard("no more runs are started, and those in work are given up")
            else:
                self._heard("no more runs are started; those in work are waited for (Ctrl-C again gives them up)")

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Inside this block, the signals are heard here. Only the main thread may enter it."""
        before = {number: signal.signal(number, self._hear) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@dataclass
class Summary:
    """Outcome of the runs that a call had to carry out. ``left``: not started, or given up."""

    finished: list[Ended] = field(default_factory=list)
    found: list[Ended] = field(default_factory=list)
    stopped: list[PlannedRun] = field(default_factory=list)
    failed: list[tuple[PlannedRun, str]] = field(default_factory=list)
    unstored: list[tuple[PlannedRun, str]] = field(default_factory=list)
    left: list[PlannedRun] = field(default_factory=list)
    why_left: str = ""


class StudyAudience(Protocol):
    """Who hears how a study goes on."""

    def started(self, run: PlannedRun) -> None:
        """A run was given to a worker."""

    def progressed(self, run: PlannedRun, event: Progressed) -> None:
        """An epoch of it is over."""

    def ended(self, run: PlannedRun, event: Ended, expected_left: float | None) -> None:
        """It is over; ``expected_left``: seconds until all are, where that can be said."""

    def waiting(self, runs: Sequence[PlannedRun]) -> None:
        """Nothing is left to start; others carry these out."""


class RunSource(Protocol):
    """Runs that are decided on while others are carried out, one when there is room for it."""

    @property
    def over(self) -> bool:
        """Whether no more will come."""

    def following(self) -> PlannedRun | None:
        """The next; None where none is to be started before something in work has ended."""

    def bar(self, run: PlannedRun) -> Bar | None:
        """Below which it is to be given up."""


@dataclass
class Study:
    """Study that :func:`conduct` carries out. ``max_seconds``: no run is started after them.

    ``source``: where runs come from when those that are known have been started.
    """

    store: RecordStore
    code: InstalledCode
    digests: Digests
    expected: Expected
    pool: Pool
    audience: StudyAudience
    max_seconds: float | None = None
    source: RunSource | None = None


def conduct(study: Study, states: Sequence[RunState], stop: Stop) -> Summary:
    """Carries out the runs of these states, each once, and records what died. Whatever happens, workers are ended.

    A record that cannot be read is put aside, and its run carried out. Raises RecordError if that cannot be done, and
    if workers cannot be started.
    """
    try:
        for state in states:
            if state.unreadable:
                study.store.set_aside(state.run.run_id)
        return _Conductor(study, states, stop).conduct()
    finally:
        study.pool.close(abandon=bool(study.pool.in_work))


class _Conductor:
    def __init__(self, study: Study, states: Sequence[RunState], stop: Stop) -> None:
        self._study, self._stop = study, stop
        self._runs = {state.run.run_id: state.run for state in states}
        self._queue = by_length([state.run for state in states], study.expected)
        self._elsewhere: dict[str, float] = {}
        self._retried: set[str] = set()
        self._summary = Summary()
        self._started = time.monotonic()

    def conduct(self) -> Summary:
        study, pool = self._study, self._study.pool
        while self._queue or pool.in_work or self._elsewhere or self._more():
            if self._stop.everything or (self._stop.starting and not pool.in_work):
                self._give_up("interrupted")
                break
            if self._summary.unstored and not pool.in_work:
                self._give_up("a record could not be written")
                break
            if not (self._stop.starting or self._summary.unstored):
                self._submit()
                if self._out_of_time():
                    self._give_up("the time is over")
                    break
            if self._elsewhere:
                self._look_elsewhere()
            for event in pool.events(0.2):
                run = self._runs[event.run_id]
                if isinstance(event, Progressed):
                    study.audience.progressed(run, event)
                else:
                    self._ended(run, event)
        return self._summary

    def _more(self) -> bool:
        return self._study.source is not None and not self._study.source.over

    def _drawn(self) -> None:
        """A run from the source, where none is left to start."""
        source = self._study.source
        if source is None or self._queue or not self._in_time(None):
            return
        run = source.following()
        if run is not None:
            self._runs[run.run_id] = run
            self._queue.append(run)

    def _submit(self) -> None:
        """Longest first; as many as there is room for and time left."""
        pool, source = self._study.pool, self._study.source
        while pool.room > 0:
            self._drawn()
            if not self._queue:
                return
            place = next((k for k, run in enumerate(self._queue) if self._in_time(run)), None)
            if place is None:
                return
            run = self._queue.pop(place)
            at_once = pool.size if source is not None else min(pool.size, len(pool.in_work) + 1 + len(self._queue))
            bar = source.bar(run) if source is not None else None
            pool.submit(RunTask(run.run_id, run.resolved, {}, at_once, bar))
            self._study.audience.started(run)

    def _in_time(self, run: PlannedRun | None) -> bool:
        """Whether it may still be started; None: one of which nothing is known yet."""
        if self._study.max_seconds is None:
            return True
        left = self._study.max_seconds - (time.monotonic() - self._started)
        expected = self._study.expected.seconds(run) if run is not None else None
        return left > 0 and (expected or 0) <= left

    def _out_of_time(self) -> bool:
        """Whether runs are left and none of them may be started any more."""
        if self._study.pool.in_work or not (self._queue or self._more()):
            return False
        left: Sequence[PlannedRun | None] = self._queue or [None]
        return not any(self._in_time(run) for run in left)

    def _give_up(self, why: str) -> None:
        in_work = [self._runs[task.run_id] for task in self._study.pool.in_work]
        self._summary.left = [*in_work, *self._queue, *(self._runs[run_id] for run_id in self._elsewhere)]
        self._summary.why_left = why

    # ---------------------------------------------------------------- what comes back

    def _ended(self, run: PlannedRun, event: Ended) -> None:
        if event.status == "taken":
            self._elsewhere[run.run_id] = time.monotonic()
            if not self._queue and not self._study.pool.in_work:
                self._study.audience.waiting([self._runs[run_id] for run_id in self._elsewhere])
            return
        if event.cause == "out-of-memory" and run.run_id not in self._retried and self._study.pool.fewer(run.run_id):
            self._retried.add(run.run_id)
            self._queue.insert(0, run)
            return
        if event.status == "died":
            event = replace(event, text=self._recorded(run, event))
        if event.status == "finished":
            self._summary.finished.append(event)
            self._study.expected.add(run, event.seconds or 0.0)
        elif event.status == "found":
            self._summary.found.append(event)
        elif event.status == "stopped":
            self._summary.stopped.append(run)
        elif event.status == "unstored":
            self._summary.unstored.append((run, event.text))
        else:
            self._summary.failed.append((run, event.text))
        self._study.audience.ended(run, event, self._expected_left())

    def _recorded(self, run: PlannedRun, event: Ended) -> str:
        """Records that a worker died of a run, and says so."""
        environment = self._study.pool.environment
        assert environment is not None  # a run is given to workers that have said it
        digest = self._study.digests.of(run, {})
        failure = Failure(
            failure_version=1,
            run_id=run.run_id,
            cause=event.cause or "worker-died",
            reason=event.text,
            code=self._study.code.code(run, digest),
            spec=run.spec,
            traceback="",
            environment=environment,
            failed_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        )
        try:
            return f"{event.text}; failure record {self._study.store.write_failure(failure)}"
        except RecordError as error:
            return f"{event.text}; {error}"

    def _look_elsewhere(self) -> None:
        """What became of runs that others carry out; one that nobody does any more is to be run."""
        for run_id, last in list(self._elsewhere.items()):
            if time.monotonic() - last < _POLL or self._study.store.taken(run_id):
                continue
            del self._elsewhere[run_id]
            run = self._runs[run_id]
            failures = failures_in(self._study.store.root).get(run_id, ())
            state = state_of(run, self._study.code, self._study.store, self._study.digests, failures)
            if state.status == "done":
                self._ended(run, Ended(run_id, "found", "by another process", seconds=state.seconds))
            elif state.status == "failed" and state.failure is not None:
                self._ended(run, Ended(run_id, "failed", state.why, state.failure.cause))
            else:
                self._queue.insert(0, run)

    def _expected_left(self) -> float | None:
        """Seconds until all runs are over, as far as recorded ones tell."""
        left = [*self._queue, *(self._runs[task.run_id] for task in self._study.pool.in_work)]
        seconds = self._study.expected.total(left)
        return None if seconds is None else seconds / max(1, self._study.pool.size)
