"""What a method's source reaches for beside what it is given.

One process has no walls: frames of callers, the garbage collector's lists, and files in the cache hold true labels,
and no design of ours hides them from code that looks there. So a method's source is read instead.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from ..training.run import Run
from ..training.views import Features, PUData, PUPart

#: Modules that show a program's own insides.
INSIDES = frozenset({"ctypes", "gc", "inspect", "pickle", "tracemalloc", "_ctypes"})
#: Attributes that lead from code to what it was not handed.
LEADING_OUT = frozenset(
    {
        *(
            "_current_frames",
            "_getframe",
            "_getframemodulename",
            "settrace",
            "setprofile",
            "exc_info",
            "last_traceback",
        ),
        *("f_back", "f_globals", "f_locals", "gi_frame", "cr_frame", "ag_frame", "tb_frame", "__traceback__"),
        *("__globals__", "__closure__", "cell_contents", "__subclasses__", "__builtins__"),
    }
)
#: What of core a method has use for; the rest holds data, truth or the way to them.
OPEN_ROOMS = ("method", "plugins.hooks", "plugins.info", "errors", "formulas", "backbones", "specs", "testing")


def reaching_out(package: Path) -> list[str]:
    """``file:line: what`` for every place in a package's source that reaches beyond the arguments of a method."""
    files = sorted(package.rglob("*.py")) if package.is_dir() else [package]
    return [f"{file.name}:{line}: {what}" for file in files for line, what in _found_in(file)]


def _found_in(file: Path) -> Iterator[tuple[int, str]]:
    private = _private_names()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"), str(file))):
        line = getattr(node, "lineno", 0)
        for module in _imported(node):
            if module.split(".")[0] in INSIDES:
                yield line, f"imports {module}"
            elif module.startswith("pubench_core.") and not _is_open(module.removeprefix("pubench_core.")):
                yield line, f"imports {module}; pubench.method has what a method needs"
        name = node.attr if isinstance(node, ast.Attribute) else node.value if isinstance(node, ast.Constant) else None
        if not isinstance(name, str):
            continue
        if name in LEADING_OUT:
            yield line, f"uses {name}"
        elif name in private and not (isinstance(node, ast.Attribute) and _is_own(node.value)):
            yield line, f"uses {name}, a private attribute of data or run"


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module]
    return []


def _is_open(module: str) -> bool:
    return any(module == room or module.startswith(f"{room}.") for room in OPEN_ROOMS)


def _is_own(value: ast.expr) -> bool:
    """A method's own attribute may be called what it likes."""
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def _private_names() -> frozenset[str]:
    """Names of the private attributes of what a method is given."""
    names = {name for kind in (PUData, PUPart, Features, Run) for name in kind.__init__.__code__.co_names}
    return frozenset(name for name in names if name.startswith("_") and not name.startswith("__"))
