"""How many of n independent rows are positive, and which, given how many.

The number of positives C = y_1 + ... + y_n of independent Bernoulli(sigmoid(z_i)) rows has the Poisson binomial law

    P(C = k) = e_k(exp z_1, ..., exp z_n) / prod_i (1 + exp z_i),

e_k being the elementary symmetric polynomials: the coefficients of prod_i (1 + x exp z_i). That product is taken
pairwise, in a tree of log2 n levels, each a few operations on all its pairs: the recursion row by row (Shukla, Zeng,
Ahmed, Van den Broeck, NeurIPS 2023) has n steps in a row. Everything here is in logarithms and float64: no product
underflows, and nothing is subtracted or divided out.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from pubench_core.data.generator import exact

#: The logarithm of zero: finite, so that gradients are, and below every logarithm of a probability.
LOG_ZERO = -1e30

#: How a share of n rows becomes a number of rows; ``nearest`` takes the even one of two that are equally near.
Rounding = Literal["nearest", "floor"]


def expected_count(n: int, share: float, rounding: Rounding = "nearest") -> int:
    """A ``share`` in [0, 1] of ``n`` rows as a whole number; the share is read as the decimal number that it shows."""
    rows = exact(share) * n
    return math.floor(rows) if rounding == "floor" else round(rows)


def count_log_probabilities(logits: Tensor) -> Tensor:
    """(n,) finite logits of independent rows -> (n + 1,) log P(C = k) for k = 0..n, differentiable.

    Of order n^2 operations, none of which waits for the device. The gradient of log P(C = k) is
    :func:`posterior_given_count` minus sigmoid(z).
    """
    z = logits.double()
    return (_log_symmetric(z, len(z))[-1][0] - F.softplus(z).sum()).to(logits.dtype)


def posterior_given_count(logits: Tensor, count: int) -> Tensor:
    """(n,) finite logits, ``count`` in 0..n -> (n,) P(y_i = 1 | C = count); they sum to ``count``.

    P(y_i = 1 | C = k) = exp(z_i) e_{k-1}(the others) / e_k(all). The polynomials of the others come down the tree,
    from what is outside of a pair to what is outside of each of its two. No gradient.
    """
    if not 0 <= count <= len(logits):
        raise ValueError(f"{count} of {len(logits)} rows cannot be positive")
    if count == 0:
        return torch.zeros_like(logits)
    z = logits.detach().double()
    *levels, root = _log_symmetric(z, count)
    # outside[b, j]: log of the sum over all rows outside of block b that bring its j positives up to ``count``.
    outside = torch.full_like(root, LOG_ZERO)
    outside[:, count] = 0
    for blocks in reversed(levels):
        width = blocks.shape[1]
        whole = F.pad(outside, (0, 2 * width - 1 - outside.shape[1]), value=LOG_ZERO)
        left, right = blocks[0::2], blocks[1::2]
        outside = torch.stack([_log_correlation(whole, right), _log_correlation(whole, left)], dim=1).flatten(0, 1)
    return torch.exp(z + outside[: len(z), 1] - root[0, count]).to(logits.dtype)


def _log_symmetric(z: Tensor, largest: int) -> list[Tensor]:
    """The tree of products, rows first: (blocks, up to largest + 1) log e_k of the exponentials in each block.

    Each level has half the blocks of the one before, the last a single one. Rows of probability 0 make the number of
    rows a power of two: they change no e_k.
    """
    size = 1 << max(len(z) - 1, 0).bit_length()
    z = F.pad(z, (0, size - len(z)), value=LOG_ZERO)
    levels = [torch.stack([torch.zeros_like(z), z], dim=1)[:, : largest + 1]]
    while len(levels[-1]) > 1:
        left, right = levels[-1][0::2], levels[-1][1::2]
        beyond = left.shape[1] - 1
        shifted = F.pad(left, (beyond, min(beyond, largest - beyond)), value=LOG_ZERO)
        levels.append(_log_correlation(shifted, right.flip(1)))
    return levels


def _log_correlation(values: Tensor, weights: Tensor) -> Tensor:
    """(b, v), (b, w) -> (b, v - w + 1): at j, log sum_i exp(values[j + i] + weights[i]), by block."""
    return torch.logsumexp(values.unfold(1, weights.shape[1], 1) + weights[:, None], dim=2)
