"""PULDA: alignment of label distributions over running means, with a margin.

Paper: Jiang, Xu, Zhao, Yang, Wen, Cao, Huang, IEEE TPAMI 45(12), 2023. Official code: jiangyangby/PULDA (7b3dcad).
Follows the official code: a warm-up on the alignment loss and the two-way sigmoid loss, both over running means of the
batch means, then a second stage that adds mixup towards stored predictions, which every step renews for its rows. The
distance inside the two-way loss has sharpness 1 whatever the value of ``sharpness``, as in that code.
Differs in networks, which are PU-Bench's; in that no epoch of the warm-up can be chosen; in that running means are over
training batches only (the official validation pass overwrites them with test rows); and in that P drops its incomplete
last batch at a reshuffle, where the official sampler spans it.
The prior is the share of positives in U.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from pubench.method import Batch, Field, LogUniform, Method, PUData, Run, TrainingConfig
from pubench_formulas import ramps
from pubench_formulas.losses import masked_mean
from pubench_formulas.mixing import mix

#: The second stage's learning rate ends at this share of itself.
LAST_RATE = 0.7


class Config(TrainingConfig):
    lr: float = Field(
        1e-3, gt=0, description="learning rate of the second stage", search=LogUniform(10**-4.5, 10**-2.5)
    )
    weight_decay: float = Field(1e-4, ge=0, description="L2 penalty of the second stage")
    warm_up_lr: float = Field(1e-4, gt=0, description="learning rate of the warm-up")
    warm_up_weight_decay: float = Field(5e-4, ge=0, description="L2 penalty of the warm-up")
    warm_up_loss: Literal["alignment", "bce"] = Field(
        "alignment", description="loss of the warm-up: that of the method, or cross-entropy with U as negative"
    )
    p_batch_size: int = Field(16, ge=1, description="labeled positives per batch")
    batch_size: int = Field(128, ge=1, description="unlabeled rows per batch")
    epochs: int = Field(120, ge=1, description="epochs of both stages; the second has at least one")
    warm_up: int = Field(60, ge=0, description="of these, epochs of warm-up, which cannot be chosen")
    patience: int | None = Field(None, ge=1, description="epochs without improvement before a criterion stops")
    sharpness: float = Field(3.5, gt=0, description="inverse temperature of the distance to the prior")
    smoothing: float = Field(0.85, ge=0, lt=1, description="share of the past in the running mean on U; 0: none")
    two_way: bool = Field(True, description="whether the two-way sigmoid loss is added")
    margin: float = Field(0.6, ge=0, description="margin of the two-way sigmoid loss")
    margin_smoothing: float = Field(0.5, ge=0, lt=1, description="share of the past in its running means; 0: none")
    clip: float = Field(10.0, gt=0, description="logits of the second stage are clipped to [-clip, clip]")
    mixup_alpha: float = Field(11.0, gt=0, description="parameter of the Beta distribution of the coefficient")
    weight_mixup: float = Field(4.2, ge=0, description="weight of the cross-entropy of mixed rows")


class Average(NamedTuple):
    """A running mean without gradient, and whether it has a value yet; both 0-dimensional."""

    value: Tensor
    known: Tensor

    @classmethod
    def unknown(cls, device: torch.device | None = None) -> Average:
        """No value yet."""
        return cls(torch.zeros((), device=device), torch.zeros((), dtype=torch.bool, device=device))


class Averages(NamedTuple):
    """State of the losses: running means of s on U, and of the two-way loss as negative on P and on U."""

    score_u: Average
    negative_p: Average
    negative_u: Average

    @classmethod
    def unknown(cls, device: torch.device | None = None) -> Averages:
        """No value yet."""
        return cls(*(Average.unknown(device) for _ in cls._fields))


def smoothed(
    average: Average, mean: Tensor, present: Tensor, running: Tensor, smoothing: float
) -> tuple[Tensor, Average]:
    """The mean to be used in this batch, and the running mean after it.

    Where it is ``running``: a h + (1 - a) mean, of which only the batch's part has a gradient, and h itself where the
    batch has no such row (not ``present``). Before that: the batch's mean.
    """
    blended = torch.where(present, smoothing * average.value + (1 - smoothing) * mean, average.value)
    current = torch.where(running, blended, mean)
    return current, Average(torch.where(present, current.detach(), average.value), average.known | present)


def distance(first: Tensor, second: Tensor | float, sharpness: float) -> Tensor:
    """Softplus distance: at least 2 log(2) / sharpness, where both are equal."""
    difference = first - second
    return F.softplus(difference, beta=sharpness) + F.softplus(-difference, beta=sharpness)


def alignment_loss(
    logits: Tensor, labeled: Tensor, prior: float, average: Average, *, sharpness: float = 3.5, smoothing: float = 0.85
) -> tuple[Tensor, Average]:
    """2 π (1 - mean_P s) + D(h, π) / (1 - a), h the running mean of s on U; undivided as long as h is this batch's.

    (B,) logits, (B,) bool. Of a batch without P (or U) that term is 0.
    """
    probability = torch.sigmoid(logits)
    some_u = (~labeled).any()
    on_p = masked_mean(1 - probability, labeled)
    current, after = smoothed(average, masked_mean(probability, ~labeled), some_u, average.known, smoothing)
    on_u = distance(current, prior, sharpness) / torch.where(average.known, 1 - smoothing, 1.0)
    return 2 * prior * on_p + on_u * some_u, after


def two_way_sigmoid(logits: Tensor, margin: float) -> Tensor:
    """Loss of rows as positives, sigmoid(z) sigmoid(-(z - margin)); as negatives it is that of -z. In (0, 1)."""
    return torch.sigmoid(logits) * torch.sigmoid(margin - logits)


def two_way_loss(
    logits: Tensor,
    labeled: Tensor,
    prior: float,
    averages: tuple[Average, Average],
    *,
    margin: float = 0.6,
    smoothing: float = 0.5,
) -> tuple[Tensor, tuple[Average, Average]]:
    """π C_P+ + D_1(r, π q) / (1 - a), q and r the running means of C_P- and C_U-; undivided until both have a value."""
    as_negative = two_way_sigmoid(-logits, margin)
    running = averages[0].known & averages[1].known
    q, q_after = smoothed(averages[0], masked_mean(as_negative, labeled), labeled.any(), running, smoothing)
    r, r_after = smoothed(averages[1], masked_mean(as_negative, ~labeled), (~labeled).any(), running, smoothing)
    on_p = masked_mean(two_way_sigmoid(logits, margin), labeled)
    apart = distance(r, prior * q, 1.0) / torch.where(running, 1 - smoothing, 1.0)
    return prior * on_p + apart, (q_after, r_after)


def stored_targets(store: Tensor, labeled: Tensor, row: Tensor) -> Tensor:
    """(B,) soft targets of a batch: the stored predictions of its rows, 1 for labeled positives."""
    return store[row].masked_fill(labeled, 1)


def mixup_loss(logits: Tensor, targets: Tensor, order: Tensor, coefficient: float) -> Tensor:
    """Mean cross-entropy of mixed rows: g BCE(s, y) + (1 - g) BCE(s, y[order]), which is BCE(s, the mixed target)."""
    return F.binary_cross_entropy_with_logits(logits, mix(targets, targets[order], coefficient))


class PULDA(Method[Config]):
    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"})

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c = self.config
        self.net = run.backbone()
        second = max(1, c.epochs - c.warm_up)
        averages = Averages.unknown(run.device)
        optimizer = self._optimizer(run, c.warm_up_lr, c.warm_up_weight_decay)
        # The warm-up's schedule, too, is over the length of the second stage, as in the official code.
        schedule = LambdaLR(optimizer, lambda epoch: ramps.cosine(epoch, second, 1, 0))
        for _ in run.epochs(c.epochs - second, stage="warm-up", selectable=False, patience=None):
            for batch in self._batches(run):
                logits = self.net(batch.x)
                if c.warm_up_loss == "bce":
                    run.step(F.binary_cross_entropy_with_logits(logits, batch.labeled.float()), optimizer)
                else:
                    losses, averages = self._aligned(logits, batch.labeled, data.unlabeled_prior, averages)
                    run.step(torch.stack(list(losses.values())).sum(), optimizer, report=losses)
            schedule.step()

        store, averages = torch.sigmoid(run.scores(self.net)), Averages.unknown(run.device)
        optimizer = self._optimizer(run, c.lr, c.weight_decay)
        schedule = LambdaLR(optimizer, lambda epoch: ramps.cosine(epoch, second, 1, LAST_RATE))
        for _ in run.epochs(second, stage="mixup"):
            for batch in self._batches(run):
                targets = stored_targets(store, batch.labeled, batch.row)
                order = run.permutation(len(batch.x))
                coefficient = float(run.numpy_rng.beta(c.mixup_alpha, c.mixup_alpha))
                # Two passes, the mixed rows first: batch norm normalizes each kind by itself, as in the official code.
                mixed = self.net(mix(batch.x, batch.x[order], coefficient)).clamp(-c.clip, c.clip)
                logits = self.net(batch.x).clamp(-c.clip, c.clip)
                losses, averages = self._aligned(logits, batch.labeled, data.unlabeled_prior, averages)
                losses["mixup"] = c.weight_mixup * mixup_loss(mixed, targets, order, coefficient)
                run.step(torch.stack(list(losses.values())).sum(), optimizer, report=losses)
                store[batch.row] = torch.sigmoid(logits.detach())
            schedule.step()

    def _aligned(
        self, logits: Tensor, labeled: Tensor, prior: float, averages: Averages
    ) -> tuple[dict[str, Tensor], Averages]:
        """The two alignment losses of a batch, and the running means after it."""
        c = self.config
        aligned, score_u = alignment_loss(
            logits, labeled, prior, averages.score_u, sharpness=c.sharpness, smoothing=c.smoothing
        )
        losses, negative = {"alignment": aligned}, averages[1:]
        if c.two_way:
            losses["two-way"], negative = two_way_loss(
                logits, labeled, prior, negative, margin=c.margin, smoothing=c.margin_smoothing
            )
        return losses, Averages(score_u, *negative)

    def _batches(self, run: Run[Config]) -> Iterator[Batch]:
        """Batches of P and U, stacked: one pass over U, whose incomplete last batch is dropped."""
        for p, u in run.paired_batches(self.config.p_batch_size, self.config.batch_size, tail="drop"):
            yield Batch(torch.cat([p.x, u.x]), torch.cat([p.labeled, u.labeled]), torch.cat([p.row, u.row]))

    def _optimizer(self, run: Run[Config], rate: float, weight_decay: float) -> Optimizer:
        """A new optimizer of the network, with the penalty of its stage."""
        groups: Iterable[object] = [{"params": list(self.net.parameters()), "weight_decay": weight_decay}]
        return run.optimizer(groups, lr=rate)

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)
