"""Arguments of a call that set fields of a run: shown in its signature and help, any other refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pubench_core.errors import nearest
from pubench_core.specs.run_fields import run_fields

F = TypeVar("F", bound=Callable[..., Any])


def given_of(fields: Mapping[str, Any], known: type, function: str) -> dict[str, Any]:
    """The arguments that were given, those that are None left out.

    ``known``: the TypedDict of those that there are. Raises TypeError for any other, as Python does.
    """
    for name in fields:
        if name not in known.__annotations__:
            raise TypeError(f"{function}() has no argument '{name}'; {nearest(name, known.__annotations__)}")
    return {name: value for name, value in fields.items() if value is not None}


def shows_fields(known: type) -> Callable[[F], F]:
    """Names the fields behind ``**fields`` in the signature and the docstring of a function, for ``help`` and editors.

    ``known``: the TypedDict of the fields.
    """

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        kind = inspect.Parameter.KEYWORD_ONLY
        fields = [inspect.Parameter(name, kind, default=None) for name in known.__annotations__]
        function.__signature__ = signature.replace(parameters=[*own, *fields])  # type: ignore[attr-defined]
        helps = {one.argument: one.help() for one in sorted(run_fields(), key=lambda one: not one.of_table)}
        lines = [f"``{name}``: {helps[name]}" for name in known.__annotations__ if name in helps]
        function.__doc__ = "\n    ".join([f"{inspect.cleandoc(function.__doc__ or '')}\n\nFields of a run:\n", *lines])
        return function

    return decorate
