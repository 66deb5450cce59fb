"""Data sets before anything is labeled: class-labeled arrays, and the binary problem made from them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import platformdirs

from ..errors import RequestError
from ..plugins.info import DatasetInfo, Modality
from ..specs import DataSpec, ExecutionSpec
from ..specs.fields import short_hash

IntArray = npt.NDArray[np.int64]


class _OfArrays:
    """What consists of arrays."""

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays by the names of their fields; without those that are not there."""
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}


@dataclass(frozen=True)
class ClassData(_OfArrays):
    """A data set as its loader returns it.

    ``x``: (n, *shape), float32, or uint8 for images whose value 255 means 1.0. ``y``: (n,) class indices.
    ``x_test``/``y_test``: the test part, where the data set has one. ``mean``/``std``: per channel, of training
    images scaled to [0, 1]; the backbone's first layer normalizes with them.
    """

    x: npt.NDArray[Any]
    y: IntArray
    x_test: npt.NDArray[Any] | None = None
    y_test: IntArray | None = None
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None

    def pooled(self) -> ClassData:
        """Training and test rows as one array, without a test part: the data set as if nobody had split it yet."""
        if self.x_test is None or self.y_test is None:
            return self
        x, y = np.concatenate([self.x, self.x_test]), np.concatenate([self.y, self.y_test])
        return replace(self, x=x, y=y, x_test=None, y_test=None)


@dataclass(frozen=True)
class PUTasks(_OfArrays):
    """Rows that come with their labels, shared by one or more tasks, with test rows of known truth.

    ``x``: (n, d) float32. ``owner``: (n,) index of the task whose labeled positive a row is; -1: the row is unlabeled,
    in every task. ``x_test``: (m, d). ``truth_test``: (m, k) int8, a column per task: 1 positive, 0 negative.
    ``names``: (k,) names of the tasks.
    """

    x: npt.NDArray[Any]
    owner: IntArray
    x_test: npt.NDArray[Any]
    truth_test: npt.NDArray[np.int8]
    names: npt.NDArray[np.str_]
    mean: None = None
    std: None = None


def digest_of(data: ClassData | PUTasks) -> str:
    """16 digits over the arrays, and over means and deviations of channels where networks normalize with them."""
    arrays = short_hash({name: fingerprint(array) for name, array in data.arrays().items()})
    return arrays if data.mean is None and data.std is None else short_hash([arrays, data.mean, data.std])


def fingerprint(array: npt.NDArray[Any]) -> str:
    """SHA-256 over type, shape and values."""
    digest = hashlib.sha256(f"{array.dtype} {array.shape}".encode())
    digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


@dataclass(frozen=True)
class PNDataset:
    """A binary problem: arrays as loaded, and which of their rows count as positive or negative.

    ``rows``: rows of ``x`` that are in either class; ``y``: (len(x),) int8 with 1 positive, 0 negative, -1 dropped;
    None where the truth is not known. ``rows_test``/``y_test`` likewise for ``x_test``. ``labeled``: (len(x),) who is
    labeled, where that is given and not simulated. ``classes``: (len(x),) indices of the data set's own classes, where
    it has more than the two. ``groups``: (len(x),) codes; rows of one code are never parted. ``weights``: (len(x),) of
    the rows, at least 0. ``negatives``: rows of ``x`` that a user knows to be negative; they are not among ``rows``.
    Nothing is copied.
    """

    key: str
    modality: Modality
    x: npt.NDArray[Any]
    y: npt.NDArray[np.int8] | None
    rows: IntArray
    x_test: npt.NDArray[Any] | None
    y_test: npt.NDArray[np.int8] | None
    rows_test: IntArray | None
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    labeled: npt.NDArray[np.bool_] | None = None
    classes: IntArray | None = None
    groups: IntArray | None = None
    weights: npt.NDArray[np.float64] | None = None
    negatives: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one row: (d,) or (channels, height, width)."""
        return tuple(self.x.shape[1:])

    @property
    def dropped(self) -> int:
        """Rows of classes in neither list, training and test parts together."""
        if self.y is None:  # rows of other tasks
            return 0
        kept = len(self.rows) + (len(self.rows_test) if self.rows_test is not None else 0)
        return len(self.x) + (len(self.x_test) if self.x_test is not None else 0) - kept


def binarize(info: DatasetInfo, loaded: ClassData, problem: DataSpec) -> PNDataset:
    """The binary problem of two lists of class indices; classes in neither are dropped.

    Raises RequestError if a side has no row, and if a test part is to be drawn again if there is none yet.
    """
    if problem.test == "drawn":
        if loaded.x_test is None:
            raise RequestError(
                f"data.test drawn: {info.key} has no test part of its own, so its test rows are always drawn; "
                "leave data.test out",
                field="data.test",
                value=problem.test,
            )
        loaded = loaded.pooled()
    code = np.full(len(info.classes), -1, dtype=np.int8)
    code[list(problem.positive)], code[list(problem.negative)] = 1, 0
    y = code[loaded.y]
    for side, value in (("positive", 1), ("negative", 0)):
        if not (y == value).any():
            raise RequestError(f"{info.key} has no row of the {side} classes")
    y_test = code[loaded.y_test] if loaded.y_test is not None else None
    return PNDataset(
        key=info.key,
        modality=info.modality,
        x=loaded.x,
        y=y,
        rows=np.flatnonzero(y >= 0),
        x_test=loaded.x_test,
        y_test=y_test,
        rows_test=np.flatnonzero(y_test >= 0) if y_test is not None else None,
        mean=loaded.mean,
        std=loaded.std,
        classes=loaded.y,
    )


def task_of(info: DatasetInfo, loaded: PUTasks) -> PNDataset:
    """The problem of one task: its labeled positives, the unlabeled rows, its test rows.

    Raises RequestError if a test row of either class, or a labeled or an unlabeled row is missing.
    """
    k = int(np.flatnonzero(loaded.names == info.task)[0])
    truth, labeled, unlabeled = loaded.truth_test[:, k], loaded.owner == k, loaded.owner == -1
    for lacks, found in (
        ("no labeled positive", labeled),
        ("no unlabeled row", unlabeled),
        (f"no positive among its {len(truth)} test rows", truth == 1),
        (f"no negative among its {len(truth)} test rows", truth == 0),
    ):
        if not found.any():
            raise RequestError(
                f"{info.address} has {lacks}, so nothing can be measured; take another task",
                field="data.key",
                value=info.address,
            )
    return PNDataset(
        key=info.address,
        modality=info.modality,
        x=loaded.x,
        y=None,
        rows=np.flatnonzero(labeled | unlabeled),
        x_test=loaded.x_test,
        y_test=truth,
        rows_test=np.arange(len(truth)),
        labeled=labeled,
    )


def user_cache() -> Path:
    """``PUBENCH_CACHE``, else the user's cache folder: for what is derived from data, and for downloads."""
    given = os.environ.get("PUBENCH_CACHE")
    return Path(given) if given else platformdirs.user_cache_path("pubench")


#: Opens a progress bar of ``total`` items; gives a function that takes the number of items just done.
Progress = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]


@contextmanager
def silent(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """No progress bar."""
    yield lambda done: None


@dataclass(frozen=True)
class DataRoot:
    """Where data files lie; ``said_by``: what decided that.

    ``cache``: for what is derived from data; a data root may be read-only. ``offline``: the network is not touched.
    ``encoder``: folder of the sentence encoder, where the user named one. ``say`` takes a line for the user.
    """

    path: Path
    said_by: str
    cache: Path = field(default_factory=user_cache)
    offline: bool = False
    encoder: Path | None = None
    say: Callable[[str], None] = lambda text: None
    progress: Progress = silent

    def folders(self, info: DatasetInfo) -> list[Path]:
        """``<root>/<key>`` and ``<root>/<alias>``, whether they exist or not; tasks share them."""
        return [self.path / name for name in (info.key, *info.aliases)]

    def missing(self, info: DatasetInfo, files: list[str], places: list[Path]) -> RequestError:
        """The error for files that are in none of these places: which, and where they come from."""
        searched = " and ".join(str(place) for place in places)
        return RequestError(
            f"{info.key}: no {', '.join(files)} in {searched} (data root from {self.said_by}); get them from "
            f"{info.source} and put them there, or name another folder (execution.data_root)",
            field="execution.data_root",
            value=self.path,
        )


def data_root(
    given: ExecutionSpec, say: Callable[[str], None] = lambda text: None, *, progress: Progress = silent
) -> DataRoot:
    """``data_root`` of the spec, else ``PUBENCH_DATA``, else ``data`` in the user's cache folder.

    The encoder is the spec's, else ``PUBENCH_ENCODER``, else found by the data set that needs it.
    """
    if given.data_root is not None:
        path, said_by = given.data_root, "execution.data_root"
    elif from_environment := os.environ.get("PUBENCH_DATA"):
        path, said_by = Path(from_environment), "PUBENCH_DATA"
    else:
        path, said_by = user_cache() / "data", "the user cache"
    from_environment = os.environ.get("PUBENCH_ENCODER")
    encoder = given.encoder or (Path(from_environment) if from_environment else None)
    return DataRoot(path, said_by, offline=given.offline, encoder=encoder, say=say, progress=progress)
