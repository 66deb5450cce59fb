"""Dist-PU: the distribution of the labels predicted on U is made that of the prior.

Paper: Zhao, Xu, Jiang, Wen, Huang, CVPR 2022. Official code:
Ray-rui/Dist-PU-Positive-Unlabeled-Learning-from-a-Label-Distribution-Perspective (cb74be1).
Follows the official code: a warm-up that aligns the mean prediction on P with 1 and on U with the prior (plus a little
entropy), then a second stage that adds entropy minimization and mixup towards stored predictions, which every step
renews for its rows. Differs in networks, which are PU-Bench's, and in that no epoch of the warm-up can be chosen.
Cross-entropies and entropies are computed from logits, so that they are finite without clipping too. The prior is the
share of positives in U.

With a prior above one half, training may end at a network that decides positive for every row, as it does on Connect-4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from pubench.method import Batch, Field, LogUniform, Method, PowerOfTwo, PUData, Run, TrainingConfig
from pubench_formulas import ramps
from pubench_formulas.entropy import binary_entropy
from pubench_formulas.losses import masked_mean
from pubench_formulas.mixing import mix

#: The second stage's learning rate ends at this share of itself.
LAST_RATE = 0.7


class Config(TrainingConfig):
    lr: float = Field(
        5e-5, gt=0, description="learning rate of the second stage", search=LogUniform(10**-4.5, 10**-2.5)
    )
    weight_decay: float = Field(1e-3, ge=0, description="L2 penalty of the second stage")
    warm_up_lr: float | None = Field(5e-4, gt=0, description="learning rate of the warm-up; none: lr")
    warm_up_weight_decay: float = Field(5e-3, ge=0, description="L2 penalty of the warm-up")
    schedule: Literal["cosine", "none"] = Field("cosine", description="learning rates over the epochs of a stage")
    batch_size: int = Field(256, ge=1, description="rows per batch (of P and of U, if paired)", search=PowerOfTwo(5, 8))
    batching: Literal["joint", "paired"] = Field(
        "joint", description="LP and U shuffled together, or one batch of each"
    )
    epochs: int = Field(120, ge=1, description="epochs of both stages; the second has at least one")
    warm_up: int = Field(60, ge=0, description="of these, the warm-up, which cannot be chosen")
    counted_in: Literal["epochs", "passes"] = Field(
        "epochs", description="what warm_up counts; passes over U are rounded to epochs"
    )
    patience: int | None = Field(None, ge=1, description="epochs without improvement before a criterion stops")
    bins: int = Field(1, ge=1, description="bins of the histograms that are aligned; 1 compares means")
    clip: float | None = Field(10.0, gt=0, description="logits are clipped to [-clip, clip]; none: never")
    mixup_alpha: float = Field(6.0, gt=0, description="parameter of the Beta distribution of the coefficient")
    weight_warm_up_entropy: float = Field(0.002, ge=0, description="weight of the entropy on U in the warm-up")
    weight_entropy: float = Field(0.004, ge=0, description="weight of the entropy on U that the second stage grows to")
    weight_mixed_entropy: float = Field(0.04, ge=0, description="weight of the entropy of mixed rows")
    weight_mixup: float = Field(5.0, ge=0, description="weight of the cross-entropy of mixed rows")


def soft_histogram(probability: Tensor, mask: Tensor, bins: int) -> Tensor:
    """(bins + 1,) mean weight of the rows of a mask at t_k = k / bins: max(0, 1 - bins |s - t_k|); zeros if none."""
    grid = torch.linspace(0, 1, bins + 1, dtype=probability.dtype, device=probability.device)
    weight = F.relu(1 - bins * (probability[:, None] - grid).abs())
    return weight.masked_fill(~mask[:, None], 0).sum(0) / mask.sum().clamp(min=1)


def distribution_risk(logits: Tensor, labeled: Tensor, prior: float, bins: int = 1) -> Tensor:
    """Distance of the histograms of P from one at s = 1, and of U from π at s = 1 and 1 - π at s = 0.

    One bin: 1 - mean_P s + |mean_U s - π| / (2 π), the paper's risk divided by 2 π (as in the official code).
    (B,) logits, (B,) bool, π in (0, 1). Of a batch without P (or U) that term is 0.
    """
    probability = torch.sigmoid(logits)
    place = torch.arange(bins + 1, device=probability.device)
    at_0, at_1 = (place == 0).to(probability.dtype), (place == bins).to(probability.dtype)
    on_p = (soft_histogram(probability, labeled, bins) - at_1).abs().mean() * labeled.any()
    expected = (1 - prior) * at_0 + prior * at_1
    on_u = (soft_histogram(probability, ~labeled, bins) - expected).abs().mean() * (~labeled).any()
    return on_p + on_u / (2 * prior)


def entropy_weight(largest: float, epoch: int, epochs: int) -> float:
    """Weight of the entropy on U in an epoch (from 0) of the second stage: it grows from 0 along a quarter cosine."""
    return largest * (1 - math.cos(epoch / epochs * math.pi / 2))


def clipped(logits: Tensor, limit: float | None) -> Tensor:
    """Logits in [-limit, limit]; no gradient flows outside."""
    return logits if limit is None else logits.clamp(-limit, limit)


def stored_targets(store: Tensor, labeled: Tensor, row: Tensor) -> Tensor:
    """(B,) soft targets of a batch: the stored predictions of its rows, 1 for labeled positives."""
    return store[row].masked_fill(labeled, 1)


def mixup_loss(logits: Tensor, targets: Tensor, order: Tensor, coefficient: float) -> Tensor:
    """Mean cross-entropy of mixed rows: g BCE(s, y) + (1 - g) BCE(s, y[order]), which is BCE(s, the mixed target)."""
    return F.binary_cross_entropy_with_logits(logits, mix(targets, targets[order], coefficient))


class DistPU(Method[Config]):
    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"})

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c = self.config
        self.net = run.backbone()
        batches: Callable[[], Iterator[Batch]] = run.joint_batches if c.batching == "joint" else run.stacked_batches
        second = max(1, c.epochs - run.in_epochs(c.warm_up, c.counted_in))
        # The warm-up's schedule, too, is over the length of the second stage, as in the official code.
        optimizer = self._optimizer(run, c.lr if c.warm_up_lr is None else c.warm_up_lr, c.warm_up_weight_decay)
        schedule = self._schedule(optimizer, second, last=0)
        for _ in run.epochs(c.epochs - second, stage="warm-up", selectable=False, patience=None):
            for batch in batches():
                logits = self.net(batch.x)
                risk = distribution_risk(logits, batch.labeled, data.unlabeled_prior, c.bins)
                uncertainty = masked_mean(binary_entropy(clipped(logits, c.clip)), ~batch.labeled)
                run.step(risk + c.weight_warm_up_entropy * uncertainty, optimizer, report={"risk": risk})
            schedule.step()

        store = torch.sigmoid(run.scores(self.net))
        optimizer = self._optimizer(run, c.lr, c.weight_decay)
        schedule = self._schedule(optimizer, second, last=LAST_RATE)
        for epoch in run.epochs(second, stage="mixup"):
            weight = entropy_weight(c.weight_entropy, epoch.in_stage, second)
            for batch in batches():
                order = run.permutation(len(batch.x))
                coefficient = float(run.numpy_rng.beta(c.mixup_alpha, c.mixup_alpha))
                losses, logits = self._losses(batch, store, data.unlabeled_prior, order, coefficient, weight)
                run.step(sum(losses.values(), torch.zeros_like(losses["risk"])), optimizer, report=losses)
                store[batch.row] = torch.sigmoid(logits.detach())
            schedule.step()

    def _losses(
        self, batch: Batch, store: Tensor, prior: float, order: Tensor, coefficient: float, weight: float
    ) -> tuple[dict[str, Tensor], Tensor]:
        """Weighted losses of one batch of the second stage, and its clipped logits."""
        c = self.config
        # Two passes, the mixed rows first: batch norm normalizes each kind by itself, as in the official code.
        mixed = clipped(self.net(mix(batch.x, batch.x[order], coefficient)), c.clip)
        logits = clipped(self.net(batch.x), c.clip)
        targets = stored_targets(store, batch.labeled, batch.row)
        return {
            "risk": distribution_risk(logits, batch.labeled, prior, c.bins),
            "entropy": weight * masked_mean(binary_entropy(logits), ~batch.labeled),
            "mixed entropy": c.weight_mixed_entropy * binary_entropy(mixed).mean(),
            "mixup": c.weight_mixup * mixup_loss(mixed, targets, order, coefficient),
        }, logits

    def _optimizer(self, run: Run[Config], rate: float, weight_decay: float) -> Optimizer:
        """A new optimizer of the network, with the penalty of its stage."""
        groups: Iterable[object] = [{"params": list(self.net.parameters()), "weight_decay": weight_decay}]
        return run.optimizer(groups, lr=rate)

    def _schedule(self, optimizer: Optimizer, epochs: int, last: float) -> LambdaLR:
        """The learning rate's factor over the epochs of a stage: half a cosine from 1 to ``last``, or 1."""
        falls = self.config.schedule == "cosine"
        return LambdaLR(optimizer, lambda epoch: ramps.cosine(epoch, epochs, 1.0, last) if falls else 1.0)

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)
