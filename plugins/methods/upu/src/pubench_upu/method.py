"""uPU: the unbiased PU risk.

Paper: du Plessis, Niu, Sugiyama, ICML 2015. Official code: kiryor/nnPUlearning with nnpu=False.
Follows that estimator over joint batches. The risk may be negative: that is the over-fitting which nnPU removes, and
nothing here corrects it. Differs from the official script in optimizer values and networks, which are PU-Bench's.

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
    batch_size: int = Field(256, ge=1, description="rows per batch", search=PowerOfTwo(5, 8))
    surrogate: Literal["sigmoid", "logistic"] = Field("sigmoid", description="loss l in the risk")
    batching: Literal["joint", "paired"] = Field(
        "joint", description="LP and U shuffled together, or one batch of each"
    )


class UPU(Method[Config]):
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
                risk = pu_risk(self.net(batch.x), batch.labeled, data.unlabeled_prior, surrogate=c.surrogate)
                run.step(risk.objective, optimizer)

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)
