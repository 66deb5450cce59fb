"""CIFAR-10: six batches, pickles of Python, unpacked or in their archive.

Files lie in ``<root>/cifar10/`` or in ``<root>/`` itself, the folder of torchvision. A pickle can run anything, so only
the published ones are opened: their checksums are torchvision's.
"""

from __future__ import annotations

import hashlib
import pickle
import warnings
from collections.abc import Iterator
from os.path import exists
from pathlib import Path
from typing import Any

import numpy as np
from pubench_archives.archives import damaged, members
from pubench_archives.downloads import fetch_into

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource

from .reading import compared, content

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
        incomplete: tuple[Path, list[str]] | None = None
        for folder in (f for place in places for f in (place / FOLDER, place)):
            absent = [name for name in BATCHES if not exists(folder / name)]
            if not absent:
                return tuple(folder / name for name in BATCHES)
            if len(absent) < len(BATCHES):
                incomplete = incomplete or (folder, absent)
        for place in places:
            if exists(place / ARCHIVE):
                return (place / ARCHIVE,)
        if incomplete is not None:
            raise root.missing(self.info, incomplete[1], [incomplete[0]])
        raise root.missing(self.info, [f"{ARCHIVE} (or {FOLDER}/)"], [places[0], root.path])

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        """See the class; RequestError names a batch that is absent from the archive or is not as published."""
        found: dict[str, dict[bytes, Any]] = {}
        with root.progress(f"reading {self.info.key}", len(BATCHES)) as advance:
            for name, place, given in _contents(files):
                found[name] = _published(given, name, place)
                advance(1)
        if absent := [name for name in BATCHES if name not in found]:
            raise damaged(files[0], f"it has no {', '.join(absent)}")
        data = ClassData(
            x=np.concatenate([found[name][b"data"] for name in TRAIN]).reshape(-1, 3, 32, 32),
            y=np.concatenate([np.array(found[name][b"labels"], dtype=np.int64) for name in TRAIN]),
            x_test=found["test_batch"][b"data"].reshape(-1, 3, 32, 32),
            y_test=np.array(found["test_batch"][b"labels"], dtype=np.int64),
            mean=(0.4914, 0.4822, 0.4465),
            std=(0.2470, 0.2435, 0.2616),
        )
        return compared(self.info, data, (50_000, 10_000), root)

    def fetch(self, root: DataRoot) -> None:
        """Downloads the archive of pickles, the one that torchvision knows, into ``<root>/cifar10/``; 170 MB."""
        from torchvision.datasets import CIFAR10
        from torchvision.datasets.utils import download_url

        def download(scratch: Path) -> list[Path]:
            download_url(CIFAR10.url, scratch, CIFAR10.filename, CIFAR10.tgz_md5)
            return [scratch / CIFAR10.filename]

        fetch_into(root.path / self.info.key, self.info, root, download)


def _contents(files: tuple[Path, ...]) -> Iterator[tuple[str, str, bytes]]:
    """(batch, place, bytes) of the six files, or of the batches in an archive."""
    if files[0].name == ARCHIVE:
        for member, place, found in members(files[0], lambda path: path.name in BATCHES):
            yield member.name, place, found
        return
    for path in files:
        yield path.name, str(path), content(path)


def _published(found: bytes, name: str, place: str) -> dict[bytes, Any]:
    """A published batch: a dictionary with ``data``, (n, 3072) uint8, and ``labels``, a list of n integers."""
    from torchvision.datasets import CIFAR10

    published = dict(CIFAR10.train_list + CIFAR10.test_list)[name]
    checksum = hashlib.md5(found, usedforsecurity=False).hexdigest()
    if checksum != published:
        raise damaged(place, f"its MD5 sum is {checksum}, that of the published pickle {published}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy 2 warns about the old name of its module in the file
        batch: dict[bytes, Any] = pickle.loads(found, encoding="bytes")
    return batch
