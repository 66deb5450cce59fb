"""nnPU: the non-negative PU risk.

Paper: Kiryo, Niu, du Plessis, Sugiyama, NeurIPS 2017. Official code: kiryor/nnPUlearning.
Follows Algorithm 1, which the official code runs: where the estimated risk on negatives falls below -beta in a
mini-batch, that step ascends it and leaves the rest of the risk alone. ``correction = clamp`` minimizes Eq. 6 as it
stands. Differs from the official script in optimizer values and networks, which are PU-Bench's.

The sigmoid risk has bad local optima: with some seeds, training ends in one. With a prior far from one half, it may end
at a network that decides the larger class for every row, as it does on Connect-4. The logistic loss, which preset
``table`` has for users' tables, ranks rows better there.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from pubench.method import Field, LogUniform, Method, PowerOfTwo, PUData, Run, TrainingConfig
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


class NNPU(Method[Config]):
    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"})

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c = self.config
        self.net = run.backbone()
        optimizer = run.optimizer(self.net.parameters())
        batches = run.joint_batches if c.batching == "joint" else run.stacked_batches
        for _ in run.epochs(c.epochs):
            for batch in batches():
                risk = pu_risk(
                    self.net(batch.x),
                    batch.labeled,
                    data.unlabeled_prior,
                    surrogate=c.surrogate,
                    correction=c.correction,
                    beta=c.beta,
                    gamma=c.gamma,
                )
                run.step(risk.objective, optimizer, report={"risk": risk.value})

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)
