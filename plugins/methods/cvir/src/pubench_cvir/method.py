"""CVIR: the conditional value ignoring risk.

Paper: Garg, Wu, Smola, Balakrishnan, Lipton, NeurIPS 2021. Official code: acmi-lab/PU_learning, --train-method CVIR.
U holds a share α of positives. In every epoch, the share α of U with the highest scores of the current network is
ignored, and the rest of U is taken as negative. Follows the official code: α is given, P and kept U weigh one half
each, a batch of which nothing is kept is skipped. Differs in four places. An epoch is a pass over U while P cycles,
because the official epoch, a pass of the shorter loader, would rank U again after a few dozen steps where P is small.
Rows are ranked as they are, where the official CIFAR-10 loader augments them also then. A warm-up of P against U comes
first, as in the paper's full method. Optimizer values and networks are PU-Bench's.
"""

from __future__ import annotations

import math
from itertools import chain
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from pubench.method import Field, LogUniform, Method, PowerOfTwo, PUData, RequestError, Run, TrainingConfig
from pubench_formulas.augmentation import weak_view
from pubench_formulas.losses import masked_mean


class Config(TrainingConfig):
    lr: float = Field(3e-4, gt=0, description="learning rate", search=LogUniform(10**-4.5, 10**-2.5))
    weight_decay: float = Field(1e-4, ge=0, description="L2 penalty added to the gradient")
    batch_size: int = Field(128, ge=1, description="rows of P per batch", search=PowerOfTwo(5, 8))
    unlabeled_batch: Literal["equal", "proportional"] = Field(
        "equal", description="rows of U per batch: as many as of P, or in the proportion of the whole sets"
    )
    warm_up: int = Field(8, ge=0, description="epochs of P against all of U before rows are ignored; not in epochs")
    weights: Literal["equal", "prior"] = Field(
        "equal", description="weights of P and U in the loss: 1/2 each, or the share of positives and its complement"
    )
    augment: bool = Field(False, description="train on weakly augmented rows")


def n_ignored(n: int, share: float) -> int:
    """floor(share n), for a share in [0, 1]."""
    return min(math.floor(n * share + 1e-9), n)  # 100 x 0.29 is 28.999999999999996 in floating point and means 29


def provisional_negatives(scores: Tensor, share: float) -> Tensor:
    """(n,) logits of U -> (n,) bool: all but the ``n_ignored`` highest, of equal ones the last."""
    ascending = torch.sort(scores, stable=True).indices
    kept = torch.ones_like(scores, dtype=torch.bool)
    kept[ascending[len(scores) - n_ignored(len(scores), share) :]] = False
    return kept


def cvir_loss(scores: Tensor, labeled: Tensor, weight_positive: float = 0.5) -> Tensor:
    """w mean_P log(1 + e^-z) + (1 - w) mean_U log(1 + e^z) of (B,) logits: P and *kept* rows of U, each a mean over
    its own rows (0 if there is none). With w = 1/2 and all of U it separates P from U.
    """
    positive, negative = masked_mean(F.softplus(-scores), labeled), masked_mean(F.softplus(scores), ~labeled)
    return weight_positive * positive + (1 - weight_positive) * negative


class CVIR(Method[Config]):
    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"})

    def check(self, data: PUData) -> None:
        """A row of U, at least, is left to be a negative."""
        n_u, share = data.n_unlabeled, data.unlabeled_prior
        if n_ignored(n_u, share) == n_u:
            raise RequestError(f"a share of {share:.4g} positives ignores all {n_u} unlabeled rows; lower the prior")

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c, n_u, share = self.config, data.n_unlabeled, data.unlabeled_prior
        u_size = c.batch_size if c.unlabeled_batch == "equal" else max(1, c.batch_size * n_u // data.n_labeled)
        self.net = run.backbone()
        optimizer = run.optimizer(self.net.parameters())
        kept = torch.ones(len(data), dtype=torch.bool, device=run.device)
        for epoch in chain(
            run.epochs(c.warm_up, stage="warm-up", selectable=False, patience=None),
            run.epochs(c.epochs),
        ):
            warm = epoch.total < c.warm_up
            if not warm:
                rows = data.unlabeled_rows
                kept[rows] = provisional_negatives(run.scores(self.net, rows), share)
            weight = 0.5 if warm or c.weights == "equal" else share
            for p, u in run.paired_batches(c.batch_size, u_size):
                negatives = u.x[kept[u.row]]  # ignored rows are in no forward pass: batch norm must not see them
                if not len(negatives):
                    continue  # the official code takes no step, not even on P
                x = torch.cat([p.x, negatives])
                scores = self.net(self._view(x, run) if c.augment else x)
                labeled = torch.arange(len(x), device=run.device) < len(p.x)
                run.step(cvir_loss(scores, labeled, weight), optimizer)

    @staticmethod
    def _view(x: Tensor, run: Run[Config]) -> Tensor:
        """Weakly augmented rows; images are padded with zeros before they are cropped, as in the official code."""
        return run.augment(weak_view, x, padding="zeros") if x.dim() == 4 else run.augment(weak_view, x)

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)
