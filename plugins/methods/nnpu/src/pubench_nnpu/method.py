"""nnPU: the non-negative PU risk.

Paper: Kiryo, Niu, du Plessis, Sugiyama, NeurIPS 2017. Official code: kiryor/nnPUlearning.
Follows Algorithm 1, which the official code runs: where the estimated risk on negatives falls below -beta in a
mini-batch, that step ascends it and leaves the rest of the risk alone. ``correction = clamp`` minimizes Eq. 6 as it
stands. Differs from the official script in optimizer values and networks, which are PU-Bench's.

The sigmoid risk has bad local optima: with some seeds, training ends in one. With a prior far from one half, it may end
at a network that decides the larger class for every row, as it does on Connect-4. The logistic loss, which preset
``table`` has for users' tables, ranks rows better there.

Known negatives add the PNU risk of Sakai, du Plessis, Niu, Sugiyama, ICML 2017, which averages the risks of learning
from P and N and from P and U (or N and U) by ``eta``; the correction stays that of the part with U. Their eta is
chosen by cross-validation; here it is a constant. Every step has its own draw of known negatives.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import torch
from torch import Tensor

from pubench.method import Field, LogUniform, Method, PowerOfTwo, PUData, Run, TrainingConfig
from pubench_formulas.pnu import pnu_risk
from pubench_formulas.risks import pu_risk


class Config(TrainingConfig):
    lr: float = Field(3e-4, gt=0, description="learning rate", search=LogUniform(10**-4.5, 10**-2.5))
    weight_decay: float = Field(1e-4, ge=0, description="L2 penalty added to the gradient")
    batch_size: int = Field(256, ge=1, description="rows per batch", search=PowerOfTwo(5, 8))
    surrogate: Literal["sigmoid", "logistic"] = Field("sigmoid", description="loss l in the risk")
    correction: Literal["ascent", "clamp", "flip"] = Field(
        "ascent", description="what happens where the negative part of the risk is too small"
    )
    beta: float = Field(0.0, ge=0, description="tolerance: the correction acts below -beta")
    gamma: float = Field(1.0, ge=0, le=1, description="step factor of the ascent")
    batching: Literal["joint", "paired"] = Field(
        "joint", description="LP and U shuffled together, or one batch of each"
    )
    eta: float = Field(
        0.5,
        ge=-1,
        le=1,
        description="if there are known negatives: share of the PU risk in the PNU risk; below 0, of the NU risk",
        neutral=0.5,
    )


class NNPU(Method[Config]):
    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"})

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c = self.config
        self.net = run.backbone()
        optimizer = run.optimizer(self.net.parameters())
        n, prior = data.negative_rows, data.unlabeled_prior
        pu_rows = torch.cat([data.labeled_rows, data.unlabeled_rows]) if len(n) else None
        pu = partial(pu_risk, surrogate=c.surrogate, correction=c.correction, beta=c.beta, gamma=c.gamma)
        for _ in run.epochs(c.epochs):
            for batch in run.joint_batches(pu_rows) if c.batching == "joint" else run.stacked_batches():
                if len(n):
                    drawn = n[run.permutation(len(n))[: c.batch_size]]
                    scores, of_n = self.net(torch.cat([batch.x, data.take(drawn)])).split([len(batch.x), len(drawn)])
                    risk = pnu_risk(scores, batch.labeled, of_n, prior, c.eta, c.surrogate, pu)
                else:
                    risk = pu(self.net(batch.x), batch.labeled, prior)
                run.step(risk.objective, optimizer, report={"risk": risk.value})

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)
