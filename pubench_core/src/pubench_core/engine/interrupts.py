"""Ends of a run from outside: signals while a trained result is scored and stored, and its time."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any, Self

from ..errors import OutOfTime

_NOTICE = b"training is over; its result is stored before this ends (Ctrl-C again gives it up)\n"


@contextmanager
def ending_after(seconds: float | None) -> Iterator[None]:
    """Raises OutOfTime in a block that takes longer, between two instructions of Python; None: never.

    Only the main thread of a system with timers can be ended so. Elsewhere, and inside a call of C that does not
    return, a study ends the process.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        raise OutOfTime(f"its time of {seconds:g} s is over (execution.timeout)")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Deferred:
    """Holds signals that would end the process back, from :meth:`start` to the end of the block; they count then.

    A second Ctrl-C is not held back. Only the main thread hears of signals; in others, nothing is held back.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._came: list[int] = []

    def __enter__(self) -> Self:
        return self

    def start(self) -> None:
        """From here on."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) not in (signal.SIG_IGN, None) and number not in self._before:
                self._before[number] = signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if number in self._came:
            self._stop()
            signal.raise_signal(number)
            return
        self._came.append(number)
        with suppress(OSError):
            os.write(2, _NOTICE)  # print may be what was interrupted

    def _stop(self) -> None:
        while self._before:
            signal.signal(*self._before.popitem())

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop()
        if self._came and not isinstance(error, KeyboardInterrupt):
            signal.raise_signal(self._came[0])
