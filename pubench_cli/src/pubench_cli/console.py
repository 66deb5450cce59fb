"""Where text goes: results to stdout, everything else to stderr. Piped output is wide and has no colors."""

from __future__ import annotations

import sys
from functools import cache

from rich.console import Console

#: Columns of a table that is not printed on a terminal: nothing is cut or wrapped for a reader that is a program.
PIPED_WIDTH = 1000


@cache
def out() -> Console:
    """Console on stdout."""
    return Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False, soft_wrap=False)


@cache
def err() -> Console:
    """Console on stderr."""
    return Console(stderr=True, width=None if sys.stderr.isatty() else PIPED_WIDTH, highlight=False)
