"""The rooms of core, bottom to top, as ``pages/design.md`` describes them, and what their modules import.

A room may import from the rooms below it and from nowhere else (``tests/test_rooms.py``).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CORE = Path(__file__).parents[1] / "pubench_core" / "src" / "pubench_core"


@dataclass(frozen=True)
class Room:
    """Folders and modules of core, and whether they may import torch."""

    names: tuple[str, ...]
    torch: bool = False


#: From the bottom to the top.
ROOMS = (
    Room(("errors", "randomness")),
    Room(("specs",)),
    Room(("results",)),
    Room(("plugins",)),
    Room(("data",)),
    Room(("isolation", "backbone"), torch=True),
    Room(("training",), torch=True),
    Room(("metric", "mechanism", "prior", "method"), torch=True),
    Room(("records", "sinks")),
    Room(("engine",), torch=True),
)


def modules(package: Path) -> dict[str, Path]:
    """Module name -> file of everything in a package."""
    found = {}
    for file in sorted(package.rglob("*.py")):
        parts = [package.name, *file.relative_to(package).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports(package: Path) -> dict[str, set[str]]:
    """Module -> modules of the same package that it imports, wherever in its text, for types alone included."""
    files = modules(package)
    return {name: set(_imported(name, file, files)) - {name} for name, file in files.items()}


def _imported(name: str, file: Path, files: dict[str, Path]) -> Iterator[str]:
    home = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in files)
        if isinstance(node, ast.ImportFrom):
            above = home.split(".")[: len(home.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                if inner in files:
                    yield inner
                elif source in files:
                    yield source


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Modules that import each other in a circle, the first of them again at the end; empty if there is none."""
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for other in sorted(graph[name]):
            if found := walk(other, [*path, name]):
                return found
        done.add(name)
        return []

    return next((found for name in sorted(graph) if (found := walk(name, []))), [])


def room_of(module: str) -> int:
    """Position in :data:`ROOMS` of a module of core. Raises LookupError if it is in no room."""
    name = module.split(".")[1]
    return next(k for k, room in enumerate(ROOMS) if name in room.names)
