"""The meta step: what a small addition to a row's label does to held-out rows by a virtual step of the head.

The step moves the weight of the last layer only, so that all its derivatives are sums over features.
"""

from __future__ import annotations

import torch
from torch import Tensor

#: Probabilities are clipped to [CLIP, 1 - CLIP] before the logarithm; no gradient flows outside.
CLIP = 1e-4
#: Added to the mass of a class, so that a batch without it has a loss.
MASS = 1e-8


def columns(positive: Tensor) -> Tensor:
    """(B,) soft positive labels -> (B, 2), negative and positive."""
    return torch.stack([1 - positive, positive], dim=1)


def label_slopes(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """(B, 2) slopes of -log p of either class by the logit, 0 where clipped, and (2,) the mass of either class."""
    p = torch.sigmoid(torch.stack([-logits, logits], dim=1))
    inside = (p > CLIP) & (p < 1 - CLIP)
    return torch.stack([p[:, 1], -p[:, 0]], dim=1) * inside, labels.sum(dim=0) + MASS


def inner_gradient(features: Tensor, logits: Tensor, labels: Tensor) -> Tensor:
    """(d,) gradient of the balanced loss by the head's weight; (B, d) features of the rows."""
    slopes, mass = label_slopes(logits, labels)
    return (labels * slopes / mass).sum(dim=1) @ features


def meta_gradient(features: Tensor, logits: Tensor, labels: Tensor, outer: Tensor, rate: float) -> Tensor:
    """(B, 2) derivatives of the outer loss by additions to the labels, from its (d,) gradient ``outer`` after the step.

    An addition to y_ic changes the step by its own term and, through the mass of class c, by those of all rows:
    -rate / mass_c * (slope_ic * outer.h_i - mean over class c of slope_kc * outer.h_k).
    """
    slopes, mass = label_slopes(logits, labels)
    through = slopes * (features @ outer)[:, None]
    return -rate / mass * (through - (labels * through).sum(dim=0) / mass)


def better_labels(gradient: Tensor, labeled: Tensor) -> Tensor:
    """(B,) 1 where more of the positive label lowers the outer loss further than more of the negative one, and in P."""
    return ((gradient[:, 1] < gradient[:, 0]) | labeled).to(gradient.dtype)


def clean_outer(features: Tensor, logits: Tensor, positive: Tensor) -> Tensor:
    """(d,) gradient of the balanced cross-entropy of rows with true labels, (m,) bool, by the head's weight."""
    return inner_gradient(features, logits, columns(positive.to(logits.dtype)))


def pu_outer(features: Tensor, logits: Tensor, labeled: Tensor) -> Tensor:
    """(d,) gradient of mean_P sigmoid(-z) + mean_U sigmoid(z), of (m,) logits z, by the head's weight."""
    bump = torch.sigmoid(logits) * torch.sigmoid(-logits)
    n_p, n_u = labeled.sum().clamp(min=1), (~labeled).sum().clamp(min=1)
    return torch.where(labeled, -bump / n_p, bump / n_u) @ features
