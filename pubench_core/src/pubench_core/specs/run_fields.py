"""Fields of a run as their declarations say them: flag, argument, help, default. What front doors are made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from .fields import about
from .run import RunSpec

#: The section of a user table, whose fields :func:`pubench.data` sets.
TABLE = "data.own"


@dataclass(frozen=True)
class RunField:
    """A field of a run that is no section."""

    path: tuple[str, ...]
    """From the spec."""
    info: FieldInfo
    identifies: bool
    """Whether the field is in the run id."""
    flag: str
    """Option of the command line; empty if ``--set`` is the only way."""
    argument: str
    """Argument of :func:`pubench.run`, of a user table: of :func:`pubench.data`; empty if there is none."""
    also: str
    """Another name of the argument; empty if there is none."""
    names: str
    """Kind of plugin that its value names; empty for other values."""

    @property
    def name(self) -> str:
        """The dotted path, as errors of core name it."""
        return ".".join(self.path)

    @property
    def of_table(self) -> bool:
        """Whether it describes a user table."""
        return self.name.startswith(f"{TABLE}.")

    @property
    def default(self) -> Any:
        """The declared default; None if there is none."""
        return None if self.info.is_required() else self.info.get_default(call_default_factory=True)

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types of its values, None left out."""
        annotation = self.info.annotation
        union = () if get_origin(annotation) in (Literal, dict, tuple) else get_args(annotation)
        return tuple(kind for kind in union or (annotation,) if kind is not type(None))

    @property
    def words(self) -> tuple[str, ...]:
        """The texts that its value can be; empty if that is no closed list."""
        return tuple(map(str, get_args(self.kinds[0]))) if get_origin(self.kinds[0]) is Literal else ()

    @property
    def neutral(self) -> Any:
        """The value at which the field is left out of the run id, None for those that have none."""
        return about(self.info, "neutral")

    @property
    def switch(self) -> bool | None:
        """The value that its flag sets without taking one; None for a flag that takes a value."""
        return not self.default if self.kinds == (bool,) else None

    def help(self, with_tables: bool = True) -> str:
        """Meaning, accepted values and default as one text.

        ``with_tables``: whether the command takes user tables, whose defaults differ.
        """
        text = (self.info.description or "").removesuffix(".")
        if (accepts := about(self.info, "accepts")) is not None:
            text += f"; {accepts}"
        if not all(word in text for word in self.words):
            text += f": {', '.join(self.words)}"
        default = str(about(self.info, "unless_given", ""))
        if not default and self.switch is None and self.default not in (None, (), {}):
            value = self.default
            default = f"default: {','.join(map(str, value)) if isinstance(value, tuple) else value}"
        if not with_tables:
            default = default.partition("; own table")[0]
        text = f"{text[:1].upper()}{text[1:]}."
        return f"{text} ({default})" if default else text


@cache
def run_fields(model: type[BaseModel] = RunSpec) -> tuple[RunField, ...]:
    """Every field of a spec, those of its sections included, in the order of their declaration."""
    return tuple(_fields(model, (), True))


def _fields(model: type[BaseModel], path: tuple[str, ...], identifies: bool) -> Iterator[RunField]:
    for name, info in model.model_fields.items():
        section, counts = section_of(info), identifies and about(info, "identifies", True) is not False
        if section is None:
            words = (str(about(info, word, "")) for word in ("flag", "argument", "also", "names"))
            yield RunField((*path, name), info, counts, *words)
        else:
            yield from _fields(section, (*path, name), counts)


def section_of(info: FieldInfo) -> type[BaseModel] | None:
    """The model of a field that is a section; None for any other."""
    kinds = (info.annotation, *get_args(info.annotation))
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def sections(model: type[BaseModel] = RunSpec) -> tuple[str, ...]:
    """Names of the fields of a spec that are specs themselves."""
    return tuple(name for name, info in model.model_fields.items() if section_of(info) is not None)


def arguments(model: type[BaseModel] = RunSpec) -> dict[str, str]:
    """Field -> argument of :func:`pubench.run`; the fields of a user table have those of :func:`pubench.data`."""
    return {field.name: field.argument for field in run_fields(model) if field.argument}


def is_path(name: str) -> bool:
    """Whether a word of a message is the dotted path of a field, or of a hyper-parameter."""
    return name.startswith("method.config.") or ("." in name and any(field.name == name for field in run_fields()))
