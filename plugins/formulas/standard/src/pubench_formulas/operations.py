"""The fourteen operations of RandAugment, batched: every image gets its own, on its device, without a host's help.

Names and ranges are those of FixMatch (Sohn et al., NeurIPS 2020), which the official codes of Holistic-PU and LaGAM
use; the arithmetic is Pillow's. Images are (B, C, H, W) in [0, 1]; ``strength`` is (B, 1, 1, 1) in [-1, 1], where
the sign counts for what has a direction.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

#: Rotation, sheared share and shifted share at strength 1.
DEGREES, SHEAR, SHIFT = 30.0, 0.3, 0.3

GEOMETRIC = ("rotate", "shear-x", "shear-y", "translate-x", "translate-y")
COLOR = (
    "autocontrast",
    "brightness",
    "color",
    "contrast",
    "equalize",
    "identity",
    "posterize",
    "sharpness",
    "solarize",
)
RANDAUGMENT = (*COLOR, *GEOMETRIC)


def changed(x: Tensor, operations: tuple[str, ...], which: Tensor, strength: Tensor) -> Tensor:
    """Every image after one operation: ``which`` (B, 1, 1, 1), its place in ``operations``; others leave it alone."""
    out = x
    for index, name in enumerate(operations):
        if name in COLOR:
            out = torch.where(which == index, _COLOR[name](x, strength).clamp(0, 1), out)
    if any(name in GEOMETRIC for name in operations):
        out = _moved(out, operations, which, strength)
    return out


# -------------------------------------------------------------------- color


def _factor(strength: Tensor) -> Tensor:
    """Of Pillow's enhancers: 0 gives an image without the quality, 1 the image; here from 0.05 to 0.95."""
    return 0.05 + 0.9 * strength.abs()


def _gray(x: Tensor) -> Tensor:
    """(B, 1, H, W) luminance (ITU-R 601); a gray image is its own."""
    if x.shape[1] != 3:
        return x.mean(dim=1, keepdim=True)
    return 0.299 * x[:, :1] + 0.587 * x[:, 1:2] + 0.114 * x[:, 2:]


def _toward(x: Tensor, without: Tensor, strength: Tensor) -> Tensor:
    return without + _factor(strength) * (x - without)


def _autocontrast(x: Tensor, strength: Tensor) -> Tensor:
    """Each channel from its darkest to its lightest value; one of a single value stays."""
    low, high = x.amin(dim=(2, 3), keepdim=True), x.amax(dim=(2, 3), keepdim=True)
    return torch.where(high > low, (x - low) / (high - low).clamp(min=1e-12), x)


def _brightness(x: Tensor, strength: Tensor) -> Tensor:
    return _factor(strength) * x


def _color(x: Tensor, strength: Tensor) -> Tensor:
    """Does nothing to a gray image."""
    return _toward(x, _gray(x), strength)


def _contrast(x: Tensor, strength: Tensor) -> Tensor:
    return _toward(x, _gray(x).mean(dim=(1, 2, 3), keepdim=True), strength)


def _equalize(x: Tensor, strength: Tensor) -> Tensor:
    """Each channel's histogram of 256 values flattened, as Pillow counts it; one with too few values stays."""
    pixels = (255 * x).round().long().flatten(2)
    counts = torch.zeros(*x.shape[:2], 256, dtype=torch.long, device=x.device)
    counts = counts.scatter_add(2, pixels, torch.ones_like(pixels))
    darker = counts.cumsum(dim=2) - counts
    lightest = counts.gather(2, pixels.amax(dim=2, keepdim=True))
    step = (pixels.shape[2] - lightest) // 255
    flat = ((step // 2 + darker) // step.clamp(min=1)).clamp(max=255)
    return torch.where(step > 0, flat.gather(2, pixels), pixels).view(x.shape) / 255


def _identity(x: Tensor, strength: Tensor) -> Tensor:
    return x


def _posterize(x: Tensor, strength: Tensor) -> Tensor:
    """The highest 4 to 8 of 8 bits."""
    unit = 2.0 ** (4 - (4 * strength.abs()).floor().clamp(max=4))
    return ((255 * x).round() / unit).floor() * unit / 255


def _sharpness(x: Tensor, strength: Tensor) -> Tensor:
    """Towards Pillow's smoothed image: each pixel five times among its neighbors; those of the border stay."""
    smooth = x.clone()
    smooth[..., 1:-1, 1:-1] = (9 * F.avg_pool2d(x, 3, stride=1) + 4 * x[..., 1:-1, 1:-1]) / 13
    return _toward(x, smooth, strength)


def _solarize(x: Tensor, strength: Tensor) -> Tensor:
    """Values from 1 - |strength| upwards are inverted."""
    return torch.where(x >= 1 - strength.abs(), 1 - x, x)


_COLOR = {
    "autocontrast": _autocontrast,
    "brightness": _brightness,
    "color": _color,
    "contrast": _contrast,
    "equalize": _equalize,
    "identity": _identity,
    "posterize": _posterize,
    "sharpness": _sharpness,
    "solarize": _solarize,
}


# -------------------------------------------------------------------- geometry


def _moved(x: Tensor, operations: tuple[str, ...], which: Tensor, strength: Tensor) -> Tensor:
    """Every image under its affine map: the nearest pixel, and black from outside, as Pillow has it."""
    n, _, height, width = x.shape
    which, strength = which.view(n, 1, 1), strength.view(n, 1, 1)

    def amount(name: str, scale: float) -> Tensor:
        """(B, 1, 1) how far the images that get an operation go; 0 for the others."""
        if name not in operations:
            return torch.zeros_like(strength)
        return torch.where(which == operations.index(name), scale * strength, 0.0)

    angle = amount("rotate", math.radians(DEGREES))
    column = torch.arange(width, device=x.device).view(1, 1, width) + 0.5
    row = torch.arange(height, device=x.device).view(1, height, 1) + 0.5
    across, down = column - width / 2, row - height / 2
    source_column = angle.cos() * across - angle.sin() * down + width / 2
    source_row = angle.sin() * across + angle.cos() * down + height / 2
    source_column = source_column + amount("shear-x", SHEAR) * row + amount("translate-x", SHIFT * width)
    source_row = source_row + amount("shear-y", SHEAR) * column + amount("translate-y", SHIFT * height)
    source_column, source_row = source_column.floor().long(), source_row.floor().long()
    inside = (source_column >= 0) & (source_column < width) & (source_row >= 0) & (source_row < height)
    place = source_row.clamp(0, height - 1) * width + source_column.clamp(0, width - 1)
    image = x.flatten(2).gather(2, place.view(n, 1, -1).expand(-1, x.shape[1], -1)).view(x.shape)
    return torch.where(inside.unsqueeze(1), image, torch.zeros_like(image))
