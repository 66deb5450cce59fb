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

from .cache import StudyCache
from .plan import PlannedRun
from .state import Digests, Expected, RunState, by_length, state_of
from .task import Ended, Progressed, RunTask, Status, Watch

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
    def in_work(self) -> list[RunTask]:
        """Tasks that were taken and have not ended: at most ``size``."""

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
        self.everything = self.everything or self.starting or number == signal.SIGTERM
        if not self.starting:
            self.starting = True
            rest = "; those in work are waited for (Ctrl-C again gives them up)"
            self._heard(f"no more runs are started{', and those in work are given up' if self.everything else rest}")

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
    """Outcome of the runs that a call had to carry out."""

    ended: list[tuple[PlannedRun, Ended]] = field(default_factory=list)
    left: list[PlannedRun] = field(default_factory=list)
    """Not started, or given up."""
    why_left: str = ""

    def of(self, *statuses: Status) -> list[tuple[PlannedRun, Ended]]:
        """Runs that ended with any of these."""
        return [(run, event) for run, event in self.ended if event.status in statuses]


class StudyAudience(Protocol):
    """Who hears how a study goes on."""

    def started(self, run: PlannedRun) -> None:
        """A run was given to a worker."""

    def progressed(self, run: PlannedRun, event: Progressed) -> None:
        """An epoch of it is over."""

    def ended(self, run: PlannedRun, event: Ended, expected_left: float | None) -> None:
        """It is over; ``expected_left``: seconds until all are, if that can be said."""

    def waiting(self, runs: Sequence[PlannedRun]) -> None:
        """Nothing is left to start; others carry these out."""


class RunSource(Protocol):
    """Runs that are decided on while others are carried out, one when there is room for it."""

    @property
    def over(self) -> bool:
        """Whether no more will come."""

    def following(self) -> PlannedRun | None:
        """The next; None if none is to be started before something in work has ended."""

    def watch(self, run: PlannedRun) -> Watch | None:
        """Who may give it up."""


@dataclass
class Study:
    """Runs to be carried out, each once."""

    store: RecordStore
    cache: StudyCache
    digests: Digests
    expected: Expected
    pool: Pool
    audience: StudyAudience
    max_seconds: float | None = None
    """No run is started after them."""
    source: RunSource | None = None
    """Where runs come from when those that are known have been started."""
    _runs: dict[str, PlannedRun] = field(default_factory=dict)
    _queue: list[PlannedRun] = field(default_factory=list)
    _elsewhere: dict[str, float] = field(default_factory=dict)
    """Run id of what others carry out -> when that was last looked at."""
    _retried: set[str] = field(default_factory=set)
    _summary: Summary = field(default_factory=Summary)
    _started: float = field(default_factory=time.monotonic)

    def conduct(self, states: Sequence[RunState], stop: Stop) -> Summary:
        """Carries out the runs of these states and records what died. Whatever happens, workers are ended.

        A record that cannot be read is put aside, and its run carried out. Raises RecordError if that cannot be done,
        and if workers cannot be started.
        """
        self._runs = {state.run.run_id: state.run for state in states}
        self._queue = by_length(list(self._runs.values()), self.expected)
        try:
            for state in states:
                if state.unreadable:
                    self.store.set_aside(state.run.run_id)
            while self._queue or self.pool.in_work or self._elsewhere or self._more:
                if why := self._why_over(stop):
                    ids = [*(task.run_id for task in self.pool.in_work), *self._elsewhere]
                    self._summary.left = [*self._queue, *(self._runs[run_id] for run_id in ids)]
                    self._summary.why_left = why
                    break
                if not (stop.starting or self._summary.of("unstored")):
                    self._submit()
                self._look_elsewhere()
                for event in self.pool.events(0.2):
                    run = self._runs[event.run_id]
                    if isinstance(event, Progressed):
                        self.audience.progressed(run, event)
                    else:
                        self._ended(run, event)
            return self._summary
        finally:
            self.pool.close(abandon=bool(self.pool.in_work))

    @property
    def _more(self) -> bool:
        return self.source is not None and not self.source.over

    def _why_over(self, stop: Stop) -> str:
        """Why nothing goes on, though runs are left; empty while something does."""
        if stop.everything or (stop.starting and not self.pool.in_work):
            return "interrupted"
        if self.pool.in_work:
            return ""
        if self._summary.of("unstored"):
            return "a record could not be written"
        waiting: Sequence[PlannedRun | None] = self._queue or ([None] if self._more else [])
        return "the time is over" if waiting and not any(map(self._in_time, waiting)) else ""

    def _in_time(self, run: PlannedRun | None) -> bool:
        """Whether it may still be started; None: one of which nothing is known yet."""
        if self.max_seconds is None:
            return True
        left = self.max_seconds - (time.monotonic() - self._started)
        expected = self.expected.seconds(run) if run is not None else None
        return left > 0 and (expected or 0) <= left

    def _submit(self) -> None:
        """Longest first; as many as there is room for and time left."""
        pool, source = self.pool, self.source
        while len(pool.in_work) < pool.size:
            if source is not None and not self._queue and self._in_time(None) and (drawn := source.following()):
                self._runs[drawn.run_id] = drawn
                self._queue.append(drawn)
            place = next((k for k, run in enumerate(self._queue) if self._in_time(run)), None)
            if place is None:
                return
            run = self._queue.pop(place)
            at_once = pool.size if source is not None else min(pool.size, len(pool.in_work) + 1 + len(self._queue))
            watch = source.watch(run) if source is not None else None
            pool.submit(RunTask(run.run_id, run.resolved, {}, at_once, watch))
            self.audience.started(run)

    # ---------------------------------------------------------------- what comes back

    def _ended(self, run: PlannedRun, event: Ended) -> None:
        if event.status == "taken":
            self._elsewhere[run.run_id] = time.monotonic()
            if not self._queue and not self.pool.in_work:
                self.audience.waiting([self._runs[run_id] for run_id in self._elsewhere])
            return
        if event.cause == "out-of-memory" and run.run_id not in self._retried and self.pool.fewer(run.run_id):
            self._retried.add(run.run_id)
            self._queue.insert(0, run)
            return
        if event.status == "died":
            event = replace(event, text=self._recorded(run, event))
        if event.status == "finished":
            self.expected.add(run, event.seconds or 0.0)
        self._summary.ended.append((run, event))
        left = [*self._queue, *(self._runs[task.run_id] for task in self.pool.in_work)]
        seconds = self.expected.total(left)
        self.audience.ended(run, event, None if seconds is None else seconds / max(1, self.pool.size))

    def _recorded(self, run: PlannedRun, event: Ended) -> str:
        """Records that a worker died of a run; the reason, with the record."""
        assert self.pool.environment is not None  # a run is given to workers that have said it
        failure = Failure(
            failure_version=1,
            run_id=run.run_id,
            cause=event.cause or "worker-died",
            reason=event.text,
            code=self.cache.code(run, self.digests.of(run, {})),
            spec=run.spec,
            traceback="",
            environment=self.pool.environment,
            failed_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        )
        try:
            return f"{event.text}; failure record {self.store.write_failure(failure)}"
        except RecordError as error:
            return f"{event.text}; {error}"

    def _look_elsewhere(self) -> None:
        """What became of runs that others carry out; one that nobody does any more is to be run."""
        for run_id, last in list(self._elsewhere.items()):
            if time.monotonic() - last < _POLL or self.store.taken(run_id):
                continue
            del self._elsewhere[run_id]
            run = self._runs[run_id]
            failures = failures_in(self.store.root).get(run_id, ())
            state = state_of(run, self.cache, self.store, self.digests, failures)
            if state.status == "done":
                self._ended(run, Ended(run_id, "found", "by another process", seconds=state.seconds))
            elif state.status == "failed" and state.failure is not None:
                self._ended(run, Ended(run_id, "failed", state.why, state.failure.cause))
            else:
                self._queue.insert(0, run)
