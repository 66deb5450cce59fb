"""Core's messages in the words of the command line: fields become flags, hints become commands."""

from __future__ import annotations

from pubench_core.errors import Hint, Notice, PubenchError, in_names
from pubench_core.specs.run_fields import is_path

from .console import err
from .options import FLAGS, OPTIONS

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
#: Fields whose flags take no value.
_SWITCHES = {option.field.name for option in OPTIONS if option.field.switch}


def in_flags(text: str) -> str:
    """A message of core with flags for fields: ``mechanism.c=0.5`` becomes ``--c 0.5``.

    >>> in_flags("data.own.truth_col=COLUMN names them")
    '--truth-col COLUMN names them'
    >>> in_flags("validation.fraction=0.05 would do")
    '--set validation.fraction=0.05 would do'
    """

    def flag(field: str, value: str | None) -> str | None:
        if value is None:
            return FLAGS.get(field) if is_path(field) else None
        if field in FLAGS:
            return FLAGS[field] if field in _SWITCHES and value == "true" else f"{FLAGS[field]} {value}"
        return f"--set {field}={value}" if is_path(field) else None

    return in_names(text, flag)


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
