"""Weak and strong views of a batch, as batched operations on its device.

Images (B, C, H, W) in [0, 1]: weak is a horizontal flip with probability 1/2 and a crop after reflect padding of
an eighth of the side; strong adds two of {contrast, brightness, sharpness, posterize} per
image and a cutout of half the side. Vectors (B, d): weak adds Gaussian noise of 0.02; strong adds noise of 0.1, sets a
tenth of the features to zero and flips the sign of a twentieth (PU-Bench's extension to text and tabular data).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def weak(x: Tensor, generator: torch.Generator) -> Tensor:
    """(B, *shape) -> (B, *shape)."""
    return _flip_and_crop(x, generator) if x.dim() == 4 else x + 0.02 * _normal(x, generator)


def strong(x: Tensor, generator: torch.Generator) -> Tensor:
    """(B, *shape) -> (B, *shape)."""
    if x.dim() == 4:
        return _cutout(_two_operations(_flip_and_crop(x, generator), generator), generator)
    noisy = x + 0.1 * _normal(x, generator)
    kept = _uniform(x.shape, x, generator) >= 0.1
    sign = torch.where(_uniform(x.shape, x, generator) < 0.05, -1.0, 1.0)
    return noisy * kept * sign


def _uniform(shape: tuple[int, ...] | torch.Size, like: Tensor, generator: torch.Generator) -> Tensor:
    return torch.rand(tuple(shape), generator=generator, device=like.device)


def _normal(x: Tensor, generator: torch.Generator) -> Tensor:
    return torch.randn(x.shape, generator=generator, device=x.device)


def _flip_and_crop(x: Tensor, generator: torch.Generator) -> Tensor:
    n, _, height, width = x.shape
    flipped = torch.where(_uniform((n, 1, 1, 1), x, generator) < 0.5, x.flip(-1), x)
    pad = max(1, width // 8)
    padded = F.pad(flipped, (pad, pad, pad, pad), mode="reflect")
    top, left = (torch.randint(2 * pad + 1, (n, 1), generator=generator, device=x.device) for _ in range(2))
    rows = (top + torch.arange(height, device=x.device)).view(n, 1, height, 1)
    columns = (left + torch.arange(width, device=x.device)).view(n, 1, 1, width)
    image = torch.arange(n, device=x.device).view(n, 1, 1, 1)
    channel = torch.arange(x.shape[1], device=x.device).view(1, -1, 1, 1)
    return padded[image, channel, rows, columns]


def _two_operations(x: Tensor, generator: torch.Generator) -> Tensor:
    """Two operations per image, each drawn from four and with a magnitude of its own."""
    n = len(x)
    for _ in range(2):
        which = torch.randint(4, (n, 1, 1, 1), generator=generator, device=x.device)
        strength = 2 * _uniform((n, 1, 1, 1), x, generator) - 1
        mean = x.mean(dim=(1, 2, 3), keepdim=True)
        blurred = F.avg_pool2d(F.pad(x, (1, 1, 1, 1), mode="reflect"), 3, stride=1)
        levels = (2 + 6 * strength.abs()).round()
        operations = (
            mean + (1 + 0.9 * strength) * (x - mean),
            x * (1 + 0.9 * strength),
            x + strength * (x - blurred),
            (x * levels).round() / levels,
        )
        for index, changed in enumerate(operations):
            x = torch.where(which == index, changed.clamp(0, 1), x)
    return x


def _cutout(x: Tensor, generator: torch.Generator) -> Tensor:
    """A square of half the side, centerd anywhere, filled with the image's mean."""
    n, _, height, width = x.shape
    center_y = torch.randint(height, (n, 1, 1, 1), generator=generator, device=x.device)
    center_x = torch.randint(width, (n, 1, 1, 1), generator=generator, device=x.device)
    near_y = (torch.arange(height, device=x.device).view(1, 1, -1, 1) - center_y).abs() <= height // 4
    near_x = (torch.arange(width, device=x.device).view(1, 1, 1, -1) - center_x).abs() <= width // 4
    return torch.where(near_y & near_x, x.mean(dim=(1, 2, 3), keepdim=True), x)
