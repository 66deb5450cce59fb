"""Errors by who can mend them: the caller, a plugin, the machine, the method.

Core has neither flags nor sub-commands. A message names fields of the spec by their path (``data.own.truth_col``) and
gives a value to set as ``path=value``; :class:`Hint` names what else would help. The caller (the command
line, a notebook) puts both into its own words (:func:`in_names`). Anything else that is raised is a defect of pubench
or of a plugin and keeps its traceback.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

#: What kind of failure ended a run. ``refused``: the request cannot be met on this split (an undefined criterion, say).
Cause = Literal["refused", "out-of-memory", "non-finite", "timeout", "worker-died", "error"]


#: Control characters except for line ends and tabs; marks that reorder the text around them; halves of characters, as
#: names of files have them whose bytes are no text.
_STEERING = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)"
)


def visible(text: str) -> str:
    r"""A text in which characters that would steer a terminal are written as Python writes them.

    >>> visible("red: \x1b[31m")
    'red: \\x1b[31m'
    """
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


_HIDDEN = "***"
#: ``://user:password@``, up to the last ``@`` of the word, and ``?password=``.
_PASSWORD = re.compile(r"(?<=://)([^:/@\s]*):\S*@")
_TOKEN = re.compile(r"(https?://)[^:/@\s]+@")
#: A profile of Databricks with a scope of secrets: either may be a token that somebody put there.
_PROFILE = re.compile(r"(databricks(?:-uc)?://)[^/@\s]*:[^/@\s]*")
_QUERY = re.compile(r"([?&;][^=&;\s]*(?:pass|pwd|token|secret|key)[^=&;\s]*=)[^&;\s]*", re.IGNORECASE)


def without_password(text: str) -> str:
    """An address, or a text with addresses in it, without passwords and tokens.

    >>> without_password("postgresql://ann:secret@host/db?sslpassword=other&mode=full")
    'postgresql://ann:***@host/db?sslpassword=***&mode=full'
    >>> without_password("databricks://dapi0123:x")
    'databricks://***'
    """
    text = _PROFILE.sub(rf"\1{_HIDDEN}", text)
    text = _PASSWORD.sub(rf"\1:{_HIDDEN}@", text)
    return _QUERY.sub(rf"\1{_HIDDEN}", _TOKEN.sub(rf"\1{_HIDDEN}@", text))


@dataclass(frozen=True)
class Hint:
    """Something that the user can do besides changing the request.

    ``list``: see every plugin of the kind ``subject``. ``describe``, ``diagnose``: read about one plugin, or why it
    does not work. ``fetch``: download the data set ``subject``. ``tasks``: list the tasks of a data source. ``prepare
    again``: remove its prepared copy. ``run again``: although a result is stored. ``plan again``: freeze the plan of a
    study again.
    """

    action: Literal["list", "describe", "diagnose", "fetch", "tasks", "prepare again", "run again", "plan again"]
    subject: str = ""


class PubenchError(Exception):
    """Base of every error whose message is written for the user: what is wrong, what is expected, what to do.

    ``field``: path of the field of the spec that is wrong, where it is one; ``value``: what it was given. ``about``:
    the function of a plugin that returned what it must not, or (file, line) where it gave it, if one did.
    """

    exit_code = 1
    about: Callable[..., Any] | tuple[str, int] | None = None

    def __init__(self, message: str, *, field: str = "", value: Any = None, hint: Hint | None = None) -> None:
        super().__init__(visible(message))
        self.field, self.value, self.hint = field, value, hint


class RequestError(PubenchError):
    """The request cannot be met as it is (unknown key, value out of bounds, missing files)."""

    exit_code = 2


class PluginError(PubenchError):
    """A plugin that is needed cannot be used: it fails to import, or breaks the contract."""


class RecordError(PubenchError):
    """A record could not be written or read (disk full, permissions, damaged file).

    ``result``: the :class:`~pubench_core.results.Result` of a run that finished and could not be stored; it can still
    be shown, and must be.
    """

    result: Any = None


class OutOfTime(BaseException):
    """Ends a run whose time is over; no plugin that catches exceptions keeps it."""


class RunFailed(PubenchError):
    """A run that started and did not finish.

    ``stage``, ``epoch`` and ``step`` say where: epochs count from 1, and the steps of an epoch, of all its optimizers;
    None where not reached.
    """

    def __init__(
        self,
        reason: str,
        *,
        cause: Cause = "error",
        stage: str | None = None,
        epoch: int | None = None,
        step: int | None = None,
    ) -> None:
        self.reason, self.cause, self.stage, self.epoch, self.step = reason, cause, stage, epoch, step
        places = [
            f"{name} {value}"
            for name, value in (("stage", stage), ("epoch", epoch), ("step", step))
            if value is not None
        ]
        super().__init__(f"{reason} ({', '.join(places)})" if places else reason)


class RunTaken(PubenchError):
    """Another process carries the run out just now, and the caller would not wait for it."""


class Undefined(Exception):
    """A metric has no value on the data it was given; the text says why. Never a number, never NaN."""


class Notice(str):
    """A line for the user that is no error, with what could be done about it."""

    hint: Hint | None

    def __new__(cls, text: str, hint: Hint | None = None) -> Notice:
        made = super().__new__(cls, text)
        made.hint = hint
        return made


def unknown(
    kind: str, given: str, known: Iterable[str], *, field: str = "", where: str = "", hint: Hint | None = None
) -> RequestError:
    """The error for a name that does not exist, with the nearest spelling that does.

    ``where``: place of the wrong name in the user's own words, put first.

    >>> str(unknown("method", "nnpuu", ["nnpu", "upu"]))
    "unknown method 'nnpuu'; did you mean 'nnpu'?"
    """
    message = f"unknown {kind} '{shortened(given)}'; {nearest(given, known)}"
    return RequestError(f"{where}: {message}" if where else message, field=field, value=given, hint=hint)


def nearest(given: str, known: Iterable[str], alike: float = 0.65) -> str:
    """The nearest known spelling as a question, or all that are known.

    ``alike``: from 0 to 1, how alike (difflib) a spelling must be.

    >>> nearest("lrr", ["lr", "epochs"])
    "did you mean 'lr'?"
    """
    names = sorted(known)
    near = get_close_matches(given[:_LONGEST].lower(), names, n=1, cutoff=alike)
    everything = f"known: {', '.join(names)}" if names else "there is none"
    return f"did you mean '{near[0]}'?" if near else everything


#: Punctuation around a word of a message.
_AROUND = "()[]'\",.;:?"


def in_names(text: str, name_of: Callable[[str, str | None], str | None]) -> str:
    """A message with the names of the place that shows it.

    ``name_of``: from a word, and the value that follows its ``=`` if it has one, to the text that replaces both; None
    leaves them. Words after ``--set`` and ``--only`` stay: the user typed them.
    """
    words: list[str] = []
    for word in text.split(" "):
        inner = word.strip(_AROUND)
        name, is_set, value = inner.partition("=")
        new = None if words[-1:] in (["--set"], ["--only"]) else name_of(name, value if is_set else None)
        words.append(word if new is None else word.replace(inner, new, 1))
    return " ".join(words)


# -------------------------------------------------------------------- what others wrote, in a message

#: Characters of a text that somebody else wrote which a message shows.
_LONGEST = 120


def shortened(text: str, most: int = _LONGEST) -> str:
    """A text on one line, cut in the middle where it is longer than ``most`` characters.

    >>> shortened("a" * 50 + "b" * 50, 20)
    'aaaaaaaaaaaa...bbbbb'
    """
    line, tail = " ".join(text.split()), (most - 3) // 3
    return line if len(line) <= most else f"{line[: most - 3 - tail]}...{line[-tail:]}"


def shown(value: object) -> str:
    """``repr`` of a value that was given, on one line and never long, without passwords.

    >>> shown(["a-sink=postgresql://ann:secret@host/db"])
    "['a-sink=postgresql://ann:***@host/db']"
    """
    try:
        return shortened(without_password(repr(value)))
    # a number of thousands of digits, lists in lists in lists, an object whose __repr__ fails
    except Exception:  # noqa: BLE001
        return f"a {type(value).__name__}"


def counted(n: int, what: str) -> str:
    """
    >>> counted(1, "run"), counted(2880, "run")
    ('1 run', '2,880 runs')
    """
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def said_by(error: BaseException) -> str:
    """``Type: message`` of an exception of somebody else's code, on one line; the type alone where that fails too.

    >>> said_by(ValueError("the tide\\ncame in"))
    'ValueError: the tide came in'
    """
    name = type(error).__name__
    try:
        text = shortened(str(error), 400)
        return f"{name}: {text}" if text else name
    except KeyboardInterrupt:
        raise
    except BaseException as failure:  # noqa: BLE001 (its __str__ is code of theirs, which may raise anything)
        return f"{name} (its message cannot be had: {type(failure).__name__})"
