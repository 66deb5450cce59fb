"""A schema's complaint as one line: where the value was written, what was given, what is expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from ..errors import Hint, RequestError, nearest, shortened, shown
from ..specs.fields import about
from ..specs.run_fields import section_of
from .layers import FieldPath

#: Below it, a field is not what was meant: epochs and mechanism are 0.53 alike.
_ALIKE = 0.6


def explain(
    error: ValidationError,
    model: type[BaseModel],
    prefix: FieldPath,
    origins: Mapping[FieldPath, str],
    owner: str = "",
    hint: Hint | None = None,
) -> RequestError:
    """The first problem of a validation; how many more there are is said.

    ``prefix``: path of ``model`` in the spec. ``origins``: where fields were written; of ``()``, the whole. ``owner``:
    whose fields they are; by default the section's.
    """
    first = error.errors(include_url=False)[0]
    loc = tuple(shortened(str(part)) for part in first["loc"])  # a key of a mapping can be any text
    while len(loc) > 1 and loc[-1].isdigit():  # an item of a list: the list is the field
        loc = loc[:-1]
    path = (*prefix, *loc)
    where = next((origins[path[:n]] for n in range(len(path), 0, -1) if path[:n] in origins), ".".join(path))
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    parent, name = _descend(model, loc[:-1]), loc[-1] if loc else ""
    given: dict[str, Any] = {"field": ".".join(path), "value": first["input"]}
    if first["type"] == "extra_forbidden":
        fields = parent.model_fields if parent else {}
        whose = owner or ".".join(path[:-1]) or "a run"
        return RequestError(
            f"{where}: {whose} has no field '{shortened(name)}'; {nearest(name, fields, _ALIKE)}{more}",
            **given,
            hint=hint,
        )
    message = " ".join(first["msg"].removeprefix("Value error, ").split())  # it may name what was given
    field = parent.model_fields.get(name) if parent else None
    if field is None or first["type"] == "value_error":
        return RequestError(f"{where}: {message}{more}", **given)
    meaning = f" ({field.description})" if field.description else ""
    right = f"{name} must be {accepted(field)}{meaning}"
    if first["type"] == "missing":
        file = f"{origins[()]}: " if () in origins else ""
        return RequestError(f"{file}{'.'.join(path)} is missing; {right}{more}", field=given["field"])
    return RequestError(f"{where}: given {shown(first['input'])}; {right}{more}", **given)


def _descend(model: type[BaseModel], path: Sequence[str]) -> type[BaseModel] | None:
    inner: type[BaseModel] | None = model
    for name in path:
        field = inner.model_fields.get(name) if inner is not None else None
        inner = section_of(field) if field is not None else None
    return inner


def accepted(field: FieldInfo) -> str:
    """The values a field accepts, in words: ``a number above 0``, ``one of adam, adamw, sgd``."""
    if said := about(field, "accepts"):
        return str(said)
    words = _type_words(field.annotation)
    for limit in field.metadata:
        match limit:
            case Gt(gt=value):
                words += f" above {_limit(value)}"
            case Ge(ge=value):
                words += f" of at least {_limit(value)}"
            case Lt(lt=value):
                words += f" below {_limit(value)}"
            case Le(le=value):
                words += f" of at most {_limit(value)}"
            case _ if hasattr(limit, "pattern"):
                words += f" matching {limit.pattern}"
    return words.replace(" above 0 of at most 1", " in (0, 1]").replace(" above 0 below 1", " in (0, 1)")


def _limit(value: Any) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"


def _type_words(annotation: Any) -> str:
    origin = get_origin(annotation)
    if origin is Literal:
        return "one of " + ", ".join(str(a) for a in get_args(annotation))
    if origin is tuple:
        return "a list, each " + _type_words(get_args(annotation)[0])
    if origin is not None and type(None) in get_args(annotation):
        return "null or " + " or ".join(_type_words(a) for a in get_args(annotation) if a is not type(None))
    names = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", Path: "a path"}
    return names.get(annotation, str(annotation))
