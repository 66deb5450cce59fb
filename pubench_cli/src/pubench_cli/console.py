"""Where text goes: results to stdout, everything else to stderr. Piped output is wide and has no colors."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from .visible import visible

#: Columns of a table that is not printed on a terminal: nothing is cut or wrapped for a reader that is a program.
PIPED_WIDTH = 1000


class _Console(Console):
    """A console that shows what would steer the terminal; rich's own colors are no text and stay."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text), **options)  # before it is measured

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            shown = segment.text if segment.control else visible(segment.text)
            yield segment if shown == segment.text else Segment(shown, segment.style)


@cache
def out() -> Console:
    """Console on stdout."""
    return _Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False, soft_wrap=False)


@cache
def err() -> Console:
    """Console on stderr."""
    return _Console(stderr=True, width=None if sys.stderr.isatty() else PIPED_WIDTH, highlight=False)


def as_plain_text(print_to: Callable[[Console], None], width: int = PIPED_WIDTH) -> str:
    """Output of a terminal without colors: the content of a text file."""
    stream = io.StringIO()
    print_to(Console(file=stream, width=width, highlight=False, no_color=True))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"
