"""PUe: PU learning whose labeled positives are weighted by the inverse of an estimated propensity.

Paper: Wang, Chen, Guo, Wang, NeurIPS 2023. Official code: none known; wu-dd/PUBench, class PUe.
Where positives are labeled with a probability e(x) of their own, the mean over P of a loss divided by e is, up to a
factor, its mean over all positives. A first network learns e from labeled against unlabeled rows and is then frozen; a
second one minimizes the PU risk with these weights. Follows the paper's formulas as that code has them. Differs in the
risk, which is the paper's non-negative one; in the weights, which are found once for all of P instead of within each
batch; in unlabeled rows that are copies of labeled ones, which train the second network only (``data.instance`` tells):
one x with both labels would halve its propensity; in a smallest propensity; and in batches in the proportion of the
data. Optimizer values and networks are PU-Bench's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import starmap
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from pubench.method import Batch, Field, LogUniform, Method, PowerOfTwo, PUData, Run, TrainingConfig
from pubench_formulas.risks import PURisk, pu_risk

Correction = Literal["clamp", "ascent", "none"]


class Config(TrainingConfig):
    lr: float = Field(3e-4, gt=0, description="learning rate of both networks", search=LogUniform(10**-4.5, 10**-2.5))
    weight_decay: float = Field(1e-4, ge=0, description="L2 penalty added to the gradient")
    batch_size: int = Field(
        256, ge=1, description="rows per batch (of P and of U each, if paired)", search=PowerOfTwo(5, 8)
    )
    batching: Literal["joint", "paired"] = Field(
        "joint", description="LP and U shuffled together, or one batch of each"
    )
    warm_up: int = Field(20, ge=1, description="epochs that train the propensity; not in epochs")
    alpha: float = Field(0.1, ge=0, description="weight of the propensities' sum being the number of labeled rows")
    min_propensity: float = Field(1e-3, ge=0, lt=1, description="smaller propensities count as this one")
    normalization: Literal["set", "batch"] = Field(
        "set", description="weights of P have mean 1 over all of it, or over the rows of each batch"
    )
    correction: Correction = Field("clamp", description="of a negative part below 0; none: the unbiased risk")


def propensity_loss(logits: Tensor, labeled: Tensor, alpha: float) -> Tensor:
    """(B,) logits of e -> mean cross-entropy of labeled against unlabeled rows + alpha |sum e - number of labeled|.

    The second term is a difference of sums: it grows with the batch.
    """
    entropy = F.binary_cross_entropy_with_logits(logits, labeled.to(logits.dtype))
    return entropy + alpha * (torch.sigmoid(logits).sum() - labeled.sum()).abs()


def inverse_weights(logits: Tensor, labeled: Tensor, min_propensity: float = 0.0) -> Tensor:
    """(B,) logits of e -> (B,) weights of the labeled rows, 1 / e divided by its mean over them; 1 for the others."""
    log_inverse = F.softplus(-logits)  # 1 / e overflows where e is small
    if min_propensity > 0:
        log_inverse = log_inverse.clamp(max=-math.log(min_propensity))
    log_sum = log_inverse.masked_fill(~labeled, -torch.inf).logsumexp(0)
    return torch.where(labeled, labeled.sum() * torch.exp(log_inverse - log_sum), 1.0)


def pue_risk(scores: Tensor, labeled: Tensor, prior: float, weights: Tensor, correction: Correction) -> PURisk:
    """Logistic PU risk π R_P⁺ + (R_U⁻ - π R_P⁻) of (B,) logits with (B,) weights of labeled rows, mean 1 over P.

    ``clamp``: a negative part below 0 counts as 0 (the paper's nnPUe); ``ascent``: Algorithm 1 of Kiryo et al.
    """
    return pu_risk(scores, labeled, prior, surrogate="logistic", correction=correction, weights=weights)


def rows_without_copies(data: PUData) -> Tensor:
    """Positions of the labeled rows and of the unlabeled rows that are none of them."""
    copies = ~data.labeled & torch.isin(data.instance, data.instance[data.labeled_rows])
    return torch.nonzero(~copies).flatten()


class PUe(Method[Config]):
    scored_by = ("net", "propensity")

    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"})

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c = self.config
        self.net, self.propensity = run.backbone(), run.backbone()
        optimizer = run.optimizer(self.propensity.parameters())
        apart = rows_without_copies(data)
        for _ in run.epochs(c.warm_up, stage="propensity", selectable=False, patience=None):
            for batch in self._batches(run, apart, apart[~data.labeled[apart]]):
                run.step(propensity_loss(self.propensity(batch.x), batch.labeled, c.alpha), optimizer)

        optimizer = run.optimizer(self.net.parameters())
        of_all = inverse_weights(run.scores(self.propensity), data.labeled, c.min_propensity)
        for _ in run.epochs(c.epochs):
            for batch in self._batches(run):
                weights = of_all[batch.row] if c.normalization == "set" else self._weights(batch)
                risk = pue_risk(self.net(batch.x), batch.labeled, data.unlabeled_prior, weights, c.correction)
                run.step(risk.objective, optimizer, report={"risk": risk.value})

    def _batches(self, run: Run[Config], rows: Tensor | None = None, u_rows: Tensor | None = None) -> Iterator[Batch]:
        """Batches of P and U, as configured; of the given rows, and unlabeled rows among them, or of all."""
        if self.config.batching == "joint":
            return run.joint_batches(rows)
        return starmap(_stacked, run.paired_batches(u_rows=u_rows))

    @torch.no_grad()
    def _weights(self, batch: Batch) -> Tensor:
        """Normalized within the batch; the network of the propensity is in training mode, as in Wang et al.'s code."""
        return inverse_weights(self.propensity(batch.x), batch.labeled, self.config.min_propensity)

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)

    def auxiliary_scores(self, x: Tensor) -> dict[str, Tensor]:
        return {"propensity": torch.sigmoid(self.propensity(x))}


def _stacked(p: Batch, u: Batch) -> Batch:
    """A batch of P and one of U as one."""
    return Batch(*(torch.cat(pair) for pair in zip(p, u, strict=True)))
