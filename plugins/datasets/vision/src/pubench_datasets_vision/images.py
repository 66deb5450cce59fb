"""Sets of image files: folders by class, decoding with Pillow, the statistics that a backbone normalizes with."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Collection, Sequence
from os.path import isdir
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from pubench_archives.archives import damaged, reading
from pubench_archives.downloads import fetch_into

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.errors import RequestError
from pubench_core.plugins.info import DatasetInfo

if TYPE_CHECKING:
    from PIL.Image import Image

#: Pillow's modes of 8 bits per channel or fewer; from others (16 bits, floating point) ``convert`` clips.
EIGHT_BITS = frozenset({"1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr"})


def names_in(folder: Path) -> list[str]:
    """Names in a folder, sorted; hidden files (``.DS_Store``, ``._photo.jpg``) are left out.

    Raises RequestError if it cannot be listed.
    """
    with reading(folder):
        return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def images_by_class(
    part: Path, class_of: Callable[[str], int | None], classes: tuple[str, ...], endings: tuple[str, ...]
) -> list[Path]:
    """The image files of one part (training, test), class folders and files in the order of their names.

    ``class_of``: class index of a folder's name, None if it is none. ``endings``: of file names, in lower case. A
    folder is opened once and no file is: thousands of paths take milliseconds. Raises RequestError if a folder is of
    no class or of the same as another, or a class has no image.
    """
    found: dict[int, list[Path]] = {}
    for name in (name for name in names_in(part) if isdir(part / name)):
        index = class_of(name)
        if index is None:
            raise RequestError(
                f"{part / name} is a folder of no known class; the classes are {', '.join(classes)}: move it elsewhere"
            )
        if index in found:
            raise RequestError(f"{part} has two folders of one class, {name} and another; keep one")
        found[index] = [part / name / file for file in names_in(part / name) if file.lower().endswith(endings)]
    if absent := [name for index, name in enumerate(classes) if not found.get(index)]:
        raise RequestError(f"{part} has no {' or '.join(endings)} file of {', '.join(absent)}; get the whole set")
    return [path for paths in found.values() for path in paths]


def decoded(found: bytes, place: str, mode: Literal["RGB", "L"]) -> Image:
    """A JPEG or PNG image, decoded and converted to 8 bits of RGB or gray; its own size.

    Raises RequestError naming ``place`` if Pillow cannot open it, it is cut short, or has more than 8 bits per channel.
    """
    from PIL import Image, UnidentifiedImageError

    # what Pillow's two decoders raise on bytes that are half an image, besides what ``reading`` knows
    more = (SyntaxError, LookupError, TypeError, OverflowError, struct.error, Image.DecompressionBombError)
    with reading(place, *more):
        try:
            image = Image.open(io.BytesIO(found), formats=("JPEG", "PNG"))
        except UnidentifiedImageError as error:
            raise damaged(place, "it is no JPEG or PNG image") from error
        if image.mode in EIGHT_BITS:
            return image.convert(mode)
    raise RequestError(f"{place} is an image of Pillow's mode {image.mode}; convert it to 8 bits per channel")


def channel_statistics(x: npt.NDArray[Any]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation per channel of (n, channels, height, width) images, on the scale of [0, 1].

    uint8 is divided by 255, float32 taken as it is. Rounded to four decimals, like the published values; a channel
    without deviation gets 1.
    """
    scale, n = (255 if x.dtype == np.uint8 else 1), x.size // x.shape[1]
    sums, squares = np.zeros(x.shape[1]), np.zeros(x.shape[1])
    for start in range(0, len(x), 512):  # in pieces: as float64 the whole would need eight times its memory
        part = x[start : start + 512].astype(np.float64) / scale
        sums += part.sum(axis=(0, 2, 3))
        squares += (part**2).sum(axis=(0, 2, 3))
    mean = sums / n
    deviation = np.sqrt((squares / n - mean**2).clip(min=0)).round(4)
    return tuple(mean.round(4).tolist()), tuple(np.where(deviation > 0, deviation, 1.0).tolist())


def fetch_known(info: DatasetInfo, root: DataRoot, files: Collection[Sequence[str]]) -> None:
    """Downloads files, each an address, a name and an MD5 that torchvision knows, into ``<root>/<key>/``."""
    from torchvision.datasets.utils import download_url

    def download(scratch: Path) -> list[Path]:
        for url, name, md5 in files:
            download_url(url, scratch, name, md5)
        return [scratch / name for _, name, _ in files]

    fetch_into(root.path / info.key, info, root, download)


def compared(info: DatasetInfo, data: ClassData, published: tuple[int, int], root: DataRoot) -> ClassData:
    """The data unchanged; a line for the user if the numbers of (training, test) images are not the published ones.

    Not an error: folders of images have no published checksum, and some sets have revisions.
    """
    found = (len(data.x), len(data.x_test) if data.x_test is not None else 0)
    if found != published:
        root.say(
            f"{info.key}: {found[0]:,} training and {found[1]:,} test images; "
            f"the published set has {published[0]:,} and {published[1]:,}"
        )
    return data
