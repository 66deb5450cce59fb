"""Self-PU: self boosted and calibrated positive-unlabeled training.

Paper: Chen, Chen, Chen, Yuan, Gong, Chen, Wang, ICML 2020. Official code: TAMU-VITA/Self-PU.
Two students learn with the nnPU risk. Each takes the unlabeled rows of which it is surest as clean rows, whose entropy
it lowers; for the others, weights of the risk and of the entropy are calibrated by a virtual step. Later, teachers
(averages of the students) choose the clean rows and are followed, as the other student is. The best of the four counts.
Follows the official loop. The distance to the teacher is that of probabilities: the official softmax over one output is
0. That to the other student counts in noisy batches, below a share of their PU loss. The meta batch is of validation U.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import deepcopy
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR

from pubench.method import Batch, Field, LogUniform, Method, PowerOfTwo, PUData, Run, Scorer, TrainingConfig
from pubench_formulas import averaging, ramps
from pubench_formulas.entropy import binary_entropy
from pubench_formulas.losses import SURROGATES, Surrogate, masked_mean
from pubench_formulas.risks import PURisk

from .calibration import calibrated_weights, movements, weight_slopes


class Config(TrainingConfig):
    lr: float = Field(1e-3, gt=0, description="learning rate", search=LogUniform(10**-4.5, 10**-2.5))
    weight_decay: float = Field(5e-4, ge=0, description="L2 penalty added to the gradient")
    batch_size: int = Field(256, ge=2, description="rows per batch", search=PowerOfTwo(5, 8))
    epochs: int = Field(40, ge=1, description="epochs")
    patience: int | None = Field(None, ge=1, description="epochs without improvement; none: the best of all epochs")
    schedule: Literal["cosine", "none"] = Field("none", description="learning rates over the epochs")
    paced_from: int = Field(5, ge=0, description="epoch from which clean rows are chosen and weights calibrated")
    paced_until: int = Field(40, ge=0, description="epoch from which neither is done")
    choose_every: int = Field(2, ge=1, description="epochs from one choice of clean rows to the next")
    ramp_from: int = Field(5, ge=0, description="epoch at which the number of clean rows starts to grow")
    ramp_epochs: int = Field(30, ge=1, description="epochs over which it grows")
    clean_share_first: float = Field(
        0.1, ge=0, lt=1, description="largest share of U in the first student's clean rows"
    )
    clean_share_second: float = Field(0.2, ge=0, lt=1, description="largest share of U in the second student's")
    surrogate: Surrogate = Field("sigmoid", description="loss l in the nnPU risk")
    clean_loss: Literal["entropy", "pseudo-labels"] = Field("entropy", description="loss of clean rows")
    calibrate_weights: bool = Field(True, description="weights of noisy rows by a virtual step; off: all 1")
    virtual_lr: float = Field(1e-3, gt=0, description="learning rate of the virtual step")
    virtual_entropy: Literal["official", "derived"] = Field(
        "official", description="sign of the entropy in the virtual step's loss: minus, or plus as in the training loss"
    )
    entropy_budget: float = Field(1 / 16, ge=0, description="entropy weight per row of a full batch, at most (gamma)")
    taught_from: int = Field(10, ge=0, description="epoch from which teachers and the other student are followed")
    teacher_decay: float = Field(0.999, ge=0, le=1, description="largest decay of the teachers, per pass")
    weight_consistency: float = Field(0.3, ge=0, description="weight of the distance to the teacher after its ramp")
    consistency_from: int = Field(0, ge=0, description="epoch at which this ramp starts")
    consistency_epochs: int = Field(20, ge=1, description="epochs of this ramp")
    mutual_gate: float = Field(0.1, ge=0, description="share of the PU loss below which the other student counts")


def weighted_nnpu(
    scores: Tensor, labeled: Tensor, prior: float, weights: Tensor | float = 1.0, surrogate: Surrogate = "sigmoid"
) -> PURisk:
    """The nnPU risk of (B,) logits, each of whose terms has the weight of its row.

    Means divide by numbers of rows, not by sums of weights. Where the negative part is below 0, it ascends alone.
    """
    loss = SURROGATES[surrogate]
    positive = prior * masked_mean(weights * loss(scores), labeled)
    as_negative = weights * loss(-scores)
    negative = masked_mean(as_negative, ~labeled) - prior * masked_mean(as_negative, labeled)
    fires = negative < 0
    return PURisk(positive + negative.clamp(min=0), torch.where(fires, -negative, positive + negative))


def clean_loss(scores: Tensor, positive: Tensor, kind: Literal["entropy", "pseudo-labels"]) -> Tensor:
    """Mean entropy of (B,) logits, or their cross-entropy under the pseudo-labels ``positive``, (B,) bool."""
    if kind == "entropy":
        return binary_entropy(scores).mean()
    return F.softplus(torch.where(positive, -scores, scores)).mean()


def squared_distance(scores: Tensor, other: Tensor) -> Tensor:
    """Mean squared difference of the probabilities of (B,) logits."""
    return (torch.sigmoid(scores) - torch.sigmoid(other)).square().mean()


def gated(distance: Tensor, loss: Tensor, gate: float) -> Tensor:
    """The distance, or 0 unless it is below ``gate`` times the loss."""
    return torch.where(distance < gate * loss.detach(), distance, 0.0)


def consistency_weight(epoch: int, largest: float, start: int, epochs: int) -> float:
    """largest * exp(-5 (1 - t)^2), where t goes from 0 at epoch ``start`` to 1 in ``epochs`` epochs."""
    return largest * math.exp(-5 * (1 - ramps.linear(epoch - start, epochs, 0, 1)) ** 2)


def clean_count(n_unlabeled: int, progress: float, share: float) -> int:
    """How many rows are chosen on either side: half the share of U, times the progress of its ramp in [0, 1]."""
    return int(n_unlabeled * 0.5 * progress * share)


def most_decided(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Positions of the k lowest and of the k highest scores, ties by position; none for k = 0."""
    order = scores.argsort(stable=True)
    return order[:k], order[len(order) - k :]


def interleaved(positives: Tensor, unlabeled: Tensor) -> Tensor:
    """A stream of rows: every r-th is the next positive, all others the next of U, r = n_U // n_P + 1, at least 2.

    It ends with the positives; fewer than n_P rows of U are left over. Where U is smaller than P, it starts again.
    """
    n_p, n_u = len(positives), len(unlabeled)
    period = max(n_u // n_p + 1, 2)
    others = torch.arange(n_p * (period - 1), device=unlabeled.device) % n_u
    return torch.cat([positives[:, None], unlabeled[others].view(n_p, period - 1)], dim=1).flatten()


class SelfPU(Method[Config]):
    """Students and teachers exist from the start; teachers are candidates from the epoch that makes them."""

    scored_by = ("students", "teachers", "taught")

    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"})

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c, passes = self.config, 0
        self.students = nn.ModuleList([run.backbone(), run.backbone()])
        self.teachers = deepcopy(self.students).requires_grad_(False)
        self.taught = False
        clean = [(data.labeled_rows[:0], data.labeled_rows[:0])] * 2
        optimizers = [run.optimizer(student.parameters()) for student in self.students]
        schedules = [CosineAnnealingLR(optimizer, c.epochs) for optimizer in optimizers if c.schedule == "cosine"]
        for epoch in run.epochs(c.epochs):
            paced = c.paced_from <= epoch.total < c.paced_until
            if epoch.total == c.taught_from:
                self.taught = True
                self.teachers.load_state_dict(self.students.state_dict())
            for noisy in (False, True):
                for i, optimizer in enumerate(optimizers):
                    for batch in self._noisy(clean[i], data, run) if noisy else run.joint_batches(torch.cat(clean[i])):
                        z = self.students[i](batch.x)
                        if noisy:
                            loss = self._of_noisy(i, z, batch, paced and c.calibrate_weights, data, run)
                        else:
                            loss = clean_loss(z, torch.isin(batch.row, clean[i][1]), c.clean_loss)
                        run.step(loss + self._from_teacher(i, z, batch.x, epoch.total), optimizer)
                if self.taught:
                    decay = min(1 - 1 / (passes + 1), c.teacher_decay)
                    averaging.update(self.teachers, self.students, decay, buffers="leave")
                    passes += 1
            for schedule in schedules:
                schedule.step()
            if paced and (epoch.total - c.paced_from) % c.choose_every == 0:
                clean = self._chosen(epoch.total, data, run)

    def _noisy(self, clean: tuple[Tensor, Tensor], data: PUData, run: Run[Config]) -> Iterator[Batch]:
        """Batches of P among the rows of U that are not clean: one stream, or as many as the steps of an epoch take."""
        u = data.unlabeled_rows
        sides = data.labeled_rows, u[~torch.isin(u, torch.cat(clean))]
        size, steps = self.config.batch_size, self.config.steps_per_epoch
        stream = sides[0][:0]
        while not len(stream) or (steps is not None and len(stream) < steps * size):
            p, rest = (rows[run.permutation(len(rows))] for rows in sides)
            stream = torch.cat([stream, interleaved(p, rest)])
        if steps is not None:
            stream = stream[: steps * size]
        # Batch norm cannot train on a last batch of one row.
        yield from run.batches(stream[:-1] if len(stream) % size == 1 else stream)

    def _of_noisy(self, i: int, z: Tensor, batch: Batch, calibrated: bool, data: PUData, run: Run[Config]) -> Tensor:
        """The PU loss with calibrated weights and entropy, or without; the other student is followed if it is near."""
        c, prior = self.config, data.unlabeled_prior
        if calibrated:
            weights = self._weights(i, z, batch, data, run)
            pu = weighted_nnpu(z, batch.labeled, prior, weights[:, 0], c.surrogate).objective
            loss = pu + (weights[:, 1] * binary_entropy(z)).mean()
        else:
            loss = pu = weighted_nnpu(z, batch.labeled, prior, surrogate=c.surrogate).objective
        if not self.taught:
            return loss
        with run.inference(self.students[1 - i]):
            other = self.students[1 - i](batch.x)
        return loss + gated(squared_distance(z, other), pu, c.mutual_gate)

    def _weights(self, i: int, z: Tensor, batch: Batch, data: PUData, run: Run[Config]) -> Tensor:
        """(B, 2) weights, calibrated on unlabeled rows of the validation part, or of training if it has none."""
        c = self.config
        part = data.validation if data.validation.n_unlabeled else data
        meta = part.take(part.unlabeled_rows[run.integers(part.n_unlabeled, c.batch_size)])
        with run.frozen_statistics(self.students[i]):
            moved = movements(self.students[i], z, meta)
        sign = -1.0 if c.virtual_entropy == "official" else 1.0
        slopes = weight_slopes(
            z.detach(),
            batch.labeled,
            moved,
            data.unlabeled_prior,
            rate=c.virtual_lr,
            entropy_sign=sign,
            surrogate=c.surrogate,
        )
        return calibrated_weights(slopes, batch.labeled, c.entropy_budget * c.batch_size)

    def _from_teacher(self, i: int, z: Tensor, x: Tensor, epoch: int) -> Tensor | float:
        """The weighted distance to the teacher, in training mode: batch norm learns its statistics here."""
        if not self.taught:
            return 0.0
        c = self.config
        with torch.no_grad():
            teacher = self.teachers[i](x)
        weight = consistency_weight(epoch, c.weight_consistency, c.consistency_from, c.consistency_epochs)
        return weight * squared_distance(z, teacher)

    def _chosen(self, epoch: int, data: PUData, run: Run[Config]) -> list[tuple[Tensor, Tensor]]:
        """Per student: the rows of U of which it, or its teacher once there are any, is surest: negative, positive."""
        c, rows, chosen = self.config, data.unlabeled_rows, []
        progress = ramps.linear(epoch - c.ramp_from, c.ramp_epochs, 0, 1)
        judges = self.teachers if self.taught else self.students
        for judge, share in zip(judges, (c.clean_share_first, c.clean_share_second), strict=True):
            low, high = most_decided(run.scores(judge, rows), clean_count(len(rows), progress, share))
            chosen.append((rows[low], rows[high]))
        return chosen

    def decision_function(self, x: Tensor) -> Tensor:
        scores: Tensor = self.students[0](x)
        return scores

    def candidates(self) -> dict[str, Scorer]:
        students: dict[str, Scorer] = {f"student-{i}": net for i, net in enumerate(self.students)}
        return students | {f"teacher-{i}": net for i, net in enumerate(self.teachers)} if self.taught else students
