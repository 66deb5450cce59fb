"""Names outside its inputs that a method's source uses.

One process has no walls: frames of callers, the garbage collector's lists, and files in the cache hold true labels,
and no design of ours hides them from code that looks there. So a method's source is read instead.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from pubench_core.training.run import Run
from pubench_core.training.views import Features, PUData, PUPart

#: Modules that show a program's own insides, or give others by their names.
INSIDES = frozenset(
    {
        *("contextvars", "ctypes", "gc", "importlib", "inspect", "pickle", "runpy", "tracemalloc"),
        *("_contextvars", "_ctypes", "bdb", "cffi", "llvmlite", "pdb", "pkgutil", "pydoc", "traceback", "unittest"),
    }
)
#: Modules that open files, processes or connections where ``reads-no-data`` does not see it, or another program's.
PAST_PYTHON = frozenset(
    {
        *("cv2", "duckdb", "h5py", "mmap", "multiprocessing", "polars", "pyarrow", "safetensors"),
        *("sqlite3", "subprocess"),
        *("ftplib", "http", "requests", "socket", "ssl", "urllib"),
    }
)
#: Functions of Python that run text or give names to look up.
RUN_TEXT = frozenset({"__import__", "eval", "exec", "globals", "locals", "vars"})
#: Attributes that lead from code to what it was not handed.
LEADING_OUT = frozenset(
    {
        *("_current_frames", "_getframe", "_getframemodulename", "settrace", "setprofile"),
        *("exc_info", "last_traceback"),
        *("f_back", "f_globals", "f_locals", "gi_frame", "cr_frame", "ag_frame", "tb_frame", "__traceback__"),
        *("from_file", "PyTorchFileReader"),
        *("__array_interface__", "__array_struct__", "__getattribute__", "environ", "environb", "getenv", "seed_seq"),
        *("__globals__", "__closure__", "cell_contents", "__subclasses__", "__builtins__", "__import__"),
    }
)
#: Modules that hold data sets with their labels, or the way to them.
DATA_SETS = (
    *("sklearn.datasets", "torchvision.datasets", "torchvision.io"),
    *("datasets", "openml", "mlflow", "pubench_datasets"),
)
#: What of core a method has use for; the rest holds data, truth or the way to them.
OPEN_ROOMS = ("method", "plugins.hooks", "plugins.info", "errors", "backbone", "specs", "testing")
#: Parts of modules of :data:`INSIDES` that show files of a package and its version.
HARMLESS = ("importlib.resources", "importlib.metadata")
#: Modules of which a part alone matters: ``from sys import modules``.
_NAMED_BY_PART = ("pubench_core", "pubench_core.plugins", "pubench", "sys", "importlib", "sklearn", "torchvision")
#: Identifiers in a text, such as a format string that looks attributes up.
_WORD = re.compile(r"\w+")
_INSTEAD = "; pubench.method has what a method needs"


def reaching_out(package: Path) -> list[str]:
    """``file:line: what`` for every place in a package's source that reaches beyond the arguments of a method."""
    files = sorted(package.rglob("*.py")) if package.is_dir() else [package]
    return [f"{file.name}:{line}: {what}" for file in files for line, what in _found_in(file)]


def acting(file: Path) -> list[str]:
    """``file:line: statement`` for every statement of a module that does more than import, define and assign a name."""
    return [
        f"{file.name}:{node.lineno}: {ast.unparse(node).splitlines()[0]}"
        for node in ast.parse(file.read_text(encoding="utf-8"), str(file)).body
        if not _describes(node)
    ]


def _describes(node: ast.stmt) -> bool:
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef)):
        return True
    if isinstance(node, ast.If):  # if TYPE_CHECKING:
        return ast.unparse(node.test).endswith("TYPE_CHECKING") and not node.orelse and all(map(_describes, node.body))
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return all(isinstance(inner, (ast.Name, ast.Tuple)) for inner in targets)
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _found_in(file: Path) -> Iterator[tuple[int, str]]:
    names = {name for kind in (PUData, PUPart, Features, Run) for name in kind.__init__.__code__.co_names}
    private = {name for name in names if name.startswith("_") and not name.startswith("__")}
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
    modules = _modules_by_name(tree)
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        for module in _imported(node):
            if _is_closed(module):
                yield line, f"imports {module}{_instead_of(module)}"
        path = _dotted(node, modules)
        if path.startswith(_NAMED_BY_PART) and _is_closed(path):
            yield line, f"uses {path}{_instead_of(path)}"
        if inner := next((part for part in path.split(".")[1:-1] if part in INSIDES | {"builtins", "sys"}), None):
            yield line, f"uses {path}: {inner} by way of another module"
        name = node.attr if isinstance(node, ast.Attribute) else node.value if isinstance(node, ast.Constant) else None
        if isinstance(node, ast.keyword) and node.arg == "dir_fd":
            yield line, "uses dir_fd, which hides what is opened"
        if isinstance(node, ast.Name) and node.id in RUN_TEXT | LEADING_OUT:
            yield line, f"uses {node.id}"
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("getattr", "attrgetter"):
            made = any(
                isinstance(given, (ast.BinOp, ast.Call, ast.JoinedStr, ast.Subscript)) for given in node.args[-1:]
            )
            yield from [(line, "uses getattr with a name that it makes")] if made else []
        if isinstance(node, ast.MatchClass) and (found := (LEADING_OUT | private) & {*node.kwd_attrs}):
            yield line, f"uses {min(found)} in a pattern"
        if not isinstance(name, str):
            continue
        if found := LEADING_OUT & ({name} if "." not in name else {*_WORD.findall(name)}):
            yield line, f"uses {min(found)}"
        elif name in private and not (isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("self", "cls")):
            yield line, f"uses {name}, a private attribute of data or run"


def _imported(node: ast.AST) -> list[str]:
    """Dotted names that a node imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        if node.module in _NAMED_BY_PART:
            return [f"{node.module}.{alias.name}" for alias in node.names]
        return [node.module]
    return []


def _modules_by_name(tree: ast.AST) -> dict[str, str]:
    """What the names of imported modules stand for in a file."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                found[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module in _NAMED_BY_PART:
            found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _dotted(node: ast.AST, modules: dict[str, str]) -> str:
    """The dotted name of an attribute of an imported module; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not parts or not isinstance(node, ast.Name) or node.id not in modules:
        return ""
    return ".".join([modules[node.id], *reversed(parts)])


def _is_closed(path: str) -> bool:
    """Whether a dotted name leads to what a method has no use for."""
    if any(path == shown or path.startswith(f"{shown}.") for shown in HARMLESS):
        return False
    if any(path == shown or path.startswith((f"{shown}.", f"{shown}_")) for shown in DATA_SETS):
        return True
    top, _, rest = path.partition(".")
    if top == "pubench":
        return bool(rest) and rest.split(".")[0] != "method"
    if top == "pubench_core":
        of_all = not rest or rest[0].isupper() or rest == "hookimpl"  # its classes, and no module
        way = any(rest == room or rest.startswith(f"{room}.") or room.startswith(f"{rest}.") for room in OPEN_ROOMS)
        return not of_all and not way
    return top in INSIDES | PAST_PYTHON or path == "sys.modules" or path.startswith("sys.modules.")


def _instead_of(path: str) -> str:
    if path.startswith(DATA_SETS):
        return "; a method has no data but what fit is given"
    return _INSTEAD if path.startswith(("pubench.", "pubench_core.")) else ""
