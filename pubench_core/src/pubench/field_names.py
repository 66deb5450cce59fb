"""Core's messages in the words of a Python caller: fields of the spec become arguments, hints become calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pubench_core.errors import Hint, Notice, PubenchError, RequestError, in_names, visible
from pubench_core.specs.run_fields import TABLE, arguments, is_path

#: Field of the spec -> argument of :func:`pubench.run`, or of :func:`pubench.data` for a user table. ``settings`` sets
#: the others.
ARGUMENTS: Mapping[str, str] = arguments()
_OF_TABLES = {field: argument for field, argument in ARGUMENTS.items() if field.startswith(f"{TABLE}.")}
_CALLS = {
    "list": "pubench.list_{}s() lists them",
    "describe": "in a shell: pubench info {}",
    "diagnose": "in a shell: pubench doctor {}",
    "fetch": "in a shell: pubench data fetch {}",
    "tasks": "in a shell: pubench info {}",
    "prepare again": "in a shell: pubench data remove {}",
    "run again": "force=True runs it again",
    "plan again": "in a shell: pubench study plan FILE --replan",
}


class PubenchWarning(UserWarning):
    """Something about a result, a table or an installed plugin that one must know."""


class InvalidRequest(RequestError, ValueError):
    """Request that cannot be carried out; the message gives the value, what is expected, and what to do."""

    #: The error with fields of the spec, for a place that has other names for them.
    unnamed: RequestError | None = None


def in_arguments(text: str, arguments: Mapping[str, str] = ARGUMENTS) -> str:
    """A message of core with arguments for fields.

    >>> in_arguments("mechanism.c=0.5 would do")
    'c=0.5 would do'
    >>> in_arguments("evaluation.trace: tracing test rows")
    "settings['evaluation.trace']: tracing test rows"
    """
    known = {**_OF_TABLES, **arguments}

    def argument(field: str, value: str | None) -> str | None:
        if not is_path(field):
            return None
        hyper = field.removeprefix("method.config.")
        name = known.get(field, f"settings['{field}']") if hyper == field else hyper
        return name if value is None else f"{name}={value}"

    return in_names(text, argument)


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
        named = InvalidRequest(said(error, arguments), field=error.field, value=error.value)
        named.unnamed = error
        raise named from None
    except PubenchError as error:
        if error.hint is not None:
            error.add_note(_CALLS[error.hint.action].format(error.hint.subject))
        raise
