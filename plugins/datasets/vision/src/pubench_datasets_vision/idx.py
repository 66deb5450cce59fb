"""MNIST and Fashion-MNIST: four IDX files.

A folder ``<root>/<key>/`` may hold the four files as distributed (``.gz`` or unpacked), or ``<root>`` may have
torchvision's own layout (``<root>/MNIST/raw``).
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pubench_archives.archives import damaged
from pubench_archives.downloads import fetch_into

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource
from pubench_core.errors import RequestError

from .reading import compared, content, present

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
        """The four files, in the order of ``FILES``; RequestError names those that are absent."""
        folders = [*root.folders(self.info), root.path / self.torchvision_name / "raw"]
        for folder in folders:
            found = tuple(present(folder, name) for name in FILES)
            if all(found):
                return tuple(path for path in found if path is not None)
        nearest = next((f for f in folders if any(present(f, name) for name in FILES)), folders[0])
        absent = [f"{name}.gz" for name in FILES if present(nearest, name) is None]
        raise root.missing(self.info, absent, [folders[0], folders[-1]])

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        """See the class; RequestError names a file that is damaged, or both files of a part that do not fit."""
        folder = files[0].parent
        train, train_labels, test, test_labels = (
            _array(content(path), dimensions, path) for path, dimensions in zip(files, (3, 1, 3, 1), strict=True)
        )
        parts = [(train[:, None], train_labels.astype(np.int64)), (test[:, None], test_labels.astype(np.int64))]
        for part, (images, labels) in zip(("train", "test"), parts, strict=True):
            if images.shape != (len(labels), 1, 28, 28) or not len(labels) or labels.max() > 9:
                raise RequestError(
                    f"{self.info.key}: the {part} files in {folder} hold images of shape {images.shape[2:]} and "
                    f"{len(labels)} labels; expected images of 28x28 with one label 0 to 9 each"
                )
        (x, y), (x_test, y_test) = parts
        data = ClassData(x=x, y=y, x_test=x_test, y_test=y_test, mean=(self.mean,), std=(self.std,))
        return compared(self.info, data, (60_000, 10_000), root)

    def fetch(self, root: DataRoot) -> None:
        """Downloads the four packed files into ``<root>/<key>/``."""
        from torchvision import datasets

        kind = getattr(datasets, self.torchvision_name)

        def download(scratch: Path) -> list[Path]:
            kind(scratch, download=True)
            return [scratch / kind.__name__ / "raw" / f"{name}.gz" for name in FILES]

        fetch_into(root.path / self.info.key, self.info, root, download)


class Mnist(Idx):
    """Digits."""

    torchvision_name, mean, std = "MNIST", 0.1307, 0.3081


class FashionMnist(Idx):
    """Garments."""

    torchvision_name, mean, std = "FashionMNIST", 0.2860, 0.3530


def _array(found: bytes, dimensions: int, path: Path) -> npt.NDArray[np.uint8]:
    """The array of an IDX file of bytes: 0, 0, 8 (unsigned bytes), the number of dimensions; each as 32 bits, the
    highest first; the values. Raises RequestError for anything else.
    """
    start = 4 + 4 * dimensions
    if found[:4] != bytes([0, 0, 8, dimensions]) or len(found) < start:
        raise damaged(path, f"it does not begin as an IDX file of bytes in {dimensions} dimensions")
    shape = np.frombuffer(found[4:start], dtype=">u4").tolist()
    if len(found) - start != math.prod(shape):
        raise damaged(path, f"{len(found) - start:,} values where its size {shape} says {math.prod(shape):,}")
    return np.frombuffer(found, dtype=np.uint8, offset=start).reshape(shape)
