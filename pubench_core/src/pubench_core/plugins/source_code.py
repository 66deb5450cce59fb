"""Which code computes: hashes over the tokens of Python files, so that comments, docstrings and layout do not count.

One rule for all plugins. Code counts by the modules that it reaches by imports, in every package that is installed,
core and known libraries apart. Of what trains (methods, mechanisms, backbones, prior estimators), every module of its
own distribution counts as well, because what a class reaches at run time cannot be read off its text.

What was made of a file is kept for the process, and so is a hash, with the state of all that it was made of. A file
that changed is read again, unless Python has loaded it as a module and has not loaded that module again: what is in
memory computes, so what is in memory is hashed.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import io
import os
import re
import sys
import tokenize
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from threading import Lock
from time import time_ns

from ..errors import PluginError

#: Files that neither compute nor hold data: byte code, and what editors, desktops and other programs leave behind.
_JUNK = re.compile(
    r"__pycache__|py\.typed|\.DS_Store|\.git\w*|\.ipynb_checkpoints|\.\w+_cache|\.#.*|\..*\.sw\w"
    r"|.*(~|\.py[co]|\.pth|\.egg-info|\.dist-info)"
)
#: Packages of which a record keeps the version (``environment.json``) instead of a hash.
_LIBRARIES = re.compile(
    "accelerate|arff|catboost|cffi|cupy|cv2|cvxopt|cvxpy|datasets|filelock|flax|highspy|huggingface_hub|jax|jaxlib|jinja2"
    "|joblib|keras|lightgbm|lightning|llvmlite|matplotlib|mpmath|networkx|numba|numpy|openml|optuna|packaging"
    "|pandas|PIL|pluggy|polars|pooch|pyarrow|pydantic|pydantic_core|pyreadr|pytest|pytorch_lightning|ray|requests|rich"
    "|safetensors|scipy|seaborn|sentence_transformers|skimage|sklearn|skops|sqlalchemy|statsmodels|sympy|tensorflow"
    "|threadpoolctl|timm|tokenizers|torch|torch(audio|metrics|vision)|tqdm|transformers|typer|typing_extensions|xgboost|yaml"
)
_CORE = frozenset({"pubench", "pubench_core"})
#: Words of code that gets modules without an import of them, and of code that reads docstrings or sources.
_BY_NAME = re.compile(
    r"\b(__import__|import_module|pkgutil|runpy|spec_from_file_location|SourceFileLoader|registry|inspect|__spec__)\b"
    r"|\bsys\b.*\bmodules\b",
    re.DOTALL,
)
_READS_TEXT = re.compile(r"\b(__doc__|getdoc|getcomments|getsource\w*|linecache|pydoc)\b")
#: (time of the last change in nanoseconds, bytes, number of the file): another one after every change of a file that
#: has settled.
State = tuple[int, int, int]
#: Nanoseconds after which another change cannot leave a file with the same time: clocks of file systems tick slowly.
_SETTLED = 2_000_000_000
#: (module, name in it); a module itself has no name.
_Reference = tuple[str, str]
#: (module name, path under the folder that Python imports from, file).
_Listed = tuple[str, str, str]
#: Files and folders that hashes of this process were made of.
looked_at: set[str] = set()
#: State of a file, or number of what Python loaded a module by; None: not to be relied on.
_State = State | int | None
#: (file or folder, module) -> its state, of what the present hash is made of; a module looked for has no file.
_seen: dict[tuple[str, str], _State] = {}
_hashes: dict[tuple[object, ...], tuple[dict[tuple[str, str], _State], str]] = {}
#: By their numbers, which are of no other one as long as they are here.
_loaded: dict[int, ModuleSpec] = {}
#: Held while a hash is made: another thread's would take what was seen for its own.
_making = Lock()


def settled_state(file: str | os.PathLike[str]) -> State | None:
    """State of a file; None if it changed so lately that it may change again and keep it.

    Raises OSError if it cannot be looked at.
    """
    found = os.stat(file)
    return None if time_ns() - found.st_mtime_ns < _SETTLED else (found.st_mtime_ns, found.st_size, found.st_ino)


def hash_package(
    name: str, info_module: str = "", *, others: Iterable[str] = (), of: str = "", module: str = ""
) -> str:
    """16 digits over what trains: tokens of its Python files and of those that they reach, bytes of all other files.

    ``name``: import name of a package or of a single module. ``of``: the distribution that it is installed from; all
    packages and files of that count. ``info_module``: holds descriptions and is left out, unless hashed code imports
    something of it, or looks modules up by their names. ``others``: packages of other plugins. Their modules count if
    hashed code imports them, directly or not, and with them the files of their packages that are no Python.
    ``module``: of all that, only this module, what it reaches, and the files that are no Python.

    Raises PluginError for what cannot be hashed: no source files, unreadable files.
    """
    others = frozenset(others)
    key = (name, info_module, others, of, module, *sys.path)
    states, made = _hashes.get(key, ({}, ""))
    if states and all(state is not None and state == _state(*place) for place, state in states.items()):
        return made
    with _making:
        _seen.clear()
        code = _Reached({name, *others}, info_module)
        own = code.enter_own(name, of)
        made = code.hash_from([code.entered(module)] if module else own)
        _hashes[key] = dict(_seen), made
    return made


def _state(file: str, module: str) -> _State:
    """What Python loaded a module by, another number for each loading; of what it has not loaded, the file's state."""
    spec: ModuleSpec | None = getattr(sys.modules.get(module), "__spec__", None)
    if spec is not None and file in ("", spec.origin):
        _loaded[id(spec)] = spec
        return id(spec)
    if not file:
        return 0
    return settled_state(file) if os.path.exists(file) else None


def _look(file: str, module: str = "") -> _State:
    """The state of what a hash is made of, which is noted."""
    if file:
        looked_at.add(file)
    found = _seen[file, module] = _state(file, module)
    return found


class _Reached:
    """What code reaches by imports. ``plugins``: packages that count by their modules; any other counts whole."""

    def __init__(self, plugins: set[str], info_module: str) -> None:
        self._plugins = plugins
        self._describing = {info_module}
        self._entered = {"", *_CORE}
        #: module -> (package, label, file) of every Python file of plugins that were entered; the package of the
        #: whole own distribution is "".
        self._modules: dict[str, _Listed] = {}
        #: Packages of which everything counts, since their code looks modules up.
        self._open: set[str] = set()
        self._counted: dict[str, _Code] = {}
        #: label -> digest of what is no module of a plugin
        self._parts: dict[str, bytes] = {}

    def enter_own(self, package: str, distribution: str) -> list[str]:
        """Modules of a package and of all others of its distribution, but the one that only describes."""
        listed = {label: (module, label, file) for module, label, file in _of_distribution(distribution)}
        listed |= {label: (module, label, file) for module, label, file in _files(package)}  # another may shadow it
        tops = {label.split("/")[0] for label in listed}
        self._entered |= {package, *(top.removesuffix(".py") for top in tops)}
        return self._take("", listed.values())

    def entered(self, module: str) -> str:
        """A module, taken up by itself if it is none of those that were entered: one of another folder, say."""
        if module not in self._modules:
            self._take("", _files(module))
        return module

    def hash_from(self, modules: Iterable[str]) -> str:
        """Hash of these modules and of every one that they import, directly or not."""
        pending = list(modules)
        while pending:
            module = pending.pop()
            if module in self._counted:
                continue
            package, _, file = self._modules[module]
            describes = module in self._describing and package not in self._open
            code = self._counted[module] = _read(_beside_hooks if describes else _code, file, module)
            pending += [other for source, name in code.names for other in self._imported(source, name)]
            if code.by_name and package not in self._open:
                self._open.add(package)
                members = [other for other, place in self._modules.items() if place[0] == package]
                for other in self._describing.intersection(members):
                    self._counted.pop(other, None)  # with its hooks now
                pending += members
        read = {self._modules[module][0] for module, code in self._counted.items() if code.reads_text}
        for module, code in self._counted.items():
            package, label, _ = self._modules[module]
            self._parts[label] = code.text if package in read else code.digest
        digest = hashlib.sha256()
        for label, part in sorted(self._parts.items()):
            digest.update(f"{label}\0".encode())
            digest.update(part)
        return digest.hexdigest()[:16]

    def _take(self, package: str, listed: Iterable[_Listed]) -> list[str]:
        """Its modules, but the one that only describes; its other files count from now on."""
        for module, label, file in listed:
            if file.endswith(".py"):
                self._modules[module] = (package, label, file)
            else:
                self._parts[label] = _read(_code, file, module).digest
        return [
            module for module, place in self._modules.items() if place[0] == package and module not in self._describing
        ]

    def _imported(self, source: str, name: str) -> Iterator[str]:
        """The modules that run when ``name`` of the module ``source`` is imported; empty: the module itself.

        A module that describes runs for every import of its package, and is among them only if it is read itself.
        """
        self._enter(source.split(".")[0])
        target = f"{source}.{name}" if f"{source}.{name}" in self._modules else source
        if target in self._modules:
            yield target
        parents = target.split(".")[:-1]
        for end in range(len(parents), 0, -1):
            parent = ".".join(parents[:end])
            if parent in self._modules and parent not in self._describing:
                yield parent

    def _enter(self, package: str) -> None:
        """Takes up a package. A plugin counts by the modules that are imported of it; any other package but a library
        by all its files, byte by byte: it may be large, and tokens take long.
        """
        if package in self._entered or package in sys.stdlib_module_names or _LIBRARIES.fullmatch(package):
            return
        self._entered.add(package)
        if package in self._plugins:
            listed = list(_files(package))
            if any(label == f"{package}/__init__.py" for _, label, _ in listed):
                self._describing.add(package)
            self._take(package, listed)
        elif _spec(package) is not None:
            for module, label, file in _files(package):
                code = _read(_bytes, file, module)
                self._parts[label] = code.digest
                for other, _ in code.names:
                    self._enter(other)


# -------------------------------------------------------------------- what is kept of files


@dataclass(frozen=True)
class _Code:
    """``digest``: of tokens, or of bytes where a file is no Python; ``text``: of bytes. ``names``: (module, name) of
    what it imports, a module itself without a name. ``by_name``, ``reads_text``: whether it looks modules up, or reads
    docstrings.
    """

    digest: bytes
    text: bytes = b""
    names: frozenset[_Reference] = frozenset()
    by_name: bool = False
    reads_text: bool = False


_Make = Callable[[str, str], _Code]


def _read(make: _Make, file: str, module: str) -> _Code:
    """``make(file, module)``, kept as long as its state is the same. Raises PluginError if the file cannot be read."""
    state = _look(file, module)
    try:
        return make(file, module) if state is None else _made(make, file, module, state)
    except (OSError, UnicodeDecodeError, SyntaxError) as error:  # SyntaxError: an encoding that is none
        raise PluginError(f"{file} cannot be hashed: {getattr(error, 'strerror', None) or error}") from error


@lru_cache(maxsize=30_000)
def _made(make: _Make, file: str, module: str, state: _State) -> _Code:
    return make(file, module)


def _code(file: str, module: str) -> _Code:
    if not file.endswith(".py"):
        return _Code(_digest_of(file))
    return _python(source_text(Path(file)), file, module)


def _beside_hooks(file: str, module: str) -> _Code:
    """A module that describes, without its hooks. Python has imported it, so it is Python."""
    text = source_text(Path(file))
    hooks, body = re.compile(r"(\w+\.)*hookimpl\b"), []
    for node in ast.parse(text).body:
        if not any(hooks.match(ast.unparse(mark)) for mark in getattr(node, "decorator_list", ())):
            body.append(ast.get_source_segment(text, node) or "")
    return _python("\n".join(body), file, module)


def _python(text: str, file: str, module: str) -> _Code:
    package = module if os.path.basename(file) == "__init__.py" else module.rpartition(".")[0]
    try:
        tree = ast.parse(text)
        tokens, names = "\0".join(tokens_of(text, tree)), _names(tree, package)
    except (SyntaxError, tokenize.TokenError):
        tokens, names = text, frozenset()
    code, whole = (hashlib.sha256(one.encode()) for one in (tokens, text))
    found = (pattern.search(tokens) is not None for pattern in (_BY_NAME, _READS_TEXT))
    return _Code(code.hexdigest().encode(), whole.digest(), names, *found)


def _bytes(file: str, module: str) -> _Code:
    """A file of a package that counts whole. What it imports is looked for line by line, which is quick."""
    text = Path(file).read_bytes() if file.endswith(".py") else b""
    names = re.findall(rb"^[ \t]*(?:from|import)[ \t]+(\w+)", text, re.MULTILINE)
    return _Code(_digest_of(file), names=frozenset((name.decode(errors="replace"), "") for name in names))


def _digest_of(file: str) -> bytes:
    with open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


def _names(tree: ast.Module, package: str) -> frozenset[_Reference]:
    """(module, name) of everything that a module of a package imports; a module itself has no name."""
    found: set[_Reference] = set()
    for node in statements(tree):
        if isinstance(node, ast.Import):
            # ``import a.b`` binds ``a``, and runs ``a.b`` as well
            found |= {(name, "") for alias in node.names for name in (alias.name, alias.name.split(".")[0])}
        if isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                parents = package.split(".")
                source = ".".join([*parents[: len(parents) - node.level + 1], *([node.module] if node.module else [])])
            found |= {(source, alias.name) for alias in node.names}
    return frozenset(found)


# -------------------------------------------------------------------- files


def _files(package: str) -> Iterator[_Listed]:
    """Every file of a package or of a single module. Raises PluginError if there is none."""
    spec = _spec(package)
    folders = [] if spec is None else spec.submodule_search_locations or []
    if folders:
        for folder in folders:
            yield from _in_folder(folder, (package,))
    elif spec is not None and spec.origin is not None and os.path.isfile(spec.origin):
        yield package, f"{package}/{os.path.basename(spec.origin)}", spec.origin
    else:
        raise PluginError(f"{package} has no source files to hash")


def _spec(module: str) -> ModuleSpec | None:
    _look("", module)
    try:
        return sys.modules[module].__spec__ if module in sys.modules else importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None


def _of_distribution(name: str) -> Iterator[_Listed]:
    """Every file of a distribution: what its RECORD names, or what lies in its source folder.

    The folder of a project, which holds its tests and its environment as well, is no source folder.
    """
    try:
        found = distribution(name)
    except (PackageNotFoundError, ValueError):
        return
    here, record = str(found.locate_file("")), found.read_text("RECORD")
    _look(here)
    if record is not None:
        tops = {top for line in record.splitlines() if (top := re.split("[/,]", line)[0]) not in ("", "..", ".")}
    else:  # not by an installer: everything that lies there, unless something else is installed there too
        alone = sum(top.endswith((".dist-info", ".egg-info")) for top in os.listdir(here)) == 1
        tops = set(os.listdir(here)) if alone and not _is_project(here) else set()
    for top in sorted(tops):
        path = os.path.join(here, top)
        if top.endswith(".pth"):  # installed as editable: the source folders by line
            _look(path)
            for folder in Path(path).read_text(encoding="utf-8").splitlines():
                if os.path.isdir(folder) and not _is_project(folder):
                    yield from _in_folder(folder)
        elif _JUNK.fullmatch(top):
            continue
        elif os.path.isdir(path):
            yield from _in_folder(path, (top,))
        elif os.path.isfile(path):
            module = top.removesuffix(".py")
            yield module, f"{module}/{top}" if top.endswith(".py") else top, path


def _is_project(folder: str) -> bool:
    return any(os.path.isfile(os.path.join(folder, name)) for name in ("pyproject.toml", "setup.py"))


def _in_folder(folder: str, above: tuple[str, ...] = ()) -> Iterator[_Listed]:
    for parts, file in sorted(_listed(folder, above, (os.path.realpath(folder),))):
        names = [*parts[:-1], *([] if parts[-1] == "__init__.py" else [parts[-1].rpartition(".")[0] or parts[-1]])]
        label = "/".join(parts) if len(parts) > 1 or not file.endswith(".py") else f"{names[0]}/{parts[0]}"
        yield ".".join(names), label, file


def _listed(folder: str, above: tuple[str, ...], around: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """(path by its parts, file) of everything in a folder, through links too. Raises PluginError for what is no file.

    ``around``: real paths of it and of folders around it.
    """
    _look(folder)
    with os.scandir(folder) as entries:
        for entry in entries:
            if _JUNK.fullmatch(entry.name):
                continue
            parts = (*above, entry.name)
            if entry.is_dir():
                if (real := os.path.realpath(entry.path)) not in around:  # else a link to a folder that it is in
                    yield from _listed(entry.path, parts, (*around, real))
            elif entry.is_file():
                yield parts, entry.path
            elif not entry.is_symlink():
                raise PluginError(f"{entry.path} is no file and cannot be hashed; remove it from the package")


# -------------------------------------------------------------------- tokens

#: Tokens that say nothing about what is computed.
_SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER}
#: Line from 1, column.
_Position = tuple[int, int]


def tokens_of(text: str, tree: ast.Module) -> Iterator[str]:
    """The tokens that decide what Python source computes, the same in every version of Python. Raises TokenError."""
    lines = io.StringIO(text).readlines()  # as Python counts them: str.splitlines knows more ends of lines
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [
        node.body[0]
        for node in statements(tree)
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None
    ]
    docstrings = [((s.lineno, s.col_offset), (s.end_lineno or 0, s.end_col_offset or 0)) for s in texts]
    begun: list[_Position] = []  # f-strings, which newer versions take apart
    silent_line = False

    def in_bytes(at: _Position) -> _Position:
        return at[0], len(lines[at[0] - 1][: at[1]].encode())

    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        name = tokenize.tok_name[token.type]
        if name in ("FSTRING_START", "TSTRING_START"):
            begun.append(token.start)
        elif name in ("FSTRING_END", "TSTRING_END"):
            start = begun.pop()
            if not begun:
                whole = "".join(lines[start[0] - 1 : token.end[0]])
                yield whole[start[1] : len(whole) - len(lines[token.end[0] - 1]) + token.end[1]]
        elif begun or token.type in _SILENT:
            continue
        elif token.type == tokenize.STRING and any(a <= in_bytes(token.start) < b for a, b in docstrings):
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


def source_text(file: Path) -> str:
    """The text of a Python file in the encoding that it declares."""
    with tokenize.open(file) as stream:
        return stream.read()
