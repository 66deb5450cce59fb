"""A prepared copy on disk: its manifest, opening it, and comparing it with what it was.

Sizes and times of files are compared on every open, SHA-256 only where those changed.
"""

from __future__ import annotations

import copy
import errno
import hashlib
import json
import stat
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypedDict, cast

import numpy as np

from ..errors import Hint, RequestError
from ..plugins.source_code import State, settled_state
from .checksum_cache import replacing
from .dataset import ClassData, PUTasks

MANIFEST = "manifest.json"
#: Ending of a folder in which a copy is being made.
INCOMING = ".incoming"
#: What to do about a source file that is not what it was, and about an array.
SOURCE_REMEDY, ARRAY_REMEDY = "put the original back, or take it as it is", "have the copy made again"


@dataclass(frozen=True)
class Prepared:
    """``digest``: see :func:`~.dataset.digest_of`. ``folder``: the copy; None for a set without files."""

    data: ClassData | PUTasks
    digest: str
    folder: Path | None


# -------------------------------------------------------------------- the manifest


class FileEntry(TypedDict):
    """A file as it was when the copy was made."""

    bytes: int
    mtime_ns: int
    sha256: str


class SourceEntry(FileEntry):
    """A file that the copy was made from."""

    path: str


class Manifest(TypedDict):
    """Manifest of a copy; written last: a folder without one is no copy.

    ``classes``: rows of each class by array of labels (``y``, ``y_test``), or those of tasks in all.
    """

    key: str
    made_at: str
    sources: list[SourceEntry]
    arrays: dict[str, FileEntry]
    classes: dict[str, list[int]]
    digest: str
    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None


def manifest_of(folder: Path) -> Manifest | None:
    """Manifest of a complete copy; None if there is none. Raises RequestError if it is damaged.

    It is kept for the process as long as its file is the same; nobody edits it in place.
    """
    path = folder / MANIFEST
    remedy, hint = "remove it to make room for a new copy", Hint("prepare again", folder.parent.name)
    try:
        state = settled_state(path)
        found = _parsed(path, state) if state is not None else _parsed.__wrapped__(path, None)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise RequestError(f"{path} cannot be read ({error}); {remedy}", hint=hint) from error
    if not isinstance(found, dict) or not found.keys() >= Manifest.__required_keys__:
        raise RequestError(f"{path} is not the manifest of a prepared copy; {remedy}", hint=hint)
    return cast("Manifest", found)


@lru_cache(maxsize=100)
def _parsed(path: Path, state: State | None) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Writes it in one step: a process that is killed leaves the old one or none."""
    with replacing(folder / MANIFEST) as aside:
        aside.write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def entry_of(path: Path) -> FileEntry:
    """A file as it is now. Raises OSError if it cannot be read."""
    found = path.stat()
    return {"bytes": found.st_size, "mtime_ns": found.st_mtime_ns, "sha256": sha256_of(path)}


def array_path(folder: Path, name: str) -> Path:
    """Where a copy keeps one of its arrays."""
    return folder / f"{name}.npy"


# -------------------------------------------------------------------- opening


def open_copy(folder: Path, manifest: Manifest) -> Prepared:
    """Arrays mapped from their files: processes share the pages as long as none of them writes to them."""
    arrays: dict[str, Any] = {}
    for name in manifest["arrays"]:
        path = array_path(folder, name)
        try:
            arrays[name] = np.load(path, mmap_mode="c", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise RequestError(
                f"{path} cannot be opened ({error}); {ARRAY_REMEDY}", hint=Hint("prepare again", manifest["key"])
            ) from error
    if "owner" in arrays:
        return Prepared(PUTasks(**arrays), manifest["digest"], folder)
    mean, std = manifest["mean"], manifest["std"]
    data = ClassData(**arrays, mean=tuple(mean) if mean else None, std=tuple(std) if std else None)
    return Prepared(data, manifest["digest"], folder)


# -------------------------------------------------------------------- comparing with what it was


def files_of(folder: Path, manifest: Manifest) -> list[tuple[Path, FileEntry, str]]:
    """Sources and arrays of a copy: file, what the manifest says of it, and what to do if it is not so."""
    sources: list[tuple[Path, FileEntry, str]] = [(Path(e["path"]), e, SOURCE_REMEDY) for e in manifest["sources"]]
    return sources + [(array_path(folder, name), e, ARRAY_REMEDY) for name, e in manifest["arrays"].items()]


def check_copy(folder: Path, manifest: Manifest) -> None:
    """Compares sizes and times of sources and arrays, and the content of a file whose time alone changed.

    That time is noted in the manifest. Raises RequestError naming the first file that is gone or another.
    """
    files = files_of(folder, manifest)
    times = [_time_of_same(*file, manifest["key"]) for file in files]
    if times != [entry["mtime_ns"] for _, entry, _ in files]:
        noted = copy.deepcopy(manifest)
        for (_, entry, _), now in zip(files_of(folder, noted), times, strict=True):
            entry["mtime_ns"] = now
        with suppress(OSError):  # a cache that cannot be written is opened all the same; the next run hashes again
            write_manifest(folder, noted)


def _time_of_same(path: Path, entry: FileEntry, remedy: str, key: str) -> int:
    """The time of a file whose content is as it was; its SHA-256 is computed where the time is another."""
    hint = Hint("prepare again", key)
    try:
        now = path.stat()
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror or error}; {remedy}", hint=hint) from error
    if now.st_size != entry["bytes"]:
        raise RequestError(
            f"{path} has {now.st_size} bytes, {entry['bytes']} when it was prepared; {remedy}", hint=hint
        )
    if now.st_mtime_ns != entry["mtime_ns"] and sha256_of(path) != entry["sha256"]:
        raise RequestError(f"{path} was altered since it was prepared (its sha256 differs); {remedy}", hint=hint)
    return now.st_mtime_ns


def sha256_of(path: Path) -> str:
    """SHA-256 of a file. Raises OSError if it cannot be read or is none: opening a pipe would wait for ever."""
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "no path has a NUL character", str(path))
    if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():  # opening a folder says what is wrong
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", str(path))
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
