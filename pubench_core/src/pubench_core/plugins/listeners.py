"""Calling the listeners of a run. One that fails is reported once and left out; a run is never harmed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any


class Listeners:
    """Objects (modules or instances) with any of the lifecycle hooks as attributes."""

    def __init__(self, listeners: Iterable[Any] = (), warn: Callable[[str], None] | None = None) -> None:
        self._listeners = list(listeners)
        self._warn = warn or (lambda text: print(f"warning: {text}", file=sys.stderr))

    def notify(self, hook: str, event: Any) -> None:
        """Calls one hook on every listener that has it."""
        for listener in list(self._listeners):
            function = getattr(listener, hook, None)
            if function is None:
                continue
            try:
                function(event=event)
            # A listener is somebody else's code beside a run that must go on: said once, then silent.
            except Exception as error:  # noqa: BLE001
                self._listeners.remove(listener)
                name = getattr(listener, "__name__", type(listener).__name__)
                reason = next(iter(str(error).splitlines()), "")  # a database's error goes on for pages
                self._warn(f"listener {name} failed in {hook} and is left out: {type(error).__name__}: {reason}")
