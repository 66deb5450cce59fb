"""Which code computes: hashes over the tokens of Python files, so that comments, docstrings and layout do not count.

Two granularities. Whatever trains (methods, mechanisms, backbones, prior estimators) is hashed as a whole package, info
modules left out, because what a class reaches at run time cannot be read off its text. A metric is a pure function: it
is hashed with the definitions that it refers to, so that a new metric beside it changes nothing.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import io
import sys
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from ..errors import PluginError

#: Tokens that say nothing about what is computed.
_SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER}
#: Files of a package that compute nothing.
_NO_CODE = (".pyi", ".md", ".rst", "py.typed")
Position = tuple[int, int]


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
            if module == info_module:
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
    digest = hashlib.sha256()
    pending, seen = [(module, attribute)], set()
    while pending:
        place = pending.pop()
        if place in seen:
            continue
        seen.add(place)
        module, name = place
        for text, references in _definitions(module).get(name, ()):
            digest.update(f"{module}:{name}\0{text}\0".encode())
            for other_module, other_name in sorted(references):
                if other_module.split(".")[0] == top:
                    pending.append((other_module, other_name))
    return digest.hexdigest()[:16]


def token_hash(text: str) -> str:
    """SHA-256 over the tokens of Python source, comments, docstrings and layout apart; over text that is no Python."""
    try:
        tokens = list(tokens_of(text))
    except (SyntaxError, tokenize.TokenError):
        tokens = [text]
    return hashlib.sha256("\0".join(tokens).encode()).hexdigest()


def tokens_of(text: str) -> Iterator[str]:
    """The tokens that decide what Python source computes, the same in every version of Python.

    Raises SyntaxError or tokenize.TokenError if it is not Python.
    """
    lines = text.splitlines(keepends=True)
    docstrings = _docstrings(ast.parse(text), lines)
    begun: list[Position] = []  # f-strings, which newer versions take apart
    silent_line = False
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        name = tokenize.tok_name[token.type]
        if name in ("FSTRING_START", "TSTRING_START"):
            begun.append(token.start)
        elif name in ("FSTRING_END", "TSTRING_END"):
            start = begun.pop()
            if not begun:
                yield _between(lines, start, token.end)
        elif begun or token.type in _SILENT:
            continue
        elif token.type == tokenize.STRING and any(a <= token.start and token.end <= b for a, b in docstrings):
            silent_line = True
        elif token.type == tokenize.NEWLINE:
            if not silent_line:
                yield "NEWLINE"
            silent_line = False
        else:
            yield name if token.type in (tokenize.INDENT, tokenize.DEDENT) else token.string


def _docstrings(tree: ast.AST, lines: list[str]) -> list[tuple[Position, Position]]:
    """(start, end) of every docstring, as (line from 1, column in characters)."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) or not node.body:
            continue
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            assert first.end_lineno is not None
            assert first.end_col_offset is not None
            found.append(
                (
                    (first.lineno, _characters(lines[first.lineno - 1], first.col_offset)),
                    (first.end_lineno, _characters(lines[first.end_lineno - 1], first.end_col_offset)),
                )
            )
    return found


def _characters(line: str, offset: int) -> int:
    """A column in characters from one in UTF-8 bytes."""
    return len(line.encode()[:offset].decode())


def _between(lines: list[str], start: Position, end: Position) -> str:
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]]
    inner = lines[start[0] : end[0] - 1]
    return "".join([lines[start[0] - 1][start[1] :], *inner, lines[end[0] - 1][: end[1]]])


def source_text(file: Path) -> str:
    """The text of a Python file in the encoding that it declares."""
    with tokenize.open(file) as stream:
        return stream.read()


# -------------------------------------------------------------------- packages


def _files(package: str) -> list[tuple[str, str, Path]]:
    """(module name, path within the package, file) of everything in a package that can compute."""
    origin = _origin(package)
    if origin.name != "__init__.py":
        return [(package, origin.name, origin)]
    found = []
    for file in sorted(origin.parent.rglob("*")):
        relative = file.relative_to(origin.parent)
        if not file.is_file() or "__pycache__" in relative.parts or file.name.endswith(_NO_CODE):
            continue
        names = [*relative.parts[:-1], *([] if file.stem == "__init__" else [file.stem])]
        found.append((".".join([package, *names]), relative.as_posix(), file))
    return found


def _origin(module: str) -> Path:
    try:
        found = sys.modules[module].__spec__ if module in sys.modules else importlib.util.find_spec(module)
    except (ImportError, ValueError):
        found = None
    if found is None or found.origin is None or not Path(found.origin).is_file():
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
    found: dict[str, list[tuple[str, frozenset[_Reference]]]] = {}
    for node in tree.body:
        names = _bound(node)
        if not names:
            continue
        inside = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        references = {(module, name) for name in inside} | {imported[name] for name in inside if name in imported}
        references |= {  # module.attribute, where the module is one of the package's
            (f"{imported[n.value.id][0]}.{imported[n.value.id][1]}", n.attr)
            for n in ast.walk(node)
            if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id in imported
        }
        segment = ast.get_source_segment(text, node) or ""
        decorators = getattr(node, "decorator_list", [])
        written = "\n".join([*(f"@{ast.get_source_segment(text, d)}" for d in decorators), segment])
        for name in names:
            found.setdefault(name, []).append((token_hash(written), frozenset(references)))
    return found


def _bound(node: ast.stmt) -> list[str]:
    """Names that a top-level statement defines; imports apart."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return []
    return sorted({n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)})


def _imported_names(tree: ast.Module, package: str) -> Iterator[tuple[str, _Reference]]:
    """Local name -> (module, name) of everything that a module imports from another with ``from``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                parents = package.split(".")
                base = ".".join(parents[: len(parents) - node.level + 1])
                source = f"{base}.{node.module}" if node.module else base
            else:
                source = node.module or ""
            for alias in node.names:
                yield alias.asname or alias.name, (source, alias.name)
