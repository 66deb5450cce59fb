"""VPU: a variational approach that needs no class prior.

Paper: Chen, Liu, Wang, Zhao, Wu, NeurIPS 2020. Official code: HC-Feynman/vpu.
A network φ is fitted to the posterior up to scale: over all functions, log mean φ on a sample of all rows, minus mean
log φ on positives, is smallest for multiples of p(y = 1 | x). Mixing rows with positives keeps φ from over-fitting.
Follows the official code. X, the sample of all rows, is U where U holds the labeled positives; in one-sample data the
engine's calibration puts them there. Differs in having one logit z with φ = sigmoid(z) instead of two outputs; in the
score, which is z minus the logit of half the largest φ: the same decisions and order as φ divided by its maximum,
without ties where φ is close to 1; and in optimizer values, length and networks, which are PU-Bench's (the official
ones are a preset). Selected by ``native``, the official criterion, it needs no class prior at all.
"""

from __future__ import annotations

import math
from typing import Annotated

import pydantic
import torch
from torch import Tensor
from torch.nn import functional as F

from pubench.method import Field, LogUniform, Method, PowerOfTwo, PUData, PUPart, Run, Scorer, TrainingConfig
from pubench_formulas.mixing import mix

#: A share of the past in a running mean of Adam.
Decay = Annotated[float, pydantic.Field(ge=0, lt=1)]


class Config(TrainingConfig):
    lr: float = Field(3e-4, gt=0, description="learning rate", search=LogUniform(10**-4.5, 10**-2.5))
    weight_decay: float = Field(1e-4, ge=0, description="L2 penalty added to the gradient")
    betas: tuple[Decay, Decay] = Field(
        (0.9, 0.999),
        description="decay rates of Adam's running means, of gradients and of their squares; not used by sgd",
        neutral=(0.5, 0.99),
        accepts="two numbers, 0 or more and below 1",
    )
    batch_size: int = Field(256, ge=1, description="rows of P and of X per batch", search=PowerOfTwo(5, 8))
    weight_regularizer: float = Field(0.03, ge=0, description="weight of the mixup regularizer (lambda)")
    mixup_alpha: float = Field(0.3, gt=0, description="parameter of the Beta distribution of the coefficient")
    halve_every: int | None = Field(
        None, ge=1, description="in every such epoch the learning rate is halved and the optimizer new; none: never"
    )


def variational_loss(z_p: Tensor, z_x: Tensor) -> Tensor:
    """log mean_X φ - mean_P log φ of logits of P and X, the paper's variational loss: a scalar, may be negative.

    The term of an empty side is 0.
    """
    log_phi_p, log_phi_x = F.logsigmoid(z_p), F.logsigmoid(z_x)
    marginal = log_phi_x.logsumexp(0) - math.log(len(z_x)) if len(z_x) else log_phi_x.sum()
    return marginal - log_phi_p.sum() / max(len(z_p), 1)


def mixup_regularizer(z_x: Tensor, z_mixed: Tensor, coefficient: float) -> Tensor:
    """mean (log t - log φ(mixed))^2 with t = g φ(x) + (1 - g): how far φ is from linear between a row and a positive.

    ``z_x``, ``z_mixed``: (B,) logits of rows of X and of their mixtures; ``coefficient``: g in [0, 1], the share of
    the row of X; the positive's target is 1. Gradients flow through the target. 0 for an empty batch.
    """
    log_row = F.logsigmoid(z_x) + _log(coefficient)
    log_target = torch.logaddexp(log_row, torch.full_like(log_row, _log(1 - coefficient)))
    return (log_target - F.logsigmoid(z_mixed)).square().sum() / max(len(z_x), 1)


def decision_logit(z_x: Tensor) -> Tensor:
    """The logit at which φ is half of its largest value among (n,) logits of X: a scalar, at most 0."""
    log_max = F.logsigmoid(z_x.max())
    return log_max - torch.log1p(-torch.expm1(log_max))  # logit(a / 2) = log a - log(2 - a)


def _log(number: float) -> float:
    return math.log(number) if number > 0 else -math.inf


class VPU(Method[Config]):
    scored_by = ("net", "threshold")

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c, rate = self.config, self.config.lr
        self.net = run.backbone()
        self.threshold = 0.0
        optimizer = run.optimizer(self.net.parameters(), betas=c.betas)
        for epoch in run.epochs(c.epochs):
            if c.halve_every and epoch.total % c.halve_every == c.halve_every - 1:
                rate /= 2
                optimizer = run.optimizer(self.net.parameters(), lr=rate, betas=c.betas)
            for p, x in run.paired_batches(tail="drop"):
                z_p, z_x = self.net(torch.cat([p.x, x.x])).split([len(p.x), len(x.x)])
                coefficient = float(run.numpy_rng.beta(c.mixup_alpha, c.mixup_alpha))
                z_mixed = self.net(mix(x.x, p.x[run.permutation(len(p.x))], coefficient))
                loss = variational_loss(z_p, z_x)
                regularizer = mixup_regularizer(z_x, z_mixed, coefficient)
                report = {"variational": loss, "regularizer": regularizer}
                run.step(loss + c.weight_regularizer * regularizer, optimizer, report=report)

    def finalize(self, data: PUData, run: Run[Config]) -> None:
        self.threshold = float(decision_logit(run.scores(self.net, data.unlabeled_rows)))

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x) - self.threshold

    def selection_score(self, validation: PUPart, score: Scorer, run: Run[Config]) -> float:
        """Minus the variational loss of the validation part."""
        z = run.scores(self.net, part=validation)
        return -float(variational_loss(z[validation.labeled], z[~validation.labeled]))
