"""USPS: 16x16 digits, in either of two text formats with the same values.

``zip.train`` and ``zip.test`` (packed with gzip or not): a digit and 256 gray values in [-1, 1] per line.
``usps.bz2`` and ``usps.t.bz2``, which torchvision downloads: libsvm's ``label index:value ...``, label = digit + 1.
Files lie in ``<root>/usps/`` or in ``<root>/`` itself.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from pubench_archives.archives import damaged, one_line
from pubench_archives.downloads import fetch_into

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource

from .images import channel_statistics
from .reading import compared, content, present

PIXELS = 16 * 16
PLAIN = ("zip.train", "zip.test")
LIBSVM = ("usps.bz2", "usps.t.bz2")

Part = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]


class Usps(DataSource):
    """(7291, 1, 16, 16) float32 in [0, 1], by (value + 1) / 2, and a test part of 2,007.

    Mean and deviation are computed from the training images.
    """

    def locate(self, root: DataRoot) -> tuple[Path, ...]:
        """The training and the test file, both of one format; RequestError names what is absent."""
        places = [*root.folders(self.info), root.path]
        half: tuple[Path, str] | None = None
        for place in places:
            for names in (PLAIN, LIBSVM):
                train, test = (present(place, name) for name in names)
                if train is not None and test is not None:
                    return train, test
                if train is not None or test is not None:
                    half = half or (place, names[0] if train is None else names[1])
        if half is not None:
            raise root.missing(self.info, [half[1]], [half[0]])
        raise root.missing(self.info, ["zip.train.gz and zip.test.gz (or usps.bz2 and usps.t.bz2)"], places)

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        """See the class; RequestError names the file that is damaged and the row where that is known."""
        (x, y), (x_test, y_test) = (_libsvm(path) if path.name in LIBSVM else _plain(path) for path in files)
        mean, std = channel_statistics(x)
        data = ClassData(x=x, y=y, x_test=x_test, y_test=y_test, mean=mean, std=std)
        return compared(self.info, data, (7_291, 2_007), root)

    def fetch(self, root: DataRoot) -> None:
        """Downloads both files in libsvm's format into ``<root>/usps/``."""
        from torchvision.datasets import USPS
        from torchvision.datasets.utils import download_url

        def download(scratch: Path) -> list[Path]:
            for url, name, md5 in USPS.split_list.values():
                download_url(url, scratch, name, md5)
            return [scratch / name for _, name, _ in USPS.split_list.values()]

        fetch_into(root.path / self.info.key, self.info, root, download)


def _plain(path: Path) -> Part:
    text = content(path)
    if path.suffix != ".gz" and not text.endswith(b"\n"):  # a packed file has a checksum; a text has only this
        raise damaged(path, "its last line has no end")
    table = _table(path, text, 1 + PIXELS)
    return _part(path, table[:, 1:], table[:, 0])


def _libsvm(path: Path) -> Part:
    table = _table(path, content(path).replace(b":", b" "), 1 + 2 * PIXELS)
    if not (table[:, 1::2] == np.arange(1, PIXELS + 1)).all():
        raise damaged(path, f"the values of a line are not numbered from 1 to {PIXELS}")
    return _part(path, table[:, 2::2], table[:, 0] - 1)


def _table(path: Path, text: bytes, columns: int) -> npt.NDArray[np.float64]:
    """(rows, columns) of the numbers in a text."""
    if not text.strip():
        raise damaged(path, "it has no row")
    try:
        found = np.loadtxt(text.decode("ascii").splitlines(), dtype=np.float64, comments=None, ndmin=2)
    except ValueError as error:
        raise damaged(path, one_line(error).split(";")[0]) from error
    if found.shape[1] != columns:
        raise damaged(path, f"{found.shape[1]} numbers per line; expected {columns}")
    return found


def _part(path: Path, values: npt.NDArray[np.float64], digits: npt.NDArray[np.float64]) -> Part:
    wrong = ~(np.abs(values) <= 1).all(axis=1)  # NaN is not <= 1 either
    if wrong.any():
        raise damaged(path, f"row {wrong.argmax() + 1} has a gray value outside -1 to 1")
    wrong = ~np.isin(digits, np.arange(10))
    if wrong.any():
        raise damaged(path, f"row {wrong.argmax() + 1} is of no digit 0 to 9")
    return ((values + 1) / 2).astype(np.float32).reshape(-1, 1, 16, 16), digits.astype(np.int64)
