"""What a user said, before it is understood: nested values, and where each was written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ..errors import RequestError
from ..specs import RunSpec

#: Names of a field and of the sections that it is in, outermost first: ("mechanism", "c").
FieldPath = tuple[str, ...]


@dataclass
class Layer:
    """Nested values and, for each path in them, where it was written (``run.yaml, line 3`` or ``--c``)."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[FieldPath, str] = field(default_factory=dict)

    @classmethod
    def of(cls, *assignments: str, prefix: str = "") -> Layer:
        """What texts like ``lr=1e-3`` say, later ones winning (see :func:`parse_assignment`).

        ``prefix``: put before each text where an error says what was written.
        """
        layer = cls()
        for text in assignments:
            path, value = parse_assignment(text, prefix)
            layer.put(path, value, f"{prefix}{text}")
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


def parse_assignment(text: str, prefix: str = "") -> tuple[FieldPath, Any]:
    """``name=value`` (a method's field; ``seed`` and ``prior``: the run's) or ``section.name=value``.

    The value is read as YAML.
    """
    name, equals, raw = text.partition("=")
    if not equals or not name.strip():
        raise RequestError(f"{prefix}{text}: write name=value, for example lr=1e-3")
    path = tuple(name.strip().split("."))
    try:
        value = yaml.safe_load(raw)
    except yaml.YAMLError as error:
        raise RequestError(f"{prefix}{text}: the value is not valid YAML") from error
    return (path if len(path) > 1 or name in ("seed", "prior") else ("method", "config", *path)), value


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
