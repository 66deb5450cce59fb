"""Loaders of image data sets, by torchvision.

A folder ``<root>/<key>/`` may hold the four IDX files as distributed (``.gz`` or unpacked), or ``<root>`` may have
torchvision's own layout (``<root>/MNIST/raw``).
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
import zlib
from pathlib import Path

import numpy as np
from torchvision import datasets

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.errors import RequestError
from pubench_core.info import DatasetInfo

from . import pubench_datasets

FILES = [
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
]


def mnist(root: DataRoot) -> ClassData:
    """(60000, 1, 28, 28) uint8 and a test part of 10,000. Mean and deviation are those of the training images."""
    return _idx(root, "mnist", datasets.MNIST, mean=0.1307, std=0.3081)


def fashion_mnist(root: DataRoot) -> ClassData:
    """(60000, 1, 28, 28) uint8 and a test part of 10,000. Mean and deviation are those of the training images."""
    return _idx(root, "fashion-mnist", datasets.FashionMNIST, mean=0.2860, std=0.3530)


def _idx(root: DataRoot, key: str, kind: type[datasets.MNIST], *, mean: float, std: float) -> ClassData:
    info = next(i for i in pubench_datasets() if i.key == key)
    folder = _folder_with_files(root, info, kind.__name__)
    with tempfile.TemporaryDirectory(prefix="pubench-") as scratch:
        raw = Path(scratch, kind.__name__, "raw")
        raw.mkdir(parents=True)
        for name in FILES:
            _unpack(folder / name, raw / name)
        parts = []
        for train in (True, False):
            try:
                part = kind(scratch, train=train)
            except (ValueError, AssertionError, RuntimeError, TypeError, KeyError) as error:
                names = " and ".join(FILES[:2] if train else FILES[2:])
                reason = f"{type(error).__name__} {error}".strip()
                raise RequestError(f"{key}: {names} in {folder} are not valid IDX files ({reason})") from error
            parts.append((part.data.numpy()[:, None], part.targets.numpy().astype(np.int64)))
    for name, (images, labels) in zip(("train", "test"), parts, strict=True):
        if images.shape != (len(labels), 1, 28, 28) or labels.min() < 0 or labels.max() > 9:
            raise RequestError(
                f"{key}: the {name} files in {folder} hold images of shape {images.shape[2:]} and {len(labels)} "
                "labels; images of 28x28 with one label 0 to 9 each are right"
            )
    (x, y), (x_test, y_test) = parts
    return ClassData(x=x, y=y, x_test=x_test, y_test=y_test, mean=(mean,), std=(std,))


def _folder_with_files(root: DataRoot, info: DatasetInfo, torchvision_name: str) -> Path:
    folders = [root.path / name for name in (info.key, *info.aliases)] + [root.path / torchvision_name / "raw"]
    for folder in folders:
        if all((folder / name).exists() or (folder / f"{name}.gz").exists() for name in FILES):
            return folder
    present = next((f for f in folders if f.is_dir()), folders[0])
    absent = [f"{n}.gz" for n in FILES if not ((present / n).exists() or (present / f"{n}.gz").exists())]
    raise root.missing(info, absent, [folders[0], folders[-1]])


def _unpack(source: Path, target: Path) -> None:
    """Puts an IDX file, packed or not, where torchvision looks for it; RequestError names one that is damaged."""
    packed = source.with_name(source.name + ".gz")
    try:
        if source.exists():
            shutil.copyfile(source, target)
        else:
            with gzip.open(packed) as stream, target.open("wb") as out:
                shutil.copyfileobj(stream, out)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise RequestError(f"{packed} is damaged ({error}); get it again") from error
    except OSError as error:
        name = source if source.exists() else packed
        raise RequestError(f"cannot read {name}: {error.strerror or error}") from error
