"""Decoding images with Pillow, and the statistics that a backbone normalizes with."""

from __future__ import annotations

import io
import struct
import zlib
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from pubench_archives.archives import damaged, one_line

from pubench_core.errors import RequestError

if TYPE_CHECKING:
    from PIL.Image import Image

#: Pillow's modes of 8 bits per channel or fewer; from others (16 bits, floating point) ``convert`` clips.
EIGHT_BITS = frozenset({"1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr"})


def decoded(found: bytes, place: str, mode: Literal["RGB", "L"]) -> Image:
    """A JPEG or PNG image, decoded and converted to 8 bits of RGB or gray; its own size.

    Raises RequestError naming ``place`` if Pillow cannot open it, it is cut short, or has more than 8 bits per channel.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        image = Image.open(io.BytesIO(found), formats=("JPEG", "PNG"))
        if image.mode in EIGHT_BITS:
            return image.convert(mode)
    except UnidentifiedImageError as error:
        raise damaged(place, "Pillow finds no JPEG or PNG image in it") from error
    # all that Pillow's two decoders are known to raise on bytes that are half an image
    except (
        OSError,
        SyntaxError,
        ValueError,
        IndexError,
        KeyError,
        TypeError,
        OverflowError,
        struct.error,
        zlib.error,
        Image.DecompressionBombError,
    ) as error:
        raise damaged(place, one_line(error)) from error
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
