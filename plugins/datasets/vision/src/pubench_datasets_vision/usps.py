"""USPS: 16x16 digits, in either of two text formats with the same values.

``zip.train`` and ``zip.test`` (packed with gzip or not): a digit and 256 gray values in [-1, 1] per line.
``usps.bz2`` and ``usps.t.bz2``, which torchvision downloads: libsvm's ``label index:value ...``, label = digit + 1.
Files lie in ``<root>/usps/`` or in ``<root>/`` itself.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from pubench_archives.archives import check, complete, content

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource

from .images import channel_statistics, fetch_known

#: SHA-256 of the unpacked files of the first format.
PLAIN = {
    "zip.train": "abc9f5c75b997cabe66b5d01727d5a681c69298e1641a8d37b55433a52129dc0",
    "zip.test": "6bde17b4f1cd68e0630cd2751d6495b5795d9165ab2dc4a0be8b7002b732f4cc",
}
LIBSVM = ("usps.bz2", "usps.t.bz2")


class Usps(DataSource):
    """(7291, 1, 16, 16) float32 in [0, 1], by (value + 1) / 2, and a test part of 2,007.

    Mean and deviation are computed from the training images.
    """

    def locate(self, root: DataRoot) -> tuple[Path, ...]:
        """The training and the test file, both of one format; RequestError names what is absent."""
        places = [*root.folders(self.info), root.path]
        candidates = [(place, names) for place in places for names in (tuple(PLAIN), LIBSVM)]
        wanted = "zip.train.gz and zip.test.gz (or usps.bz2 and usps.t.bz2)"
        return complete(self.info, root, candidates, [wanted], places)

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        """See the class; RequestError names a file that is not the published one."""
        (x, y), (x_test, y_test) = map(self._part, files)
        mean, std = channel_statistics(x)
        return ClassData(x=x, y=y, x_test=x_test, y_test=y_test, mean=mean, std=std)

    def _part(self, path: Path) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        """(n, 1, 16, 16) images and (n,) digits of a file."""
        if path.name in LIBSVM:
            from torchvision.datasets import USPS

            published = {name: md5 for _, name, md5 in USPS.split_list.values()}
            check(path, path.read_bytes(), published[path.name], self.info.source)
            table = np.loadtxt(content(path).replace(b":", b" ").decode().splitlines())
            values, digits = table[:, 2::2], table[:, 0] - 1
        else:
            text = content(path)
            check(path, text, PLAIN[path.name.removesuffix(".gz")], self.info.source)
            table = np.loadtxt(text.decode().splitlines())
            values, digits = table[:, 1:], table[:, 0]
        return ((values + 1) / 2).astype(np.float32).reshape(-1, 1, 16, 16), digits.astype(np.int64)

    def fetch(self, root: DataRoot) -> None:
        """Downloads both files in libsvm's format into ``<root>/usps/``."""
        from torchvision.datasets import USPS

        fetch_known(self.info, root, USPS.split_list.values())
