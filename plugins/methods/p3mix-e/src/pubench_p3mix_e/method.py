"""P3Mix-E: mixup with heuristic partners and early-learning regularization.

Paper: Li, Li, Feng, Ouyang, ICLR 2022. Official code: on request only.
Follows the paper as PU-Bench's source-aligned revision reads it: unlabeled rows are pseudo-negatives; after a warm-up
of ordinary mixup, those near the boundary are mixed with labeled positives near the boundary. A teacher, the average of
the network's parameters over epochs, remembers what was learned before the false negatives were: the network is held
to its outputs. The teacher stays in training mode, so that batch norm normalizes its outputs by the batch. Differs from
PU-Bench's paper code in that inputs are mixed as well as targets, and in epochs that count from 0. The regularizer
falls without bound except for the clipped probabilities: with a large weight the total is negative.
"""

from __future__ import annotations

from copy import deepcopy
from itertools import chain
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import MultiStepLR

from pubench.method import Batch, Field, LogUniform, Method, PowerOfTwo, PUData, RequestError, Run, TrainingConfig
from pubench_formulas import averaging
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
    warm_up: int = Field(5, ge=0, description="ordinary mixup before partners are chosen, in what counted_in says")
    milestones: tuple[int, ...] = Field((20, 40, 60, 80, 100), description="when lr is halved, in what counted_in says")
    counted_in: Literal["epochs", "passes"] = Field(
        "epochs", description="what warm_up and milestones count; passes over U are rounded to epochs"
    )
    pool_size: int = Field(100, ge=1, description="labeled positives of highest entropy kept as partners")
    confidence: float = Field(0.85, gt=0.5, lt=1, description="probability from which a U row is not marginal (gamma)")
    mixup_alpha: float = Field(0.5, gt=0, description="parameter of the Beta distribution of the coefficient")
    mix_layer: int = Field(-1, ge=-1, description="stage after which rows are mixed; -1 mixes inputs")
    weight_unlabeled: float = Field(1.0, ge=0, description="weight of the cross-entropy on U")
    weight_entropy: float = Field(0.01, ge=0, description="weight of the entropy, which is minimized")
    weight_early: float = Field(0.5, ge=0, description="weight of the early-learning term")
    teacher_decay: float = Field(0.997, ge=0, le=1, description="largest decay of the teacher, per epoch")


class Partners(NamedTuple):
    """Partners that each row is mixed with: (B, *shape) inputs, (B,) positive targets, (B,) the teacher's targets."""

    x: Tensor
    target: Tensor
    early: Tensor


class Losses(NamedTuple):
    """Mean cross-entropy on P, on U, mean entropy on all rows, and the early-learning term of all rows."""

    positive: Tensor
    unlabeled: Tensor
    entropy: Tensor
    early: Tensor


def marginal_rows(labeled: Tensor, probability: Tensor, confidence: float) -> Tensor:
    """(B,) True for U rows with 1 - confidence < probability < confidence, both strict."""
    return ~labeled & (probability > 1 - confidence) & (probability < confidence)


def most_uncertain(logits: Tensor, k: int) -> Tensor:
    """Positions of the k highest entropies (all, if there are fewer), ties by position."""
    return torch.sort(binary_entropy(logits), descending=True, stable=True).indices[:k]


def mixup_losses(logits: Tensor, targets: Tensor, early: Tensor, labeled: Tensor) -> Losses:
    """Losses of (B,) logits against (B,) mixed positive targets and (B,) mixed targets of the teacher.

    The early-learning term, mean log(1 - <e, p>), falls as the probabilities p come near the teacher's e.
    """
    p = torch.sigmoid(logits).clamp(CLIP, 1 - CLIP)
    q = torch.sigmoid(-logits).clamp(CLIP, 1 - CLIP)
    cross_entropy = -(targets * p.log() + (1 - targets) * q.log())
    entropy = -(p * p.log() + q * q.log())
    unlike = (1 - (early * p + (1 - early) * q)).log()
    return Losses(
        masked_mean(cross_entropy, labeled), masked_mean(cross_entropy, ~labeled), entropy.mean(), unlike.mean()
    )


def heuristic_partners(
    x: Tensor, targets: Tensor, early: Tensor, marginal: Tensor, drawn: Tensor, from_pool: Tensor
) -> Partners:
    """Marginal rows get the row of ``from_pool`` in their place (both targets 1), all others row ``drawn``."""
    mask = marginal.view(-1, *[1] * (x.dim() - 1))
    others = (values[drawn].masked_fill(marginal, 1) for values in (targets, early))
    return Partners(torch.where(mask, from_pool, x[drawn]), *others)


def decay_after(epoch: int, largest: float) -> float:
    """The teacher's decay after an epoch (from 0): min(1 - 1 / (epoch + 1), largest).

    0 after the first epoch; until ``largest`` is reached, the teacher is the even average over epochs.
    """
    return min(1 - 1 / (epoch + 1), largest)


class P3MixE(Method[Config]):
    def fit(self, data: PUData, run: Run[Config]) -> None:
        c = self.config
        self.net = run.backbone()
        if c.mix_layer >= len(self.net.stages):
            raise RequestError(
                f"mix_layer {c.mix_layer}: this backbone has stages 0 to {len(self.net.stages) - 1}; -1 mixes inputs"
            )
        teacher = deepcopy(self.net).requires_grad_(False)  # in training mode: no running statistic of it is read
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
                losses = self._mixed_losses(batch, data, teacher, pool, heuristic, run)
                labels = losses.positive + c.weight_unlabeled * losses.unlabeled
                total = labels + c.weight_entropy * losses.entropy + c.weight_early * losses.early
                run.step(total, optimizer, report=losses._asdict())
            averaging.update(teacher, self.net, decay_after(epoch.total, c.teacher_decay), buffers="leave")
            schedule.step()
            if epoch.total >= warm_up - 1:
                pool = data.labeled_rows[most_uncertain(run.scores(self.net, data.labeled_rows), c.pool_size)]

    def _mixed_losses(
        self, batch: Batch, data: PUData, teacher: nn.Module, pool: Tensor, heuristic: bool, run: Run[Config]
    ) -> Losses:
        """Losses of one batch, mixed with its partners; the coefficient is drawn once per batch."""
        c, n = self.config, len(batch.x)
        draw = float(run.numpy_rng.beta(c.mixup_alpha, c.mixup_alpha))
        coefficient = max(draw, 1 - draw)
        targets = batch.labeled.float()
        with torch.no_grad():
            early = torch.sigmoid(teacher(batch.x))
        if heuristic and len(pool):
            probability = torch.sigmoid(run.scores(self.net, batch.row))
            drawn, uncertain = run.integers(n, n), run.integers(len(pool), n)
            marginal = marginal_rows(batch.labeled, probability, c.confidence)
            partners = heuristic_partners(batch.x, targets, early, marginal, drawn, data.take(pool[uncertain]))
        else:
            drawn = run.permutation(n)
            partners = Partners(batch.x[drawn], targets[drawn], early[drawn])
        logits = forward_mixed(self.net, batch.x, partners.x, coefficient, c.mix_layer)
        remembered = mix(early, partners.early, coefficient)
        return mixup_losses(logits, mix(targets, partners.target, coefficient), remembered, batch.labeled)

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)
