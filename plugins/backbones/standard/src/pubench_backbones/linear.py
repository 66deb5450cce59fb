"""A linear classifier as a network."""

from __future__ import annotations

import math

from torch import nn

from pubench_core.backbone import Backbone


def linear(shape: tuple[int, ...], outputs: int) -> Backbone:
    """Logistic regression's decision function: d -> outputs, as in LBE's linear form (Gong et al. 2022)."""
    return Backbone([nn.Flatten()], nn.Identity(), math.prod(shape), outputs)
