"""A schema's complaint as one line: where the value was written, what was given, what is expected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from ..errors import Hint, RequestError, nearest, shortened, shown
from ..specs.fields import about, type_words
from ..specs.run_fields import section_of
from .layers import FieldPath

#: Below it, a field is not what was meant: epochs and mechanism are 0.53 alike.
_ALIKE = 0.6
_LIMITS = {"gt": "above", "ge": "of at least", "lt": "below", "le": "of at most", "pattern": "matching"}


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
    parent: type[BaseModel] | None = model
    name = loc[-1] if loc else ""
    for part in loc[:-1]:
        inner = parent.model_fields.get(part) if parent is not None else None
        parent = section_of(inner) if inner is not None else None
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
        return RequestError(": ".join(filter(None, (where, f"{message}{more}"))), **given)
    meaning = f" ({field.description})" if field.description else ""
    right = f"{name} must be {accepted(field)}{meaning}"
    if first["type"] == "missing":
        file = f"{origins[()]}: " if () in origins else ""
        return RequestError(f"{file}{'.'.join(path)} is missing; {right}{more}", field=given["field"])
    return RequestError(f"{where}: given {shown(first['input'])}; {right}{more}", **given)


def accepted(field: FieldInfo) -> str:
    """The values a field accepts, in words: ``a number above 0``, ``one of adam, adamw, sgd``."""
    if said := about(field, "accepts"):
        return str(said)
    words = type_words(field.annotation)
    for limit in field.metadata:
        for name, says in _LIMITS.items():
            if (value := getattr(limit, name, None)) is not None:
                words += f" {says} {f'{value:g}' if isinstance(value, float) else value}"
    return words.replace(" above 0 of at most 1", " in (0, 1]").replace(" above 0 below 1", " in (0, 1)")
