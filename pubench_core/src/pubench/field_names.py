"""Core's messages in the words of a Python caller: fields of the spec become arguments, hints become calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pubench_core.errors import Hint, Notice, PubenchError, RequestError, visible

#: Field of the spec -> argument of :func:`pubench.run`. Fields that have none are set through ``settings``.
ARGUMENTS: Mapping[str, str] = {
    "method.key": "method",
    "method.preset": "preset",
    "method.calibrate": "calibrate",
    "method.config": "config",
    "data.key": "data",
    "data.own.path": "data",
    "data.scheme": "scheme",
    "data.positive": "positive",
    "data.negative": "negative",
    "data.binarization": "binarization",
    "mechanism.key": "mechanism",
    "mechanism.c": "c",
    "mechanism.positive_rate": "positive_rate",
    "data.total": "total",
    "prior": "prior",
    "validation.fraction": "validation",
    "validation.folds": "folds",
    "validation.refit": "refit",
    "backbone.key": "backbone",
    "selection.criterion": "criterion",
    "selection.goal": "goal",
    "decision.rule": "decision",
    "seed": "seed",
    "execution.device": "device",
    "execution.threads": "threads",
    "execution.results": "results",
    "execution.data_root": "data_root",
    "execution.offline": "offline",
    "execution.artifacts": "artifacts",
    "execution.save_model": "save_model",
    "execution.tracking": "tracking",
}
#: Field of a table of the caller's own -> argument of :func:`pubench.data`.
TABLE_ARGUMENTS: Mapping[str, str] = {
    "data.own.label_col": "labeled",
    "data.own.truth_col": "truth",
    "data.own.test": "test",
    "data.own.positive_value": "positive_value",
    "data.own.drop": "drop",
    "data.own.features": "features",
}
_CALLS = {
    "list": "pubench.list_{}s() lists them",
    "describe": "in a shell: pubench info {}",
    "diagnose": "in a shell: pubench doctor {}",
    "fetch": "in a shell: pubench data fetch {}",
    "tasks": "in a shell: pubench data info {}",
    "prepare again": "in a shell: pubench data remove {}",
    "run again": "force=True runs it again",
    "plan again": "in a shell: pubench study plan FILE --replan",
}
_SECTIONS = "data|mechanism|validation|method|backbone|selection|decision|evaluation|execution"
_FIELD = re.compile(rf"(?<![\w.\[-])(?:{_SECTIONS})(?:\.[a-z][a-z0-9_]*)+")


class PubenchWarning(UserWarning):
    """Something about a result, a table or an installed plugin that one must know."""


class InvalidRequest(RequestError, ValueError):
    """Request that cannot be carried out; the message gives the value, what is expected, and what to do."""


def in_arguments(text: str, arguments: Mapping[str, str] = ARGUMENTS) -> str:
    """A message of core with arguments for fields.

    >>> in_arguments("mechanism.c=0.5 would do")
    'c=0.5 would do'
    >>> in_arguments("evaluation.trace: tracing test rows")
    "settings['evaluation.trace']: tracing test rows"
    """
    known = {**TABLE_ARGUMENTS, **arguments}

    def argument(match: re.Match[str]) -> str:
        field = match[0]
        if field.startswith("method.config.") and "method.config" in known:
            return field.removeprefix("method.config.")
        return known.get(field, f"settings['{field}']")

    return _FIELD.sub(argument, text)


def said(message: PubenchError | Notice | str, arguments: Mapping[str, str] = ARGUMENTS) -> str:
    """One line for the caller, with what could be done next."""
    hint: Hint | None = getattr(message, "hint", None)
    text = visible(in_arguments(" ".join(str(message).split()), arguments))
    return text if hint is None else f"{text} ({_CALLS[hint.action].format(hint.subject)})"


@contextmanager
def in_words(arguments: Mapping[str, str] = ARGUMENTS) -> Iterator[None]:
    """A block whose errors about the request are :class:`InvalidRequest`, in the words of the caller."""
    try:
        yield
    except InvalidRequest:
        raise
    except RequestError as error:
        raise InvalidRequest(said(error, arguments), field=error.field, value=error.value) from None
    except PubenchError as error:
        if error.hint is not None:
            error.add_note(_CALLS[error.hint.action].format(error.hint.subject))
        raise
