"""Requests as nested values: layers, where each value was written, and several layers as one request."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ..data.table_reader import is_table_path
from ..errors import Hint, RequestError, shortened, shown
from ..plugins.info import Info
from ..plugins.registry import InfoT, Registry
from ..specs import RunSpec
from ..specs.run_fields import sections

#: Names of a field and of the sections that it is in, outermost first: ("mechanism", "c").
FieldPath = tuple[str, ...]

#: Bounds on what is read as YAML, far above any request: characters of a file and of a number, values in values.
MOST_CHARACTERS, MOST_DIGITS, MOST_NESTED = 1 << 20, 100, 50
#: Bound on the values of a YAML file, with those that aliases repeat: nine levels of ten make a billion.
MOST_VALUES = 100_000


@dataclass
class Layer:
    """Nested values and, for each path in them, where it was written (``run.yaml, line 3`` or ``--c``)."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[FieldPath, str] = field(default_factory=dict)

    @classmethod
    def of(cls, *assignments: str, prefix: str = "") -> Layer:
        """Layer of texts like ``lr=1e-3``, later ones winning (see :func:`parse_assignment`).

        ``prefix``: put before each text where an error says what was written.
        """
        layer = cls()
        for text in assignments:
            path, value = parse_assignment(text, prefix)
            layer.put(path, value, shortened(f"{prefix}{text}"))
        return layer

    @classmethod
    def joined(cls, layers: Iterable[Layer]) -> Layer:
        """Several layers as one, later ones winning; a section that is a bare key or a file becomes a mapping."""
        joined = cls()
        for layer in layers:
            keyed = dict(layer.values)
            for name in _KEYED:
                value = keyed.get(name, {})
                if not isinstance(value, dict):
                    is_file = name == "data" and isinstance(value, str) and is_table_path(value)
                    keyed[name] = {"own": {"path": value}} if is_file else {"key": value}
            joined.values = _merged(joined.values, keyed)
            joined.origins |= layer.origins
        return joined

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


def parse_assignment(text: str, prefix: str = "") -> tuple[FieldPath, Any]:
    """``name=value`` (a method's field; ``seed``, ``prior`` and ``prior_scorer``: the run's) or ``section.name=value``.

    The value is read as YAML.
    """
    name, equals, raw = text.partition("=")
    said = shortened(f"{prefix}{text}")
    path = tuple(name.strip().split("."))
    if not equals or not all(path):
        raise RequestError(f"{said}: write name=value, for example lr=1e-3 (or section.name=value)")
    try:
        node, value = _parsed(raw)
        _record_lines(node, path, said, {}, ())
    except yaml.YAMLError as error:
        raise RequestError(f"{said}: the value is not valid YAML: {_problem(error)}") from error
    return (path if len(path) > 1 or name in ("seed", "prior", "prior_scorer") else ("method", "config", *path)), value


def read_yaml(
    path: Path, *, what: str = "a run file", fields: Iterable[str] = RunSpec.model_fields, aliases: bool = True
) -> Layer:
    """A run file as a layer. Raises RequestError naming file and line if it is unreadable or not a mapping.

    ``what``: other files of this kind, and their ``fields``. ``aliases``: whether it may repeat values; nine levels of
    aliases make millions, so the file of a stranger may not.
    """
    try:
        with path.open(encoding="utf-8") as stream:
            text = stream.read(MOST_CHARACTERS + 1)
    except (OSError, ValueError) as error:  # ValueError: no UTF-8, or a path with a NUL character
        raise RequestError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    try:
        root, values = _parsed(text, aliases)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        raise RequestError(f"{path}{line}: not valid YAML: {_problem(error)}") from error
    if not isinstance(values, dict):
        raise RequestError(f"{path}: {what} is a mapping of {', '.join(fields)}")
    layer = Layer(values)
    _record_lines(root, (), str(path), layer.origins, ())
    return layer


# -------------------------------------------------------------------- YAML within bounds


def _parsed(text: str, aliases: bool = True) -> tuple[Any, Any]:
    """The node of the one document in a text, and its value. Raises YAMLError for what is none, or out of bounds."""
    if len(text) > MOST_CHARACTERS:
        raise yaml.YAMLError(f"more than {MOST_CHARACTERS:,} characters")
    loader = _Loader(text)
    loader.aliases = aliases
    try:
        node = loader.get_single_node()
        if node is not None and _values(node, {}) > MOST_VALUES:
            raise yaml.YAMLError(f"more than {MOST_VALUES:,} values, with those that aliases repeat")
        return node, None if node is None else loader.construct_document(node)
    except RecursionError:
        raise yaml.YAMLError("values in values without end") from None
    finally:
        loader.dispose()


def _values(node: Any, counted: dict[int, int]) -> int:
    """How many values a node holds, with those that aliases repeat. ``counted``: by node."""
    if id(node) not in counted:
        counted[id(node)] = 1  # a node within itself counts once; _record_lines refuses it
        inner = node.value if isinstance(node, yaml.CollectionNode) else ()
        parts = (value for _, value in inner) if isinstance(node, yaml.MappingNode) else inner
        counted[id(node)] += sum(_values(part, counted) for part in parts)
    return counted[id(node)]


def _problem(error: yaml.YAMLError) -> str:
    """What is wrong with a document, in one line."""
    return shortened(str(getattr(error, "problem", None) or getattr(error, "context", None) or error))


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, all of whose refusals are YAMLError. ``aliases``: whether a document may have any."""

    aliases = True
    depth = 0

    def get_event(self) -> Any:
        event = super().get_event()  # type: ignore[no-untyped-call]
        self.depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if self.depth > MOST_NESTED:
            raise _refusal(f"nested more than {MOST_NESTED} deep", event)
        if isinstance(event, yaml.AliasEvent) and not self.aliases:
            raise _refusal("values repeated by aliases, which pubench never writes", event)
        return event

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        kind = node.tag.rpartition(":")[2]
        if isinstance(node, yaml.ScalarNode):
            if kind in ("int", "float") and len(node.value) > MOST_DIGITS:
                raise _refusal(f"a number of {len(node.value)} characters", node)
            if "\0" in node.value:
                raise _refusal("a text with a NUL character", node)
        try:
            return super().construct_object(node, deep)
        # what PyYAML lets out where a value is none of its type: 2020-13-45, !!bool maybe
        except (ValueError, LookupError, AttributeError, OverflowError, TypeError) as error:
            value = shown(node.value) if isinstance(node, yaml.ScalarNode) else "this"
            raise _refusal(f"{value} is no {kind} (in quotes it is a text)", node) from error


def _refusal(problem: str, at: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=at.start_mark)


def _record_lines(node: Any, path: FieldPath, file: str, origins: dict[FieldPath, str], above: tuple[Any, ...]) -> None:
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


#: Sections that may be written as a bare key: ``data: mnist`` means ``data: {key: mnist}``.
_KEYED = ("data", "mechanism", "method", "backbone")
SECTIONS = sections()


@dataclass(frozen=True)
class Request:
    """``sections``: every section as a mapping, empty where nothing was said. ``rest``: what is in no section."""

    sections: Mapping[str, Mapping[str, Any]]
    rest: Mapping[str, Any]
    origins: Mapping[FieldPath, str]

    @classmethod
    def of(cls, layers: Iterable[Layer]) -> Request:
        """The request of layers, later ones winning. Raises RequestError for a section that is no mapping."""
        joined = Layer.joined(layers)
        values, origins = joined.values, joined.origins
        sections = {name: _section(values, name, origins) for name in SECTIONS}
        return cls(sections, {name: value for name, value in values.items() if name not in SECTIONS}, origins)

    def where(self, *path: str) -> str:
        """Place where the user wrote a field's value, else the field's path."""
        return self.origins.get(path, ".".join(path))

    def find(self, registry: Registry, kind: type[InfoT], section: str, key: Any) -> InfoT:
        """The plugin that a section names; an error names the line where it was written in a file."""
        try:
            return registry.find(kind, str(key))
        except RequestError as error:
            written = self.origins.get((section, "key"), self.origins.get((section,), ""))
            if ", line " not in written:
                raise
            raise RequestError(f"{written}: {error}", field=f"{section}.key", value=key, hint=error.hint) from None

    def key(self, kind: type[Info], section: str) -> str:
        """The key that must have been given. Raises RequestError if it was not."""
        key = self.sections[section].get("key")
        if key is None:
            path = f"{section}.key"
            raise RequestError(f"no {section} given; {path}=KEY is needed", field=path, hint=Hint("list", kind.kind))
        return str(key)


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(old)
    for name, value in new.items():
        before = found.get(name)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            found[name] = _merged(before, value)
        else:
            found[name] = copy.deepcopy(value)
    return found


def _section(values: Mapping[str, Any], name: str, origins: Mapping[FieldPath, str]) -> dict[str, Any]:
    section = values.get(name, {})
    if section is None:
        return {}
    if not isinstance(section, dict):
        raise RequestError(
            f"{origins.get((name,), name)}: {name} must be a mapping, given {shown(section)}", field=name, value=section
        )
    return dict(section)
