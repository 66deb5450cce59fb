"""From what a user asked for to a complete :class:`~pubench_core.specs.RunSpec`.

Hyper-parameters resolve in this order: Config defaults < preset < layers in the order given (a run file, then flags).
Every error names where the value came from, what was given and what would be right.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import yaml
from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from .data.own import read_own
from .data.tables import is_table_path
from .errors import PluginError, RequestError, unknown
from .info import BackboneInfo, DatasetInfo, MechanismInfo, MethodInfo, PriorInfo
from .method import AnyMethod, Method
from .registry import InfoT, Registry, load
from .resolve_data import choose_classes, choose_mechanism, own_file, own_info
from .resolve_metrics import Truth, choose_metrics
from .specs import NO_TRUE_PRIOR, OwnFile, RunSpec

Path_ = tuple[str, ...]

#: Sections that may be written as a bare key: ``data: mnist`` means ``data: {key: mnist}``.
_KEYED = ("data", "mechanism", "method", "backbone")


@dataclass
class Layer:
    """Nested values and, for each path in them, where it was written (``run.yaml, line 3`` or ``--set lr``)."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[Path_, str] = field(default_factory=dict)

    @classmethod
    def of(cls, *sets: str) -> Layer:
        """What ``--set`` with each of these texts says, later ones winning (see :func:`parse_set`)."""
        layer = cls()
        for text in sets:
            path, value = parse_set(text)
            layer.put(path, value, f"--set {text}")
        return layer

    def put(self, path: Sequence[str], value: Any, origin: str) -> None:
        """Sets one value by path."""
        node = self.values
        for name in path[:-1]:
            inner = node.setdefault(name, {})
            if not isinstance(inner, dict):
                inner = node[name] = {"key": inner}
            node = inner
        node[path[-1]] = value
        self.origins[tuple(path)] = origin


def read_yaml(path: Path) -> Layer:
    """A run file as a layer. Raises RequestError naming file and line if it is unreadable or not a mapping."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        values = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise RequestError(f"{path}{line}: not valid YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise RequestError(f"{path}: not valid YAML: {str(error).splitlines()[0]}") from error
    if not isinstance(values, dict):
        raise RequestError(f"{path}: a run file is a mapping of {', '.join(RunSpec.model_fields)}")
    layer = Layer(values)
    _record_lines(root, (), str(path), layer.origins, ())
    return layer


def _record_lines(node: Any, path: Path_, file: str, origins: dict[Path_, str], above: tuple[Any, ...]) -> None:
    """Notes the line of every field; refuses a field given twice and a value that contains itself."""
    if any(node is ancestor for ancestor in above):
        raise RequestError(f"{origins.get(path, file)}: {'.'.join(path)} contains itself")
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _record_lines(item, path, file, dict(origins), (*above, node))
    if isinstance(node, yaml.MappingNode):
        given: set[str] = set()
        for key, value in node.value:
            inner, line = (*path, str(key.value)), f"{file}, line {key.start_mark.line + 1}"
            if str(key.value) in given:
                raise RequestError(f"{line}: {'.'.join(inner)} is given twice")
            given.add(str(key.value))
            origins[inner] = line
            _record_lines(value, inner, file, origins, (*above, node))


def parse_set(text: str) -> tuple[Path_, Any]:
    """``name=value`` (a method's field; ``seed`` and ``prior``: the run's) or ``section.name=value``.

    The value is read as YAML.
    """
    name, equals, raw = text.partition("=")
    if not equals or not name.strip():
        raise RequestError(f"--set {text}: write name=value, for example --set lr=1e-3")
    path = tuple(name.strip().split("."))
    try:
        value = yaml.safe_load(raw)
    except yaml.YAMLError as error:
        raise RequestError(f"--set {text}: the value is not valid YAML") from error
    return (path if len(path) > 1 or name in ("seed", "prior") else ("method", "config", *path)), value


def resolve(layers: Iterable[Layer], registry: Registry, warn: Callable[[str], None] = lambda text: None) -> RunSpec:
    """The complete spec that the layers describe, later ones winning.

    A metric that cannot be loaded and was not asked for is left out, and ``warn`` is told.

    Raises RequestError for an unknown key, field, preset or criterion and for a value out of bounds; PluginError if
    something that was asked for is broken.
    """
    values: dict[str, Any] = {}
    origins: dict[Path_, str] = {}
    for layer in layers:
        keyed = {k: _keyed(k, v) if k in _KEYED and not isinstance(v, dict) else v for k, v in layer.values.items()}
        _merge(values, keyed)
        origins |= layer.origins
    sections = {name: _section(values, name, origins) for name in RunSpec.model_fields if name in _SECTIONS}

    def find(kind: type[InfoT], name: str, key: Any) -> InfoT:
        try:
            return registry.find(kind, str(key))
        except RequestError as error:
            where = origins.get((name, "key"), origins.get((name,), ""))
            raise RequestError(f"{where}: {error}" if ", line " in where else str(error)) from None

    own = _own(sections["data"], sections["mechanism"], origins)
    data = own_info(own) if own else find(DatasetInfo, "data", _required(sections["data"], "data", "--data digits"))
    method = find(MethodInfo, "method", _required(sections["method"], "method", "--method nnpu"))
    backbone = find(BackboneInfo, "backbone", sections["backbone"].setdefault("key", data.backbone))
    sections["method"]["key"], sections["backbone"]["key"] = method.key, backbone.key
    choose_classes(sections["data"], data, origins)
    sections["data"].setdefault("preprocess", data.preprocess)
    if own is None:
        sections["data"]["key"] = data.key
        mechanism = find(MechanismInfo, "mechanism", sections["mechanism"].setdefault("key", "scar"))
        choose_mechanism(sections["mechanism"], mechanism)

    implementation = method_class(method)
    sections["method"]["config"] = _config(sections["method"], method, implementation, data.key, origins)

    table = read_own(own) if own is not None else None
    truth = Truth(data.name) if table is None else Truth(data.name, table.truth is not None, table.can_be_tested)
    choose_metrics(sections, registry, method, implementation, warn, truth)
    try:
        spec = RunSpec.model_validate({**values, **sections})
    except ValidationError as error:
        raise _explain(error, RunSpec, (), origins) from None
    if table is not None and table.truth is None and (spec.prior == "true" or str(spec.prior).startswith("scaled:")):
        raise RequestError(NO_TRUE_PRIOR.format(spec.prior))
    if isinstance(spec.prior, str) and spec.prior.startswith("estimated:"):
        found = registry.find(PriorInfo, spec.prior.split(":", 1)[1])
        spec = spec.model_copy(update={"prior": f"estimated:{found.key}"})
    return spec


def _keyed(section: str, value: Any) -> dict[str, Any]:
    """What a bare value means: a key, or a file of the user's own."""
    is_file = section == "data" and isinstance(value, str) and is_table_path(value)
    return {"own": {"path": value}} if is_file else {"key": value}


_SECTIONS = ("data", "mechanism", "validation", "method", "backbone", "selection", "evaluation", "execution")


def method_class(info: MethodInfo) -> type[AnyMethod]:
    """The method behind an info record; PluginError if it is not a :class:`Method`."""
    found = load(info)
    if not (isinstance(found, type) and issubclass(found, Method)):
        raise PluginError(f"method '{info.key}': {info.load} is not a subclass of pubench_core.method.Method")
    return found


def _own(data: dict[str, Any], mechanism: dict[str, Any], origins: Mapping[Path_, str]) -> OwnFile | None:
    fields = own_file(data, mechanism, origins)
    if fields is None:
        return None
    try:
        return OwnFile.model_validate(fields)
    except ValidationError as error:
        raise _explain(error, OwnFile, ("data", "own"), origins, owner="data.own") from None


def _merge(into: dict[str, Any], new: Mapping[str, Any]) -> None:
    for name, value in new.items():
        if isinstance(value, Mapping) and isinstance(into.get(name), dict):
            _merge(into[name], value)
        else:
            into[name] = copy.deepcopy(value)


def _section(values: Mapping[str, Any], name: str, origins: Mapping[Path_, str]) -> dict[str, Any]:
    section = values.get(name, {})
    if section is None:
        return {}
    if not isinstance(section, dict):
        raise RequestError(f"{origins.get((name,), name)}: {name} must be a mapping, given {section!r}")
    return dict(section)


def _required(section: Mapping[str, Any], name: str, example: str) -> str:
    if "key" not in section:
        raise RequestError(f"no {name} given; say for example {example} (pubench list {_LISTED[name]})")
    return str(section["key"])


_LISTED = {"data": "datasets", "method": "methods"}


def _config(
    section: Mapping[str, Any],
    info: MethodInfo,
    implementation: type[AnyMethod],
    data_key: str,
    origins: Mapping[Path_, str],
) -> dict[str, Any]:
    preset = section.get("preset")
    values: dict[str, Any] = {}
    if preset is not None:
        if str(preset) not in info.presets:
            raise unknown(f"preset of {info.key}", str(preset), info.presets)
        values = info.presets[str(preset)].resolve(data_key)
    given = section.get("config") or {}
    if not isinstance(given, Mapping):
        raise RequestError(f"method.config must be a mapping of {info.key}'s fields, given {given!r}")
    try:
        config = implementation.Config.model_validate({**values, **given})
    except ValidationError as error:
        raise _explain(error, implementation.Config, ("method", "config"), origins, owner=info.key) from None
    return config.model_dump(mode="json")


def _explain(
    error: ValidationError,
    model: type[BaseModel],
    prefix: Path_,
    origins: Mapping[Path_, str],
    owner: str = "",
) -> RequestError:
    """One line for the first problem: where it was written, what was given, what would be right."""
    first = error.errors(include_url=False)[0]
    loc = tuple(str(part) for part in first["loc"])
    path = (*prefix, *loc)
    where = next((origins[path[:n]] for n in range(len(path), 0, -1) if path[:n] in origins), ".".join(path))
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    parent, name = _descend(model, loc[:-1]), loc[-1] if loc else ""
    if first["type"] == "extra_forbidden":
        fields = parent.model_fields if parent else {}
        whose = owner or ".".join(path[:-1]) or "a run"
        hint = str(unknown("field", name, fields)).split("; ", 1)[1]
        listing = f" (pubench info {owner})" if owner else ""
        return RequestError(f"{where}: {whose} has no field '{name}'; {hint}{listing}{more}")
    message = first["msg"].removeprefix("Value error, ")
    field_ = parent.model_fields.get(name) if parent else None
    if field_ is None or first["type"] == "value_error":
        return RequestError(f"{where}: {message}{more}")
    meaning = f" ({field_.description})" if field_.description else ""
    return RequestError(f"{where}: given {first['input']!r}; {name} must be {bounds(field_)}{meaning}{more}")


def _descend(model: type[BaseModel], path: Sequence[str]) -> type[BaseModel] | None:
    for name in path:
        field_ = model.model_fields.get(name)
        if field_ is None or not (isinstance(field_.annotation, type) and issubclass(field_.annotation, BaseModel)):
            return None
        model = field_.annotation
    return model


def bounds(field_: FieldInfo) -> str:
    """The values a field accepts, in words: ``a number above 0``, ``one of adam, adamw, sgd``."""
    extra = field_.json_schema_extra
    if isinstance(extra, dict) and "said as" in extra:
        return str(extra["said as"])
    words = _type_words(field_.annotation)
    for limit in field_.metadata:
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
