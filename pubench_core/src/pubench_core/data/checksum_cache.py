"""Small files of a cache that carry their own checksum: what was cut short or altered is not read."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

_MARK = b"\n"


def keep(path: Path, content: bytes) -> None:
    """Writes SHA-256 and content, as a whole: another process finds all of it or nothing.

    A cache that cannot be written costs the time of making the content again, so nothing is raised.
    """
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            aside.write_bytes(_digest(content) + _MARK + content)
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)


def kept(path: Path) -> bytes | None:
    """Content that :func:`keep` wrote; None if the file is absent or was changed."""
    try:
        digest, _, content = path.read_bytes().partition(_MARK)
    except OSError:
        return None
    return content if digest == _digest(content) else None


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
