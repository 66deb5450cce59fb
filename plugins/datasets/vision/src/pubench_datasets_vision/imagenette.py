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
from pubench_archives.archives import check, content, members, reading

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import DataSource

from .images import compared, decoded, fetch_known, images_by_class

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
#: Folder or archive -> torchvision's name of the size; the smallest first: every one is reduced to 64 x 64.
VERSIONS = {"imagenette2-160": "160px", "imagenette2-320": "320px", "imagenette2": "full"}
PARTS = ("train", "val")
SIDE = 64


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
        raise root.missing(self.info, ["imagenette2-160.tgz (or imagenette2-160/)"], places)

    def read(self, files: tuple[Path, ...], root: DataRoot) -> ClassData:
        """See the class; RequestError names the image that is damaged, or an archive that is not the published one."""
        images: dict[tuple[str, str, str], npt.NDArray[np.uint8]] = {}
        with root.progress(f"reading {self.info.key}", 13_394) as advance:
            for name, place, found in self._contents(files):
                images[name] = _small(found, place)
                advance(1)
        # in the order of the names: an archive has an order of its own
        names = {part: sorted(name for name in images if name[0] == part) for part in PARTS}
        x, x_test = (np.stack([images[name] for name in names[part]]) for part in PARTS)
        y, y_test = (np.array([WNIDS.index(wnid) for _, wnid, _ in names[part]]) for part in PARTS)
        data = ClassData(x=x, y=y, x_test=x_test, y_test=y_test, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
        return compared(self.info, data, (9_469, 3_925), root)

    def fetch(self, root: DataRoot) -> None:
        """Downloads the archive of the 160-pixel version, 99 MB, into ``<root>/imagenette/``; it stays packed."""
        from torchvision import datasets

        url, md5 = datasets.Imagenette._ARCHIVES["160px"]
        fetch_known(self.info, root, [(url, "imagenette2-160.tgz", md5)])

    def _images(self, part: Path) -> list[Path]:
        class_of = {wnid: index for index, wnid in enumerate(WNIDS)}
        names = tuple(f"{wnid} ({name})" for wnid, name in zip(WNIDS, self.info.classes, strict=True))
        return images_by_class(part, class_of.get, names, (".jpeg",))

    def _contents(self, files: tuple[Path, ...]) -> Iterator[tuple[tuple[str, str, str], str, bytes]]:
        """((part, WordNet id, file name), place, bytes) of every image."""
        if files[0].suffix != ".tgz":
            for path in files:
                yield (path.parts[-3], path.parts[-2], path.name), str(path), content(path)
            return
        from torchvision import datasets

        _, md5 = datasets.Imagenette._ARCHIVES[VERSIONS[files[0].stem]]
        with reading(files[0]), files[0].open("rb") as stream:
            check(files[0], stream, md5, self.info.source)
        for member, place, found in members(files[0], _is_image):
            yield (member.parts[-3], member.parts[-2], member.name), place, found


def _is_image(path: PurePosixPath) -> bool:
    part, wnid, name = ("", "", "", *path.parts)[-3:]
    return part in PARTS and wnid in WNIDS and name.lower().endswith(".jpeg") and not name.startswith(".")


def _small(found: bytes, place: str) -> npt.NDArray[np.uint8]:
    """(3, 64, 64)."""
    from torchvision.transforms import functional

    image = decoded(found, place, "RGB")
    small = functional.center_crop(functional.resize(image, SIDE), SIDE)
    return np.asarray(small, dtype=np.uint8).transpose(2, 0, 1)
