"""Spec of a study: lists of methods, data sets, mechanisms and so on, whose combinations are its runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationInfo, field_validator, model_validator

from pubench_core.errors import shown
from pubench_core.specs.fields import Field, Strict
from pubench_core.specs.run import parse_prior
from pubench_core.specs.schemes import Scheme

from .seeds import SEEDS

#: Means every method that is installed and works.
ALL = "all"

Entries = list[dict[str, Any]]


def _as_mappings(given: Any, info: ValidationInfo) -> Any:
    """Keys, mappings with a ``key``, or a mapping from names to such mappings, as a list of mappings."""
    what = info.field_name
    if given == ALL or given is None:
        return given
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Mapping):
        for name, more in given.items():
            if more is not None and not isinstance(more, Mapping):
                raise ValueError(f"{what}.{name} must be a mapping, got {shown(more)}")
        given = [{"name": str(name), "key": str(name), **(more or {})} for name, more in given.items()]
    if not isinstance(given, (list, tuple)):
        raise ValueError(f"{what} must be a list of keys, or of mappings with a key, got {shown(given)}")
    return [{"key": item} if isinstance(item, str) else item for item in given]


def _lists_of(given: Any, what: str, other: str = "") -> Any:
    """A mapping from names to lists that are not empty, or to mappings where there may be others."""
    for name, values in (given or {}).items() if isinstance(given, Mapping) else ():
        if other and isinstance(values, Mapping):
            continue
        if not isinstance(values, (list, tuple)) or not values:
            raise ValueError(f"{what}.{name} must be a list of values{other}, got {shown(values)}")
    return given or {}


class LogRange(Strict):
    """Numbers whose logarithm is uniform: ``{log: [1e-4, 1e-2]}``."""

    log: tuple[float, float] = Field(description="the smallest and the largest")

    @field_validator("log")
    @classmethod
    def _ordered(cls, given: tuple[float, float]) -> tuple[float, float]:
        if not 0 < given[0] < given[1] < float("inf"):
            raise ValueError(f"expected two numbers above 0, the smaller first, got {list(given)}")
        return given


Ranges = dict[str, LogRange | tuple[Any, ...]]


def _ranges_of(given: Any) -> Any:
    return _lists_of(given, "ranges", ", or {log: [low, high]}")


class MethodEntry(Strict):
    """A method as the study runs it; what is given here wins over what the study gives to all."""

    key: str = Field(description="the method")
    name: str = Field("", description="what its row is called; by default its key")
    preset: str | None = Field(None, description="named values; none: the first of the study's presets that it has")
    config: dict[str, Any] = Field(default_factory=dict, description="hyper-parameters")
    grid: dict[str, tuple[Any, ...]] = Field(
        default_factory=dict, description="hyper-parameter -> values; every combination is a row of its own"
    )
    ranges: Ranges = Field(
        default_factory=dict,
        description="hyper-parameter -> values that draws choose from, or {log: [low, high]}, instead of its own range",
    )
    calibrate: Literal["auto", "on", "off"] | None = Field(None, description="as for a run")
    backbone: str | None = Field(None, description="the network; none: the data set's")
    prior: float | str | None = Field(None, description="as for a run; none: each of the study's")

    @field_validator("prior")
    @classmethod
    def _prior(cls, given: float | str | None) -> float | str | None:
        return None if given is None else parse_prior(given)

    @field_validator("grid", mode="before")
    @classmethod
    def _lists(cls, given: Any) -> Any:
        return _lists_of(given, "grid")

    _ranges = field_validator("ranges", mode="before")(_ranges_of)

    @property
    def row(self) -> str:
        """Name of its row."""
        return self.name or self.key


class MechanismEntry(Strict):
    """A labeling mechanism, in one of its variants."""

    key: str = Field(description="the mechanism")
    variant: str | None = Field(None, description="which reading of it; none: its first")


class Draws(Strict):
    """Hyper-parameter draws from the ranges that methods declare. All data sets and seeds get the same ones."""

    number: int = Field(ge=1, le=1000, description="configurations per method")
    seed: int = Field(0, ge=0, description="of the draws")
    with_default: bool = Field(True, description="whether the first is the configuration as it is")
    ranges: Ranges = Field(
        default_factory=dict,
        description="hyper-parameter -> values to choose from, instead of the range of each method that draws it",
    )

    _ranges = field_validator("ranges", mode="before")(_ranges_of)


class Axes(Strict):
    """Lists whose combinations are runs. What is left out here is the study's own list."""

    methods: tuple[MethodEntry, ...] | Literal["all"] | None = Field(
        None, description="keys, or mappings with key, name, preset, config, grid, calibrate, backbone, prior; or all"
    )
    data: tuple[dict[str, Any], ...] | None = Field(
        None,
        description="keys of data sets, or sections of a run's data (own.path names a user table; tasks: "
        "{min_presences: 30} chooses among those of a source)",
    )
    mechanisms: tuple[MechanismEntry, ...] | None = Field(None, description="keys, or mappings with key and variant")
    c: tuple[float, ...] | None = Field(None, description="label frequencies")
    positive_rates: tuple[float, ...] | None = Field(
        None, description="labeled rows as shares of P and U, instead of c (schemes one-sample and two-sample)"
    )
    schemes: tuple[Scheme, ...] | None = Field(None, description="how labeled and unlabeled rows were sampled")
    priors: tuple[float | str, ...] | None = Field(
        None, description="true, numbers, scaled:FACTOR, estimated:KEY (estimated:all: every installed estimator)"
    )
    seeds: tuple[int, ...] | None = Field(None, description="seeds, or how many of the PU-Bench protocol's")
    draws: Draws | None = Field(None, description="hyper-parameter draws; a number, or number, seed, with_default")
    settings: dict[str, Any] = Field(
        default_factory=dict, description="any other part of a run, as in a run file; holds for every run"
    )

    _as_mappings = field_validator("methods", "data", "mechanisms", mode="before")(_as_mappings)

    @field_validator("data")
    @classmethod
    def _named(cls, given: tuple[dict[str, Any], ...] | None) -> tuple[dict[str, Any], ...] | None:
        for entry in given or ():
            own = entry.get("own")
            path = own.get("path") if isinstance(own, Mapping) else None
            if not isinstance(entry.get("key") or path, (str, Path)):
                raise ValueError(f"data: each must have a key, or own with the path of a table, got {shown(entry)}")
        return given

    @field_validator("c", "positive_rates", "schemes", "priors", "presets", mode="before", check_fields=False)
    @classmethod
    def _listed(cls, given: Any, info: ValidationInfo) -> Any:
        listed = given if given is None or isinstance(given, (list, tuple)) else [given]
        if info.field_name != "priors" or listed is None:
            return listed
        return ["true" if item is True else item for item in listed]  # what YAML reads as a truth value

    @field_validator("priors")
    @classmethod
    def _priors(cls, given: tuple[float | str, ...] | None) -> tuple[float | str, ...] | None:
        return None if given is None else tuple(parse_prior(prior) for prior in given)

    @field_validator("seeds", mode="before")
    @classmethod
    def _seeds(cls, given: Any) -> Any:
        if isinstance(given, int) and not isinstance(given, bool):
            if not 1 <= given <= len(SEEDS):
                raise ValueError(f"seeds must be a number from 1 to {len(SEEDS)} or a list of seeds, got {given}")
            return SEEDS[:given]
        return given

    @field_validator("draws", mode="before")
    @classmethod
    def _draws(cls, given: Any) -> Any:
        return {"number": given} if isinstance(given, int) and not isinstance(given, bool) else given

    @model_validator(mode="after")
    def _nothing_empty(self) -> Axes:
        for name in ("methods", "data", "mechanisms", "c", "positive_rates", "schemes", "priors", "seeds"):
            found = getattr(self, name)
            if found is not None and not len(found):
                raise ValueError(f"{name}: the list is empty, so there would be no run; name one or leave it out")
        return self


#: What a study may be called: its folder is.
NAME = r"^[a-z0-9][a-z0-9._-]{0,63}$"
#: What ``exclude`` may name: the facts of one run.
CONDITIONS = ("method", "data", "mechanism", "c", "positive_rate", "scheme", "prior", "seed", "preset", "draw")


def same(value: Any, option: Any) -> bool:
    """Equal; ``true`` of YAML is the prior of that name, and .10 is .1."""
    if isinstance(option, bool):
        option = str(option).lower()
    try:
        return float(value) == float(option)
    except (TypeError, ValueError):
        return str(value) == str(option)


class StudySpec(Axes):
    """A study: the combinations of its lists, those of ``include`` and the runs of ``runs``, without ``exclude``."""

    name: str = Field(
        description="what it is called; name of its folder",
        pattern=NAME,
        accepts="lower-case letters, digits, hyphens and dots",
    )
    description: str = Field("", description="what it is for")
    config_where_known: dict[str, Any] = Field(
        default_factory=dict, description="hyper-parameters of those methods that have them; a method's own config wins"
    )
    presets: tuple[str, ...] = Field(
        (), description="the first of these that a method has is its preset; none: its defaults"
    )
    include: tuple[Axes, ...] = Field((), description="more lists, each combined in itself")
    exclude: tuple[dict[str, Any], ...] = Field(
        (), description=f"runs to leave out, by any of {', '.join(CONDITIONS)}: a value or a list of values"
    )
    runs: tuple[dict[str, Any], ...] = Field((), description="single runs, each written as a run file")

    @field_validator("exclude", mode="after")
    @classmethod
    def _conditions(cls, given: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
        for condition in given:
            if not condition:
                raise ValueError("exclude: an empty condition would leave out every run")
            for name in condition:
                if name not in CONDITIONS:
                    raise ValueError(f"exclude: there is no '{name}'; expected {', '.join(CONDITIONS)}")
        return given

    @model_validator(mode="after")
    def _something(self) -> StudySpec:
        blocks = [(block.methods or self.methods, block.data or self.data) for block in self.include]
        if (self.methods and self.data) or not (blocks or self.runs):
            blocks.append((self.methods, self.data))
        for methods, data in blocks:
            if not methods or not data:
                raise ValueError(f"{'methods' if not methods else 'data'}: no list is given, so there would be no run")
        return self
