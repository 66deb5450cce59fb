"""Prepared copies: what a data set's files hold, converted once, opened memory-mapped by every run after.

``<cache>/prepared/<key>/<id>/`` holds one array per file and ``manifest.json``, written last. The id depends on the
source files' places, the code of the data set's package and the row-wise preprocessing. A copy is made under a lock, in
another folder next to it, which is renamed when complete. What is compared when it is opened: :mod:`.copies`.

A set without files comes with its package; what it holds is kept in the memory of the process.
"""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import filelock
import numpy as np
import numpy.typing as npt

from ..errors import Hint, PluginError, RequestError
from ..plugins.info import DatasetInfo
from ..plugins.registry import blamed
from ..plugins.source_code import hash_package
from ..specs.fields import short_hash
from .cache import (
    INCOMING,
    MANIFEST,
    FileEntry,
    Manifest,
    Prepared,
    SourceEntry,
    array_path,
    check_copy,
    entry_of,
    manifest_of,
    open_copy,
    write_manifest,
)
from .dataset import ClassData, DataRoot, PUTasks, digest_of
from .source import DataSource

#: Kinds that need no other row: they are carried out once, when a data set's prepared copy is made.
_ROW_WISE = frozenset({"l2"})
#: Raised when the layout of a prepared copy, the meaning of its manifest or the conversion changes.
LAYOUT = 2


# -------------------------------------------------------------------- calling a source


def located(source: DataSource, root: DataRoot) -> tuple[Path, ...]:
    """The files of a data set. Raises RequestError if one is absent, PluginError if its source fails."""
    with blamed(source.info, "located"):
        try:
            return tuple(source.locate(root))
        except RequestError as error:
            if error.hint is not None or not source.downloadable:
                raise
            raise RequestError(
                f"{error}; what is missing can be downloaded",
                field=error.field,
                value=error.value,
                hint=Hint("fetch", source.info.key),
            ) from error


def read(source: DataSource, files: tuple[Path, ...], root: DataRoot) -> ClassData | PUTasks:
    """Reads a data set from its files. Raises PluginError if its source fails or returns nonsense."""
    with blamed(source.info, "read"):
        return checked(source.info, source.read(files, root))


# -------------------------------------------------------------------- what a source returns


def checked(info: DatasetInfo, data: object) -> ClassData | PUTasks:
    """The data, their means and deviations as plain numbers.

    Raises PluginError if arrays are of another kind than :class:`ClassData` or :class:`PUTasks` says, or contradict
    each other or the info record.
    """
    wanted = ClassData if info.labels == "simulated" else PUTasks
    if not isinstance(data, wanted):
        raise PluginError(
            f"dataset '{info.key}': {info.load} returned {type(data).__name__} instead of {wanted.__name__}"
        )
    wrong = _wrong_with_tasks(data) if isinstance(data, PUTasks) else _wrong_with(data, info.classes)
    if wrong:
        raise PluginError(f"dataset '{info.key}': {wrong}")
    if isinstance(data, PUTasks):
        return data
    mean, std = (None if values is None else tuple(map(float, values)) for values in (data.mean, data.std))
    return replace(data, mean=mean, std=std)


def class_counts(info: DatasetInfo, data: ClassData | PUTasks) -> dict[str, list[int]]:
    """Rows of each class, in the order of ``info.classes``, in ``y`` and, where there is a test part, ``y_test``.

    Of tasks with their labels, the rows in all: ``unlabeled``, ``labeled``, ``test``.
    """
    if isinstance(data, PUTasks):
        unlabeled = int((data.owner < 0).sum())
        return {"unlabeled": [unlabeled], "labeled": [len(data.owner) - unlabeled], "test": [len(data.x_test)]}
    labels = {name: array for name, array in data.arrays().items() if name in ("y", "y_test")}
    return {name: np.bincount(y, minlength=len(info.classes)).tolist() for name, y in labels.items()}


def _wrong_with(data: ClassData, classes: tuple[str, ...]) -> str:
    """What is wrong with features and labels; empty if nothing is."""
    for part, x, y in (("training", data.x, data.y), ("test", data.x_test, data.y_test)):
        if part == "test" and x is None and y is None:
            continue
        if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray)):
            given = f"{type(x).__name__} and {type(y).__name__}"
            return f"the {part} part is {given}; expected two arrays, features and labels"
        if x.ndim < 2 or y.ndim != 1 or len(x) != len(y) or not x.size:
            shapes = f"features of the {part} part have shape {x.shape} and labels {y.shape}"
            return f"{shapes}; expected (n, ...) and (n,), with at least one row"
        if x.dtype not in (np.uint8, np.float32):
            return f"features are {x.dtype}; expected uint8 or float32"
        if x.dtype != data.x.dtype:
            return f"test rows are {x.dtype} and training rows {data.x.dtype}"
        if x.shape[1:] != data.x.shape[1:]:
            return f"test rows have shape {x.shape[1:]}, not {data.x.shape[1:]}"
        if y.dtype.kind not in "iu":
            return f"labels are {y.dtype}; expected integers, class indices"
        if y.min() < 0 or y.max() >= len(classes):
            return f"class {y.min() if y.min() < 0 else y.max()} of the {part} part is none of {classes}"
        if x.dtype == np.float32 and not np.isfinite(x).all():
            return f"the {part} part has a value that is not a finite number"
    return ""


def _wrong_with_tasks(data: PUTasks) -> str:
    """What is wrong with the arrays of tasks; empty if nothing is."""
    n, d = data.x.shape if data.x.ndim == 2 else (-1, -1)
    m, k = len(data.x_test), len(data.names)
    for name, array, shape, kind in (
        ("x", data.x, (n, d), "f"),
        ("owner", data.owner, (n,), "i"),
        ("x_test", data.x_test, (m, d), "f"),
        ("truth_test", data.truth_test, (m, k), "i"),
        ("names", data.names, (k,), "U"),
    ):
        if array.shape != shape or array.dtype.kind != kind:
            return f"{name} must have shape {shape} and kind '{kind}', got {array.shape} and '{array.dtype.kind}'"
    if not (np.isfinite(data.x).all() and np.isfinite(data.x_test).all()):
        return "x and x_test must be finite, and they are not"
    if data.owner.min() < -1 or data.owner.max() >= k or not np.isin(data.truth_test, (0, 1)).all():
        return f"owner must be -1 to {k - 1} and truth_test 0 or 1, and they are not"
    return ""


# -------------------------------------------------------------------- opening


def open_dataset(source: DataSource, root: DataRoot, *, preprocess: str = "none") -> Prepared:
    """The arrays of a data set, from its prepared copy, which is made if there is none.

    ``preprocess``: its row-wise part has been carried out; whatever needs the training pool has not. Tasks share the
    copy of the files that they share.

    Raises RequestError if files are missing, damaged, or changed since the copy was made.
    """
    files = located(source, root)
    if not files:
        kept = _packaged(source, root, preprocess)
        return replace(kept, data=_writable(kept.data))
    folder, manifest = _copy(source, files, root, preprocess)
    return open_copy(folder, manifest)


def digest_now(source: DataSource, files: tuple[Path, ...], root: DataRoot, *, preprocess: str = "none") -> str:
    """The digest that :func:`open_dataset` would give, without opening the arrays. ``files``: as located.

    Raises RequestError if files are damaged or changed since the copy was made.
    """
    if not files:
        return _packaged(source, root, preprocess).digest
    return _copy(source, files, root, preprocess)[1]["digest"]


def _copy(source: DataSource, files: tuple[Path, ...], root: DataRoot, preprocess: str) -> tuple[Path, Manifest]:
    """The folder of the copy, which is made if there is none, and what it says of itself, checked."""
    folder = folder_of(source, files, root, preprocess)
    manifest = manifest_of(folder)
    if manifest is not None:
        check_copy(folder, manifest)
        return folder, manifest
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with lock_of(folder):  # another process may have made it while this one waited
            return folder, manifest_of(folder) or _make(source, files, root, preprocess, folder)
    except OSError as error:
        raise RequestError(
            f"{source.info.key}: the prepared copy could not be written in {folder.parent}: {error.strerror or error}; "
            "free the space or name another folder with PUBENCH_CACHE"
        ) from error


# -------------------------------------------------------------------- sets that come with their package


#: Sets without files that this process has read, by what decides what they hold. Their arrays are read-only: a run
#: gets arrays of its own.
_packaged_sets: dict[tuple[object, ...], Prepared] = {}


def _packaged(source: DataSource, root: DataRoot, preprocess: str) -> Prepared:
    """A set without files, read unless this process has read it by the same class under the same root."""
    kind, where = type(source), (root.path, root.encoder)
    of = (kind, kind.read, source.info.address, where, row_wise_part(preprocess))
    if of not in _packaged_sets:
        data = _read_row_wise(source, (), root, preprocess)
        known = _packaged_sets[of] = Prepared(_writable(data), digest_of(data), None)
        for array in known.data.arrays().values():
            array.flags.writeable = False
    return _packaged_sets[of]


def _writable(data: ClassData | PUTasks) -> ClassData | PUTasks:
    copies: dict[str, Any] = {name: array.copy() for name, array in data.arrays().items()}
    return replace(data, **copies)


def folder_of(source: DataSource, files: tuple[Path, ...], root: DataRoot, preprocess: str) -> Path:
    """Where the copy of these files, read by this code, is kept."""
    info = source.info
    with blamed(info, "identified"):
        variant = source.variant(root, files)
    parents = {parent: str(parent.resolve()) for parent in {f.parent for f in files}}  # not each of 50,000 files
    identity = {
        "layout": LAYOUT,
        "code": hash_package(info.package),
        "files": [f"{parents[f.parent]}{os.sep}{f.name}" for f in files],
        "variant": variant,
        "preprocess": row_wise_part(preprocess),
    }
    return root.cache / "prepared" / info.key / short_hash(identity)


def row_wise_part(kind: str) -> str:
    """Row-wise part of a kind, as a kind: ``none`` if it leaves rows as they are."""
    return kind if kind in _ROW_WISE else "none"


def row_wise(x: npt.NDArray[Any], kind: str) -> npt.NDArray[Any]:
    """(n, *shape) after the part of ``kind`` that needs no other row; the same array if there is none.

    ``l2``: float32, every row scaled to Euclidean length 1 (rows of zeros stay).
    """
    if row_wise_part(kind) == "none":
        return x
    values = x.astype(np.float32) / np.float32(255) if x.dtype == np.uint8 else x.astype(np.float32)
    norm = np.linalg.norm(values.reshape(len(values), -1), axis=1).clip(min=1e-12)
    return np.asarray(values / norm.reshape(-1, *[1] * (values.ndim - 1)), dtype=np.float32)


def _read_row_wise(source: DataSource, files: tuple[Path, ...], root: DataRoot, preprocess: str) -> ClassData | PUTasks:
    """What the files hold, after the row-wise part of the preprocessing."""
    data = read(source, files, root)
    changed: dict[str, Any] = {"x": row_wise(data.x, preprocess)}
    if data.x_test is not None:
        changed["x_test"] = row_wise(data.x_test, preprocess)
    return replace(data, **changed)


# -------------------------------------------------------------------- making a copy


def _make(source: DataSource, files: tuple[Path, ...], root: DataRoot, preprocess: str, folder: Path) -> Manifest:
    """Makes the copy; its lock is held. Nothing of it is left if anything fails."""
    try:
        sources: list[SourceEntry] = [{"path": str(file.resolve()), **entry_of(file)} for file in files]
    except OSError as error:
        raise RequestError(f"cannot read {error.filename}: {error.strerror or error}") from error
    data = _read_row_wise(source, files, root, preprocess)
    for stale in (folder, *folder.parent.glob(f"{folder.name}.*{INCOMING}")):  # of a process that was killed
        delete_copy(stale)
    aside = folder.with_name(f"{folder.name}.{os.getpid()}{INCOMING}")
    aside.mkdir()
    try:
        arrays = {name: _saved(array_path(aside, name), array) for name, array in data.arrays().items()}
        manifest: Manifest = {
            "key": source.info.key,
            "made_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "sources": sources,
            "arrays": arrays,
            "classes": class_counts(source.info, data),
            "digest": digest_of(data),
            "mean": data.mean,
            "std": data.std,
        }
        write_manifest(aside, manifest)
        aside.rename(folder)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    return manifest


def _saved(path: Path, array: npt.NDArray[Any]) -> FileEntry:
    """Writes an array to its file, and to the disk before this returns.

    ``np.save`` does not say that the disk is full.
    """
    array = np.ascontiguousarray(array)
    with path.open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(array))
        stream.write(array.data)
        stream.flush()
        os.fsync(stream.fileno())
    return entry_of(path)


def lock_of(folder: Path) -> filelock.BaseFileLock:
    """Lock of a copy; who makes or removes it holds it."""
    return filelock.FileLock(folder.with_name(f"{folder.name}.lock"))


def delete_copy(folder: Path) -> None:
    """Removes a copy, its manifest first: what is left of it if this is interrupted is no copy."""
    (folder / MANIFEST).unlink(missing_ok=True)
    if folder.exists():
        shutil.rmtree(folder)
