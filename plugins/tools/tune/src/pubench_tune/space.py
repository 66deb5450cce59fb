"""Search spaces: which hyper-parameters are tuned, and within what.

A space is written as texts: ``lr=1e-5..1e-2:log`` (a range on a logarithmic scale), ``gamma=0..1`` (a range; whole
numbers where the hyper-parameter is one), ``batch_size=32,64,128`` (a list), ``default`` (what the method declares).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from pubench_cli.yaml_layers import parse_assignment
from pubench_core.engine.explain import accepted, explain
from pubench_core.errors import Hint, RequestError, shortened, shown, unknown
from pubench_core.specs.config import MethodConfig, TrainingConfig
from pubench_core.specs.fields import Choice, LogUniform, PowerOfTwo, Search, Uniform, about

#: The text that stands for what the method declares.
DEFAULT = "default"
#: Range of the weight decay in the default space; TrainingConfig declares none to draw from.
_WEIGHT_DECAY = (1e-6, 1e-2)
#: Share of its width by which a range stays away from a bound that is not itself allowed.
_INSET = 0.01
_FORMS = "expected name=low..high, name=low..high:log or name=a,b,c"

#: What a hyper-parameter is searched in.
Dimension = FloatDistribution | IntDistribution | CategoricalDistribution
#: What a caller may give: texts, or hyper-parameter -> (low, high), (low, high, "log"), a list of values or a text.
Given = Iterable[str] | Mapping[str, Any]


def text_of(dimension: Dimension) -> str:
    """A dimension as it is written: ``lr=`` before it."""
    if isinstance(dimension, CategoricalDistribution):
        words = {True: "true", False: "false", None: "null"}
        return ",".join(words[v] if v is None or isinstance(v, bool) else str(v) for v in dimension.choices)
    return f"{dimension.low:.6g}..{dimension.high:.6g}{':log' if dimension.log else ''}"


def holds(dimension: Dimension, value: object) -> bool:
    """Whether a dimension has a value. True is no number, and 1 is no flag."""
    if isinstance(dimension, CategoricalDistribution):
        return any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in dimension.choices)
    return isinstance(value, (int, float)) and not isinstance(value, bool) and dimension._contains(value)


@dataclass(frozen=True)
class TunedMethod:
    """Method that a space is for."""

    method: str
    config: MethodConfig
    fixed: Collection[str] = ()
    """Hyper-parameters that the user has set."""
    word: str = "space "
    """Put before what was written."""
    of_files: Collection[str] = ()
    """Hyper-parameters that a file sets: they are tuned if the user names them."""

    @property
    def fields(self) -> dict[str, FieldInfo]:
        """The method's hyper-parameters."""
        return dict(type(self.config).model_fields)


def space_of(given: Given | None, subject: TunedMethod) -> dict[str, Dimension]:
    """The search space; None means the default one.

    Raises RequestError for an unknown hyper-parameter, one that was set and is to be tuned, values out of its bounds,
    bounds in the wrong order, and where nothing is left to tune.
    """
    if not subject.fields:
        raise RequestError(f"{subject.method} has no hyper-parameters; there is nothing to tune")
    if given is None:
        subject = replace(subject, fixed={*subject.fixed, *subject.of_files})
    found: dict[str, Dimension] = {}
    named: set[str] = set()
    for name, value, said in _listed(given, subject.word):
        if name == DEFAULT:
            found = {**default_space(subject), **found}
            continue
        if name not in subject.fields:
            hint = Hint("describe", subject.method)
            raise unknown(f"hyper-parameter of {subject.method}", name, subject.fields, where=said, hint=hint)
        if name in subject.fixed:
            raise RequestError(f"{said}: {name} is set as well; leave one of the two out")
        if name in named:
            raise RequestError(f"{said}: {name} is given twice; leave one of the two out")
        named.add(name)
        found[name] = _dimension(name, value, said, subject)
    if not found and (ranged := sorted(default_space(replace(subject, fixed=())))):
        raise RequestError(
            f"nothing is left to tune: {', '.join(ranged)} of {subject.method} are set; {subject.word}{DEFAULT} "
            "tunes what a file sets, starting from its values"
        )
    if not found:
        raise RequestError(
            f"{subject.method} declares no ranges to tune; name one of {', '.join(subject.fields)}: {_FORMS}"
        )
    return dict(sorted(found.items()))


def _listed(given: Given | None, word: str) -> list[tuple[str, Any, str]]:
    """(hyper-parameter, value, what was written), in order."""
    if isinstance(given, Mapping):
        return [(str(name), value, f"{word}{name}={shown(value)}") for name, value in given.items()]
    if given is not None and not isinstance(given, Iterable):
        raise RequestError(f"{word}{shown(given)}: {_FORMS}")
    found = []
    for text in [DEFAULT] if given is None else [given] if isinstance(given, str) else given:
        name, _, value = (part.strip() for part in str(text).partition("="))
        if name != DEFAULT and not value:
            raise RequestError(f"{word}{shortened(str(text))}: {_FORMS}")
        found.append((name, value, shortened(f"{word}{text}")))
    return found


# -------------------------------------------------------------------- what was given


def _dimension(name: str, value: Any, said: str, subject: TunedMethod) -> Dimension:
    if isinstance(value, LogUniform | Uniform | PowerOfTwo | Choice):
        return _declared(value)
    if isinstance(value, str) and ".." in value:
        low, _, rest = value.partition("..")
        high, *scale = rest.split(":")
        value = (low, high, *scale)
    if isinstance(value, tuple):
        return _range(name, value, said, subject)
    if isinstance(value, str):
        value = parse_assignment(f"{name}=[{value}]", said.partition(name)[0])[1]
    if not isinstance(value, (list, set, range)):
        raise RequestError(f"{said}: {_FORMS}")
    for one in value:
        if one is not None and not isinstance(one, (bool, int, float, str)):
            raise RequestError(f"{said}: expected numbers, texts, true, false or null, got {shown(one)}")
    values = tuple(dict.fromkeys(_checked(name, one, said, subject) for one in value))
    if len(values) < 2:
        raise RequestError(f"{said}: expected at least two different values; one value is set, not tuned")
    return CategoricalDistribution(values)


def _range(name: str, given: tuple[Any, ...], said: str, subject: TunedMethod) -> Dimension:
    field = subject.fields[name]
    kinds = {field.annotation, *get_args(field.annotation)}
    if not kinds & {int, float}:
        raise RequestError(f"{said}: {name} is {accepted(field)}; expected a list of values, not a range")
    ends, scale, number = given[:2], [str(one).strip() for one in given[2:]], float if float in kinds else int
    if len(ends) < 2 or scale not in ([], ["log"]):
        raise RequestError(f"{said}: {_FORMS}")
    try:
        low, high = (number(float(end)) for end in ends)
        if [low, high] != [float(end) for end in ends] or math.inf in (-low, high):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        kind, both = "whole numbers" if number is int else "finite numbers", " and ".join(map(shown, ends))
        raise RequestError(f"{said}: the bounds must be {kind}, got {both}; {_FORMS}") from None
    if not low < high:
        raise RequestError(f"{said}: the bounds are in the wrong order or equal; expected low..high with low < high")
    if scale and low <= 0:
        raise RequestError(f"{said}: a range on a logarithmic scale must start above 0")
    for end in (low, high):
        _checked(name, end, said, subject)
    if number is int:
        return IntDistribution(int(low), int(high), bool(scale))
    return FloatDistribution(low, high, bool(scale))


def _checked(name: str, value: Any, said: str, subject: TunedMethod) -> Any:
    """A value as the configuration has it. Raises RequestError where the field refuses it.

    What several fields together refuse is seen when a trial has them.
    """
    model, path = type(subject.config), ("method", "config")
    try:
        made = model.model_validate({**subject.config.model_dump(), name: value})
    except ValidationError as error:
        if error.errors(include_url=False)[0]["loc"][:1] != (name,):
            return value
        raise explain(error, model, path, {(*path, name): said}, subject.method) from None
    return getattr(made, name)


# -------------------------------------------------------------------- what the method declares


def default_space(subject: TunedMethod) -> dict[str, Dimension]:
    """Default search space, without hyper-parameters that the user has set.

    The ranges that the configuration declares, the weight decay, and the method's own numbers that have two bounds.
    Declared ranges are widened to hold the value as it is.
    """
    found: dict[str, Dimension] = {}
    for name, field in subject.fields.items():
        now = getattr(subject.config, name)
        if name in subject.fixed:
            continue
        if search := about(field, "search"):
            found[name] = _holding(_declared(search), now)
        elif name == "weight_decay" and name in TrainingConfig.model_fields:
            found[name] = _holding(FloatDistribution(*_WEIGHT_DECAY, log=True), now)
        elif name not in TrainingConfig.model_fields and (own := _between_bounds(field)):
            found[name] = _holding(own, now)
    return found


def _declared(search: Search) -> Dimension:
    match search:
        case LogUniform(low, high):
            return FloatDistribution(low, high, log=True)
        case Uniform(low, high):
            return FloatDistribution(low, high)
        case PowerOfTwo(low, high):
            return CategoricalDistribution([2**power for power in range(int(low), math.ceil(high))])
        case Choice(values):
            return CategoricalDistribution(values)


def _between_bounds(field: FieldInfo) -> Dimension | None:
    """The range of a number that is no integer and has two bounds; None for any other field."""
    names = ("ge", "gt", "le", "lt")
    ends = {name: float(getattr(one, name)) for one in field.metadata for name in names if hasattr(one, name)}
    if field.annotation is not float or len(ends) < 2:
        return None
    low, high = (min(ends.values()), max(ends.values()))
    inset = _INSET * (high - low)
    return FloatDistribution(low + inset * ("gt" in ends), high - inset * ("lt" in ends))


def _holding(dimension: Dimension, value: Any) -> Dimension:
    """The same, widened to hold a value; one that it cannot hold (0 on a logarithmic scale) is left out."""
    if holds(dimension, value) or isinstance(value, bool) or not isinstance(value, (int, float)):
        return dimension
    if isinstance(dimension, CategoricalDistribution):
        return CategoricalDistribution(sorted({*dimension.choices, value}, key=float))  # type: ignore[arg-type]
    if dimension.log and value <= 0:
        return dimension
    return type(dimension)(min(dimension.low, value), max(dimension.high, value), dimension.log)  # type: ignore[arg-type]
