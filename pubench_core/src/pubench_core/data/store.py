"""Prepared copies: what a data set's files hold, converted once, opened memory-mapped by every run after.

``<cache>/prepared/<key>/<id>/`` holds one array per file and ``manifest.json``, written last. The id depends on the
source files' places, the code of the data set's package and the row-wise preprocessing. A copy is made under a lock, in
a folder of its own, and renamed when complete. Sizes and times of sources and arrays are checked on every open, their
SHA-256 only where those changed, and by :func:`verify_copy`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import filelock
import numpy as np
import numpy.typing as npt

from ..errors import Hint, PluginError, PubenchError, RequestError
from ..plugins.info import DatasetInfo
from ..plugins.registry import load
from ..plugins.source_code import hash_package
from ..specs.canonical import short_hash
from .copies import (
    ARRAYS,
    INCOMING,
    MANIFEST,
    Prepared,
    check,
    manifest_of,
    opened,
    sha256_of,
    source_entry,
    stat_of,
    write_manifest,
)
from .dataset import ClassData, DataRoot
from .preprocess import ROW_WISE, row_wise
from .source import DataSource

#: Raised when the layout of a prepared copy or the conversion changes.
LAYOUT = 1


def source_of(info: DatasetInfo) -> DataSource:
    """The data source behind an info record; PluginError if it is not one."""
    found = load(info)
    if not (isinstance(found, type) and issubclass(found, DataSource)):
        raise PluginError(f"dataset '{info.key}': {info.load} is not a subclass of pubench_core.data.source.DataSource")
    with blamed(info, "set up"):
        return found(info)


@contextmanager
def blamed(info: DatasetInfo, what: str) -> Iterator[None]:
    """A block that calls a data source, which may raise anything: PluginError names it, with its cause attached."""
    try:
        yield
    except PubenchError:
        raise
    except (Exception, SystemExit) as error:
        raise PluginError(f"dataset '{info.key}' could not be {what}: {type(error).__name__}: {error}") from error


def located(source: DataSource, root: DataRoot) -> tuple[Path, ...]:
    """The files of a data set. Raises RequestError if one is absent, PluginError if its source fails."""
    info = source.info
    try:
        with blamed(info, "located"):
            return tuple(source.locate(root))
    except RequestError as error:
        if type(source).fetch is DataSource.fetch or error.hint is not None:
            raise
        raise RequestError(
            f"{error}; what is missing can be downloaded", field=error.field, hint=Hint("fetch", info.key)
        ) from error


def open_dataset(source: DataSource, root: DataRoot, *, preprocess: str = "none") -> Prepared:
    """The arrays of a data set, from its prepared copy, which is made if there is none.

    ``preprocess``: its row-wise part has been carried out; whatever needs the training pool has not.

    Raises RequestError if files are missing, damaged, or changed since the copy was made.
    """
    info, files = source.info, located(source, root)
    if not files:
        data = _with_row_wise(_read(info, source, files, root), preprocess)
        return Prepared(data, _identity_of(data, _digest_of(data)), None)
    folder = folder_of(info, source, files, root, preprocess)
    manifest = manifest_of(folder)
    if manifest is None:
        return _identified(_prepare(info, source, files, root, preprocess, folder))
    check(folder, manifest)
    return _identified(opened(folder, manifest))


def _identified(found: Prepared) -> Prepared:
    return replace(found, digest=_identity_of(found.data, found.digest))


def _identity_of(data: ClassData, digest: str) -> str:
    """The digest of the arrays, with the channels' means and deviations where networks normalize with them."""
    return digest if data.mean is None and data.std is None else short_hash([digest, data.mean, data.std])


def _with_row_wise(data: ClassData, preprocess: str) -> ClassData:
    if preprocess not in ROW_WISE:
        return data
    x_test = row_wise(data.x_test, preprocess) if data.x_test is not None else None
    return replace(data, x=row_wise(data.x, preprocess), x_test=x_test)


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
    with blamed(info, "identified"):
        variant = source.variant(root, files)
    parents = {parent: str(parent.resolve()) for parent in {f.parent for f in files}}  # not each of 50,000 files
    identity = {
        "layout": LAYOUT,
        "code": hash_package(info.package),
        "files": [f"{parents[f.parent]}{os.sep}{f.name}" for f in files],
        "variant": variant,
        "preprocess": preprocess if preprocess in ROW_WISE else "none",
    }
    return root.cache / "prepared" / info.key / short_hash(identity)


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
                return opened(folder, manifest)
            started = time.perf_counter()
            sources = [source_entry(f) for f in files]
            data = _with_row_wise(_read(info, source, files, root), preprocess)
            for stale in (folder, *folder.parent.glob(f"{folder.name}.*{INCOMING}")):  # of a process that was killed
                _delete(stale)
            aside.mkdir()
            try:
                manifest = _written(aside, data, sources, info, preprocess)
                manifest["seconds"] = round(time.perf_counter() - started, 3)
                write_manifest(aside, manifest)
                aside.rename(folder)
            except BaseException:
                shutil.rmtree(aside, ignore_errors=True)
                raise
            return opened(folder, manifest)
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
        arrays[name] = {
            "shape": list(array.shape),
            "dtype": str(array.dtype),
            **stat_of(path),
            "sha256": sha256_of(path),
        }
    return {
        "layout": LAYOUT,
        "key": info.key,
        "preprocess": preprocess if preprocess in ROW_WISE else "none",
        "made_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "sources": sources,
        "arrays": arrays,
        "classes": class_counts(info, data),
        "digest": _digest_of(data),
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
    with blamed(info, "read"):
        return _checked(info, source.read(files, root))


def class_counts(info: DatasetInfo, data: ClassData) -> dict[str, list[int]]:
    """Rows of each class, in the order of ``info.classes``, in ``y`` and, where there is a test part, ``y_test``."""
    counted = {name: y for name, y in _arrays(data) if name.startswith("y")}
    return {name: np.bincount(y, minlength=len(info.classes)).tolist() for name, y in counted.items()}


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


def _lock(folder: Path) -> filelock.BaseFileLock:
    return filelock.FileLock(folder.with_name(f"{folder.name}.lock"))


def _fingerprint(array: npt.NDArray[Any]) -> str:
    digest = hashlib.sha256(f"{array.dtype} {array.shape}".encode())
    digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _digest_of(data: ClassData) -> str:
    return short_hash({name: _fingerprint(array) for name, array in _arrays(data)})
