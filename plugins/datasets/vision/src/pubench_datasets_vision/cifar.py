"""CIFAR-10: six batches, pickles of Python, unpacked or in their archive.

Files lie in ``<root>/cifar10/`` or in ``<root>/`` itself, the folder of torchvision. A pickle can run anything, so only
the published ones are opened: their checksums are torchvision's.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pubench_archives.archives import check, complete, content, damaged, members

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource

from .images import fetch_known

TRAIN = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5")
BATCHES = (*TRAIN, "test_batch")
FOLDER, ARCHIVE = "cifar-10-batches-py", "cifar-10-python.tar.gz"


class Cifar10(DataSource):
    """(50000, 3, 32, 32) uint8, red, green, blue, and a test part of 10,000.

    Mean and deviation are those of the training images.
    """

    def locate(self, root: DataRoot) -> tuple[Path, ...]:
        """The six batches in the order of ``BATCHES``, or the archive; RequestError names what is absent."""
        places = [*root.folders(self.info), root.path]
        candidates: list[tuple[Path, tuple[str, ...]]] = [
            *((folder, BATCHES) for place in places for folder in (place / FOLDER, place)),
            *((place, (ARCHIVE,)) for place in places),
        ]
        return complete(self.info, root, candidates, [f"{ARCHIVE} (or {FOLDER}/)"], [places[0], root.path])

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        """See the class; RequestError names a batch that is absent from the archive or is not as published."""
        found: dict[str, dict[bytes, Any]] = {}
        with root.progress(f"reading {self.info.key}", len(BATCHES)) as advance:
            for name, place, given in _contents(files):
                found[name] = self._published(given, name, place)
                advance(1)
        if absent := [name for name in BATCHES if name not in found]:
            raise damaged(files[0], f"it has no {', '.join(absent)}")
        return ClassData(
            x=np.concatenate([found[name][b"data"] for name in TRAIN]).reshape(-1, 3, 32, 32),
            y=np.concatenate([np.array(found[name][b"labels"], dtype=np.int64) for name in TRAIN]),
            x_test=found["test_batch"][b"data"].reshape(-1, 3, 32, 32),
            y_test=np.array(found["test_batch"][b"labels"], dtype=np.int64),
            mean=(0.4914, 0.4822, 0.4465),
            std=(0.2470, 0.2435, 0.2616),
        )

    def _published(self, found: bytes, name: str, place: str) -> dict[bytes, Any]:
        """A published batch: a dictionary with ``data``, (n, 3072) uint8, and ``labels``, a list of n integers."""
        from torchvision.datasets import CIFAR10

        check(place, found, dict(CIFAR10.train_list + CIFAR10.test_list)[name], self.info.source)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numpy 2 warns about the old name of its module in the file
            batch: dict[bytes, Any] = pickle.loads(found, encoding="bytes")
        return batch

    def fetch(self, root: DataRoot) -> None:
        """Downloads the archive of pickles, the one that torchvision knows, into ``<root>/cifar10/``; 170 MB."""
        from torchvision.datasets import CIFAR10

        fetch_known(self.info, root, [(CIFAR10.url, CIFAR10.filename, CIFAR10.tgz_md5)])


def _contents(files: tuple[Path, ...]) -> Iterator[tuple[str, str, bytes]]:
    """(batch, place, bytes) of the six files, or of the batches in an archive."""
    if files[0].name == ARCHIVE:
        for member, place, found in members(files[0], lambda path: path.name in BATCHES):
            yield member.name, place, found
        return
    for path in files:
        yield path.name, str(path), content(path)
