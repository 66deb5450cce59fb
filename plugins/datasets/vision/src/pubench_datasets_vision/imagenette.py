"""Imagenette: photographs of ten classes of ImageNet, from torchvision's folders or from their archive.

Files lie in ``<root>/imagenette/`` or in ``<root>/`` itself: ``imagenette2-160.tgz`` (or ``-320``, or the full size),
else the unpacked folder of that name, else ``train/`` and ``val/``. The archive is taken first: one file can be checked
for changes at every opening faster than 13,394.
"""

from __future__ import annotations

from collections.abc import Iterator
from os.path import exists
from pathlib import Path, PurePosixPath

import numpy as np
import numpy.typing as npt
from pubench_archives.archives import damaged, members
from pubench_archives.downloads import fetch_into

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource

from .images import decoded
from .reading import compared, content, images_by_class

#: WordNet ids in the order of the classes.
WNIDS = (
    "n01440764",
    "n02102040",
    "n02979186",
    "n03000684",
    "n03028079",
    "n03394916",
    "n03417042",
    "n03425413",
    "n03445777",
    "n03888257",
)
#: The smallest first: every one is reduced to 64 x 64.
VERSIONS = ("imagenette2-160", "imagenette2-320", "imagenette2")
PARTS = ("train", "val")
SIDE = 64

#: Name (``<wnid>/<file>``), class, (3, 64, 64) image.
Row = tuple[str, int, npt.NDArray[np.uint8]]


class Imagenette(DataSource):
    """(9469, 3, 64, 64) uint8 and a test part (``val``) of 3,925.

    An image is converted to RGB, its shorter side resized to 64 pixels (bilinear, antialiased), and the center of
    64 x 64 cut out: 12,288 features, as in Wang et al., whose code resizes to 73 before it cuts out 64. Mean and
    deviation are ImageNet's usual ones, as there.
    """

    def locate(self, root: DataRoot) -> tuple[Path, ...]:
        """One archive, or every image of both parts in order; RequestError names what is absent."""
        places = [*root.folders(self.info), root.path]
        for archive in (place / f"{version}.tgz" for version in VERSIONS for place in places):
            if exists(archive):
                return (archive,)
        unpacked = [place / version for version in VERSIONS for place in places]
        for folder in (*unpacked, *root.folders(self.info)):
            if any(exists(folder / part) for part in PARTS):
                absent = [f"{part}/" for part in PARTS if not exists(folder / part)]
                if absent:
                    raise root.missing(self.info, absent, [folder])
                return tuple(path for part in PARTS for path in self._images(folder / part))
        raise root.missing(self.info, [f"{VERSIONS[0]}.tgz (or {VERSIONS[0]}/)"], places)

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        """See the class; RequestError names the image, or the archive, that is damaged."""
        rows: dict[str, list[Row]] = {part: [] for part in PARTS}
        with root.progress(f"reading {self.info.key}", 13_394) as advance:
            for part, index, name, place, found in _contents(files):
                rows[part].append((name, index, _small(found, place)))
                advance(1)
        (x, y), (x_test, y_test) = (_stacked(rows[part], part, files[0]) for part in PARTS)
        data = ClassData(x=x, y=y, x_test=x_test, y_test=y_test, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
        return compared(self.info, data, (9_469, 3_925), root)

    def fetch(self, root: DataRoot) -> None:
        """Downloads the archive of the 160-pixel version, 99 MB, into ``<root>/imagenette/``; it stays packed."""
        from torchvision import datasets
        from torchvision.datasets.utils import download_url

        url, md5 = datasets.Imagenette._ARCHIVES["160px"]

        def download(scratch: Path) -> list[Path]:
            download_url(url, scratch, f"{VERSIONS[0]}.tgz", md5)
            return [scratch / f"{VERSIONS[0]}.tgz"]

        fetch_into(root.path / self.info.key, self.info, root, download)

    def _images(self, part: Path) -> list[Path]:
        class_of = {wnid: index for index, wnid in enumerate(WNIDS)}
        names = tuple(f"{wnid} ({name})" for wnid, name in zip(WNIDS, self.info.classes, strict=True))
        return images_by_class(part, class_of.get, names, (".jpeg",))


def _contents(files: tuple[Path, ...]) -> Iterator[tuple[str, int, str, str, bytes]]:
    """(part, class, sort key, place, bytes) of every image."""
    if files[0].suffix == ".tgz":
        for member, place, found in members(files[0], _is_image):
            part, wnid, name = member.parts[-3:]
            yield part, WNIDS.index(wnid), f"{wnid}/{name}", place, found
        return
    for path in files:
        part, wnid, name = path.parts[-3:]
        yield part, WNIDS.index(wnid), f"{wnid}/{name}", str(path), content(path)


def _is_image(path: PurePosixPath) -> bool:
    part, wnid, name = ("", "", "", *path.parts)[-3:]
    return part in PARTS and wnid in WNIDS and name.lower().endswith(".jpeg") and not name.startswith(".")


def _small(found: bytes, place: str) -> npt.NDArray[np.uint8]:
    """(3, 64, 64)."""
    from torchvision.transforms import functional

    image = decoded(found, place, "RGB")
    small = functional.center_crop(functional.resize(image, SIDE), SIDE)
    return np.asarray(small, dtype=np.uint8).transpose(2, 0, 1)


def _stacked(rows: list[Row], part: str, place: Path) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Images and classes of one part, in the order of the names: an archive has an order of its own."""
    rows = sorted(rows, key=lambda row: row[0])
    if len({name for name, _, _ in rows}) < len(rows):
        raise damaged(place, f"an image of {part}/ is in it twice")
    y = np.array([index for _, index, _ in rows], dtype=np.int64)
    absent = [wnid for index, wnid in enumerate(WNIDS) if index not in y]
    if absent:
        raise damaged(place, f"it has no image {part}/{absent[0]}/*.JPEG")
    return np.stack([image for _, _, image in rows]), y
