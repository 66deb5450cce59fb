"""The PNU risk: that of learning from P and N, averaged with that of learning from one of them and U."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .losses import SURROGATES, Surrogate, masked_mean
from .risks import PURisk


def pnu_risk(
    scores: Tensor,
    labeled: Tensor,
    negative: Tensor,
    prior: float,
    eta: float,
    surrogate: Surrogate,
    pu: Callable[[Tensor, Tensor, float], PURisk],
) -> PURisk:
    """(1 - η) R_PN + η R_PU, or (1 + η) R_PN - η R_NU if η < 0 (Sakai et al. 2017, section 3.3).

    ``scores``, ``labeled``: (B,) of LP and U; ``negative``: (m,) scores of known negatives. R_PN is
    π R_P⁺ + (1 - π) R_N⁻. ``pu``: the PU risk of scores, labels and prior, corrected or not; R_NU is the same with the
    classes swapped.
    """
    loss = SURROGATES[surrogate]
    supervised = prior * masked_mean(loss(scores), labeled) + (1 - prior) * loss(-negative).mean()
    if eta < 0:
        scores = -torch.cat([negative, scores[~labeled]])
        labeled = torch.arange(len(scores), device=scores.device) < len(negative)
    with_u, share = pu(scores, labeled, prior if eta >= 0 else 1 - prior), abs(eta)
    return PURisk(*((1 - share) * supervised + share * part for part in with_u))
