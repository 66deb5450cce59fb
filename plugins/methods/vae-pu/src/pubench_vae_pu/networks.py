"""The networks of VAE-PU's generator, sized from the shape of a row.

Two designs. ``by-shape`` is PU-Bench's: convolutions for images, which at 1x28x28, 3x32x32 and 1x128x128 are those of
its code, and a narrowing network for vectors. ``mlp`` is the official one: two layers of 500 with batch norm for every
network but the discriminator. In PU-Bench's encoder the code of the observation does not depend on who is labeled; here
its head reads it. Images with a side below 8 pixels are taken as vectors.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from .variational import Encoded

Design = Literal["by-shape", "mlp"]
Shape = tuple[int, ...]

SLOPE = 0.2
#: Height and width of the grid between convolutions and layers without.
GRID = 4
#: The smallest side of an image that is convolved, and the widths of an encoder's and a discriminator's convolutions.
SMALLEST, WIDTHS = 8, (64, 128, 256)
#: Width of the layer behind an encoder's convolutions; of the hidden layers of ``mlp``.
FEATURES, HIDDEN = 512, 500
#: Bounds of a log variance: its exponential stays finite.
CLIP = 10.0


class Encoder(nn.Module):
    """(B, *shape) rows and (B,) labels, 1 for labeled positives and 0 for U -> :class:`Encoded`.

    ``of_class`` and ``of_observation`` give mean and log variance side by side; the latter reads features and one-hot
    label.
    """

    def __init__(self, trunk: nn.Module, of_class: nn.Module, of_observation: nn.Module) -> None:
        super().__init__()
        self.trunk, self.of_class, self.of_observation = trunk, of_class, of_observation

    def forward(self, x: Tensor, labeled: Tensor) -> Encoded:
        features = self.trunk(x)
        y_mean, y_log_variance = self.of_class(features).chunk(2, dim=1)
        label = torch.stack([labeled, 1 - labeled], dim=1)
        o_mean, o_log_variance = self.of_observation(torch.cat([features, label], dim=1)).chunk(2, dim=1)
        return Encoded(y_mean, y_log_variance.clamp(-CLIP, CLIP), o_mean, o_log_variance.clamp(-CLIP, CLIP))


class Generator(nn.Module):
    """Encoder, decoder and observer. ``class_dim``, ``observation_dim``: sizes of the codes.

    ``bernoulli``: the decoder gives logits of values in (0, 1), else values.
    """

    def __init__(self, shape: Shape, design: Design, class_dim: int, observation_dim: int, *, bernoulli: bool) -> None:
        super().__init__()
        self.sizes, self.bernoulli = (class_dim, observation_dim), bernoulli
        self.encoder: nn.Module = new_encoder(shape, design, class_dim, observation_dim)
        self.decoder: nn.Module = new_decoder(shape, design, class_dim + observation_dim)
        self.observer: nn.Module = nn.Sequential(nn.Linear(observation_dim, 1), nn.Flatten(0))

    if TYPE_CHECKING:

        def __call__(self, x: Tensor, labeled: Tensor) -> Encoded: ...

    def forward(self, x: Tensor, labeled: Tensor) -> Encoded:
        """See :class:`Encoder`."""
        encoded: Encoded = self.encoder(x, labeled)
        return encoded

    def rows(self, decoded: Tensor) -> Tensor:
        """Generated rows of what the decoder gives."""
        return decoded.sigmoid() if self.bernoulli else decoded


def is_image(shape: Shape) -> bool:
    """Whether rows of this shape are convolved."""
    return len(shape) == 3 and min(shape[1:]) >= SMALLEST


def new_encoder(shape: Shape, design: Design, class_dim: int, observation_dim: int) -> Encoder:
    """An encoder with codes of these sizes."""
    d = math.prod(shape)
    if design == "mlp":
        of_class, of_observation = (
            nn.Sequential(*_stack(inputs), nn.Linear(HIDDEN, 2 * outputs))
            for inputs, outputs in ((d, class_dim), (d + 2, observation_dim))
        )
        return Encoder(nn.Flatten(), of_class, of_observation)
    if is_image(shape):
        grid = WIDTHS[-1] * GRID**2
        _, height, width = shape
        after = [
            _Pool(height // 2 ** len(WIDTHS), width // 2 ** len(WIDTHS)),
            nn.Flatten(),
            nn.Linear(grid, FEATURES),
            nn.LeakyReLU(SLOPE),
        ]
        trunk, features = nn.Sequential(*_convolutions(shape[0], norm=True), *after), FEATURES
    else:
        widths = _narrowing(d)
        trunk, features = nn.Sequential(nn.Flatten(), *_layers([d, *widths])), widths[-1]
    return Encoder(trunk, nn.Linear(features, 2 * class_dim), nn.Linear(features + 2, 2 * observation_dim))


def new_decoder(shape: Shape, design: Design, code_dim: int) -> nn.Sequential:
    """(B, code_dim) -> (B, *shape) values, or logits of them."""
    d = math.prod(shape)
    if design == "mlp":
        return nn.Sequential(*_stack(code_dim), nn.Linear(HIDDEN, d), nn.Unflatten(1, shape))
    if not is_image(shape):
        widths = _narrowing(d)[::-1]
        return nn.Sequential(*_layers([code_dim, *widths]), nn.Linear(widths[-1], d), nn.Unflatten(1, shape))
    channels, height, width = shape
    doublings = max(1, math.ceil(math.log2(max(height, width) / GRID)))
    before = [min(FEATURES, WIDTHS[0] * 2 ** (doublings - 1 - i)) for i in range(doublings)]
    layers: list[nn.Module] = [
        nn.Linear(code_dim, before[0] * GRID**2),
        nn.Unflatten(1, (before[0], GRID, GRID)),
    ]
    for inputs, outputs in zip(before, [*before[1:], channels], strict=True):
        layers += [nn.BatchNorm2d(inputs), nn.ReLU(), nn.ConvTranspose2d(inputs, outputs, 4, stride=2, padding=1)]
    return nn.Sequential(*layers, _Crop(height, width))


def new_discriminator(shape: Shape, design: Design) -> nn.Sequential:
    """(B, *shape) -> (B,) logits of being a row of U."""
    d = math.prod(shape)
    if design == "mlp":
        layers = [nn.Flatten(), nn.Linear(d, 256), nn.LeakyReLU(SLOPE), nn.Dropout(0.3), nn.Linear(256, 1)]
    elif is_image(shape):
        layers = [*_convolutions(shape[0], norm=False), _GlobalAverage(), nn.Linear(WIDTHS[-1], 1)]
    else:
        widths = _narrowing(d)
        layers = [nn.Flatten(), *_layers([d, *widths], dropout=0.3), nn.Linear(widths[-1], 1)]
    return nn.Sequential(*layers, nn.Flatten(0))


def _narrowing(d: int) -> list[int]:
    """Widths for rows of d values: the first is the power of two from d / 2 on, between 256 and 1,024."""
    first = min(max(2 ** math.ceil(math.log2(max(1.0, d / 2))), 256), 1024)
    return [first, max(128, first // 2), max(64, first // 4)]


def _layers(widths: list[int], dropout: float = 0.0) -> list[nn.Module]:
    """Linear layers of these widths, the first of which is the input's, each with its activation."""
    layers: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.LeakyReLU(SLOPE), *([nn.Dropout(dropout)] if dropout else [])]
    return layers


def _stack(inputs: int) -> list[nn.Module]:
    """The two hidden layers of ``mlp``."""
    widths = ((inputs, HIDDEN), (HIDDEN, HIDDEN))
    return [layer for i, o in widths for layer in (nn.Linear(i, o), nn.BatchNorm1d(o), nn.LeakyReLU(SLOPE))]


def _convolutions(channels: int, *, norm: bool) -> list[nn.Module]:
    """Three convolutions, each of which halves height and width."""
    layers: list[nn.Module] = []
    for inputs, outputs in zip((channels, *WIDTHS[:-1]), WIDTHS, strict=True):
        between = [nn.BatchNorm2d(outputs)] if norm else []
        layers += [nn.Conv2d(inputs, outputs, 4, stride=2, padding=1), *between, nn.LeakyReLU(SLOPE)]
    return layers


class _Pool(nn.Module):
    """Averages over a grid of 4x4 places, which overlap where the input is smaller, as adaptive pooling has them.

    Products of matrices: unlike that of adaptive pooling, their backward pass is deterministic on CUDA.
    """

    rows: Tensor
    columns: Tensor

    def __init__(self, height: int, width: int) -> None:
        super().__init__()
        self.register_buffer("rows", _averages(height), persistent=False)
        self.register_buffer("columns", _averages(width).T, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.rows @ x @ self.columns


def _averages(side: int) -> Tensor:
    """(4, side): what each of the places takes of a side."""
    weights = torch.zeros(GRID, side)
    for place in range(GRID):
        start, end = place * side // GRID, -(-(place + 1) * side // GRID)
        weights[place, start:end] = 1 / (end - start)
    return weights


class _GlobalAverage(nn.Module):
    """Mean over height and width."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean(dim=(2, 3))


class _Crop(nn.Module):
    """The middle of this size."""

    def __init__(self, height: int, width: int) -> None:
        super().__init__()
        self.height, self.width = height, width

    def forward(self, x: Tensor) -> Tensor:
        top, left = ((have - want) // 2 for have, want in zip(x.shape[-2:], (self.height, self.width), strict=True))
        return x[..., top : top + self.height, left : left + self.width]
