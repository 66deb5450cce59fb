"""Count Loss: how likely it is that a batch of U has as many positives as the class prior says.

Paper: Shukla, Zeng, Ahmed, Van den Broeck, NeurIPS 2023. Official code: UCLA-StarAI/CountLoss, folder PU.
The labels of the n unlabeled rows of a batch are independent given the network, so the number of positives among them
has a Poisson binomial law. U is drawn from a population with a share π of positives: either the likeliest number,
k = round(n π), is to be likely (``exact``), or the whole law is to be near the binomial one (``distribution``). Labeled
positives have the logistic loss. Follows the paper for the exact count; the official routine starts its table with
probability one for every count and gives the likelihood of *at most* k positives, which never asks for more of them.
Follows the official code for the distribution. Differs in weights and the bound on the gradient, which are Wang et
al.'s; in epochs, which are passes over U; and in optimizer values and networks, which are PU-Bench's.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from pubench.method import Field, LogUniform, Method, PowerOfTwo, PUData, Run, TrainingConfig
from pubench_formulas.counts import Rounding, count_log_probabilities, expected_count
from pubench_formulas.losses import logistic_loss

Form = Literal["exact", "distribution"]


class Config(TrainingConfig):
    lr: float = Field(3e-4, gt=0, description="learning rate", search=LogUniform(10**-4.5, 10**-2.5))
    weight_decay: float = Field(1e-4, ge=0, description="L2 penalty added to the gradient")
    batch_size: int = Field(256, ge=1, description="rows of P and of U per batch", search=PowerOfTwo(5, 8))
    form: Form = Field("exact", description="the number of positives in a batch of U, or the law of that number")
    rounding: Rounding = Field("nearest", description="how n π becomes the exact number; not used by distribution")
    weight_positive: float = Field(1.0, ge=0, description="weight of the loss on labeled positives")
    weight_unlabeled: float = Field(1.0, ge=0, description="weight of the loss on the number of positives in U")
    max_norm: float | None = Field(10.0, gt=0, description="largest norm of the gradient; none: any")


def binomial(n: int, share: float, device: torch.device) -> Tensor:
    """(n + 1,) float64 probabilities of 0..n positives among n rows, each positive with probability ``share``."""
    k = torch.arange(n + 1, dtype=torch.float64, device=device)
    p = torch.full_like(k, share)
    ways = torch.lgamma(torch.full_like(k, n + 1)) - torch.lgamma(k + 1) - torch.lgamma(n - k + 1)
    return torch.exp(ways + torch.xlogy(k, p) + torch.xlogy(n - k, 1 - p))


def exact_count_loss(logits: Tensor, count: int) -> Tensor:
    """-log P(C = count), C the number of positives among (n,) independent rows; the paper's loss for an exact count."""
    return -count_log_probabilities(logits)[count]


def distribution_loss(logits: Tensor, share: float) -> Tensor:
    """KL(Binomial(n, share) || law of the number of positives among (n,) rows) / (n + 1), as in the official code."""
    wanted = binomial(len(logits), share, logits.device)
    law = count_log_probabilities(logits.double())
    return (F.kl_div(law, wanted, reduction="sum") / len(law)).to(logits.dtype)


class CountLoss(Method[Config]):
    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"})

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c, share = self.config, data.unlabeled_prior
        self.net = run.backbone()
        optimizer = run.optimizer(self.net.parameters())
        for _ in run.epochs(c.epochs):
            for p, u in run.paired_batches():
                z_p, z_u = self.net(torch.cat([p.x, u.x])).split([len(p.x), len(u.x)])
                positive = logistic_loss(z_p).mean()
                if c.form == "exact":
                    count = exact_count_loss(z_u, expected_count(len(z_u), share, c.rounding))
                else:
                    count = distribution_loss(z_u, share)
                loss = c.weight_positive * positive + c.weight_unlabeled * count
                run.step(loss, optimizer, max_norm=c.max_norm, report={"positive": positive, "count": count})

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)
