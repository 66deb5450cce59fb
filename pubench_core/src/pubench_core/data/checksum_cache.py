"""Files that are replaced as a whole. Small ones of a cache carry their own checksum: what was altered is not read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to, which takes the place of ``path`` when it is on the disk, if the block ends well.

    A reader finds the older content or the newer, never half of one; nothing is left if the block fails.
    """
    aside = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield aside
        sync(aside)
        aside.replace(path)
    finally:
        with suppress(OSError):  # it could not be made, which is raised
            aside.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Waits until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def keep(path: Path, content: bytes) -> None:
    """Writes SHA-256 and content as a whole. Raises nothing: without a cache, the content is made again."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as aside:
            aside.write_bytes(_digest(content) + b"\n" + content)


def kept(path: Path) -> bytes | None:
    """Content that :func:`keep` wrote; None if the file is absent or was changed."""
    try:
        digest, _, content = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    return content if digest == _digest(content) else None


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
