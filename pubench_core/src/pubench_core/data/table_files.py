"""Files of users' tables, on disk or in memory: how they are named, and their checksums.

A spec names a user's table by a path and the SHA-256 of its content. A table in memory has both: it is kept as the
bytes of a parquet file under a path of its own. Everything behind these functions takes it as it takes a file, and a
table that is saved has the run ids that it had before.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakValueDictionary

from ..errors import RequestError
from . import cache

#: A task of a data source: ``disdat/nsw14``, ``openml:61/class``.
_ADDRESS = re.compile(r"[a-z0-9][a-z0-9-]+(/[\w-]+|:[^\\]+)")

_PREFIX = "memory:"
_HELD: WeakValueDictionary[str, HeldTable] = WeakValueDictionary()


@dataclass(frozen=True, eq=False)
class HeldTable:
    """``content``: a parquet file. ``path``: what a spec calls it, for as long as this object is alive."""

    name: str
    content: bytes
    sha256: str

    @property
    def path(self) -> Path:
        """``memory:<first digits of the checksum>/<name>``."""
        return Path(f"{_PREFIX}{self.sha256[:16]}") / self.name

    def __repr__(self) -> str:
        return f"HeldTable({self.path}, {len(self.content)} bytes)"


def held(name: str, content: bytes) -> HeldTable:
    """Keeps a parquet file in memory; an equal one that is held already is returned instead."""
    made = HeldTable(name, content, hashlib.sha256(content).hexdigest())
    return _HELD.setdefault(str(made.path), made)


def in_memory(path: Path) -> bool:
    """Whether a path names a table that is, or was, in memory."""
    return str(path).startswith(_PREFIX)


def held_at(path: Path) -> HeldTable | None:
    """The table that a path names; None where it names a file.

    Raises RequestError if it names a table in memory that is not in this process's.
    """
    if not in_memory(path):
        return None
    text = str(path)
    found = _HELD.get(text)
    if found is None:
        raise RequestError(
            f"{path} was a table in the memory of another process; save it as a file and name that one: "
            "data.own.path=FILE",
            field="data.own.path",
            value=text,
        )
    return found


def is_table_path(text: str) -> bool:
    """Whether a text that names data means a file: the key of a data set has no such character.

    ``disdat/nsw14`` and ``openml:61/class`` are addresses of tasks, unless a file or folder has that name.
    """
    if _ADDRESS.fullmatch(text) and not in_memory(Path(text)) and not Path(text).exists():
        return False
    return any(character in text for character in "./\\")


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, or of a table in memory. Raises RequestError if it cannot be read."""
    if (held := held_at(path)) is not None:
        return held.sha256
    try:
        return cache.sha256_of(path)
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> RequestError:
    """Problem of a file; for a relative path that leads nowhere, where it was looked for."""
    text = f"cannot read {path}: {error.strerror or error}"
    if isinstance(error, FileNotFoundError) and not path.is_absolute():
        text += f" ({path.absolute()}; a relative path counts from the current folder)"
    return RequestError(text)
