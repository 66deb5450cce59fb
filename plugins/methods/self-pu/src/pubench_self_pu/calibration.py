"""Self-calibration: how much the risk and how much its own entropy should count for a row, by a virtual step.

Both weights of a row are set to 0, the network takes a gradient step on the so weighted loss, and the entropy of a meta
batch is differentiated through it. At weights of 0 the step goes nowhere, so that the derivative for a row is

    -rate * d(term of the row)/d(logit) * (derivative of the logit along the gradient of the meta batch's entropy).

The last factor of all rows comes from the graph of the training step itself: no copy of the network is made, the batch
passes it once, and no graph reaches through the meta batch.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pubench_formulas.entropy import binary_entropy
from pubench_formulas.losses import Surrogate

#: Added to the weight of the risk, so that a row whose two weights are both 0 has (1, 0).
OFFSET = 1e-10


def meta_loss(logits: Tensor) -> Tensor:
    """Twice the mean entropy of (m,) logits: the official sum of two equal means."""
    return 2 * binary_entropy(logits).mean()


def movements(net: nn.Module, logits: Tensor, meta: Tensor) -> Tensor:
    """(B,) derivatives of ``logits`` of the network along the gradient of the meta loss of rows ``meta``.

    The gradients of (B,) logits, each times its seed, add up to what is linear in the seeds: its derivative by them is
    the product from the other side. The graph of the logits stays.
    """
    parameters = list(net.parameters())
    slope = torch.autograd.grad(meta_loss(net(meta)), parameters)
    seeds = torch.zeros_like(logits, requires_grad=True)
    products = torch.autograd.grad(logits, parameters, seeds, create_graph=True)
    return torch.autograd.grad(products, seeds, slope)[0]


def weight_slopes(
    logits: Tensor,
    labeled: Tensor,
    moved: Tensor,
    prior: float,
    *,
    rate: float,
    entropy_sign: float,
    surrogate: Surrogate = "sigmoid",
) -> Tensor:
    """(B, 2) derivatives of the meta loss by the weights of each row in the risk and in the entropy, at weights of 0.

    ``moved``: of :func:`movements`; ``rate``: of the virtual step; ``entropy_sign``: of the entropy in its loss.
    """
    bump = torch.sigmoid(logits) * torch.sigmoid(-logits)
    n_p, n_u = labeled.sum().clamp(min=1), (~labeled).sum().clamp(min=1)
    # Derivatives of l(-z), and of l(z) - l(-z), which is linear for the logistic loss.
    if surrogate == "sigmoid":
        of_u, of_p = bump, -2 * bump
    else:
        of_u, of_p = torch.sigmoid(logits), -torch.ones_like(logits)
    of_risk = torch.where(labeled, prior * of_p / n_p, of_u / n_u)
    of_entropy = -entropy_sign * logits * bump / len(logits)
    return -rate * moved[:, None] * torch.stack([of_risk, of_entropy], dim=1)


def calibrated_weights(slopes: Tensor, labeled: Tensor, budget: float) -> Tensor:
    """(B, 2) weights in the risk and in the entropy, which add up to 1 in every row, of (B, 2) slopes.

    In the order of the rows, those of U share theirs by how steeply either lowers the meta loss, until the entropy
    weights before them add up to ``budget``; later rows, and all of P, have (1, 0).
    """
    gain = (-slopes).clamp(min=0)
    share = gain[:, 1] / (gain[:, 0] + OFFSET + gain[:, 1])
    share = share.masked_fill(labeled, 0)
    before = share @ torch.ones(len(share), len(share), dtype=share.dtype, device=share.device).triu(1)
    share = share * (before < budget)  # a product, because a cumulative sum on CUDA differs from call to call
    return torch.stack([1 - share, share], dim=1)
