"""Requests as they are written: YAML files, and texts like ``lr=1e-3``, whose values are YAML. Read within bounds."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from pubench_core.engine.layers import FieldPath, Layer
from pubench_core.errors import RequestError, shortened, shown
from pubench_core.specs import RunSpec
from pubench_core.specs.run_fields import sections

_OF_THE_RUN = frozenset(RunSpec.model_fields) - frozenset(sections())
#: Bounds on what is read as YAML, far above any request: characters of a file and of a number, values in values.
MOST_CHARACTERS, MOST_DIGITS, MOST_NESTED = 1 << 20, 100, 50
#: Bound on the values of a YAML file, with those that aliases repeat: nine levels of ten make a billion.
MOST_VALUES = 100_000


def assigned(*texts: str, prefix: str = "") -> Layer:
    """Layer of texts like ``lr=1e-3``, later ones winning (see :func:`parse_assignment`).

    ``prefix``: put before each text where an error says what was written.
    """
    layer = Layer()
    for text in texts:
        path, value = parse_assignment(text, prefix)
        layer.put(path, value, shortened(f"{prefix}{text}"))
    return layer


def parse_assignment(text: str, prefix: str = "") -> tuple[FieldPath, Any]:
    """``name=value`` (a field of the run, such as ``seed``, or else of the method), ``section.name=value``, or
    ``name.key=value`` of a hyper-parameter that is a mapping.

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
    first, *rest = path
    # a misspelled section is answered with the right one
    of_a_section = first in RunSpec.model_fields or get_close_matches(first, RunSpec.model_fields, 1, 0.75)
    return (path if (of_a_section if rest else first in _OF_THE_RUN) else ("method", "config", *path)), value


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
        raise RequestError(f"{path}: expected {what}, a mapping of {', '.join(fields)}")
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
        raise yaml.YAMLError("nested too deep") from None
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
            raise _refusal(f"{value} is not a valid {kind}; put a text in quotes", node) from error


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
