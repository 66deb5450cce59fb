"""Files that code opens, connections that it makes and processes that it starts, as Python's audit hook sees them."""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pubench_core.data.dataset import data_root
from pubench_core.specs import ExecutionSpec

#: Audit events of what may read a file unseen: another process, a connection. How they are named among what was opened.
_ELSEWHERE = ("os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "socket.connect", "subprocess.Popen")
ELSEWHERE = "another process or a connection"
#: Memory of a process, which holds all that it has read.
_MEMORY = re.compile(r"/proc/[^/]+/(task/[^/]+/)?mem")
#: Suffixes of files of packages that hold code, or how it is shown.
_CODE = frozenset({".py", ".pyc", ".pyi", ".pyd", ".so", ".dll", ".dylib", ".pth", ".css"})
#: Folders of installed packages.
_PACKAGES = [Path(sysconfig.get_path(kind)).resolve() for kind in ("purelib", "platlib")]
#: Folders of the system, and names of folders that compilers fill when a function is first called.
_SYSTEM = ("/proc", "/sys", "/dev", "/etc", "/usr", "/lib", "/opt")
_COMPILER = re.compile(r"torchinductor|triton|numba")


class Opened(NamedTuple):
    """A file that was opened, or a folder that was listed."""

    path: str
    writes: bool = False


_opened: list[Opened] | None = None


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if _opened is None:
        return
    if event.startswith(_ELSEWHERE):
        _opened.append(Opened(f"{ELSEWHERE} ({event})"))
    if event not in ("open", "os.listdir", "os.scandir", "sqlite3.connect"):
        return
    if not isinstance(arguments[0], (str, bytes)):
        return
    writes = False
    if event == "open":
        mode, flags = arguments[1], arguments[2]
        writes = isinstance(mode, str) and bool(set(mode) & set("wax+"))
        writes = writes or bool(isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    _opened.append(Opened(os.fsdecode(arguments[0]), writes))


@contextmanager
def opening() -> Iterator[list[Opened]]:
    """List of what is opened inside this block."""
    global _opened
    if not getattr(sys, "_pubench_watches", False):
        sys.addaudithook(_watch)  # hooks cannot be taken away again; this one is idle outside of a block
        sys._pubench_watches = True  # type: ignore[attr-defined]
    found: list[Opened] = []
    _opened = found
    try:
        yield found
    finally:
        _opened = None


def showing_labels(opened: Iterable[Opened], spec: ExecutionSpec, own: Path, folders: Iterable[Path] = ()) -> list[str]:
    """Paths among those that were opened that can show true labels.

    Files of the data root, the cache, the results and other ``folders``; data of installed packages, except for ``own``
    and pubench's (scikit-learn brings ``digits`` and ``breast-cancer``); memory of a process, other processes,
    connections.
    """
    root = data_root(spec)
    holding = [folder.resolve() for folder in (root.path, root.cache, Path(spec.results), *folders)]

    def holds_labels(path: Path) -> bool:
        if any(path.is_relative_to(folder) for folder in holding):
            return True
        inside = next((path.relative_to(folder) for folder in _PACKAGES if path.is_relative_to(folder)), None)
        known = inside is None or str(inside).startswith("pubench")
        return not known and not path.is_relative_to(own) and not path.is_dir() and is_data(path)

    paths = dict.fromkeys(one.path for one in opened)
    return [
        path
        for path in paths
        if path.startswith(ELSEWHERE) or _MEMORY.fullmatch(path) or holds_labels(Path(path).resolve())
    ]


def foreign(opened: Iterable[Opened], own: Path) -> list[str]:
    """Paths among those that were opened that are neither of ``own`` nor of Python, the system or a compiler."""
    usual = [*_PACKAGES, own, *map(Path, (sys.prefix, sys.base_prefix, *_SYSTEM))]
    paths = dict.fromkeys(one.path for one in opened)
    return [
        path
        for path in paths
        if not any(Path(path).resolve().is_relative_to(folder) for folder in usual)
        and is_data(Path(path))
        and not _COMPILER.search(path)
    ]


def is_data(path: Path) -> bool:
    """Whether a file of a package is neither code nor what a compiler or installer left there."""
    apart = any(part == "__pycache__" or part.endswith(".dist-info") for part in path.parts)
    return not apart and path.suffix not in _CODE
