"""Which code computes: hashes over the tokens of Python files, so that comments, docstrings and layout do not count.

Two granularities. Whatever trains (methods, mechanisms, backbones, prior estimators) is hashed as a whole package, info
modules left out, because what a class reaches at run time cannot be read off its text. A metric is a pure function: it
is hashed with the definitions that it refers to, so that a new metric beside it changes nothing.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from ..errors import PluginError
from .tokens import source_text, token_hash

#: Files of a package that compute nothing.
_NO_CODE = (".pyi", ".md", ".rst", "py.typed")


def hash_package(name: str, info_module: str = "", *, others: Iterable[str] = ()) -> str:
    """16 digits over the code of a package: tokens of its Python files, bytes of whatever else lies there.

    ``name``: import name of a package or of a single module. ``info_module``: holds descriptions only and is left out.
    ``others``: packages of other plugins; those that the code imports are hashed with it, and so on from there.

    Raises PluginError where there are no source files.
    """
    return _package_hash(name, info_module, tuple(sorted(others)))


@cache
def _package_hash(name: str, info_module: str, others: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    pending, seen = [name], set()
    while pending:
        package = pending.pop()
        if package in seen:
            continue
        seen.add(package)
        imported: set[str] = set()
        for module, relative, file in _files(package):
            if module == info_module or (package != name and module == package and file.name == "__init__.py"):
                continue
            digest.update(f"{package}/{relative}\0".encode())
            if file.suffix == ".py":
                text = source_text(file)
                digest.update(token_hash(text).encode())
                imported |= _imports(text)
            else:
                digest.update(hashlib.sha256(file.read_bytes()).digest())
        pending += sorted(imported & set(others) - seen)
    return digest.hexdigest()[:16]


def hash_function(load: str) -> str:
    """16 digits over a function and everything of its package that it refers to, directly or not.

    ``load``: ``package.module:attribute``. Raises PluginError where there is no source.
    """
    return _function_hash(load)


@cache
def _function_hash(load: str) -> str:
    module, attribute = load.split(":")
    top = module.split(".")[0]
    _origin(module)  # PluginError where there is no source
    digest = hashlib.sha256()
    pending, seen, found = [(module, attribute)], set(), False
    while pending:
        place = pending.pop()
        if place in seen:
            continue
        seen.add(place)
        module, name = place
        for text, references in _definitions(module).get(name, ()):
            found = True
            digest.update(f"{module}:{name}\0{text}\0".encode())
            for other_module, other_name in sorted(references):
                if other_module.split(".")[0] == top:
                    pending.append((other_module, other_name))
    if not found:
        raise PluginError(f"{load} has no source to hash")
    return digest.hexdigest()[:16]


# -------------------------------------------------------------------- packages


def _files(package: str) -> list[tuple[str, str, Path]]:
    """(module name, path within the package, file) of everything in a package that can compute."""
    origin = _origin(package)
    if origin.name != "__init__.py":
        return [(package, origin.name, origin)]
    found = []
    for file in sorted(origin.parent.rglob("*")):
        relative = file.relative_to(origin.parent)
        hidden = any(part.startswith(".") or part == "__pycache__" for part in relative.parts)
        if hidden or not file.is_file() or file.name.endswith(_NO_CODE):
            continue
        names = [*relative.parts[:-1], *([] if file.stem == "__init__" else [file.stem])]
        found.append((".".join([package, *names]), relative.as_posix(), file))
    return found


def _origin(module: str) -> Path:
    try:
        found = sys.modules[module].__spec__ if module in sys.modules else importlib.util.find_spec(module)
    except (ImportError, ValueError):
        found = None
    if found is None or found.origin is None or not found.origin.endswith(".py") or not Path(found.origin).is_file():
        raise PluginError(f"{module} has no source files to hash")
    return Path(found.origin)


def _imports(text: str) -> set[str]:
    """Top-level names of the packages that source imports, anywhere in it."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return set()
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


# -------------------------------------------------------------------- functions

_Reference = tuple[str, str]


@cache
def _definitions(module: str) -> dict[str, list[tuple[str, frozenset[_Reference]]]]:
    """name -> (tokens, what it refers to) of each top-level statement of a module that binds the name."""
    try:
        file = _origin(module)
    except PluginError:
        return {}
    text = source_text(file)
    tree = ast.parse(text)
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    imported = dict(_imported_names(tree, package))
    # A name that is imported is what it is elsewhere; its own text is nothing.
    found: dict[str, list[tuple[str, frozenset[_Reference]]]] = {
        name: [("", frozenset({place}))] for name, place in imported.items()
    }
    for node in tree.body:
        names = _bound(node)
        if not names:
            continue
        inside = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        references = {(module, name) for name in inside} | {imported[name] for name in inside if name in imported}
        references |= {place for n in ast.walk(node) if (place := _attribute(n, imported)) is not None}
        segment = ast.get_source_segment(text, node) or ""
        decorators = getattr(node, "decorator_list", [])
        written = "\n".join([*(f"@{ast.get_source_segment(text, d)}" for d in decorators), segment])
        for name in names:
            found.setdefault(name, []).append((token_hash(written), frozenset(references)))
    return found


def _attribute(node: ast.AST, imported: Mapping[str, _Reference]) -> _Reference | None:
    """(module, attribute) of ``module.attribute``, where the module was imported under any name."""
    if not isinstance(node, ast.Attribute):
        return None
    parts, inner = [], node.value
    while isinstance(inner, ast.Attribute):
        parts.append(inner.attr)
        inner = inner.value
    if not isinstance(inner, ast.Name) or inner.id not in imported:
        return None
    module = ".".join(part for part in (*imported[inner.id], *reversed(parts)) if part)
    return module, node.attr


_BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)


def _bound(node: ast.AST) -> list[str]:
    """Names that a top-level statement defines or changes (``T[0] = 1``, ``T.update(...)``); imports apart."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return []
    inner = list(ast.iter_child_nodes(node))
    found = {name for child in inner if isinstance(child, _BLOCKS) for name in _bound(child)}
    for child in inner:
        if not isinstance(child, _BLOCKS):
            found |= {n.id for n in ast.walk(child) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        found |= {_root(t) for t in (node.targets if isinstance(node, ast.Assign) else [node.target])}
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        found.add(_root(node.value.func))
    return sorted(found - {""})


def _root(node: ast.AST) -> str:
    """``T`` of ``T[0].x``; empty where there is no name."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _imported_names(tree: ast.Module, package: str) -> Iterator[tuple[str, _Reference]]:
    """Local name -> (module, name) of everything that a module imports; a module itself is (module, "")."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (
                    alias.asname or alias.name.split(".")[0],
                    (alias.name if alias.asname else alias.name.split(".")[0], ""),
                )
        if isinstance(node, ast.ImportFrom):
            if node.level:
                parents = package.split(".")
                base = ".".join(parents[: len(parents) - node.level + 1])
                source = f"{base}.{node.module}" if node.module else base
            else:
                source = node.module or ""
            for alias in node.names:
                yield alias.asname or alias.name, (source, alias.name)
