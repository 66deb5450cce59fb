"""The pytest plugin: a package's ``pyproject.toml`` is its conformance tests, reference vectors are read to the end.

Methods are found by the package's entry points. What shortens one for the checks is in the same file::

    [tool.pubench.conformance]
    my-method = ["warm_up=1", "steps_per_epoch=10"]
"""

from __future__ import annotations

import tomllib
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

import pytest


class Conformance(pytest.Module):
    """A test class for each method of a package, as if the file were a module with them."""

    def _getobj(self) -> ModuleType:
        from .testing import MethodConformance

        manifest = tomllib.loads(self.path.read_text(encoding="utf-8"))
        sets = manifest.get("tool", {}).get("pubench", {}).get("conformance", {})
        module = ModuleType("conformance", MethodConformance.__doc__)
        for key in self._methods(manifest):
            name = f"Test{key.title().replace('-', '')}"
            setattr(module, name, type(name, (MethodConformance,), {"key": key, "sets": tuple(sets.pop(key, ()))}))
        if sets:
            raise self.CollectError(
                f"{self.path}: [tool.pubench.conformance] names {min(sets)}, which is no method here"
            )
        return module

    def _methods(self, manifest: dict[str, dict[str, dict[str, dict[str, str]]]]) -> list[str]:
        """Keys of the package's methods. Raises CollectError if it is not installed, or broken."""
        from pubench_core.plugins.registry import GROUP, registry

        modules = set(manifest["project"]["entry-points"][GROUP].values())
        mine = [entry for entry in registry().all() if entry.module in modules]
        if not (modules <= {e.module for e in mine} or modules <= {p.module for p in entry_points(group=GROUP)}):
            raise self.CollectError(f"{self.path}: the package is not installed: pip install -e {self.path.parent}")
        if broken := [entry for entry in mine if entry.status != "ok"]:
            raise self.CollectError(f"{self.path}: {broken[0].key} is {broken[0].status}: {broken[0].reason}")
        return [entry.key for entry in mine if entry.kind == "method"]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Conformance tests, for the manifest of a package with plugins that runs are made of."""
    if file_path.name != "pyproject.toml" or "[project.entry-points.pubench]" not in file_path.read_text(
        encoding="utf-8"
    ):
        return None
    return Conformance.from_parent(parent, path=file_path)


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> pytest.Function | None:
    """A test for each :class:`~pubench_testkit.reference.Vectors` of a module: its checks read every array."""
    if not hasattr(type(obj), "assert_every_array_is_read"):
        return None
    call = obj.assert_every_array_is_read  # type: ignore[attr-defined]
    return pytest.Function.from_parent(collector, name=f"test_every_array_of_{name.lower()}_is_read", callobj=call)
