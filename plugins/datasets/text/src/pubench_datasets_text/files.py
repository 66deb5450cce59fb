"""Reading files and folders of documents, and downloads; whatever is wrong with one is one line that names it."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pubench_archives.archives import DAMAGE, damaged, one_line, unreadable

from pubench_core.data.cache import sha256_of
from pubench_core.data.dataset import DataRoot
from pubench_core.errors import RequestError

_BLOCK = 1 << 20


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turns what a damaged or unreadable file raises into one RequestError that names it."""
    try:
        yield
    except (*DAMAGE, ValueError, MemoryError) as error:  # first: BadGzipFile is an OSError too
        raise damaged(path, one_line(error)) from error
    except OSError as error:
        raise unreadable(path, error) from error


def content_of(path: Path) -> bytes:
    """All bytes of one document. Raises RequestError if it cannot be read."""
    with reading(path):
        return path.read_bytes()


def documents(folder: Path, ending: str = "") -> Iterator[Path]:
    """Visible files of one folder whose names have the ending, in no order. Fast: no file is opened."""
    with reading(folder), os.scandir(folder) as found:
        for entry in found:
            if entry.name.endswith(ending) and not entry.name.startswith(".") and not entry.is_dir():
                yield folder / entry.name


def folders(folder: Path) -> list[Path]:
    """Visible folders in a folder, by name."""
    with reading(folder), os.scandir(folder) as found:
        return sorted(folder / entry.name for entry in found if entry.is_dir() and not entry.name.startswith("."))


def download(url: str, sha256: str, target: Path, root: DataRoot) -> None:
    """Downloads a file, which is at ``target`` only once it is complete and its checksum right.

    Raises RequestError if the network, the disk, or the checksum says no.
    """
    aside = target.with_name(f"{target.name}.{os.getpid()}.incoming")
    digest = hashlib.sha256()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(url, timeout=60) as answer, aside.open("wb") as out:
            total = int(answer.headers.get("Content-Length") or 0)
            with root.progress(f"downloading {target.name}", total) as advance:
                while block := answer.read(_BLOCK):
                    out.write(block)
                    digest.update(block)
                    advance(len(block))
            out.flush()
            os.fsync(out.fileno())
        if digest.hexdigest() != sha256:
            raise RequestError(
                f"{target.name} as downloaded is not the known one (sha256 {digest.hexdigest()[:16]}, expected "
                f"{sha256[:16]}): the download was cut or altered on its way; try again"
            )
        aside.replace(target)
    except (OSError, http.client.HTTPException) as error:
        raise RequestError(
            f"{target.name} could not be downloaded to {target.parent}: {one_line(error)}; try again, or get it by "
            "other means and put it there"
        ) from error
    finally:
        with suppress(OSError):  # absent, or in a folder that could not be made
            aside.unlink()


def has_sha256(path: Path, sha256: str) -> bool:
    """Whether a file exists, can be read, and is the known one."""
    try:
        return sha256_of(path) == sha256
    except OSError:  # absent, or not readable: not known to be right
        return False
