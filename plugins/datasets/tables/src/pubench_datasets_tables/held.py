"""Files of users' tables, on disk or in memory: how they are named, and their checksums.

A spec names a user's table by a path and the SHA-256 of its content. A table in memory has both: it is kept as the
bytes of a parquet file under a path of its own. Everything behind these functions takes it as it takes a file, and a
table that is saved has the run ids that it had before.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakValueDictionary

from pubench_core.data import cache
from pubench_core.data.labeled import LabeledData
from pubench_core.data.table_reader import MEMORY, in_memory
from pubench_core.errors import RequestError

_HELD: WeakValueDictionary[str, HeldTable] = WeakValueDictionary()


@dataclass(frozen=True, eq=False)
class HeldTable:
    """``content``: a parquet file. ``path``: what a spec calls it, for as long as this object is alive.

    ``rows``: sparse rows, which are in no file.
    """

    name: str
    content: bytes = field(repr=False)
    sha256: str
    rows: LabeledData | None = field(default=None, repr=False)

    @property
    def path(self) -> Path:
        """``memory:<first digits of the checksum>/<name>``."""
        return Path(f"{MEMORY}{self.sha256[:16]}") / self.name


def held(name: str, content: bytes, rows: LabeledData | None = None) -> HeldTable:
    """Keeps a parquet file, or sparse rows, in memory; an equal table that is held already is returned instead."""
    made = HeldTable(name, content, hashlib.sha256(content if rows is None else rows.digest.encode()).hexdigest(), rows)
    return _HELD.setdefault(str(made.path), made)


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
            f"{path} was in the memory of another process; save the table as a file and name that: data.own.path=FILE",
            field="data.own.path",
            value=text,
        )
    return found


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
