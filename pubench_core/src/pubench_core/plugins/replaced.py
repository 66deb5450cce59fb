"""Whether what is called is what its file defines: another plugin may put a function of its own in its place."""

from __future__ import annotations

import ast
import inspect
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from ..errors import PluginError
from .file_cache import PerFile
from .source_code import source_text

#: Attributes that lead from what a decorator made to the function that was decorated.
_DECORATED = ("__func__", "fget", "func", "py_func", "wrapped")
#: Modules of core through which every measure goes.
_MEASURING = ("metric", "engine.score", "records.scores", "engine.compute", "engine.coverage")


def refuse_replaced(packages: Iterable[str]) -> None:
    """Raises PluginError if a function of these plugins, or of core's way to a measure, is not that of its file.

    Files are hashed; what another module put in place of a function would be called under the hash of the file.
    """
    tops = frozenset(packages) - {"pubench_core"}
    loaded = [name for name in sorted(sys.modules) if name.split(".")[0] in tops]
    for name in (*(f"pubench_core.{name}" for name in _MEASURING), *loaded):
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if module is None or file is None or not file.endswith(".py"):
            continue
        for path in _defined.of(file):
            code = _code_at(module, path)
            if code is not None and os.path.isfile(code.co_filename) and not os.path.samefile(code.co_filename, file):
                other = code.co_filename
                raise PluginError(
                    f"{name}:{path} was replaced by a function of {_module_of(other)} ({other}); "
                    "uninstall the plugin that does so"
                )


def _definitions(file: str) -> tuple[str, ...]:
    """Names of the functions that a file defines at its top level, and of those in classes there."""
    body = ast.parse(source_text(Path(file))).body
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    inside = [f"{node.name}.{inner.name}" for node in classes for inner in _functions(node.body)]
    return (*inside, *(node.name for node in _functions(body)))


def _functions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


_defined = PerFile(_definitions, 1000)


def _code_at(module: ModuleType, path: str) -> CodeType | None:
    """Code in memory of a function, whatever decorates it; None if there is none."""
    held: Any = module
    for name in path.split("."):
        held = vars(held).get(name) if isinstance(held, (ModuleType, type)) else None
    for name in _DECORATED:
        held = getattr(held, name, held)
    code = getattr(inspect.unwrap(held) if callable(held) else held, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _module_of(file: str) -> str:
    """The module of a file; the file's name if no module has it."""
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) == file:
            return name
    return os.path.basename(file)
