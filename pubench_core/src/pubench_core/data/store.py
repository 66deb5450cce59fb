"""Prepared copies: what a data set's files hold, converted once, opened memory-mapped by every run after.

``<cache>/prepared/<key>/<id>/`` holds one array per file and ``manifest.json``, written last. The id depends on the
source files' places, the code of the data set's package and the row-wise preprocessing. A copy is made under a lock, in
a folder of its own, and renamed when complete. Sizes and times of sources and arrays are checked on every open, their
SHA-256 only where those changed, and by :func:`verify_copy`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import filelock
import numpy as np
import numpy.typing as npt

from ..errors import PluginError, PubenchError, RequestError
from ..identity import hash_package
from ..info import DatasetInfo
from ..registry import load
from ..specs import canonical_json
from .dataset import ClassData, DataRoot
from .source import DataSource

#: Raised when the layout of a prepared copy or the conversion changes.
LAYOUT = 1
MANIFEST = "manifest.json"
ARRAYS = ("x", "y", "x_test", "y_test")
INCOMING = ".incoming"
#: What a manifest of this layout says, whatever else it says.
_FIELDS = frozenset({"layout", "key", "made_at", "sources", "arrays", "classes", "digest", "mean", "std"})


@dataclass(frozen=True)
class Prepared:
    """``digest``: SHA-256 (16 digits) over the arrays. ``folder``: the copy.

    Both are empty for a set that comes with its package: the package's code is what identifies it.
    """

    data: ClassData
    digest: str
    folder: Path | None


def source_of(info: DatasetInfo) -> DataSource:
    """The data source behind an info record; PluginError if it is not one."""
    found = load(info)
    if not (isinstance(found, type) and issubclass(found, DataSource)):
        raise PluginError(f"dataset '{info.key}': {info.load} is not a subclass of pubench_core.data.source.DataSource")
    with asked(info, "set up"):
        return found(info)


@contextmanager
def asked(info: DatasetInfo, what: str) -> Iterator[None]:
    """Around a call of a data source, which may raise anything: PluginError names it, with its cause attached."""
    try:
        yield
    except PubenchError:
        raise
    except (Exception, SystemExit) as error:
        raise PluginError(f"dataset '{info.key}' could not be {what}: {type(error).__name__}: {error}") from error


def located(info: DatasetInfo, source: DataSource, root: DataRoot) -> tuple[Path, ...]:
    """The files of a data set. Raises RequestError if one is absent, PluginError if its source fails."""
    with asked(info, "located"):
        return tuple(source.locate(root))


def open_dataset(info: DatasetInfo, root: DataRoot, *, preprocess: str = "none") -> Prepared:
    """The arrays of a data set, from its prepared copy, which is made if there is none.

    ``preprocess``: ``l2`` opens a copy with rows of unit length; everything else leaves values as read.

    Raises RequestError if files are missing, damaged, or changed since the copy was made.
    """
    source = source_of(info)
    files = located(info, source, root)
    if not files:
        data = _read(info, source, files, root)
        data = unit_rows(data) if preprocess == "l2" else data
        return Prepared(data, "", None)
    folder = folder_of(info, source, files, root, preprocess)
    manifest = manifest_of(folder)
    if manifest is None:
        return _prepare(info, source, files, root, preprocess, folder)
    _check(folder, manifest)
    return _opened(folder, manifest)


def unit_rows(data: ClassData) -> ClassData:
    """The data with every row of ``x`` and ``x_test`` scaled to Euclidean length 1 (rows of zeros stay)."""
    return replace(data, x=unit(data.x), x_test=unit(data.x_test) if data.x_test is not None else None)


def folders_of_copies(key: str | None, cache: Path) -> list[Path]:
    """Folders of the complete copies of one data set, or of all."""
    found = sorted((cache / "prepared").glob(f"{key or '*'}/*/{MANIFEST}"))
    return [path.parent for path in found if path.parent.suffix != INCOMING]


def prepared(key: str, cache: Path) -> list[tuple[Path, dict[str, Any]]]:
    """(folder, manifest) of the complete copies of one data set. Raises RequestError if a manifest is damaged."""
    found = [(folder, manifest_of(folder)) for folder in folders_of_copies(key, cache)]
    return [(folder, manifest) for folder, manifest in found if manifest is not None]


def verify_copy(folder: Path) -> list[str]:
    """What is wrong with a copy and its sources, with what to do, every byte read; empty if nothing is."""
    try:
        manifest = manifest_of(folder)
    except RequestError as error:
        return [str(error)]
    if manifest is None:  # removed in the meantime
        return []
    wrong = []
    of_source, of_array = _remedies(manifest["key"])
    entries = [(entry, of_source) for entry in manifest["sources"]]
    entries += [(entry, of_array) for entry in _array_entries(folder, manifest)]
    for entry, remedy in entries:
        path = Path(entry["path"])
        try:
            now = _sha256(path)
        except OSError as error:
            wrong.append(f"{path} cannot be read: {error.strerror or error}; {remedy}")
            continue
        if now != entry["sha256"]:
            told = f"sha256 {now[:16]} now, {entry['sha256'][:16]} when prepared"
            wrong.append(f"{path} is not what it was: {told}; {remedy}")
    return wrong


def remove_copies(key: str, cache: Path) -> int:
    """Deletes the copies of a data set (its source files stay) and returns how many bytes that freed."""
    base, freed = cache / "prepared" / key, 0
    try:
        for name in sorted({folder.name.split(".")[0] for folder in base.glob("*/")}):
            with _lock(base / name):  # one that is being made is waited for; lock files stay, somebody may wait on them
                for folder in (base / name, *base.glob(f"{name}.*{INCOMING}")):
                    freed += sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
                    _delete(folder)
    except OSError as error:
        raise RequestError(
            f"{key}: {base} could not be removed: {error.strerror or error}; remove it yourself"
        ) from error
    return freed


# -------------------------------------------------------------------- making a copy


def folder_of(info: DatasetInfo, source: DataSource, files: tuple[Path, ...], root: DataRoot, preprocess: str) -> Path:
    """Where the copy of these files, read by this code, is kept."""
    with asked(info, "identified"):
        variant = source.variant(root, files)
    identity = {
        "layout": LAYOUT,
        "code": hash_package(info.package),
        "files": [str(f.resolve()) for f in files],
        "variant": variant,
        "preprocess": preprocess if preprocess == "l2" else "none",
    }
    name = hashlib.sha256(canonical_json(identity).encode()).hexdigest()[:16]
    return root.cache / "prepared" / info.key / name


def _prepare(
    info: DatasetInfo, source: DataSource, files: tuple[Path, ...], root: DataRoot, preprocess: str, folder: Path
) -> Prepared:
    """The copy, made under its lock, or made by another process while this one waited for it."""
    aside = folder.with_name(f"{folder.name}.{os.getpid()}{INCOMING}")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _lock(folder):
            manifest = manifest_of(folder)
            if manifest is not None:
                return _opened(folder, manifest)
            started = time.perf_counter()
            sources = [_source_entry(f) for f in files]
            data = _read(info, source, files, root)
            if preprocess == "l2":
                data = unit_rows(data)
            for stale in (folder, *folder.parent.glob(f"{folder.name}.*{INCOMING}")):  # of a process that was killed
                _delete(stale)
            aside.mkdir()
            try:
                manifest = _written(aside, data, sources, info, preprocess)
                manifest["seconds"] = round(time.perf_counter() - started, 3)
                _write_manifest(aside, manifest)
                aside.rename(folder)
            except BaseException:
                shutil.rmtree(aside, ignore_errors=True)
                raise
            return _opened(folder, manifest)
    except OSError as error:
        raise RequestError(
            f"{info.key}: the prepared copy could not be written in {folder.parent}: {error.strerror or error}; "
            "free the space or name another folder with PUBENCH_CACHE"
        ) from error


def _written(
    folder: Path, data: ClassData, sources: list[dict[str, Any]], info: DatasetInfo, preprocess: str
) -> dict[str, Any]:
    arrays = {}
    for name, array in _arrays(data):
        path = folder / f"{name}.npy"
        with path.open("wb") as stream:
            _save(stream, np.ascontiguousarray(array))
            stream.flush()
            os.fsync(stream.fileno())
        arrays[name] = {"shape": list(array.shape), "dtype": str(array.dtype), **_stat(path), "sha256": _sha256(path)}
    return {
        "layout": LAYOUT,
        "key": info.key,
        "preprocess": preprocess if preprocess == "l2" else "none",
        "made_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "sources": sources,
        "arrays": arrays,
        "classes": {
            name: np.bincount(y, minlength=len(info.classes)).tolist()
            for name, y in _arrays(data)
            if name.startswith("y")
        },
        "digest": _digest({name: _fingerprint(array) for name, array in _arrays(data)}),
        "mean": data.mean,
        "std": data.std,
    }


def _save(stream: IO[bytes], array: npt.NDArray[Any]) -> None:
    """``np.save`` of a contiguous array; its own error for a full disk does not say so."""
    np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(array))
    stream.write(array.data)


def _delete(folder: Path) -> None:
    """Removes a copy, its manifest first: what is left of it if this is interrupted is no copy."""
    (folder / MANIFEST).unlink(missing_ok=True)
    if folder.exists():
        shutil.rmtree(folder)


def _read(info: DatasetInfo, source: DataSource, files: tuple[Path, ...], root: DataRoot) -> ClassData:
    with asked(info, "read"):
        return _checked(info, source.read(files, root))


def _checked(info: DatasetInfo, data: object) -> ClassData:
    """Raises PluginError if a source's arrays contradict each other or its info record."""
    if not isinstance(data, ClassData):
        raise PluginError(f"dataset '{info.key}': {info.load} returned {type(data).__name__} instead of ClassData")
    for part, x, y in (("training", data.x, data.y), ("test", data.x_test, data.y_test)):
        if x is None and y is None and part == "test":
            continue
        if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray)):
            raise PluginError(
                f"dataset '{info.key}': the {part} part is {type(x).__name__} and {type(y).__name__}; two arrays are "
                "right, features and labels"
            )
        if x.ndim < 2 or y.ndim != 1 or len(x) != len(y) or not x.size:
            raise PluginError(
                f"dataset '{info.key}': features of the {part} part have shape {x.shape} and labels {y.shape}; "
                "(n, ...) and (n,) are right, with at least one row"
            )
        if x.dtype not in (np.uint8, np.float32):
            raise PluginError(f"dataset '{info.key}': features are {x.dtype}; uint8 or float32 is right")
        if x.dtype != data.x.dtype:
            raise PluginError(f"dataset '{info.key}': test rows are {x.dtype} and training rows {data.x.dtype}")
        if x.shape[1:] != data.x.shape[1:]:
            raise PluginError(f"dataset '{info.key}': test rows have shape {x.shape[1:]}, not {data.x.shape[1:]}")
        if y.dtype.kind not in "iu":
            raise PluginError(f"dataset '{info.key}': labels are {y.dtype}; integers are right, class indices")
        if y.min() < 0 or y.max() >= len(info.classes):
            stray = y.min() if y.min() < 0 else y.max()
            raise PluginError(f"dataset '{info.key}': class {stray} of the {part} part is none of {info.classes}")
        if x.dtype == np.float32 and not np.isfinite(x).all():
            raise PluginError(f"dataset '{info.key}': the {part} part has a value that is not a finite number")
    return replace(data, mean=_numbers(data.mean), std=_numbers(data.std))


def _numbers(values: Iterable[float] | None) -> tuple[float, ...] | None:
    return None if values is None else tuple(float(v) for v in values)


def _arrays(data: ClassData) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    for name in ARRAYS:
        array = getattr(data, name)
        if array is not None:
            yield name, array


def unit(x: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """(n, *shape) float32: every row scaled to Euclidean length 1."""
    values = x.astype(np.float32) / np.float32(255) if x.dtype == np.uint8 else x.astype(np.float32)
    norm = np.linalg.norm(values.reshape(len(values), -1), axis=1).clip(min=1e-12)
    return np.asarray(values / norm.reshape(-1, *[1] * (values.ndim - 1)), dtype=np.float32)


def _lock(folder: Path) -> filelock.BaseFileLock:
    return filelock.FileLock(folder.with_name(f"{folder.name}.lock"))


# -------------------------------------------------------------------- opening and checking one


def manifest_of(folder: Path) -> dict[str, Any] | None:
    """What a complete copy says of itself; None if there is none. Raises RequestError if it is damaged."""
    path = folder / MANIFEST
    remedy = f"pubench data remove {folder.parent.name} makes room for a new copy"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise RequestError(f"{path} cannot be read ({error}); {remedy}") from error
    if not isinstance(found, dict) or not found.keys() >= _FIELDS:
        raise RequestError(f"{path} is not the manifest of a prepared copy; {remedy}")
    return found


def _write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    aside = folder / f"{MANIFEST}.{os.getpid()}"
    try:
        with aside.open("w", encoding="utf-8") as stream:
            json.dump(manifest, stream, indent=1)
            stream.flush()
            os.fsync(stream.fileno())
        aside.replace(folder / MANIFEST)
    finally:
        aside.unlink(missing_ok=True)


def _check(folder: Path, manifest: dict[str, Any]) -> None:
    """Cheap where sizes and times are as they were; a file whose time alone changed is hashed, and noted."""
    noted = False
    of_source, of_array = _remedies(manifest["key"])
    for entry in manifest["sources"]:
        noted |= _same(Path(entry["path"]), entry, of_source)
    for entry in _array_entries(folder, manifest):
        noted |= _same(Path(entry["path"]), manifest["arrays"][entry["name"]], of_array)
    if noted:
        try:
            _write_manifest(folder, manifest)
        except OSError:  # a cache that cannot be written is opened all the same; the next run hashes again
            return


def _remedies(key: str) -> tuple[str, str]:
    """What to do about a source file that is not what it was, and about an array."""
    again = f"pubench data remove {key}"
    return f"put the original back, or take it as it is: {again}", f"have the copy made again: {again}"


def _same(path: Path, entry: dict[str, Any], remedy: str) -> bool:
    """False if size and time are as stored, True (entry updated) if only the time changed; else RequestError."""
    try:
        now = _stat(path)
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror or error}; {remedy}") from error
    if now == {name: entry[name] for name in now}:
        return False
    if now["bytes"] != entry["bytes"]:
        raise RequestError(f"{path} has {now['bytes']} bytes, {entry['bytes']} when it was prepared; {remedy}")
    if _sha256(path) != entry["sha256"]:
        raise RequestError(f"{path} was altered since it was prepared (its sha256 differs); {remedy}")
    entry.update(now)
    return True


def _opened(folder: Path, manifest: dict[str, Any]) -> Prepared:
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
                f"{path} cannot be opened ({error}); pubench data remove {manifest['key']} and run again"
            ) from error
    mean, std = manifest["mean"], manifest["std"]
    data = ClassData(**arrays, mean=tuple(mean) if mean else None, std=tuple(std) if std else None)
    return Prepared(data, manifest["digest"], folder)


def _array_entries(folder: Path, manifest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name, entry in manifest["arrays"].items():
        yield {**entry, "name": name, "path": str(folder / f"{name}.npy")}


def _source_entry(path: Path) -> dict[str, Any]:
    try:
        return {"path": str(path.resolve()), **_stat(path), "sha256": _sha256(path)}
    except OSError as error:
        raise RequestError(f"cannot read {path}: {error.strerror or error}") from error


def _stat(path: Path) -> dict[str, int]:
    stat = path.stat()
    return {"bytes": stat.st_size, "mtime_ns": stat.st_mtime_ns}


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _fingerprint(array: npt.NDArray[Any]) -> str:
    digest = hashlib.sha256(f"{array.dtype} {array.shape}".encode())
    digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _digest(fingerprints: dict[str, str]) -> str:
    return hashlib.sha256(canonical_json(fingerprints).encode()).hexdigest()[:16]
