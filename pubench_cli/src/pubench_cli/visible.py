"""Text that others wrote, on a terminal: what would steer the terminal is shown, not sent.

Headers of a table, labels, names of files and of members of archives, and messages about them may hold escape
sequences, which move the cursor, rename the window or type for the user. Everything that the command line prints goes
through here: see :mod:`pubench_cli.console` for what rich draws, :func:`guard` for warnings and tracebacks.
"""

from __future__ import annotations

import io
import sys
import traceback
import warnings
from types import TracebackType
from typing import TextIO, cast

from pubench_core.errors import visible

__all__ = ["Shown", "guard", "rows_out", "show", "visible"]


def show(text: str) -> None:
    """A line on stdout."""
    print(visible(text))


class Shown(io.TextIOBase):
    """A text stream that shows what it is given; for CSV on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """How many characters were given."""
        self._stream.write(visible(text))
        return len(text)


def rows_out() -> TextIO:
    """Where CSV and paths for stdout go: as they are to a program, shown on a terminal."""
    if sys.stdout.isatty():
        return cast("TextIO", Shown(sys.stdout))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="surrogateescape")  # a name whose bytes are no text is these bytes
    return sys.stdout


def guard() -> None:
    """Has Python show what is in its warnings and tracebacks."""
    plain = warnings.formatwarning

    def formatted(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        return visible(plain(message, category, filename, lineno, line))

    def said(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        print(visible("".join(traceback.format_exception(kind, error, trace))), end="", file=sys.stderr)

    warnings.formatwarning = formatted
    sys.excepthook = said
