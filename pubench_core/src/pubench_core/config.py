"""Method hyper-parameters: a validated pydantic model whose fields carry bounds, a meaning and a search range."""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin

import pydantic
from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator


@dataclass(frozen=True)
class LogUniform:
    """Drawn as exp(U(log low, log high))."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"log-uniform, {self.low:.3g} to {self.high:.3g}"


@dataclass(frozen=True)
class Uniform:
    """Drawn uniformly from [low, high]."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"uniform, {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class PowerOfTwo:
    """Drawn as the integer part of 2 ** U(low, high)."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"2^U({self.low:g}, {self.high:g})"


@dataclass(frozen=True)
class Choice:
    """One of the listed values, all equally likely."""

    values: tuple[Any, ...]

    def __str__(self) -> str:
        return "one of " + ", ".join(str(value) for value in self.values)


Search = LogUniform | Uniform | PowerOfTwo | Choice


def Field(default: Any = ..., *, description: str, search: Search | None = None, **bounds: Any) -> Any:
    """A pydantic field whose meaning is obligatory and which may carry a search range."""
    extra: Any = {"search": search} if search is not None else None
    return pydantic.Field(default, description=description, json_schema_extra=extra, **bounds)


class Strict(BaseModel):
    """Refuses unknown fields, infinities, and a truth value where a number is meant."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True)

    @field_validator("*", mode="before")
    @classmethod
    def _no_bool_for_number(cls, value: Any, info: ValidationInfo) -> Any:
        annotation = cls.model_fields[info.field_name or ""].annotation
        if isinstance(value, (list, tuple)) and any(isinstance(item, bool) for item in value):
            raise ValueError(f"{info.field_name}: a list with a truth value in it; {_name(annotation)} is right")
        if not isinstance(value, bool) or _takes_bool(annotation):
            return value
        words = get_args(annotation) if get_origin(annotation) is Literal else ()
        word = "on" if value else "off"  # what YAML reads as a truth value
        if word in words:
            return word
        raise ValueError(f"{info.field_name}: {str(value).lower()} is a truth value, not {_name(annotation)}")


def _takes_bool(annotation: Any) -> bool:
    if get_origin(annotation) in (Union, types.UnionType):
        return any(_takes_bool(a) for a in get_args(annotation))
    return annotation in (bool, Any) or (get_origin(annotation) is Literal and True in get_args(annotation))


def _name(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return "one of " + ", ".join(str(word) for word in get_args(annotation))
    return {int: "a whole number", float: "a number", str: "a text"}.get(annotation, str(annotation))


class MethodConfig(Strict):
    """What every method can be told; a method's own ``Config`` adds fields and sets its defaults.

    The three fields about length mean: ``epochs`` turns of the training loop, each of ``steps_per_epoch`` steps
    (or one pass over the training rows), ended early for a criterion that has not improved for ``patience`` epochs.
    """

    optimizer: Literal["adam", "adamw", "sgd"] = Field("adam", description="optimizer; sgd uses momentum")
    lr: float = Field(1e-3, gt=0, description="learning rate", search=LogUniform(10**-4.5, 10**-2.5))
    momentum: float = Field(0.9, ge=0, lt=1, description="momentum, used by sgd only")
    weight_decay: float = Field(0.0, ge=0, description="L2 penalty added to the gradient (adamw: decoupled)")
    batch_size: int = Field(256, ge=1, description="rows per batch")
    epochs: int = Field(40, ge=1, description="epochs")
    steps_per_epoch: int | None = Field(None, ge=1, description="steps per epoch; none: one pass over the rows")
    patience: int | None = Field(
        10, ge=1, description="epochs without improvement after which a criterion stops; none: never"
    )
