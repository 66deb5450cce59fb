"""Output for programs: with ``--format json``, stdout is one JSON value, and an error is one, too."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

_printed = False


def print_json(value: Any) -> None:
    """Prints one JSON value to stdout, indented, without NaN."""
    global _printed
    text = json.dumps(value, indent=2, allow_nan=False)
    _printed = True  # before it is written: an interrupt in between adds no second value
    print(text)


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether a command line asks for JSON; of several ``--format``, the last counts.

    >>> wants_json(["run", "--format", "table", "--format=json"])
    True
    """
    pairs = zip(arguments, [*arguments[1:], ""], strict=True)
    asked = [
        next_word if word == "--format" else word.removeprefix("--format=")
        for word, next_word in pairs
        if word.partition("=")[0] == "--format"
    ]
    return asked[-1:] == ["json"]


def print_error(text: str, exit_code: int, field: str = "") -> None:
    """Prints an error as ``{"error": ..., "field": ..., "exit_code": ...}`` on stdout, unless a value is there already
    (a report of checks of which one fails).

    ``field``: the field of the spec that is wrong (``data.own.label_col``), where it is one.
    """
    if not _printed:
        print_json({"error": text, "field": field, "exit_code": exit_code})
