"""PUSB: PU learning with selection bias.

Paper: Kato, Teshima, Honda, ICLR 2019. Official code: MasaKat0/PUlearning, folder BiasedPUlearning.
Where likelier positives are likelier labeled, the minimizer of the PU risk ranks rows correctly, but 0 is not the
boundary of the classes. Follows the official neural version: the logistic non-negative risk with gradient ascent, then
the threshold above which the share of positives lies. Differs in taking that quantile over the unlabeled training rows,
where the official code takes it over the test rows that it is evaluated on; and in optimizer values and networks, which
are PU-Bench's. ``threshold = zero`` leaves the score as it is: nnPU with the logistic loss.
"""

from __future__ import annotations

import math
from typing import Literal

from torch import Tensor

from pubench.method import Field, LogUniform, Method, PowerOfTwo, PUData, Run, TrainingConfig
from pubench_formulas.risks import PURisk, pu_risk


class Config(TrainingConfig):
    lr: float = Field(3e-4, gt=0, description="learning rate", search=LogUniform(10**-4.5, 10**-2.5))
    weight_decay: float = Field(1e-4, ge=0, description="L2 penalty added to the gradient")
    batch_size: int = Field(256, ge=1, description="rows per batch", search=PowerOfTwo(5, 8))
    threshold: Literal["unlabeled-quantile", "zero"] = Field(
        "unlabeled-quantile",
        description="scores above it are positive: the 1 - prior quantile of the scores of U, or 0",
    )
    correction: Literal["ascent", "clamp"] = Field(
        "ascent", description="what happens where the negative part of the risk is below 0"
    )
    batching: Literal["joint", "paired"] = Field(
        "joint", description="LP and U shuffled together, or one batch of each"
    )


def pusb_risk(
    scores: Tensor, labeled: Tensor, prior: float, correction: Literal["ascent", "clamp"] = "ascent"
) -> PURisk:
    """Logistic non-negative PU risk of (B,) logits; a negative part below 0 is ascended with full weight."""
    return pu_risk(scores, labeled, prior, surrogate="logistic", correction=correction, beta=0.0, gamma=1.0)


def quantile_rank(n: int, prior: float) -> int:
    """floor(n (1 - prior)), at most n - 1: 0-based place of the threshold among n ascending scores."""
    # 10 x (1 - 0.9) is 0.9999999999999998 in floating point and means 1.
    return min(math.floor(n * (1 - prior) + 1e-9), n - 1)


def quantile_threshold(scores: Tensor, prior: float) -> Tensor:
    """The score, of (n,) scores, above which (strictly) a share of ``prior`` lies; a scalar."""
    return scores.sort().values[quantile_rank(len(scores), prior)]


class PUSB(Method[Config]):
    scored_by = ("net", "threshold")

    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"})

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c = self.config
        self.net = run.backbone()
        self.threshold = 0.0
        optimizer = run.optimizer(self.net.parameters())
        batches = run.joint_batches if c.batching == "joint" else run.stacked_batches
        for _ in run.epochs(c.epochs):
            for batch in batches():
                risk = pusb_risk(self.net(batch.x), batch.labeled, data.unlabeled_prior, c.correction)
                run.step(risk.objective, optimizer, report={"risk": risk.value})

    def finalize(self, data: PUData, run: Run[Config]) -> None:
        if self.config.threshold == "unlabeled-quantile":
            scores = run.scores(self.net, data.unlabeled_rows)
            self.threshold = float(quantile_threshold(scores, data.unlabeled_prior))

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x) - self.threshold
