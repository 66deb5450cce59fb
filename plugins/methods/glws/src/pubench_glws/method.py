"""GLWS: learning from weak supervision, here from the number of positives in a batch of U.

Paper: Chen, Wang, Feng, Li, Wang, Xie, Sugiyama, Singh, Raj, ICML 2024. Official code:
Hhhhhhao/General-Framework-Weak-Supervision, algorithm imp_pos_ulb.
Expectation-maximization, one step of each per batch. U is drawn from a population with a share π of positives, so that
k = round(n π) of a batch of n rows are taken to be positive. E-step: the posterior of every row given that number, the
rows being independent given the network. M-step: the cross-entropy towards the posteriors, and that of labeled
positives. Follows the official code except for its posterior, whose automaton has a wrong term
(``posterior = released``), and for the number, which it rounds down. Both steps see the rows as they are; with
``augment``, each has a weakly
augmented view of its own, as in the official code. Optimizer values and networks are PU-Bench's.

With one view, the gradient in U is that of -log P(C = k) / n: Count Loss, with a weight of 1 / n.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR

from pubench.method import Field, LogUniform, Method, PowerOfTwo, PUData, Run, TrainingConfig
from pubench_formulas.augmentation import weak_view
from pubench_formulas.counts import Rounding, expected_count, posterior_given_count
from pubench_formulas.losses import logistic_loss

from .released import released_posterior

Posterior = Literal["exact", "released"]


class Config(TrainingConfig):
    lr: float = Field(3e-4, gt=0, description="learning rate", search=LogUniform(10**-4.5, 10**-2.5))
    final_lr: float | None = Field(
        None, ge=0, description="learning rate at the end, along half a cosine over all steps; none: lr stays"
    )
    weight_decay: float = Field(1e-4, ge=0, description="L2 penalty added to the gradient (adamw: decoupled)")
    decay_biases: bool = Field(
        True, description="weight_decay also shrinks parameters with one axis: biases and those of normalization"
    )
    batch_size: int = Field(256, ge=1, description="rows of P and of U per batch", search=PowerOfTwo(5, 8))
    posterior: Posterior = Field("exact", description="of a row given the number; released: with the official error")
    rounding: Rounding = Field("nearest", description="how n π becomes the number of positives in a batch of U")
    augment: bool = Field(False, description="train on weakly augmented rows, U by another view than its posteriors")


def posteriors(logits: Tensor, count: int, posterior: Posterior = "exact") -> Tensor:
    """The E-step: (n,) logits of U -> (n,) P(y_i = 1 | ``count`` of the rows are positive), no gradient."""
    return posterior_given_count(logits, count) if posterior == "exact" else released_posterior(logits, count)


def glws_loss(z_p: Tensor, z_u: Tensor, targets: Tensor) -> Tensor:
    """The M-step: mean_P log(1 + e^-z) + mean_U of the cross-entropy of (n,) logits towards (n,) fixed targets."""
    return logistic_loss(z_p).mean() + F.binary_cross_entropy_with_logits(z_u, targets)


def parameter_groups(net: nn.Module, decay_biases: bool) -> list[dict[str, Any]]:
    """Groups of an optimizer: parameters with two axes or more, and the others, spared from decay on request."""
    matrices, vectors = ([p for p in net.parameters() if (p.dim() > 1) == matrix] for matrix in (True, False))
    return [{"params": matrices}, {"params": vectors} if decay_biases else {"params": vectors, "weight_decay": 0.0}]


class GLWS(Method[Config]):
    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"})

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c, share = self.config, data.unlabeled_prior
        self.net = run.backbone()
        optimizer = run.optimizer(parameter_groups(self.net, c.decay_biases))
        steps = c.epochs * (c.steps_per_epoch or max(1, data.n_unlabeled // c.batch_size))
        schedule = CosineAnnealingLR(optimizer, steps, eta_min=c.lr if c.final_lr is None else c.final_lr)
        for _ in run.epochs(c.epochs):
            for p, u in run.paired_batches(tail="drop"):
                views = [run.augment(weak_view, x) for x in (p.x, u.x, u.x)] if c.augment else [p.x, u.x]
                z_p, z_e, *z_m = self.net(torch.cat(views)).split([len(view) for view in views])
                targets = posteriors(z_e, expected_count(len(z_e), share, c.rounding), c.posterior)
                run.step(glws_loss(z_p, z_m[0] if c.augment else z_e, targets), optimizer)
                schedule.step()

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)
