"""Core's messages in the words of the command line: fields become flags, hints become commands."""

from __future__ import annotations

import re

from pubench_core.errors import Hint, Notice, PubenchError
from pubench_core.specs.run_fields import FIELD

from .console import err
from .options import FLAGS

#: What the user can type for a hint.
_COMMANDS = {
    "list": "pubench list {}s",
    "describe": "pubench info {}",
    "diagnose": "pubench doctor {}",
    "fetch": "pubench data fetch {}",
    "tasks": "pubench info {}",
    "prepare again": "pubench data remove {}",
    "run again": "--force runs it again",
    "plan again": "--replan freezes the plan again; what is done stays",
}
#: A field's dotted path, or one of the fields outside of sections where a value is given; not what the user typed.
_FIELD = re.compile(
    r"(?<!--set )(?<!--only )(?<![\w.\[-])"
    rf"(?P<field>{FIELD}|(?:prior|precision|seed)(?==| must be ))(?P<is>=)?"
)


def in_flags(text: str) -> str:
    """A message of core with flags for fields: ``mechanism.c=0.5`` becomes ``--c 0.5``.

    >>> in_flags("data.own.truth_col=COLUMN names them")
    '--truth-col COLUMN names them'
    >>> in_flags("validation.fraction=0.05 would do")
    '--set validation.fraction=0.05 would do'
    """

    def flag(match: re.Match[str]) -> str:
        field, gives_value = match["field"], match["is"] is not None
        if field not in FLAGS:
            return f"--set {field}=" if gives_value else field
        return f"{FLAGS[field]} " if gives_value else FLAGS[field]

    return _FIELD.sub(flag, text).replace("--save-model true", "--save-model")


def said(message: PubenchError | Notice | str) -> str:
    """One line for the user, with what can be typed next."""
    hint: Hint | None = getattr(message, "hint", None)
    text = in_flags(" ".join(str(message).split()))
    if hint is None:
        return text
    return f"{text} ({_COMMANDS[hint.action].format(hint.subject)})"


def say(message: PubenchError | Notice | str) -> None:
    """Prints it as a line on stderr."""
    err().print(said(message), markup=False)
