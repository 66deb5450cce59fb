"""PN: a supervised classifier that is granted the true labels.

No paper: the reference that benchmarks report with PU methods. Follows PU-Bench's oracle trainer (mean binary
cross-entropy over joint batches). Differs in its rows: each training instance once, where PU-Bench repeats the
labeled positives.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from pubench.method import Field, Method, PUData, Run, TrainingConfig


class Config(TrainingConfig):
    lr: float = Field(5e-4, gt=0, description="learning rate")
    weight_decay: float = Field(1e-5, ge=0, description="L2 penalty added to the gradient")
    batch_size: int = Field(128, ge=1, description="rows per batch")
    epochs: int = Field(50, ge=1, description="epochs")
    patience: int | None = Field(
        5, ge=1, description="epochs without improvement after which a criterion stops; none: never"
    )


def pn_risk(scores: Tensor, labels: Tensor) -> Tensor:
    """Mean of softplus(z) - y z over (B,) logits and (B,) labels in {0, 1}."""
    return F.binary_cross_entropy_with_logits(scores, labels)


class PN(Method[Config]):
    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"truth"})

    def fit(self, data: PUData, run: Run[Config]) -> None:
        self.net = run.backbone()
        optimizer = run.optimizer(self.net.parameters())
        for _ in run.epochs(self.config.epochs):
            for batch in run.joint_batches(data.distinct_rows):
                risk = pn_risk(self.net(batch.x), data.truth[batch.row])
                run.step(risk, optimizer)

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)
