"""Prepared copies of data sets: found, compared byte by byte, removed."""

from __future__ import annotations

from pathlib import Path

from pubench_core.data.cache import INCOMING, MANIFEST, Manifest, files_of, manifest_of, sha256_of
from pubench_core.data.store import delete_copy, lock_of
from pubench_core.errors import Hint, RequestError


def folders_of_copies(key: str | None, cache: Path) -> list[Path]:
    """Folders of the complete copies of one data set, or of all."""
    found = sorted((cache / "prepared").glob(f"{key or '*'}/*/{MANIFEST}"))
    return [path.parent for path in found if path.parent.suffix != INCOMING]


def copies_of(key: str, cache: Path) -> list[tuple[Path, Manifest]]:
    """(folder, manifest) of the complete copies of one data set. Raises RequestError if a manifest is damaged."""
    found = [(folder, manifest_of(folder)) for folder in folders_of_copies(key, cache)]
    return [(folder, manifest) for folder, manifest in found if manifest is not None]


def verify_copy(folder: Path) -> list[RequestError]:
    """Problem of a copy and its sources, with what to do, every byte read; empty if there is none."""
    try:
        manifest = manifest_of(folder)
    except RequestError as error:
        return [error]
    if manifest is None:  # removed in the meantime
        return []
    hint, wrong = Hint("prepare again", manifest["key"]), []
    for path, entry, remedy in files_of(folder, manifest):
        try:
            now = sha256_of(path)
        except OSError as error:
            wrong.append(RequestError(f"{path} cannot be read: {error.strerror or error}; {remedy}", hint=hint))
            continue
        if now != entry["sha256"]:
            differ = f"sha256 {now[:16]} now, {entry['sha256'][:16]} when prepared"
            wrong.append(RequestError(f"{path} is not what it was: {differ}; {remedy}", hint=hint))
    return wrong


def remove_copies(key: str, cache: Path) -> int:
    """Deletes the copies of a data set (its source files stay) and returns how many bytes that freed."""
    base, freed = cache / "prepared" / key, 0
    try:
        for name in sorted({folder.name.split(".")[0] for folder in base.glob("*/")}):
            with lock_of(base / name):  # waits for one that is being made; lock files stay, others may wait on them
                for folder in (base / name, *base.glob(f"{name}.*{INCOMING}")):
                    freed += sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
                    delete_copy(folder)
    except OSError as error:
        raise RequestError(
            f"{key}: {base} could not be removed: {error.strerror or error}; remove it yourself"
        ) from error
    return freed
