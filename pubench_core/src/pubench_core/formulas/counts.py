"""How many of n independent rows are positive, and which, given how many.

The number of positives C = y_1 + ... + y_n of independent Bernoulli(sigmoid(z_i)) rows has the Poisson binomial law

    P(C = k) = e_k(exp z_1, ..., exp z_n) / prod_i (1 + exp z_i),

e_k being the elementary symmetric polynomials. Everything here is in logarithms and float64: no product underflows,
and nothing is subtracted. (Shukla, Zeng, Ahmed, Van den Broeck, NeurIPS 2023, use the same recursion for P(C = k).)
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

#: The logarithm of zero: finite, so that gradients are, and below every logarithm of a probability.
LOG_ZERO = -1e30


def count_log_probabilities(logits: Tensor) -> Tensor:
    """(n,) finite logits of independent rows -> (n + 1,) log P(C = k) for k = 0..n, differentiable.

    n steps of n operations each, none of which waits for the device. The gradient of log P(C = k) is
    :func:`posterior_given_count` minus sigmoid(z).
    """
    z = logits.double()
    return (_log_symmetric(z, len(z))[-1] - F.softplus(z).sum()).to(logits.dtype)


def posterior_given_count(logits: Tensor, count: int) -> Tensor:
    """(n,) finite logits, ``count`` in 0..n -> (n,) P(y_i = 1 | C = count); they sum to ``count``.

    P(y_i = 1 | C = k) = exp(z_i) e_{k-1}(the others) / e_k(all). The others are those before and those after row i,
    so that no row is divided out. No gradient.
    """
    if not 0 <= count <= len(logits):
        raise ValueError(f"{count} of {len(logits)} rows cannot be positive")
    if count == 0:
        return torch.zeros_like(logits)
    z = logits.detach().double()
    before = _log_symmetric(z, count)
    after = _log_symmetric(z.flip(0), count - 1).flip(0)  # row i: of the rows from i on
    # count - 1 positives among the others: j of those before row i, the rest of those after.
    others = torch.logsumexp(before[:-1, :count] + after[1:].flip(1), dim=1)
    return torch.exp(z + others - before[-1, count]).to(logits.dtype)


def _log_symmetric(z: Tensor, largest: int) -> Tensor:
    """(n + 1, largest + 1): log e_k of the exponentials of the first i logits, for i = 0..n and k = 0..largest."""
    none = z.new_full((1,), LOG_ZERO)
    rows = [torch.cat([z.new_zeros(1), none.expand(largest)])]
    for value in z.unbind():
        # A set of k has row i in it, and k - 1 of those before, or it has not.
        rows.append(torch.logaddexp(rows[-1], torch.cat([none, rows[-1][:-1] + value])))
    return torch.stack(rows)
