"""A prepared copy on disk: its manifest, opening it, and checking it against what it was.

Sizes and times of files are compared on every open, SHA-256 only where those changed, and all of it by
:func:`verify_copy`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Hint, RequestError
from .dataset import ClassData

MANIFEST = "manifest.json"
ARRAYS = ("x", "y", "x_test", "y_test")
INCOMING = ".incoming"
#: What a manifest of this layout says, whatever else it says.
_FIELDS = frozenset({"layout", "key", "made_at", "sources", "arrays", "classes", "digest", "mean", "std"})


@dataclass(frozen=True)
class Prepared:
    """``digest``: SHA-256 (16 digits) over the arrays. ``folder``: the copy; None for a set without files."""

    data: ClassData
    digest: str
    folder: Path | None


def folders_of_copies(key: str | None, cache: Path) -> list[Path]:
    """Folders of the complete copies of one data set, or of all."""
    found = sorted((cache / "prepared").glob(f"{key or '*'}/*/{MANIFEST}"))
    return [path.parent for path in found if path.parent.suffix != INCOMING]


def prepared(key: str, cache: Path) -> list[tuple[Path, dict[str, Any]]]:
    """(folder, manifest) of the complete copies of one data set. Raises RequestError if a manifest is damaged."""
    found = [(folder, manifest_of(folder)) for folder in folders_of_copies(key, cache)]
    return [(folder, manifest) for folder, manifest in found if manifest is not None]


def verify_copy(folder: Path) -> list[RequestError]:
    """What is wrong with a copy and its sources, with what to do, every byte read; empty if nothing is."""
    try:
        manifest = manifest_of(folder)
    except RequestError as error:
        return [error]
    if manifest is None:  # removed in the meantime
        return []
    wrong = []
    entries = [(entry, _SOURCE_REMEDY) for entry in manifest["sources"]]
    entries += [(entry, _ARRAY_REMEDY) for entry in array_entries(folder, manifest)]
    hint = Hint("prepare again", manifest["key"])
    for entry, remedy in entries:
        path = Path(entry["path"])
        try:
            now = sha256_of(path)
        except OSError as error:
            wrong.append(RequestError(f"{path} cannot be read: {error.strerror or error}; {remedy}", hint=hint))
            continue
        if now != entry["sha256"]:
            differ = f"sha256 {now[:16]} now, {entry['sha256'][:16]} when prepared"
            wrong.append(RequestError(f"{path} is not what it was: {differ}; {remedy}", hint=hint))
    return wrong


def manifest_of(folder: Path) -> dict[str, Any] | None:
    """What a complete copy says of itself; None if there is none. Raises RequestError if it is damaged."""
    path = folder / MANIFEST
    remedy, hint = "remove it to make room for a new copy", Hint("prepare again", folder.parent.name)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise RequestError(f"{path} cannot be read ({error}); {remedy}", hint=hint) from error
    if not isinstance(found, dict) or not found.keys() >= _FIELDS:
        raise RequestError(f"{path} is not the manifest of a prepared copy; {remedy}", hint=hint)
    return found


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    aside = folder / f"{MANIFEST}.{os.getpid()}"
    try:
        with aside.open("w", encoding="utf-8") as stream:
            json.dump(manifest, stream, indent=1)
            stream.flush()
            os.fsync(stream.fileno())
        aside.replace(folder / MANIFEST)
    finally:
        aside.unlink(missing_ok=True)


def check(folder: Path, manifest: dict[str, Any]) -> None:
    """Cheap where sizes and times are as they were; a file whose time alone changed is hashed, and noted."""
    noted = False
    for entry in manifest["sources"]:
        noted |= _same(Path(entry["path"]), entry, _SOURCE_REMEDY, manifest["key"])
    for entry in array_entries(folder, manifest):
        noted |= _same(Path(entry["path"]), manifest["arrays"][entry["name"]], _ARRAY_REMEDY, manifest["key"])
    if noted:
        try:
            write_manifest(folder, manifest)
        except OSError:  # a cache that cannot be written is opened all the same; the next run hashes again
            return


#: What to do about a source file that is not what it was, and about an array.
_SOURCE_REMEDY, _ARRAY_REMEDY = "put the original back, or take it as it is", "have the copy made again"


def _same(path: Path, entry: dict[str, Any], remedy: str, key: str) -> bool:
    """False if size and time are as stored, True (entry updated) if only the time changed; else RequestError."""
    hint = Hint("prepare again", key)
    try:
        now = stat_of(path)
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror or error}; {remedy}", hint=hint) from error
    if now == {name: entry[name] for name in now}:
        return False
    if now["bytes"] != entry["bytes"]:
        raise RequestError(
            f"{path} has {now['bytes']} bytes, {entry['bytes']} when it was prepared; {remedy}", hint=hint
        )
    if sha256_of(path) != entry["sha256"]:
        raise RequestError(f"{path} was altered since it was prepared (its sha256 differs); {remedy}", hint=hint)
    entry.update(now)
    return True


def opened(folder: Path, manifest: dict[str, Any]) -> Prepared:
    """Arrays mapped from their files: pages are shared between processes as long as nobody writes to them."""
    arrays: dict[str, Any] = {}
    for name in ARRAYS:
        if name not in manifest["arrays"]:
            arrays[name] = None
            continue
        path = folder / f"{name}.npy"
        try:
            arrays[name] = np.load(path, mmap_mode="c", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise RequestError(
                f"{path} cannot be opened ({error}); {_ARRAY_REMEDY}", hint=Hint("prepare again", manifest["key"])
            ) from error
    mean, std = manifest["mean"], manifest["std"]
    data = ClassData(**arrays, mean=tuple(mean) if mean else None, std=tuple(std) if std else None)
    return Prepared(data, manifest["digest"], folder)


def array_entries(folder: Path, manifest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name, entry in manifest["arrays"].items():
        yield {**entry, "name": name, "path": str(folder / f"{name}.npy")}


def source_entry(path: Path) -> dict[str, Any]:
    try:
        return {"path": str(path.resolve()), **stat_of(path), "sha256": sha256_of(path)}
    except OSError as error:
        raise RequestError(f"cannot read {path}: {error.strerror or error}") from error


def stat_of(path: Path) -> dict[str, int]:
    stat = path.stat()
    return {"bytes": stat.st_size, "mtime_ns": stat.st_mtime_ns}


def sha256_of(path: Path) -> str:
    """SHA-256 of a file. Raises OSError if it cannot be read."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
