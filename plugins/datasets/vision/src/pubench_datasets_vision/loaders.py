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
from typing import ClassVar

import numpy as np

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource
from pubench_core.errors import RequestError

FILES = [
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
]


class Idx(DataSource):
    """(60000, 1, 28, 28) uint8 and a test part of 10,000. Mean and deviation are those of the training images."""

    torchvision_name: ClassVar[str]
    mean: ClassVar[float]
    std: ClassVar[float]

    def locate(self, root: DataRoot) -> tuple[Path, ...]:
        folders = [*root.folders(self.info), root.path / self.torchvision_name / "raw"]
        for folder in folders:
            found = tuple(_present(folder, name) for name in FILES)
            if all(found):
                return tuple(path for path in found if path is not None)
        nearest = next((f for f in folders if f.is_dir()), folders[0])
        absent = [f"{name}.gz" for name in FILES if _present(nearest, name) is None]
        raise root.missing(self.info, absent, [folders[0], folders[-1]])

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        from torchvision import datasets

        key, folder, kind = self.info.key, files[0].parent, getattr(datasets, self.torchvision_name)
        with tempfile.TemporaryDirectory(prefix="pubench-") as scratch:
            raw = Path(scratch, kind.__name__, "raw")
            raw.mkdir(parents=True)
            for path, name in zip(files, FILES, strict=True):
                _unpack(path, raw / name)
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
        return ClassData(x=x, y=y, x_test=x_test, y_test=y_test, mean=(self.mean,), std=(self.std,))

    def fetch(self, root: DataRoot) -> None:
        from torchvision import datasets

        getattr(datasets, self.torchvision_name)(root.path, download=True)


class Mnist(Idx):
    torchvision_name, mean, std = "MNIST", 0.1307, 0.3081


class FashionMnist(Idx):
    torchvision_name, mean, std = "FashionMNIST", 0.2860, 0.3530


def _present(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.exists()), None)


def _unpack(source: Path, target: Path) -> None:
    """Puts an IDX file, packed or not, where torchvision looks for it; RequestError names one that is damaged."""
    try:
        if source.suffix == ".gz":
            with gzip.open(source) as stream, target.open("wb") as out:
                shutil.copyfileobj(stream, out)
        else:
            shutil.copyfile(source, target)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise RequestError(f"{source} is damaged ({error}); get it again") from error
    except OSError as error:
        raise RequestError(f"cannot read {source}: {error.strerror or error}") from error
