"""Which code computes: hashes over the tokens of Python files, so that comments, docstrings and layout do not count.

Two granularities. Whatever trains (methods, mechanisms, backbones, prior estimators) is hashed as a whole package, what
only describes left out, because what a class reaches at run time cannot be read off its text. A metric is a pure
function: it is hashed with the definitions that it refers to, so that a new metric next to it changes nothing.

What was made of a file is kept for the process. A file that changed is read again, unless Python has loaded it as a
module and has not loaded that module again: what is in memory computes, so what is in memory is hashed.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import io
import os
import sys
import tokenize
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Generic, TypeVar

from ..errors import PluginError
from .file_cache import PerFile

#: Files of a package that compute nothing.
_NO_CODE = (".pyi", ".md", ".rst", "py.typed")
#: Files of which something is kept.
_MOST = 10_000
T = TypeVar("T")
#: (module, name in it); a module itself has no name.
_Reference = tuple[str, str]


def hash_package(name: str, info_module: str = "", *, others: Iterable[str] = ()) -> str:
    """16 digits over the code of a package: tokens of its Python files, bytes of whatever else is in it.

    ``name``: import name of a package or of a single module. ``info_module``: holds descriptions and is left out,
    unless hashed code imports something of it; then all of it counts except its hooks. ``others``: packages of other
    plugins. Their modules count if hashed code imports them, directly or not, and with them the files of their
    packages that are no Python; so do the modules that those import.

    Raises PluginError if there are no source files.
    """
    code = _Reached(frozenset({name, *others}), info_module)
    code.reach(code.modules_of(name))
    digest = hashlib.sha256()
    for label, part in sorted(code.parts.items()):
        digest.update(f"{label}\0".encode())
        digest.update(part)
    return digest.hexdigest()[:16]


class _Reached:
    """The modules that code reaches by imports in some packages. ``parts``: label -> digest of each."""

    def __init__(self, packages: frozenset[str], info_module: str) -> None:
        self.parts: dict[str, bytes] = {}
        self._packages = packages
        self._describing = {info_module}
        self._entered: set[str] = set()
        #: module -> (label, file) of every Python file of the packages that were reached
        self._modules: dict[str, tuple[str, str]] = {}

    def modules_of(self, package: str) -> list[str]:
        """The modules of a package, but the one that only describes; its other files count from now on."""
        self._entered.add(package)
        found = []
        for module, relative, file in _files(package):
            label = f"{package}/{relative}"
            if file.endswith(".py"):
                self._modules[module] = (label, file)
                found.append(module)
            else:
                self.parts[label] = _code.of(module, file).digest
        return [module for module in found if module not in self._describing]

    def reach(self, modules: Iterable[str]) -> None:
        """These modules count, and every module that they import, directly or not."""
        pending = list(modules)
        while pending:
            module = pending.pop()
            label, file = self._modules[module]
            if label in self.parts:
                continue
            code = (_beside_hooks if module in self._describing else _code).of(module, file)
            self.parts[label] = code.digest
            pending += [other for source, name in code.names for other in self._imported(source, name)]

    def _imported(self, source: str, name: str) -> Iterator[str]:
        """The modules that run when ``name`` of the module ``source`` is imported; empty: the module itself.

        A module that describes runs for every import of its package, and is among them only if it is read itself.
        """
        package = source.split(".")[0]
        if package not in self._packages:
            return
        if package not in self._entered:
            if os.path.basename(_origin(package)) == "__init__.py":
                self._describing.add(package)
            self.modules_of(package)
        target = f"{source}.{name}" if f"{source}.{name}" in self._modules else source
        if target in self._modules:
            yield target
        parents = target.split(".")[:-1]
        for end in range(len(parents), 0, -1):
            parent = ".".join(parents[:end])
            if parent in self._modules and parent not in self._describing:
                yield parent


def hash_function(load: str) -> str:
    """16 digits over a function and everything of its package that it refers to, directly or not.

    ``load``: ``package.module:attribute``. Raises PluginError if there is no source.
    """
    known = _functions.get(load)
    if known is not None and all(_definitions(module) is found for module, found in known.reached):
        return known.hash
    module, attribute = load.split(":")
    top = module.split(".")[0]
    _origin(module)  # PluginError if there is no source
    digest = hashlib.sha256()
    reached: dict[str, _Definitions] = {}
    pending, seen, found = [(module, attribute)], set(), False
    while pending:
        place = pending.pop()
        if place in seen:
            continue
        seen.add(place)
        module, name = place
        if module not in reached:
            reached[module] = _definitions(module)
        for text, references in reached[module].get(name, ()):
            found = True
            digest.update(f"{module}:{name}\0{text}\0".encode())
            for other_module, other_name in sorted(references):
                if other_module.split(".")[0] == top:
                    pending.append((other_module, other_name))
    if not found:
        raise PluginError(f"{load} has no source to hash")
    known = _functions[load] = _Function(digest.hexdigest()[:16], tuple(reached.items()))
    return known.hash


@dataclass(frozen=True)
class _Function:
    """``reached``: the modules whose definitions it was made of, with what they held."""

    hash: str
    reached: tuple[tuple[str, _Definitions], ...]


# -------------------------------------------------------------------- what is kept of files


class _PerModule(Generic[T]):
    """What ``make(file, module)`` says of modules; see the head of this module for when it is asked again."""

    def __init__(self, make: Callable[[str, str], T]) -> None:
        self._files = PerFile(make, _MOST)
        self._loaded: dict[str, tuple[ModuleSpec, T]] = {}

    def of(self, module: str, file: str) -> T:
        """For a module and its file."""
        spec = _spec_in_memory(module)
        if spec is None or spec.origin != file:
            return self._files.of(file, module)
        known = self.in_memory(module)
        if known is None:
            known = self._files.of(file, module)
            self._loaded[module] = (spec, known)
        return known

    def in_memory(self, module: str) -> T | None:
        """For a module that Python has not loaded again since it was asked about; None for any other."""
        known = self._loaded.get(module)
        return known[1] if known is not None and known[0] is _spec_in_memory(module) else None


def _spec_in_memory(module: str) -> ModuleSpec | None:
    """What Python loaded a module by, another object each time; None if it has not loaded it."""
    spec: ModuleSpec | None = getattr(sys.modules.get(module), "__spec__", None)
    return spec


# -------------------------------------------------------------------- packages


@dataclass(frozen=True)
class _Code:
    """``names``: (module, name) of what it imports, a module itself without a name."""

    digest: bytes
    names: frozenset[_Reference] = frozenset()


def _code_of(file: str, module: str) -> _Code:
    if not file.endswith(".py"):
        return _Code(hashlib.sha256(Path(file).read_bytes()).digest())
    text = source_text(Path(file))
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return _Code(token_hash(text).encode())
    return _Code(token_hash(text).encode(), _names(tree, file, module))


def _beside_hooks_of(file: str, module: str) -> _Code:
    """A module that describes, without its hooks. Python has imported it, so it is Python."""
    text = source_text(Path(file))
    lines = [line.encode() for line in io.StringIO(text).readlines()]
    body = [
        node
        for node in ast.parse(text).body
        if not (isinstance(node, ast.FunctionDef) and node.name.startswith("pubench_"))
    ]
    rest = ast.Module(body=body, type_ignores=[])
    written = "\n".join(_segment(lines, node) for node in body)
    return _Code(token_hash(written).encode(), _names(rest, file, module))


def _names(tree: ast.Module, file: str, module: str) -> frozenset[_Reference]:
    package = module if os.path.basename(file) == "__init__.py" else module.rpartition(".")[0]
    places = {place for _, place in _imported_names(tree, package)}
    # ``import a.b`` binds ``a``, and runs ``a.b`` as well
    named = (alias.name for node in statements(tree) if isinstance(node, ast.Import) for alias in node.names)
    return frozenset(places | {(name, "") for name in named})


_code = _PerModule(_code_of)
_beside_hooks = _PerModule(_beside_hooks_of)


def _files(package: str) -> list[tuple[str, str, str]]:
    """(module name, path within the package, file) of everything in a package that can compute."""
    origin = _origin(package)
    folder, name = os.path.split(origin)
    if name != "__init__.py":
        return [(package, name, origin)]
    found = []
    for parts, file in sorted(_listed(folder)):
        names = [*parts[:-1], *([] if parts[-1] == "__init__.py" else [parts[-1].rpartition(".")[0] or parts[-1]])]
        found.append((".".join([package, *names]), "/".join(parts), file))
    return found


def _listed(folder: str, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """(path by its parts, file) of everything in a folder that can compute."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".") or entry.name == "__pycache__":
                continue
            parts = (*above, entry.name)
            if entry.is_dir(follow_symlinks=False):
                yield from _listed(entry.path, parts)
            elif entry.is_file() and not entry.name.endswith(_NO_CODE):
                yield parts, entry.path


def _origin(module: str) -> str:
    origin = _source_file(module)
    if origin is None:
        raise PluginError(f"{module} has no source files to hash")
    return origin


def _source_file(module: str) -> str | None:
    try:
        found = sys.modules[module].__spec__ if module in sys.modules else importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    origin = None if found is None else found.origin
    return origin if origin is not None and origin.endswith(".py") and os.path.isfile(origin) else None


# -------------------------------------------------------------------- functions

#: name -> (tokens, what it refers to) of each top-level statement of a module that binds the name.
_Definitions = Mapping[str, list[tuple[str, frozenset[_Reference]]]]
_NOTHING: _Definitions = {}


def _definitions(module: str) -> _Definitions:
    """What a module defines; the same object until its file counts as another. Nothing if there is no source."""
    known = _defined.in_memory(module)
    if known is not None:
        return known
    origin = _source_file(module)
    return _NOTHING if origin is None else _defined.of(module, origin)


def _definitions_in(file: str, module: str) -> _Definitions:
    text = source_text(Path(file))
    tree = ast.parse(text)
    package = module if os.path.basename(file) == "__init__.py" else module.rpartition(".")[0]
    imported = dict(_imported_names(tree, package))
    lines = [line.encode() for line in io.StringIO(text).readlines()]
    # A name that is imported is what it is elsewhere; its own text is nothing.
    found: dict[str, list[tuple[str, frozenset[_Reference]]]] = {
        name: [("", frozenset({place}))] for name, place in imported.items()
    }
    for node in tree.body:
        names = _bound(node)
        if not names:
            continue
        nodes = list(ast.walk(node))
        inside = {n.id for n in nodes if isinstance(n, ast.Name)}
        references = {(module, name) for name in inside} | {imported[name] for name in inside if name in imported}
        references |= {place for n in nodes if (place := _attribute(n, imported)) is not None}
        decorators = getattr(node, "decorator_list", [])
        written = "\n".join([*(f"@{_segment(lines, d)}" for d in decorators), _segment(lines, node)])
        for name in names:
            found.setdefault(name, []).append((token_hash(written), frozenset(references)))
    return found


def _segment(lines: Sequence[bytes], node: ast.stmt | ast.expr) -> str:
    """The source of a node. :func:`ast.get_source_segment` splits the whole text again for each of them."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    found = [*lines[node.lineno - 1 : node.end_lineno]]
    found[-1] = found[-1][: node.end_col_offset]
    found[0] = found[0][node.col_offset :]
    return b"".join(found).decode()


_defined = _PerModule(_definitions_in)
_functions: dict[str, _Function] = {}


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
    """``T`` of ``T[0].x``; empty if there is no name."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _imported_names(tree: ast.Module, package: str) -> Iterator[tuple[str, _Reference]]:
    """Local name -> (module, name) of everything that a module imports; a module itself is (module, "")."""
    for node in statements(tree):
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


# -------------------------------------------------------------------- tokens

#: Tokens that say nothing about what is computed.
_SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER}
#: Line from 1, column in characters.
Position = tuple[int, int]


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
    lines = io.StringIO(text).readlines()  # as Python counts them: str.splitlines knows more ends of lines
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


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """A tree's nodes in the order of :func:`ast.walk`, expressions apart: most nodes, and no statement is in them."""
    pending = deque([tree])
    while pending:
        node = pending.popleft()
        pending.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))
        yield node


def _docstrings(tree: ast.AST, lines: list[str]) -> list[tuple[Position, Position]]:
    """(start, end) of every docstring, as (line from 1, column in characters)."""
    found = []
    for node in statements(tree):
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
