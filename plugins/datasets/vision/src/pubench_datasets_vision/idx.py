"""MNIST and Fashion-MNIST: four IDX files.

A folder ``<root>/<key>/`` may hold the four files as distributed (``.gz`` or unpacked), or ``<root>`` may have
torchvision's own layout (``<root>/MNIST/raw``).
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
from pubench_archives.archives import check, complete, content
from pubench_archives.downloads import fetch_into

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource

FILES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)


class Idx(DataSource):
    """(60000, 1, 28, 28) uint8 and a test part of 10,000. Mean and deviation are those of the training images."""

    torchvision_name: ClassVar[str]
    mean: ClassVar[float]
    std: ClassVar[float]
    #: SHA-256 of the four files, unpacked.
    published: ClassVar[tuple[str, str, str, str]]

    def locate(self, root: DataRoot) -> tuple[Path, ...]:
        """The four files, in the order of ``FILES``; RequestError names those that are absent."""
        folders = [*root.folders(self.info), root.path / self.torchvision_name / "raw"]
        return complete(self.info, root, [(folder, FILES) for folder in folders], FILES, [folders[0], folders[-1]])

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        """See the class; RequestError names a file that is not the published one."""
        parts = []
        for path, published in zip(files, self.published, strict=True):
            found = content(path)
            check(path, found, published, self.info.source)
            start = 4 + 4 * found[3]  # two zeros, the type, the number of dimensions; then each dimension
            parts.append(np.frombuffer(found, dtype=np.uint8, offset=start))
        x, y, x_test, y_test = parts
        return ClassData(
            x=x.reshape(-1, 1, 28, 28),
            y=y.astype(np.int64),
            x_test=x_test.reshape(-1, 1, 28, 28),
            y_test=y_test.astype(np.int64),
            mean=(self.mean,),
            std=(self.std,),
        )

    def fetch(self, root: DataRoot) -> None:
        """Downloads the four packed files into ``<root>/<key>/``."""
        from torchvision import datasets

        kind = getattr(datasets, self.torchvision_name)

        def download(scratch: Path) -> list[Path]:
            kind(scratch, download=True)
            return [scratch / kind.__name__ / "raw" / name for name in FILES]

        fetch_into(root.path / self.info.key, self.info, root, download)


class Mnist(Idx):
    """Digits."""

    torchvision_name, mean, std = "MNIST", 0.1307, 0.3081
    published = (
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    )


class FashionMnist(Idx):
    """Garments."""

    torchvision_name, mean, std = "FashionMNIST", 0.2860, 0.3530
    published = (
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    )
