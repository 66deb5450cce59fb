"""Progress of a run on stderr: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from pubench_core.plugins.events import EpochFinished, RunStarted

from .console import err

#: Seconds between two lines about the epochs of a stage, and of silence before a line says what is under way.
BETWEEN_LINES, SILENCE = 30.0, 60.0
#: Room for stage, epochs, criterion and time next to the bar of a narrow terminal.
BESIDE_THE_BAR = 48


class PlainLines:
    """A line when training starts, one for the first epoch of each stage, and one every 30 seconds after it; one a
    minute inside of a longer epoch.
    """

    def __init__(self) -> None:
        self._said: dict[str, float] = {}  # stage -> when its last line was printed
        self._work, self._since = "preparing", time.monotonic()

    def pubench_run_started(self, event: RunStarted) -> None:
        assert event.data is not None  # a display gets everything
        self._begin("first epoch")
        prior = event.data.prior
        true = f" (true {prior.true:.4f})" if prior.true is not None else ""
        given = f"{prior.given:.4f}" if prior.given is not None else "unknown"
        counts = f"{event.labeled} labeled, {event.unlabeled} unlabeled"
        _say(f"run {event.run_id} on {event.device}: {counts}, prior {given}{true}")

    def pubench_epoch_finished(self, event: EpochFinished) -> None:
        self._begin(f"after {event.stage} {event.in_stage}/{event.stage_epochs}")
        now = time.monotonic()
        if event.stage in self._said and now - self._said[event.stage] < BETWEEN_LINES:
            return
        self._said[event.stage] = now
        each = event.seconds + event.evaluation_seconds
        minutes, seconds = divmod(round((event.stage_epochs - event.in_stage) * each), 60)
        place = f"{event.stage} {event.in_stage}/{event.stage_epochs}  {_criterion(event)}"
        _say(f"{place}  {each:.1f} s/epoch  {minutes}:{seconds:02d} left")

    def _begin(self, work: str) -> None:
        self._work, self._since = work, time.monotonic()

    def say_when_silent(self, stop: Event) -> None:
        """Work of a thread until ``stop`` is set: a line for every minute without news."""
        while not stop.wait(SILENCE):
            if (silent := time.monotonic() - self._since) >= SILENCE:
                _say(f"{self._work}, {silent:.0f} s so far")


class LiveLine(PlainLines):
    """Stage, epoch, criterion and remaining time, redrawn in place."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}
        self._waiting: TaskID | None = None

    def pubench_run_started(self, event: RunStarted) -> None:
        super().pubench_run_started(event)
        self._waiting = self._progress.add_task("first epoch", total=None, criterion="")

    def pubench_epoch_finished(self, event: EpochFinished) -> None:
        if self._waiting is not None:
            self._progress.remove_task(self._waiting)
            self._waiting = None
        if event.stage not in self._tasks:
            self._tasks[event.stage] = self._progress.add_task(event.stage, total=event.stage_epochs, criterion="")
        self._progress.update(
            self._tasks[event.stage], completed=event.in_stage, criterion=_criterion(event), refresh=True
        )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _criterion(event: EpochFinished) -> str:
    value = event.criteria.get(event.criterion)
    return f"{event.criterion} {value:.4f}" if value is not None else f"{event.criterion} not scored"


@contextmanager
def data_progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Progress of preparing data: a line at every tenth of ``total``, with the rate and the time left."""
    started, done, said = time.perf_counter(), 0, 0

    def advance(count: int) -> None:
        nonlocal done, said
        done += count
        if done * 10 // max(total, 1) > said:
            said = done * 10 // max(total, 1)
            rate = done / max(time.perf_counter() - started, 1e-9)
            left = round((total - done) / rate)
            err().print(f"{label}: {done} of {total}, {rate:.0f}/s, {left // 60}:{left % 60:02d} left", markup=False)

    yield advance


@contextmanager
def stage_progress() -> Iterator[Callable[[str], None]]:
    """Progress of a stage: one line on a terminal, redrawn in place and gone at the end; elsewhere a line per stage."""
    if not sys.stderr.isatty():
        yield lambda line: err().print(line, markup=False)
        return
    with Progress(TextColumn("{task.description}"), TimeElapsedColumn(), console=err(), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda line: progress.update(task, description=line, refresh=True)


@contextmanager
def display() -> Iterator[PlainLines]:
    """The display that fits where stderr goes."""
    if not sys.stderr.isatty():
        lines, stop = PlainLines(), Event()
        Thread(target=lines.say_when_silent, args=(stop,), daemon=True).start()
        try:
            yield lines
        finally:
            stop.set()
        return
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=min(40, max(4, err().width - BESIDE_THE_BAR))),
        MofNCompleteColumn(),
        TextColumn("{task.fields[criterion]}"),
        TimeRemainingColumn(),
        console=err(),
        transient=True,
    ) as progress:
        yield LiveLine(progress)
