"""Where in the source something happens: the line that is being run, outside of torch."""

from __future__ import annotations

import contextlib
import functools
import linecache
import sys
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

import torch

import pubench_core

_CORE = str(Path(pubench_core.__file__).parent)
_ENGINE = str(Path(_CORE, "engine"))
#: Frames that are no place: torch, what calls functions for others, and what stands between a method and its run here.
_SKIPPED = (
    str(Path(torch.__file__).parent),
    contextlib.__file__,
    functools.__file__,
    warnings.__file__,
    "<",
    *(str(Path(__file__).with_name(name)) for name in ("source_location.py", "fake_device.py", "device.py")),
)


@dataclass(frozen=True)
class SourceLine:
    """A line of source. ``called_from``: the line outside core that led there, where the place itself is in core."""

    file: str
    line: int
    function: str
    code: str
    called_from: SourceLine | None = None

    def __str__(self) -> str:
        called = f", called from {self.called_from}" if self.called_from else ""
        return f"{self.file}:{self.line} ({self.function}){called}"


def place() -> SourceLine:
    """The innermost line that is being run."""
    found: SourceLine | None = None
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_SKIPPED):
            if file.startswith(_ENGINE):
                break  # from here on outwards it is the engine that calls the method
            if not file.startswith(_CORE):
                return _here(frame) if found is None else replace(found, called_from=_here(frame))
            found = found or _here(frame)
        frame = frame.f_back  # type: ignore[assignment] # None ends the loop
    if found is None:
        assert frame is not None
        found = _here(frame)
    return found


def _here(frame: FrameType) -> SourceLine:
    file = frame.f_code.co_filename
    code = linecache.getline(file, frame.f_lineno).strip()
    return SourceLine(_short(file), frame.f_lineno, frame.f_code.co_qualname, code)


def _short(file: str) -> str:
    """The path below ``src`` or ``site-packages``; else folder and name."""
    parts = Path(file).parts
    start = max((i for i, part in enumerate(parts) if part in ("src", "site-packages")), default=len(parts) - 3)
    return "/".join(parts[start + 1 :])
