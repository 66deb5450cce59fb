"""CIFAR-10: six batches, in the binary version or as pickles, unpacked or in their archive.

Files lie in ``<root>/cifar10/`` or in ``<root>/`` itself, the folder of torchvision. The binary version is taken first:
it needs no pickle. A pickle can run anything, so only the published ones are opened: their checksums are torchvision's.
"""

from __future__ import annotations

import hashlib
import pickle
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from os.path import exists
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pubench_archives.archives import damaged, members
from pubench_archives.downloads import fetch_into

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource
from pubench_core.errors import RequestError

from .reading import compared, content

TRAIN = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5")
BATCHES = (*TRAIN, "test_batch")
PIXELS = 3 * 32 * 32

Batch = tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]


@dataclass(frozen=True)
class Version:
    """One of the two forms in which the set is distributed."""

    folder: str
    suffix: str
    archive: str

    def batches(self, folder: Path) -> list[Path]:
        """The six files of an unpacked folder, whether they exist or not."""
        return [folder / f"{name}{self.suffix}" for name in BATCHES]


VERSIONS = (
    Version("cifar-10-batches-bin", ".bin", "cifar-10-binary.tar.gz"),
    Version("cifar-10-batches-py", "", "cifar-10-python.tar.gz"),
)


class Cifar10(DataSource):
    """(50000, 3, 32, 32) uint8, red, green, blue, and a test part of 10,000.

    Mean and deviation are those of the training images.
    """

    def locate(self, root: DataRoot) -> tuple[Path, ...]:
        """The six batches in the order of ``BATCHES``, or one archive; RequestError names what is absent."""
        places = [*root.folders(self.info), root.path]
        incomplete: tuple[Path, list[str]] | None = None
        for version in VERSIONS:
            for folder in (f for place in places for f in (place / version.folder, place)):
                absent = [path for path in version.batches(folder) if not exists(path)]
                if not absent:
                    return tuple(version.batches(folder))
                if len(absent) < len(BATCHES):
                    incomplete = incomplete or (folder, [path.name for path in absent])
        for version in VERSIONS:
            for place in places:
                if exists(place / version.archive):
                    return (place / version.archive,)
        if incomplete is not None:
            raise root.missing(self.info, incomplete[1], [incomplete[0]])
        wanted = " or ".join(f"{version.archive} (or {version.folder}/)" for version in VERSIONS)
        raise root.missing(self.info, [wanted], [places[0], root.path])

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        """See the class; RequestError names a batch that is damaged, absent, or a pickle that is not published."""
        found: dict[str, Batch] = {}
        with root.progress(f"reading {self.info.key}", len(BATCHES)) as advance:
            for name, place, binary, given in _contents(files):
                if name in found:
                    raise damaged(files[0], f"it has {name} twice")
                found[name] = _binary(given, place) if binary else _pickled(given, name, place)
                advance(1)
        absent = [name for name in BATCHES if name not in found]
        if absent:
            raise damaged(files[0], f"it has no {', '.join(absent)}")
        sizes = [len(found[name][1]) for name in BATCHES]
        if len(set(sizes)) > 1:  # a file cut between two images is sound in itself
            raise RequestError(
                f"{self.info.key}: the batches in {files[0].parent} have {', '.join(map(str, sizes))} images, and all "
                "have the same number as published; remove the short ones and get them again"
            )
        data = ClassData(
            x=np.concatenate([found[name][0] for name in TRAIN]),
            y=np.concatenate([found[name][1] for name in TRAIN]),
            x_test=found["test_batch"][0],
            y_test=found["test_batch"][1],
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


def _contents(files: tuple[Path, ...]) -> Iterator[tuple[str, str, bool, bytes]]:
    """(batch, place, whether it is binary, bytes) of the six files, or of the batches in an archive."""
    if len(files) == 1:
        version = next(v for v in VERSIONS if v.archive == files[0].name)
        names = {f"{name}{version.suffix}": name for name in BATCHES}
        for member, place, found in members(files[0], lambda path: path.name in names):
            yield names[member.name], place, version.suffix == ".bin", found
        return
    for name, path in zip(BATCHES, files, strict=True):
        yield name, str(path), path.suffix == ".bin", content(path)


def _binary(found: bytes, place: str) -> Batch:
    """Per image one byte of class and 3,072 of pixels."""
    if not found or len(found) % (1 + PIXELS):
        raise damaged(place, f"{len(found)} bytes are not a number of records of {1 + PIXELS} bytes")
    table = np.frombuffer(found, dtype=np.uint8).reshape(-1, 1 + PIXELS)
    return _batch(table[:, 1:], table[:, 0].astype(np.int64), place)


def _pickled(found: bytes, name: str, place: str) -> Batch:
    """A published batch: a dictionary with ``data``, (n, 3072) uint8, and ``labels``, a list of n integers."""
    from torchvision.datasets import CIFAR10

    published = dict(CIFAR10.train_list + CIFAR10.test_list)[name]
    checksum = hashlib.md5(found, usedforsecurity=False).hexdigest()
    if checksum != published:
        raise damaged(place, f"its MD5 sum is {checksum}, that of the published pickle {published}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy 2 warns about the old name of its module in the file
        batch = pickle.loads(found, encoding="bytes")
    return _batch(batch[b"data"], np.array(batch[b"labels"], dtype=np.int64), place)


def _batch(pixels: npt.NDArray[np.uint8], classes: npt.NDArray[np.int64], place: str) -> Batch:
    if classes.max() > 9:
        raise damaged(place, f"class {classes.max()} is not one of 0 to 9")
    return pixels.reshape(-1, 3, 32, 32), classes
