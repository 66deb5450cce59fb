"""Requests as nested values: layers, where each value was written, and several layers as one request."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..data.table_reader import is_table_path
from ..errors import Hint, RequestError, shown
from ..plugins.info import Info
from ..plugins.registry import InfoT, Registry
from ..specs.run_fields import sections

#: Names of a field and of the sections that it is in, outermost first: ("mechanism", "c").
FieldPath = tuple[str, ...]


@dataclass
class Layer:
    """Nested values and, for each path in them, where it was written (``run.yaml, line 3`` or ``--c``)."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[FieldPath, str] = field(default_factory=dict)

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
        sections = {name: {} if values.get(name) is None else values[name] for name in SECTIONS}
        for name, given in sections.items():
            if not isinstance(given, dict):
                where = origins.get((name,), name)
                raise RequestError(f"{where}: {name} must be a mapping, given {shown(given)}", field=name, value=given)
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
