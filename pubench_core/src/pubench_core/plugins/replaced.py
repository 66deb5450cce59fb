"""Whether what is called is what its file defines: another plugin may put a function of its own in its place."""

from __future__ import annotations

import builtins
import dis
import inspect
import os
import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from ..errors import PluginError

#: Attributes that lead from what a decorator made to the function that was decorated.
_DECORATED = ("__func__", "fget", "func", "py_func", "wrapped")
#: Modules of core through which every measure goes.
_MEASURING = ("metric", "engine.score", "records.scores", "engine.compute", "engine.coverage")
#: Module -> what it was loaded by, and all code of its file, the module's own first.
_compiled: dict[str, tuple[ModuleSpec, tuple[CodeType, ...]]] = {}


def refuse_replaced(packages: Iterable[str]) -> None:
    """Raises PluginError if a function of these plugins, or of core's way to a measure, is not that of its file, or if
    a built-in function was given another meaning there.

    Files are hashed; what another module put in place of a function would be called under the hash of the file.
    """
    tops = frozenset(packages) - {"pubench_core"}
    loaded = [name for name in sorted(sys.modules) if name.split(".")[0] in tops]
    for name in (*(f"pubench_core.{name}" for name in _MEASURING), *loaded):
        module = sys.modules.get(name)
        spec = getattr(module, "__spec__", None)
        if not isinstance(module, ModuleType) or spec is None or not isinstance(spec.loader, SourceFileLoader):
            continue
        codes = _codes_of(name, spec)
        own = set(codes)
        for path in (code.co_qualname for code in codes[1:] if "<" not in code.co_qualname):
            code = _code_at(module, path)
            if code is None or code in own or not os.path.isfile(file := code.co_filename):
                continue
            by = f"a function of {os.path.basename(file).removesuffix('.py')} ({file})"
            if file == spec.origin:
                by = f"what is not in {file}, unless that was edited after it was loaded; start Python again"
            raise _replaced(f"{name}:{path}", by)
        words = [word for word in sorted(vars(module).keys() & vars(builtins).keys()) if not word.startswith("__")]
        # disassembling takes longer than all else here, and few modules have such a name
        steps = dis.get_instructions(codes[0]) if words else ()
        bound = {step.argval for step in steps if step.opname.startswith(("STORE_", "DELETE_"))}
        for word in words:
            if word not in bound:
                raise _replaced(f"{name}:{word}", f"{vars(module)[word]!r:.80}, and its file means Python's own")


def _replaced(what: str, by: str) -> PluginError:
    return PluginError(f"{what} was replaced by {by}; uninstall the plugin that does so")


def _codes_of(name: str, spec: ModuleSpec) -> tuple[CodeType, ...]:
    """All code of a module's file, as it was when the module was first looked at since it was loaded."""
    if name not in _compiled or _compiled[name][0] is not spec:
        assert isinstance(spec.loader, SourceFileLoader)
        codes = [code] if (code := spec.loader.get_code(name)) else []
        for outer in codes:  # grows
            codes += [constant for constant in outer.co_consts if isinstance(constant, CodeType)]
        _compiled[name] = (spec, tuple(codes))
    return _compiled[name][1]


def _code_at(module: ModuleType, path: str) -> CodeType | None:
    """Code in memory of a function, whatever decorates it; None if there is none."""
    held: Any = module
    for name in path.split("."):
        held = vars(held).get(name) if isinstance(held, (ModuleType, type)) else None
    for name in _DECORATED:
        held = getattr(held, name, held)
    code = getattr(inspect.unwrap(held) if callable(held) else held, "__code__", None)
    return code if isinstance(code, CodeType) else None
