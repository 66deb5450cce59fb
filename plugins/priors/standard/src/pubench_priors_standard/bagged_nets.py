"""Held-out scores of labeled against unlabeled rows from bagged small networks, all trained at once.

The scorer of AlphaMax's authors (Jain et al. 2016): networks of 5 tanh units, each trained by Rprop on a bootstrap
sample for at most 500 epochs, a quarter of it held out to end after 25 epochs without progress; a row's score is the
average over the networks that did not see it. Theirs are 100 networks, ours 25, and here instances are drawn, with all
their rows. The networks are columns of the same matrices: Rprop treats every weight by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from pubench_core.data.dataset import IntArray
from pubench_core.training.optimizers import Rprop

NETWORKS = 25
UNITS = 5
EPOCHS = 500
PATIENCE = 25
VALIDATION = 0.25
#: Instances of each kind that a network is trained on at most; all others are out of its bag.
MOST = 10_000
_BLOCK = 8192


@dataclass(frozen=True)
class Bags:
    """How often an instance is drawn, (B, instances), for training and for the validation part of each network."""

    training: npt.NDArray[np.float32]
    validation: npt.NDArray[np.float32]

    @property
    def outside(self) -> npt.NDArray[np.bool_]:
        """(B, instances) whether a network has not seen an instance."""
        return np.asarray(self.training + self.validation == 0)


def out_of_bag_scores(
    rows: npt.NDArray[np.float64], labeled: npt.NDArray[np.float64], instances: IntArray, rng: np.random.Generator
) -> npt.NDArray[np.float64]:
    """(n,) p(labeled | x) of each row from networks that saw no row of its instance.

    ``rows``: (n, d); ``labeled``: (n,) 0/1; ``instances``: (n,) from 0, which instance a row is.
    """
    is_labeled = np.zeros(instances.max() + 1, dtype=bool)
    np.logical_or.at(is_labeled, instances, labeled > 0)
    bags = draw_bags(is_labeled, rng)
    deviation = rows.std(0)
    x = torch.from_numpy((rows - rows.mean(0)) / np.where(deviation > 0, deviation, 1)).float()
    taken = np.flatnonzero((bags.training + bags.validation).sum(0)[instances])
    networks = _trained(
        x[taken],
        torch.from_numpy(labeled[taken]).float(),
        torch.from_numpy(bags.training[:, instances[taken]].T.copy()),
        torch.from_numpy(bags.validation[:, instances[taken]].T.copy()),
    )
    probabilities = np.concatenate([networks.logits(part).sigmoid().double().numpy() for part in x.split(_BLOCK)])
    outside = bags.outside[:, instances].T
    return np.asarray((probabilities * outside).sum(1) / outside.sum(1), dtype=np.float64)


def draw_bags(is_labeled: npt.NDArray[np.bool_], rng: np.random.Generator) -> Bags:
    """Draws with replacement, labeled instances and others apart; every instance is outside of some bag."""
    counts = np.zeros((NETWORKS, len(is_labeled)), dtype=np.float32)
    held_out = np.zeros_like(counts, dtype=bool)
    for kind in (True, False):
        members = np.flatnonzero(is_labeled == kind)
        spared = rng.integers(NETWORKS, size=len(members))
        for network in range(NETWORKS):
            drawn = rng.choice(members, min(len(members), MOST))
            np.add.at(counts[network], drawn, 1)
            counts[network, members[spared == network]] = 0
            inside = rng.permutation(np.flatnonzero((counts[network] > 0) & (is_labeled == kind)))
            held_out[network, inside[: int(VALIDATION * len(inside))]] = True
    return Bags(np.where(held_out, 0, counts), np.where(held_out, counts, 0))


@dataclass
class _Networks:
    """``inner``: (d + 1, B * units); ``outer``: (B, units + 1); the last row or column is the bias."""

    inner: Tensor
    outer: Tensor

    @torch.no_grad()
    def logits(self, x: Tensor) -> Tensor:
        """(n, B)."""
        return _logits(self.inner, self.outer, x)


def _logits(inner: Tensor, outer: Tensor, x: Tensor) -> Tensor:
    hidden = torch.tanh(torch.addmm(inner[-1], x, inner[:-1])).view(len(x), NETWORKS, UNITS)
    return (hidden * outer[:, :-1]).sum(2) + outer[:, -1]


def _trained(x: Tensor, labeled: Tensor, training: Tensor, validation: Tensor) -> _Networks:
    """Networks at their best validation losses; ``training``, ``validation``: (n, B) weights of the rows."""
    d = x.shape[1]
    inner = (torch.randn(d + 1, NETWORKS * UNITS) / d**0.5).requires_grad_()
    outer = (torch.randn(NETWORKS, UNITS + 1) / UNITS**0.5).requires_grad_()
    optimizer = Rprop([inner, outer])
    best = _Networks(inner.detach().clone(), outer.detach().clone())
    lowest, since = torch.full((NETWORKS,), torch.inf), torch.zeros(NETWORKS)
    target = labeled[:, None].expand(-1, NETWORKS)
    held_out = validation.sum(0).clamp(min=1)
    for _ in range(EPOCHS):
        optimizer.zero_grad(set_to_none=True)
        losses = functional.binary_cross_entropy_with_logits(_logits(inner, outer, x), target, reduction="none")
        current = (losses.detach() * validation).sum(0) / held_out
        better = (current < lowest) & (since < PATIENCE)
        lowest = torch.where(better, current, lowest)
        since = torch.where(better, torch.zeros_like(since), since + 1)
        columns = better.repeat_interleave(UNITS)
        best.inner[:, columns], best.outer[better] = inner.detach()[:, columns], outer.detach()[better]
        if bool((since >= PATIENCE).all()):
            break
        ((losses * training).sum(0) / training.sum(0)).sum().backward()
        optimizer.step()
    return best
