"""P3Mix-C: mixup with heuristic partners and corrected pseudo-negatives.

Paper: Li, Li, Feng, Ouyang, ICLR 2022. Official code: on request only.
Follows the paper as PU-Bench's source-aligned revision reads it: unlabeled rows are pseudo-negatives; after a warm-up
of ordinary mixup, those that the network calls positive with confidence are corrected, and those near the boundary are
mixed with labeled positives near the boundary. Differs from PU-Bench's paper code in that inputs are mixed as well as
targets.
"""

from __future__ import annotations

from itertools import chain
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.optim.lr_scheduler import MultiStepLR

from pubench.method import Batch, Field, LogUniform, Method, PowerOfTwo, PUData, RequestError, Run, TrainingConfig
from pubench_formulas.entropy import binary_entropy
from pubench_formulas.losses import masked_mean
from pubench_formulas.mixing import forward_mixed, mix

#: Probabilities are clipped to [CLIP, 1 - CLIP] before the logarithm; no gradient flows outside.
CLIP = 1e-4


class Config(TrainingConfig):
    lr: float = Field(1e-3, gt=0, description="learning rate", search=LogUniform(10**-4.5, 10**-2.5))
    weight_decay: float = Field(1e-6, ge=0, description="L2 penalty added to the gradient")
    batch_size: int = Field(256, ge=1, description="rows of P and of U per batch", search=PowerOfTwo(5, 8))
    steps_per_epoch: int | None = Field(100, ge=1, description="steps per epoch; none: one pass over U")
    warm_up: int = Field(15, ge=0, description="ordinary mixup before partners are chosen, in what counted_in says")
    milestones: tuple[int, ...] = Field((20, 40, 60, 80, 100), description="when lr is halved, in what counted_in says")
    counted_in: Literal["epochs", "passes"] = Field(
        "epochs", description="what warm_up and milestones count; passes over U are rounded to epochs"
    )
    pool_size: int = Field(100, ge=1, description="labeled positives of highest entropy kept as partners")
    confidence: float = Field(0.85, gt=0.5, lt=1, description="probability from which a U row is corrected (gamma)")
    mixup_alpha: float = Field(0.5, gt=0, description="parameter of the Beta distribution of the coefficient")
    mix_layer: int = Field(-1, ge=-1, description="stage after which rows are mixed; -1 mixes inputs")
    weight_unlabeled: float = Field(0.5, ge=0, description="weight of the cross-entropy on U")
    weight_entropy: float = Field(0.05, ge=0, description="weight of the entropy, which is minimized")


class Partners(NamedTuple):
    """Partners that each row is mixed with: (B, *shape) inputs and (B,) positive targets."""

    x: Tensor
    target: Tensor


class Losses(NamedTuple):
    """Mean cross-entropy on P, on U, and mean entropy on all rows."""

    positive: Tensor
    unlabeled: Tensor
    entropy: Tensor


def corrected_targets(labeled: Tensor, probability: Tensor, confidence: float) -> Tensor:
    """(B,) positive targets: 1 for P, and for U rows with probability >= confidence; 0 for the rest."""
    return (labeled | (probability >= confidence)).to(probability.dtype)


def marginal_rows(labeled: Tensor, probability: Tensor, confidence: float) -> Tensor:
    """(B,) True for U rows with 1 - confidence < probability < confidence, both strict."""
    return ~labeled & (probability > 1 - confidence) & (probability < confidence)


def most_uncertain(logits: Tensor, k: int) -> Tensor:
    """Positions of the k highest entropies (all, if there are fewer), ties by position."""
    return torch.sort(binary_entropy(logits), descending=True, stable=True).indices[:k]


def mixup_losses(logits: Tensor, targets: Tensor, labeled: Tensor) -> Losses:
    """Losses of (B,) logits against (B,) mixed positive targets."""
    p = torch.sigmoid(logits).clamp(CLIP, 1 - CLIP)
    q = torch.sigmoid(-logits).clamp(CLIP, 1 - CLIP)
    cross_entropy = -(targets * p.log() + (1 - targets) * q.log())
    entropy = -(p * p.log() + q * q.log())
    return Losses(masked_mean(cross_entropy, labeled), masked_mean(cross_entropy, ~labeled), entropy.mean())


def heuristic_partners(x: Tensor, targets: Tensor, marginal: Tensor, drawn: Tensor, from_pool: Tensor) -> Partners:
    """Marginal rows get the row of ``from_pool`` in their place (target 1), all others row ``drawn`` of the batch."""
    mask = marginal.view(-1, *[1] * (x.dim() - 1))
    return Partners(torch.where(mask, from_pool, x[drawn]), torch.where(marginal, 1.0, targets[drawn]))


class P3MixC(Method[Config]):
    def fit(self, data: PUData, run: Run[Config]) -> None:
        c = self.config
        self.net = run.backbone()
        if c.mix_layer >= len(self.net.stages):
            raise RequestError(
                f"mix_layer {c.mix_layer}: this backbone has stages 0 to {len(self.net.stages) - 1}; -1 mixes inputs"
            )
        optimizer = run.optimizer(self.net.parameters(), betas=(0.5, 0.99))
        schedule = MultiStepLR(optimizer, [run.in_epochs(number, c.counted_in) for number in c.milestones], gamma=0.5)
        pool = data.labeled_rows[:0]
        warm_up = min(run.in_epochs(c.warm_up, c.counted_in), c.epochs)
        for epoch in chain(
            run.epochs(warm_up, stage="mixup", patience=None),
            run.epochs(c.epochs - warm_up, stage="heuristic mixup"),
        ):
            heuristic = epoch.total >= warm_up
            for batch in run.stacked_batches(tail="keep"):
                losses = self._mixed_losses(batch, data, pool, heuristic, run)
                total = losses.positive + c.weight_unlabeled * losses.unlabeled + c.weight_entropy * losses.entropy
                run.step(total, optimizer, report=losses._asdict())
            schedule.step()
            if epoch.total >= warm_up - 1:
                pool = data.labeled_rows[most_uncertain(run.scores(self.net, data.labeled_rows), c.pool_size)]

    def _mixed_losses(self, batch: Batch, data: PUData, pool: Tensor, heuristic: bool, run: Run[Config]) -> Losses:
        """Losses of one batch, mixed with its partners; the coefficient is drawn once per batch."""
        c, n = self.config, len(batch.x)
        draw = float(run.numpy_rng.beta(c.mixup_alpha, c.mixup_alpha))
        coefficient = max(draw, 1 - draw)
        targets = batch.labeled.float()
        if heuristic:
            probability = torch.sigmoid(run.scores(self.net, batch.row))
            targets = corrected_targets(batch.labeled, probability, c.confidence)
        if heuristic and len(pool):
            drawn, uncertain = run.integers(n, n), run.integers(len(pool), n)
            marginal = marginal_rows(batch.labeled, probability, c.confidence)
            partners = heuristic_partners(batch.x, targets, marginal, drawn, data.take(pool[uncertain]))
        else:
            drawn = run.permutation(n)
            partners = Partners(batch.x[drawn], targets[drawn])
        logits = forward_mixed(self.net, batch.x, partners.x, coefficient, c.mix_layer)
        return mixup_losses(logits, mix(targets, partners.target, coefficient), batch.labeled)

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)
