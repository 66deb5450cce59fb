"""Surrogate losses of margins, and the mean over some of the rows of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

Surrogate = Literal["sigmoid", "logistic"]


def sigmoid_loss(margin: Tensor) -> Tensor:
    """l(z) = 1 / (1 + e^z); bounded, l(z) + l(-z) = 1."""
    return torch.sigmoid(-margin)


def logistic_loss(margin: Tensor) -> Tensor:
    """l(z) = log(1 + e^-z), linear for large |z|."""
    return F.softplus(-margin)


SURROGATES: dict[Surrogate, Callable[[Tensor], Tensor]] = {"sigmoid": sigmoid_loss, "logistic": logistic_loss}


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean of the values where mask is True; 0 if it is True nowhere. No synchronization on a GPU."""
    return values.masked_fill(~mask, 0).sum() / mask.sum().clamp(min=1)
