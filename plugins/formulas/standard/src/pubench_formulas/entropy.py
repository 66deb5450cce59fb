"""Binary entropy from logits."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


def binary_entropy(logits: Tensor) -> Tensor:
    """Entropy of Bernoulli(sigmoid(z)) in nats, in [0, log 2], of logits of any shape.

    softplus(-|z|) + |z| sigmoid(-|z|): finite for every finite z, where -p log p would be 0 x infinity.
    """
    size = logits.abs()
    return F.softplus(-size) + size * (-size).sigmoid()
