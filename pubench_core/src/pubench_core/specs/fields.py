"""Pydantic fields with a meaning, bounds, a search range and a place in a run's identity."""

from __future__ import annotations

import hashlib
import json
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import pydantic
from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator
from pydantic.fields import FieldInfo


@dataclass(frozen=True)
class _Range:
    low: float
    high: float


class LogUniform(_Range):
    """Drawn as exp(U(log low, log high))."""

    def __str__(self) -> str:
        return f"log-uniform, {self.low:.3g} to {self.high:.3g}"


class Uniform(_Range):
    """Drawn uniformly from [low, high]."""

    def __str__(self) -> str:
        return f"uniform, {self.low:g} to {self.high:g}"


class PowerOfTwo(_Range):
    """Drawn as 2 to the integer part of U(low, high): with (5, 8), one of 32, 64 and 128, all equally likely.

    Wang et al. write 2^U(low, high); their code (wu-dd/PUBench, hparams_registry.py) truncates the exponent.
    """

    def __str__(self) -> str:
        return f"2^int(U({self.low:g}, {self.high:g}))"


@dataclass(frozen=True)
class Choice:
    """One of the listed values, all equally likely."""

    values: tuple[Any, ...]

    def __str__(self) -> str:
        return "one of " + ", ".join(str(value) for value in self.values)


Search = LogUniform | Uniform | PowerOfTwo | Choice


#: Of a field that is in the run id whatever its value.
_NONE: Any = object()


def Field(
    default: Any = ...,
    *,
    description: str,
    search: Search | None = None,
    neutral: Any = _NONE,
    identifies: bool = True,
    accepts: str = "",
    flag: str = "",
    argument: str | None = None,
    also: str = "",
    names: str = "",
    unless_given: str = "",
    **bounds: Any,
) -> Any:
    """A pydantic field whose meaning is obligatory.

    ``search``: range for hyper-parameter draws. ``neutral``: the value at which the field is left out of the run id; a
    field that is added later declares the value that computes what was computed before, so that no stored id changes.
    It is declared once and never follows the default. ``identifies``: whether the field is in the run id at all.
    ``accepts``: the values it accepts, in words, if bounds do not say it well.

    A field of a run may have a ``flag`` of the command line and an ``argument`` of :func:`pubench.run`, by default the
    flag's words (:mod:`pubench_core.specs.run_fields`), ``also`` under a second name. ``names``: what its value is a
    name of (``method``, ``preset``), for completion. ``unless_given``: what holds if it is not given, unless it is the
    default.
    """
    extra: dict[str, Any] = {}
    if search is not None:
        extra["search"] = search
    if neutral is not _NONE:
        extra["neutral"] = neutral
    if not identifies:
        extra["identifies"] = False
    argument = flag.removeprefix("--").replace("-", "_") if argument is None else argument
    words = {"accepts": accepts, "flag": flag, "argument": argument, "also": also, "names": names}
    extra |= {name: text for name, text in {**words, "unless_given": unless_given}.items() if text}
    return pydantic.Field(default, description=description, json_schema_extra=extra or None, **bounds)


def about(field: FieldInfo, name: str, default: Any = None) -> Any:
    """Arguments of :func:`Field` besides bounds and description (``search``, ``neutral``, ``accepts`` ...)."""
    extra = field.json_schema_extra
    return extra.get(name, default) if isinstance(extra, dict) else default


def identity_of(model: BaseModel) -> dict[str, Any]:
    """The fields of a model that decide a run id, as plain data; those at their neutral value are left out."""
    return _identity(model, model.model_dump(mode="json"))


def _identity(model: BaseModel, plain: dict[str, Any]) -> dict[str, Any]:
    """``plain``: the whole model as plain data, made once for all that is in it."""
    found: dict[str, Any] = {}
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if about(field, "identifies", True) is False:
            continue
        neutral = about(field, "neutral", _NONE)
        if neutral is not _NONE and value == neutral and isinstance(value, bool) == isinstance(neutral, bool):
            continue
        found[name] = _identity(value, plain[name]) if isinstance(value, BaseModel) else plain[name]
    return found


class Strict(BaseModel):
    """Refuses unknown fields, infinities, and a truth value where a number is meant."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True)

    @field_validator("*", mode="before")
    @classmethod
    def _no_bool_for_number(cls, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, (bool, list, tuple)):
            return value
        annotation = cls.model_fields[info.field_name or ""].annotation
        if isinstance(value, (list, tuple)) and any(isinstance(item, bool) for item in value):
            raise ValueError(f"{info.field_name}: a list with a truth value in it; expected {type_words(annotation)}")
        if not isinstance(value, bool) or _takes_bool(annotation):
            return value
        words = get_args(annotation) if get_origin(annotation) is Literal else ()
        word = "on" if value else "off"  # what YAML reads as a truth value
        if word in words:
            return word
        raise ValueError(f"{info.field_name}: {str(value).lower()} is a truth value, not {type_words(annotation)}")


def _takes_bool(annotation: Any) -> bool:
    if get_origin(annotation) in (Union, types.UnionType):
        return any(_takes_bool(a) for a in get_args(annotation))
    return annotation in (bool, Any) or (get_origin(annotation) is Literal and True in get_args(annotation))


def type_words(annotation: Any) -> str:
    """A type as words: ``a whole number``, ``one of adam, sgd``."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return "one of " + ", ".join(str(word) for word in inner)
    if origin is tuple:
        return "a list, each " + type_words(inner[0])
    if origin in (Union, types.UnionType):
        return " or ".join(map(type_words, sorted(inner, key=lambda one: one is not type(None))))
    kinds = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", Path: "a path"}
    kinds |= {dict: "names with values", BaseModel: "names with values", type(None): "null"}
    return next((kinds[one] for one in getattr(origin or annotation, "__mro__", ()) if one in kinds), str(annotation))


# -------------------------------------------------------------------- texts and hashes of plain data


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no white space and no NaN: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def short_hash(value: Any) -> str:
    """First 16 hexadecimal digits of the SHA-256 of :func:`canonical_json`."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:16]
