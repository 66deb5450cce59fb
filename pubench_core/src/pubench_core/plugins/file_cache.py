"""Cache of values made from files, for the process: made again if a file changes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
#: (time of the last change in nanoseconds, bytes, number of the file): another one after every change of a file that
#: has settled.
State = tuple[int, int, int]
#: Nanoseconds after which another change cannot leave a file with the same time: clocks of file systems tick slowly.
_SETTLED = 2_000_000_000


def settled_state(file: str | os.PathLike[str]) -> State | None:
    """The state of a file; None where it changed so lately that it may change again and keep it.

    Raises OSError if it cannot be looked at.
    """
    found = os.stat(file)
    if time.time_ns() - found.st_mtime_ns < _SETTLED:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class PerFile(Generic[T]):
    """Values of ``make(file, ...)``, as long as the file is the same. They must not be edited in place.

    ``most``: how many are kept; the oldest goes first.
    """

    def __init__(self, make: Callable[..., T], most: int) -> None:
        self._make, self._most = make, most
        self._kept: dict[tuple[str, ...], tuple[State, T]] = {}

    def of(self, file: str, *more: str) -> T:
        """``make(file, *more)``. Raises what it raises, and OSError if the file cannot be looked at."""
        key, state = (file, *more), settled_state(file)
        known = self._kept.get(key)
        if known is not None and known[0] == state:
            return known[1]
        made = self._make(file, *more)
        if state is not None:
            while len(self._kept) >= self._most:
                self._kept.pop(next(iter(self._kept)), None)
            self._kept[key] = (state, made)
        return made
