"""nnPU-GA: the unbiased PU risk, descended where it is positive and ascended where it is negative.

Paper: Wang et al., ICLR 2026, has this name in its tables, credits Kiryo et al. (NeurIPS 2017) and leaves its
description empty (Appendix B.2). Official code: wu-dd/PUBench, class nnPU_GA.
Follows that code's rule: where the *total* risk of a mini-batch is negative, every part of its gradient changes sign,
that of the labeled positives included. Not Algorithm 1 of Kiryo et al. (NeurIPS 2017), which tests the negative part
alone and then leaves the positive part out of the step: that is method ``nnpu``. The two differ wherever the negative
part is below zero and the total is not. Loss, batches and optimizer values default to those of ``nnpu``, so that only
the rule differs; preset ``wang`` has the logistic loss and equal batches of P and of U.

With the sigmoid loss and a prior far from one half, training may end at a network that decides the larger class for
every row, as it does on Connect-4. Preset ``table``, for users' tables, has the logistic loss.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from pubench.method import Field, LogUniform, Method, PowerOfTwo, PUData, Run, TrainingConfig
from pubench_formulas.risks import pu_risk


class Config(TrainingConfig):
    lr: float = Field(3e-4, gt=0, description="learning rate", search=LogUniform(10**-4.5, 10**-2.5))
    weight_decay: float = Field(1e-4, ge=0, description="L2 penalty added to the gradient")
    batch_size: int = Field(
        256, ge=1, description="rows per batch (of P and of U each, if paired)", search=PowerOfTwo(5, 8)
    )
    surrogate: Literal["sigmoid", "logistic"] = Field("sigmoid", description="loss l in the risk")
    batching: Literal["joint", "paired"] = Field(
        "joint", description="LP and U shuffled together, or one batch of each"
    )


class NNPUGA(Method[Config]):
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
                scores = self.net(batch.x)
                risk = pu_risk(scores, batch.labeled, data.unlabeled_prior, surrogate=c.surrogate, correction="flip")
                # The value is what is traced: the objective is its absolute value, which is never negative.
                run.step(risk.objective, optimizer, report={"risk": risk.value})

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)
