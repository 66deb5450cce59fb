"""Backbone factories: (shape of one row, outputs) -> Backbone. Layers as in the papers' tables.

A factory raises RequestError if it cannot take rows of that shape.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pubench_core.backbone import Backbone
from pubench_core.errors import RequestError

Shape = tuple[int, ...]


def mlp(shape: Shape, outputs: int) -> Backbone:
    """PU-Bench, Table D.2."""
    d = math.prod(shape)
    stages = [
        nn.Sequential(nn.Flatten(), nn.Linear(d, 512), nn.ReLU(), nn.Dropout(0.3)),
        nn.Sequential(nn.Linear(512, 256), nn.ReLU(), nn.Dropout(0.3)),
        nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Dropout(0.2)),
    ]
    return Backbone(stages, nn.Sequential(nn.Linear(128, 64), nn.ReLU()), 64, outputs)


def mlp_wang(shape: Shape, outputs: int) -> Backbone:
    """Wang et al.: one hidden layer of 500."""
    d = math.prod(shape)
    return Backbone([nn.Sequential(nn.Flatten(), nn.Linear(d, 500), nn.ReLU())], nn.Identity(), 500, outputs)


def linear(shape: Shape, outputs: int) -> Backbone:
    """Logistic regression's decision function, as in LBE's linear form (Gong et al. 2022)."""
    return Backbone([nn.Flatten()], nn.Identity(), math.prod(shape), outputs)


def lenet(shape: Shape, outputs: int) -> Backbone:
    """PU-Bench, Table D.3."""
    _expect("lenet", shape, (1, 28, 28))
    stages = [
        nn.Sequential(nn.Conv2d(1, 10, 5), _Pool(), nn.ReLU()),
        nn.Sequential(nn.Conv2d(10, 20, 5), _Pool(), nn.ReLU()),
    ]
    return Backbone(stages, nn.Sequential(nn.Flatten(), nn.Linear(320, 50), nn.ReLU()), 50, outputs)


def cnn_cifar(shape: Shape, outputs: int) -> Backbone:
    """PU-Bench, Table D.4."""
    _expect("cnn-cifar", shape, (3, 32, 32))
    stages = [
        nn.Sequential(_conv(3, 96), _conv(96, 96), _conv(96, 96, stride=2), nn.Dropout(0.2)),
        nn.Sequential(_conv(96, 192), _conv(192, 192), _conv(192, 192, stride=2), nn.Dropout(0.5)),
        nn.Sequential(nn.Flatten(), nn.Linear(12288, 1000), nn.ReLU(), nn.Dropout(0.5)),
    ]
    return Backbone(stages, nn.Sequential(nn.Linear(1000, 1000), nn.ReLU()), 1000, outputs)


def cnn_mri(shape: Shape, outputs: int) -> Backbone:
    """PU-Bench, Table D.5."""
    _expect("cnn-mri", shape, (1, 128, 128))
    stages, before = [], 1
    for channels, dropout in ((32, 0.1), (64, 0.1), (128, 0.2), (256, 0.3)):
        stages.append(nn.Sequential(_conv(before, channels), _conv(channels, channels), _Pool(), nn.Dropout(dropout)))
        before = channels
    neck = nn.Sequential(_GlobalAverage(), nn.Linear(256, 64), nn.ReLU(), nn.Dropout(0.3))
    return Backbone(stages, neck, 64, outputs)


def cnn(shape: Shape, outputs: int) -> Backbone:
    """Three blocks of [convolution, batch norm, ReLU, max-pool] with 32, 64, 128 channels, global average pool."""
    channels = _image("cnn", shape, at_least=8)
    stages, before = [], channels
    for width in (32, 64, 128):
        stages.append(nn.Sequential(_conv(before, width), _Pool()))
        before = width
    return Backbone(stages, _GlobalAverage(), 128, outputs)


def resnet18(shape: Shape, outputs: int) -> Backbone:
    """He et al. 2016 with the CIFAR stem: 3x3 convolution of stride 1, no max-pool."""
    channels = _image("resnet18", shape, at_least=8)
    stages: list[nn.Module] = [_conv(channels, 64, bias=False)]
    before = 64
    for width, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        stages.append(nn.Sequential(_Residual(before, width, stride), _Residual(width, width, 1)))
        before = width
    return Backbone(stages, _GlobalAverage(), 512, outputs)


def resnet32(shape: Shape, outputs: int) -> Backbone:
    """He et al. 2016, Section 4.2, n = 5: three stages of five blocks; 1x1 convolutions as shortcuts between widths."""
    stages: list[nn.Module] = [_conv(_image("resnet32", shape, at_least=8), 16, bias=False)]
    before = 16
    for width, stride in ((16, 1), (32, 2), (64, 2)):
        stages.append(nn.Sequential(_Residual(before, width, stride), *(_Residual(width, width, 1) for _ in range(4))))
        before = width
    return Backbone(stages, _GlobalAverage(), 64, outputs)


def _conv(channels_in: int, channels_out: int, stride: int = 1, bias: bool = True) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, 3, stride=stride, padding=1, bias=bias),
        nn.BatchNorm2d(channels_out),
        nn.ReLU(),
    )


class _Pool(nn.MaxPool2d):
    """Max-pooling of 2x2. Without gradients on the CPU, torch's kernel takes five times as long as three maxima do."""

    def __init__(self) -> None:
        super().__init__(2)

    def forward(self, x: Tensor) -> Tensor:
        if x.device.type != "cpu" or (x.requires_grad and torch.is_grad_enabled()):
            pooled: Tensor = super().forward(x)
            return pooled
        height, width = (size // 2 * 2 for size in x.shape[-2:])
        rows = torch.maximum(x[..., 0:height:2, :width], x[..., 1:height:2, :width])
        return torch.maximum(rows[..., 0::2], rows[..., 1::2])


class _GlobalAverage(nn.Module):
    """Mean over height and width: unlike adaptive pooling, its backward pass is deterministic on CUDA."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean(dim=(2, 3))


class _Residual(nn.Module):
    def __init__(self, channels_in: int, channels_out: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            _conv(channels_in, channels_out, stride, bias=False),
            nn.Conv2d(channels_out, channels_out, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels_out),
        )
        same = stride == 1 and channels_in == channels_out
        self.shortcut: nn.Module = (
            nn.Identity()
            if same
            else nn.Sequential(
                nn.Conv2d(channels_in, channels_out, 1, stride=stride, bias=False),
                nn.BatchNorm2d(channels_out),
            )
        )

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.body(x) + self.shortcut(x))


def _expect(name: str, shape: Shape, expected: Shape) -> None:
    if shape != expected:
        raise RequestError(
            f"backbone {name} takes rows of shape {_text(expected)}, given {_text(shape)}; "
            f"use backbone.key={'cnn' if len(shape) == 3 else 'mlp'}",
            field="backbone.key",
        )


def _image(name: str, shape: Shape, at_least: int) -> int:
    if len(shape) != 3 or min(shape[1:]) < at_least:
        raise RequestError(
            f"backbone {name} takes images of at least {at_least}x{at_least}, given {_text(shape)}; "
            "use backbone.key=mlp",
            field="backbone.key",
        )
    return shape[0]


def _text(shape: Shape) -> str:
    return "x".join(str(n) for n in shape)
