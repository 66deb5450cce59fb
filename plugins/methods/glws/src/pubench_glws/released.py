"""The posterior that the released code of GLWS computes, which is not the posterior: to reproduce its results.

Its automaton reads the n labels of a batch and accepts those with k ones. It has 2k + 1 states: 2j after j ones, the
last label being a zero; 2j - 1 just after the j-th one. The pass from the end reads, in the state just after the k-th
one, a zero where that one belongs. Rows then have posteriors that are off by up to 0.4 and do not sum to k; for k = 0
and k = n they are right.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

#: The logarithm of zero: finite, below every logarithm of a probability.
LOG_ZERO = -1e30


def released_posterior(logits: Tensor, count: int) -> Tensor:
    """(n,) finite logits, ``count`` in 0..n -> (n,) what the released code gives for P(y_i = 1 | C = count).

    2 n steps in a row; no gradient.
    """
    if count == 0:
        return torch.zeros_like(logits)
    z = logits.detach().double()[:, None]
    state = torch.arange(2 * count + 1, device=z.device)
    after_one = state % 2 == 1
    read = torch.where(after_one, F.logsigmoid(z), F.logsigmoid(-z))  # (n, states): the label that leads to a state
    wrong = torch.where(state == 2 * count - 1, F.logsigmoid(-z), read)

    forward = [_only(state < 2) + read[0]]
    for row in read[1:]:
        forward.append(_sum(forward[-1], _shifted(forward[-1], 1), _shifted(forward[-1], 2), after_one) + row)
    backward = [_only(state >= 2 * count - 1) + read[-1]]
    for row in wrong[:-1].flip(0):
        backward.append(_sum(backward[-1], _shifted(backward[-1], -1), _shifted(backward[-1], -2), after_one) + row)
    # Both passes have read the label of the row itself.
    paths = torch.stack(forward) + torch.stack(backward).flip(0) - read
    return paths.softmax(dim=1)[:, 1::2].sum(dim=1).to(logits.dtype)


def _sum(same: Tensor, next_one: Tensor, second: Tensor, after_one: Tensor) -> Tensor:
    """Of a state's three neighbors in log space: zeros stay after zeros, ones follow ones two states on."""
    return torch.logaddexp(next_one, torch.where(after_one, second, same))


def _shifted(values: Tensor, by: int) -> Tensor:
    """Each state's value moved up by so many states, down if negative."""
    padded = F.pad(values, (by, 0) if by > 0 else (0, -by), value=LOG_ZERO)
    return padded[: len(values)] if by > 0 else padded[-len(values) :]


def _only(allowed: Tensor) -> Tensor:
    """log 1 where allowed, log 0 elsewhere."""
    return torch.where(allowed, 0.0, LOG_ZERO).double()
