"""The generator and the discriminator, sized from the shape of a row.

At 1x28x28, 3x32x32, 1x128x128 and on vectors they are the networks of PU-Bench. Images of other sizes follow the same
rules: sides are halved, rounded up, until they are small; widths start at 64 next to the image, double, and end at 512.
"""

from __future__ import annotations

import itertools
import math

from torch import Tensor, nn

Shape = tuple[int, ...]

#: Channels next to the image, and at most.
NARROW, WIDE = 64, 512
#: The largest side of the grid on which a discriminator decides, and of the one that a generator starts from.
DECIDED, STARTED = 4, 7
SLOPE = 0.2


def new_discriminator(shape: Shape) -> nn.Module:
    """(B, *shape) -> (B,) logits of being a real row."""
    if len(shape) != 3:
        return nn.Sequential(*_hidden_layers(math.prod(shape), math.prod(shape)), nn.Flatten(0))
    layers: list[nn.Module] = []
    (before, height, width), channels = shape, NARROW
    while max(height, width) > DECIDED:
        kernel = (3 if height % 2 else 4, 3 if width % 2 else 4)
        norm = [nn.BatchNorm2d(channels)] if layers else []
        layers += [nn.Conv2d(before, channels, kernel, stride=2, padding=1), *norm, nn.LeakyReLU(SLOPE)]
        height, width = _half(height), _half(width)
        before, channels = channels, min(2 * channels, WIDE)
    return nn.Sequential(*layers, nn.Conv2d(before, 1, (height, width)), nn.Flatten(0))


def new_generator(shape: Shape, inputs: int, *, bounded: bool) -> nn.Module:
    """(B, inputs) noise and code of a class -> (B, *shape) rows; ``bounded``: in (0, 1), else any numbers."""
    output = nn.Sigmoid() if bounded else nn.Identity()
    if len(shape) != 3:
        last = _hidden_layers(inputs, math.prod(shape), outputs=math.prod(shape))
        return nn.Sequential(*last, nn.Unflatten(1, shape), output)
    channels, *sides = shape
    doublings = 0
    while max(sides) > STARTED:
        sides, doublings = [_half(side) for side in sides], doublings + 1
    # Three doublings or more: the last of them makes the image. Fewer: a convolution does.
    ends_in_convolution = doublings < 3
    widths = [min(NARROW * 2**i, WIDE) for i in reversed(range(doublings + ends_in_convolution))]
    start = (widths[0], *sides)
    layers = [nn.Linear(inputs, math.prod(start)), nn.Unflatten(1, start), nn.BatchNorm2d(widths[0]), nn.ReLU()]
    for before, width in itertools.pairwise(widths):
        layers += [_doubling(before, width), nn.BatchNorm2d(width), nn.ReLU()]
    layers.append(nn.Conv2d(NARROW, channels, 3, padding=1) if ends_in_convolution else _doubling(NARROW, channels))
    return nn.Sequential(*layers, _Crop(*shape[1:]), output)


def _hidden_layers(inputs: int, features: int, outputs: int = 1) -> list[nn.Module]:
    """Three hidden layers for rows of so many features: the first has from 256 to 1,024 units, then fewer."""
    first = min(max(2 ** math.ceil(math.log2(max(128.0, features / 2))), 256), 1024)
    layers: list[nn.Module] = [nn.Flatten()]
    for width in (first, max(128, first // 2), max(64, first // 4)):
        layers += [nn.Linear(inputs, width), nn.ReLU()]
        inputs = width
    return [*layers, nn.Linear(inputs, outputs)]


def _half(side: int) -> int:
    """Half of it, rounded up."""
    return (side + 1) // 2


def _doubling(before: int, width: int) -> nn.Module:
    return nn.ConvTranspose2d(before, width, 4, stride=2, padding=1)


class _Crop(nn.Module):
    """The upper left part of this size: what sides that were rounded up have too much."""

    def __init__(self, height: int, width: int) -> None:
        super().__init__()
        self.height, self.width = height, width

    def forward(self, x: Tensor) -> Tensor:
        return x[..., : self.height, : self.width]
