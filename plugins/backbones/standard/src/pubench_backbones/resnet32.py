"""The 32-layer residual network for CIFAR-10."""

from __future__ import annotations

from torch import nn

from pubench_core.backbone import Backbone

from .networks import Shape, _conv, _GlobalAverage, _image, _Residual


def resnet32(shape: Shape, outputs: int) -> Backbone:
    """He et al. 2016, Section 4.2, n = 5: three stages of five blocks; 1x1 convolutions as shortcuts between widths."""
    stages: list[nn.Module] = [_conv(_image("resnet32", shape, at_least=8), 16, bias=False)]
    before = 16
    for width, stride in ((16, 1), (32, 2), (64, 2)):
        stages.append(nn.Sequential(_Residual(before, width, stride), *(_Residual(width, width, 1) for _ in range(4))))
        before = width
    return Backbone(stages, _GlobalAverage(), 64, outputs)
