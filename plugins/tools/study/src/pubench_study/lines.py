"""The lines that are printed while several runs are carried out, by a command or a function."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pubench_core.errors import counted

from .durations import duration
from .task import Ended, Progressed


class PrintableRun(Protocol):
    """A run that prints as what tells it from the others."""

    @property
    def run_id(self) -> str:
        """Hash of what decides its scores."""


def to_stderr(line: str) -> None:
    """A line that is not wrapped, at once."""
    print(line, file=sys.stderr, flush=True)


#: So many seconds after its last line, one says how far the runs in work are.
SILENCE = 300.0


@dataclass
class Lines:
    """A line per run that is over, and one of those in work after a long silence: what a file or a pipe gets.

    ``words``: the outcome of a run as a text for the reader. ``show``: redraws those in work on a terminal.
    """

    total: int
    say: Callable[[str], None] = to_stderr
    words: Callable[[str], str] = str
    show: Callable[[str], None] | None = None
    done: int = 0
    failed: int = 0
    _in_work: dict[str, str] = field(default_factory=dict)
    _said_at: float = field(default_factory=time.monotonic)

    def started(self, run: PrintableRun) -> None:
        """Nothing is printed of it yet."""
        self._at(run, "begun")

    def progressed(self, run: PrintableRun, event: Progressed) -> None:
        """How far those in work are: on a terminal, or where nothing was said for a while."""
        self._at(run, f"{event.stage} {event.epoch} of {event.of}")
        if self.show is None and time.monotonic() - self._said_at >= SILENCE:
            self._print(f"in work: {'; '.join(self._in_work.values())}")

    def _at(self, run: PrintableRun, place: str) -> None:
        self._in_work[run.run_id] = f"{run}: {place}"
        if self.show is not None:
            self.show("\n".join(self._in_work.values()))

    def ended(self, run: PrintableRun, event: Ended, expected_left: float | None) -> None:
        """One line."""
        self._in_work.pop(run.run_id, None)
        self.done += 1
        self.failed += event.status not in ("finished", "found")
        left = f"; about {duration(expected_left)} left" if expected_left else ""
        self._print(f"[{self.done}/{self.total}] {run}: {self.words(what(event))}{left}")

    def _print(self, line: str) -> None:
        self.say(line)
        self._said_at = time.monotonic()

    def waiting(self, runs: Sequence[PrintableRun]) -> None:
        """Others carry out what is left."""
        self.say(f"waiting for {counted(len(runs), 'run')} that other processes carry out")


def what(event: Ended) -> str:
    """Outcome of a run, in words."""
    if event.status not in ("finished", "found"):
        return f"{event.cause or event.status}: {event.text}"
    if event.status == "found":
        return f"{event.headline}, {event.text or 'stored'}" if event.headline else event.text
    return f"{event.headline}, {event.seconds:.1f} s{f'; {event.text}' if event.text else ''}"
