"""The PU risk and its published corrections, as a pure function of scores.

Shapes: ``scores`` (B,) logits, large means positive; ``labeled`` (B,) bool, True for labeled positives. Means are
over the batch with counts floored at 1, so that a batch without P (or U) contributes 0 to those terms.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from .losses import SURROGATES, Surrogate, masked_mean

Correction = Literal["none", "ascent", "clamp", "flip"]


class PURisk(NamedTuple):
    """``value``: the risk estimate; ``objective``: what is minimized, which may differ (gradient ascent)."""

    value: Tensor
    objective: Tensor


def pu_risk(
    scores: Tensor,
    labeled: Tensor,
    prior: float,
    *,
    surrogate: Surrogate = "sigmoid",
    correction: Correction = "none",
    beta: float = 0.0,
    gamma: float = 1.0,
    weights: Tensor | None = None,
) -> PURisk:
    """PU risk π R_P⁺ + (R_U⁻ - π R_P⁻) with one of the published corrections of its negative part.

    ``none``: unbiased (du Plessis et al. 2015). The others act where the negative part is below ``-beta``:
    ``ascent`` minimizes ``-gamma`` times the negative part and nothing else (Kiryo et al. 2017, Algorithm 1),
    ``clamp`` minimizes Eq. 6 as it is. ``flip`` minimizes minus the total wherever the total is negative
    (Wang et al. 2026). ``weights``: (B,) factors of the losses of labeled rows, with mean 1 over P; U has none.
    """
    loss = SURROGATES[surrogate]
    loss_as_positive, loss_as_negative = loss(scores), loss(-scores)
    in_u = masked_mean(loss_as_negative, ~labeled)
    if weights is not None:
        loss_as_positive, loss_as_negative = weights * loss_as_positive, weights * loss_as_negative
    positive = prior * masked_mean(loss_as_positive, labeled)
    negative = in_u - prior * masked_mean(loss_as_negative, labeled)
    total = positive + negative
    if correction == "none":
        return PURisk(total, total)
    if correction == "flip":
        return PURisk(total, torch.where(total < 0, -total, total))
    fires = negative < -beta
    value = torch.where(fires, positive - beta, total)
    if correction == "clamp":
        return PURisk(value, value)
    return PURisk(value, torch.where(fires, -gamma * negative, total))
