"""Calling the listeners of a run. One that fails is reported once and left out; a run is never harmed."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from ..errors import said_by


class Listeners:
    """Objects (modules or instances) with any of the lifecycle hooks as attributes."""

    def __init__(self, listeners: Iterable[Any] = (), warn: Callable[[str], None] | None = None) -> None:
        self._listeners = list(listeners)
        self._warn = warn or _print

    def notify(self, hook: str, event: Any) -> None:
        """Calls one hook on every listener that has it; each gets its own copy of the event."""
        for listener in list(self._listeners):
            try:
                function = getattr(listener, hook, None)
                if function is not None:
                    function(event=copy.deepcopy(event))
            except KeyboardInterrupt:
                raise
            # A listener is somebody else's code in a run that must go on: reported once, then silent. One that wants to
            # end the process (SystemExit) has no say in that.
            except BaseException as error:  # noqa: BLE001
                self._listeners = [other for other in self._listeners if other is not listener]
                name = getattr(listener, "__name__", type(listener).__name__)
                self._warn(f"listener {name} failed in {hook} and is left out: {said_by(error)}")


def _print(text: str) -> None:
    with suppress(OSError, ValueError):  # a full disk or a closed stream is no reason to end a run
        print("warning:", text.encode("utf-8", "backslashreplace").decode(), file=sys.stderr)
