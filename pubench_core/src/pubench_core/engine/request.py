"""Several layers as one request: sections with the values that win, and where each was written."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..data.table_files import is_table_path
from ..errors import Hint, RequestError, shown
from ..plugins.info import Info
from ..plugins.registry import InfoT, Registry
from ..specs.run_fields import sections
from .layers import FieldPath, Layer

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
        values: dict[str, Any] = {}
        origins: dict[FieldPath, str] = {}
        for layer in layers:
            keyed = {k: _keyed(k, v) if k in _KEYED and not isinstance(v, dict) else v for k, v in layer.values.items()}
            values = _merged(values, keyed)
            origins |= layer.origins
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


def _keyed(section: str, value: Any) -> dict[str, Any]:
    """What a bare value means: a key, or a file of the user's own."""
    is_file = section == "data" and isinstance(value, str) and is_table_path(value)
    return {"own": {"path": value}} if is_file else {"key": value}


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
