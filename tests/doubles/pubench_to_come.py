"""Doubles of methods that are to come: each trains as its method will, and shows that the engine has what that takes.

They follow the cards of the papers; what no hook depends on (the networks of an official script, say) is left out.
"""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F
from torch.optim import Optimizer
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LRScheduler, MultiStepLR

from pubench.method import (
    Batch,
    Field,
    Method,
    NetworkBuilder,
    PUData,
    RequestError,
    Run,
    Scorer,
    TrainingConfig,
    averaging,
    binary_entropy,
    count_log_probabilities,
    forward_mixed,
    logistic_loss,
    masked_mean,
    mix,
    pu_risk,
    ramps,
)
from pubench_core import MethodInfo, Preset, hookimpl

#: Probabilities are clipped to [CLIP, 1 - CLIP] before a logarithm.
CLIP = 1e-4

# ---------------------------------------------------------------- PAN (Hu et al., AAAI 2021)


class PANConfig(TrainingConfig):
    lr: float = Field(1e-4, gt=0, description="learning rate")
    weight_decay: float = Field(1e-3, ge=0, description="L2 penalty added to the gradient")
    batch_size: int = Field(500, ge=2, description="rows of P and U per batch, in the proportion of the whole sets")
    epochs: int = Field(200, ge=1, description="passes over U")
    balance: float = Field(1e-4, ge=0, description="weight of the difference between classifier and discriminator")


def pan_value(d_p: Tensor, d_u: Tensor, r_u: Tensor, balance: float) -> Tensor:
    """V of probabilities: the discriminator's of P and U, the classifier's of U.

    Of the first n_P rows of U, only those below their mean are negatives for the discriminator.
    """
    eps, d_h = 0.01, d_u[: len(d_p)]
    margin = (1 - d_h + eps).log() - (1 - d_h.detach().mean()).clamp(min=eps).log()
    separation = (d_p + eps).log().sum() + margin.clamp(min=0).sum()
    return separation + balance * (((1 - r_u + eps).log() - (r_u + eps).log()) * (2 * d_u - 1)).sum()


class PAN(Method[PANConfig]):
    """Two networks play for one value; both gradients come from the same forward pass."""

    scored_by = ("net", "discriminator")

    def fit(self, data: PUData, run: Run[PANConfig]) -> None:
        c = self.config
        p_size = max(1, round(c.batch_size * data.n_labeled / len(data)))
        self.net, self.discriminator = run.backbone(), run.backbone()
        lowers, raises = (run.optimizer(n.parameters(), betas=(0.5, 0.999)) for n in (self.net, self.discriminator))
        for _ in run.epochs(c.epochs):
            for p, u in run.paired_batches(p_size, max(2, c.batch_size - p_size)):
                d_p, d_u = self.discriminator(torch.cat([p.x, u.x])).sigmoid().split([len(p.x), len(u.x)])
                value = pan_value(d_p, d_u, self.net(u.x).sigmoid(), c.balance)
                run.step((value, lowers), (-value, raises), report={"loss": value})

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)

    def auxiliary_scores(self, x: Tensor) -> dict[str, Tensor]:
        return {"discriminator": self.discriminator(x).sigmoid()}


# ---------------------------------------------------------------- CGenPU (Papic, Kononenko, Bosnic, 2023)


class CGenPUConfig(TrainingConfig):
    lr: float = Field(1e-4, gt=0, description="learning rate of all three networks")
    batch_size: int = Field(128, ge=2, description="rows of P, of U and of each generated class per batch")
    epochs: int = Field(1000, ge=1, description="passes over U")
    latent: int = Field(100, ge=1, description="size of the noise that rows are generated from")
    auxiliary: float = Field(1.0, ge=0, description="weight of the divergences in the generator's loss")


def new_generator(shape: tuple[int, ...], latent: int) -> nn.Sequential:
    """(B, latent + 2) noise and code -> (B, *shape); images in [0, 1]."""
    size, output = math.prod(shape), nn.Sigmoid() if len(shape) == 3 else nn.Identity()
    hidden = [nn.Linear(latent + 2, 128), nn.BatchNorm1d(128), nn.ReLU()]
    return nn.Sequential(*hidden, nn.Linear(128, size), output, nn.Unflatten(1, shape))


def new_discriminator(shape: tuple[int, ...]) -> nn.Sequential:
    """(B, *shape) -> (B,) logits of being a real row."""
    hidden = [nn.Flatten(), nn.Linear(math.prod(shape), 128), nn.BatchNorm1d(128), nn.LeakyReLU(0.2)]
    return nn.Sequential(*hidden, nn.Linear(128, 1), nn.Flatten(0))


def generated(generator: nn.Module, noise: Tensor) -> tuple[Tensor, Tensor]:
    """Positive rows, with code (1, 0), and negative ones, with code (0, 1), of (B, latent) uniform noise in [0, 1)."""
    z = 2 * noise - 1
    positive, negative = (F.pad(F.pad(z, (0, 1), value=code), (0, 1), value=1 - code) for code in (1, 0))
    return generator(positive), generator(negative)


def divergence(p: Tensor, q: Tensor) -> Tensor:
    """Mean of p log(p / q) of (B,) probabilities, row by row; without the part of the other class."""
    p, q = p.clamp(1e-7, 1), q.clamp(1e-7, 1)
    return (p * (p / q).log()).mean()


def disagreement(a_p: Tensor, a_gp: Tensor, a_gn: Tensor) -> Tensor:
    """Of the classifier's probabilities of P, generated positives and generated negatives."""
    return divergence(a_p, a_gp) + divergence(a_gp, 1 - a_gn)


class CGenPU(Method[CGenPUConfig]):
    """Three networks: a generator of both classes, a discriminator of real rows, the classifier."""

    scored_by = ("net", "discriminator")

    def fit(self, data: PUData, run: Run[CGenPUConfig]) -> None:
        c = self.config
        self.net, self.discriminator = run.backbone(), run.module(lambda: new_discriminator(data.shape))
        self.generator = run.module(lambda: new_generator(data.shape, c.latent))
        networks = (self.net, self.discriminator, self.generator)
        on_net, on_discriminator, on_generator = (run.optimizer(n.parameters(), betas=(0.5, 0.999)) for n in networks)
        for _ in run.epochs(c.epochs):
            for p, u in run.paired_batches():
                with run.inference(self.generator):
                    g_p, g_n = generated(self.generator, run.uniform(len(p.x), c.latent))
                real, fake = (self._taken_for(sign, pair) for sign, pair in ((1, (p.x, u.x)), (-1, (g_p, g_n))))
                run.step((real + fake) / 2, on_discriminator, name="discriminator")
                a_p, a_gp, a_gn = (self.net(x).sigmoid() for x in (p.x, g_p, g_n))
                of_net = c.auxiliary * (divergence(torch.ones_like(a_p), a_p) + disagreement(a_p, a_gp, a_gn))
                run.step(of_net, on_net)
                g_p, g_n = generated(self.generator, run.uniform(len(p.x), c.latent))
                with run.evaluation(self.discriminator, self.net):
                    agreed = disagreement(*(self.net(x).sigmoid() for x in (p.x, g_p, g_n)))
                    of_generator = self._taken_for(1, (g_p, g_n)) + c.auxiliary * agreed
                run.step(of_generator, on_generator, name="generator")

    def _taken_for(self, sign: int, pair: tuple[Tensor, Tensor]) -> Tensor:
        """The discriminator's loss where both batches are to be real (sign 1) or generated (-1)."""
        one, other = (logistic_loss(sign * self.discriminator(x)).mean() for x in pair)
        return one + other

    def assemble(self, build: NetworkBuilder) -> None:
        self.discriminator = new_discriminator(build.shape)

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)

    def auxiliary_scores(self, x: Tensor) -> dict[str, Tensor]:
        return {"real": self.discriminator(x).sigmoid()}

    def samples(self, n: int, run: Run[CGenPUConfig]) -> dict[str, Tensor]:
        positive, negative = generated(self.generator, run.uniform(n, self.config.latent))
        return {"positive": positive, "negative": negative}


# ---------------------------------------------------------------- Holistic-PU (Wang et al., NeurIPS 2023)


#: Weak and strong views of images, and of vectors (PU-Bench's).
IMAGE_VIEWS: tuple[dict[str, Any], ...] = (
    {},
    {"operations": "randaugment", "probability": 0.5, "magnitude": 0.9, "fill": 0.5},
)
VECTOR_VIEWS: tuple[dict[str, Any], ...] = ({"noise": 0.01}, {"noise": 0.05, "drop": 0.05, "sign": 0.05})


class HolisticPUConfig(TrainingConfig):
    optimizer: Literal["adam", "adamw", "sgd"] = Field("sgd", description="optimizer; sgd uses momentum")
    lr: float = Field(0.01, gt=0, description="learning rate")
    weight_decay: float = Field(5e-4, ge=0, description="L2 penalty of weights; biases and batch norm have none")
    batch_size: int = Field(64, ge=2, description="rows of P and of U per batch")
    observed: int = Field(15, ge=2, description="epochs over which the trend of every unlabeled row is followed")
    epochs: int = Field(25, ge=1, description="epochs on the labels that follow from the trends")
    steps_per_epoch: int = Field(512, ge=1, description="steps per epoch")
    smoothing: float = Field(0.1, ge=0, lt=1, description="label smoothing of P while trends are followed")
    decay: float = Field(0.999, ge=0, le=1, description="decay of the teacher per step")
    threshold: float = Field(0.9, gt=0, lt=1, description="confidence from which a weak view labels its strong one")


def trend(history: Tensor) -> Tensor:
    """(T, n) probabilities of being positive over T epochs -> (n,) mean logarithmic rise."""
    rise = history.diff(dim=0)
    return (1 + rise + rise.square() / 2).log().mean(dim=0)


def natural_break(values: Tensor) -> Tensor:
    """(n,) -> the largest value of the lower of two classes with the least sum of squares within them."""
    v = values.double().sort().values
    n, low = len(v), torch.arange(1, len(v), device=v.device)
    total, squares = v.cumsum(0), v.square().cumsum(0)
    below = squares[:-1] - total[:-1].square() / low
    above = squares[-1] - squares[:-1] - (total[-1] - total[:-1]).square() / (n - low)
    return v[(below + above).argmin()]


def rising(trends: Tensor) -> Tensor:
    """(n,) bool: rows above the natural break; where it is above 0, it is found again without the steepest rows."""
    at, rest = natural_break(trends), trends[trends < 0.2 / 9]
    return trends > (natural_break(rest) if at > 0 and len(rest) > 1 else at)


class HolisticPU(Method[HolisticPUConfig]):
    """A teacher's predictions of every row are kept over epochs; a fresh network learns what their trends say."""

    def fit(self, data: PUData, run: Run[HolisticPUConfig]) -> None:
        c, history = self.config, []
        self.net = run.backbone(outputs=2)
        teacher = deepcopy(self.net)
        optimizer, schedule = self._optimizer(run)
        for _ in run.epochs(c.observed, stage="trends", selectable=False):
            for p, u in run.paired_batches():
                weak_p, strong_p, weak_u, _ = self._views(p, u, run)
                as_positive = sum(self._towards(1, z, c.smoothing) for z in (weak_p, strong_p)) / 2
                run.step(as_positive + self._towards(0, weak_u), optimizer)
                schedule.step()
                averaging.update(teacher, self.net, c.decay, buffers="copy")
            history.append(run.scores(lambda x: teacher(x).softmax(dim=1)[:, 1], data.unlabeled_rows))

        pseudo = torch.zeros(len(data), device=run.device)
        pseudo[data.unlabeled_rows] = rising(trend(torch.stack(history))).float()
        self.net = run.backbone(outputs=2)
        optimizer, schedule = self._optimizer(run)
        for epoch in run.epochs(c.epochs):
            share = (epoch.in_stage / c.epochs) ** 0.8
            for p, u in run.paired_batches():
                weak_p, _, weak_u, strong_u = self._views(p, u, run)
                target = share * pseudo[u.row]
                on_u = F.cross_entropy(weak_u, torch.stack([1 - target, target], dim=1))
                confidence, label = weak_u.detach().softmax(dim=1).max(dim=1)
                on_strong = F.cross_entropy(strong_u, label, reduction="none") * (confidence >= c.threshold)
                run.step(self._towards(1, weak_p) + on_u + on_strong.mean(), optimizer)
                schedule.step()

    def _optimizer(self, run: Run[HolisticPUConfig]) -> tuple[Optimizer, LRScheduler]:
        """SGD with Nesterov's momentum; the learning rate follows 7/16 of a cosine."""
        weights, rest = ([p for p in self.net.parameters() if (p.dim() > 1) == many] for many in (True, False))
        optimizer = run.optimizer([{"params": weights}, {"params": rest, "weight_decay": 0.0}], nesterov=True)
        steps = self.config.epochs * self.config.steps_per_epoch
        return optimizer, LambdaLR(optimizer, lambda step: math.cos(7 * math.pi * step / (16 * steps)))

    def _views(self, p: Batch, u: Batch, run: Run[HolisticPUConfig]) -> tuple[Tensor, ...]:
        """Logits of a weak and a strong view of P, and of U; one forward pass, so that batch norm sees all four."""
        weak, strong = IMAGE_VIEWS if p.x.dim() == 4 else VECTOR_VIEWS
        views = [view for x in (p.x, u.x) for view in (run.weak(x, **weak), run.strong(x, **strong))]
        return self.net(torch.cat(views)).split([len(p.x), len(p.x), len(u.x), len(u.x)])

    @staticmethod
    def _towards(label: int, logits: Tensor, smoothing: float = 0.0) -> Tensor:
        target = torch.full((len(logits),), label, device=logits.device)
        return F.cross_entropy(logits, target, label_smoothing=smoothing)

    def decision_function(self, x: Tensor) -> Tensor:
        negative, positive = self.net(x).unbind(dim=1)
        return positive - negative


# ---------------------------------------------------------------- Self-PU (Chen et al., ICML 2020)


class SelfPUConfig(TrainingConfig):
    lr: float = Field(5e-4, gt=0, description="learning rate, along half a cosine")
    weight_decay: float = Field(5e-3, ge=0, description="L2 penalty added to the gradient")
    epochs: int = Field(200, ge=1, description="epochs")
    paced: tuple[int, int] = Field((10, 50), description="epochs, from and until, of self-paced learning")
    every: int = Field(10, ge=1, description="epochs between two choices of the clean rows")
    ramp: int = Field(100, ge=1, description="epoch at which the clean rows are as many as they may be")
    shares: tuple[float, float] = Field((0.4, 0.6), description="largest share of U in either student's clean rows")
    taught_from: int = Field(50, ge=0, description="epoch from which teachers and the other student are followed")
    decay: float = Field(0.999, ge=0, le=1, description="largest decay of the teachers, per pass")
    consistency: float = Field(0.3, ge=0, description="weight of the squared distance to the teacher")
    gate: float = Field(0.1, ge=0, description="share of the loss below which the students' distance counts")
    budget: float = Field(1 / 16, ge=0, le=1, description="entropy weight per row of a batch, at most")


def weighted_nnpu(scores: Tensor, labeled: Tensor, prior: float, weights: Tensor | float = 1.0) -> Tensor:
    """The non-negative risk with a weight per row, divided by the numbers of rows; its negative part ascends alone."""
    positive = prior * masked_mean(weights * (-scores).sigmoid(), labeled)
    as_negative = weights * scores.sigmoid()
    negative = masked_mean(as_negative, ~labeled) - prior * masked_mean(as_negative, labeled)
    return torch.where(negative < 0, -negative, positive + negative)


def calibrated_weights(
    student: nn.Module, batch: Batch, meta: Tensor, prior: float, budget: float
) -> tuple[Tensor, Tensor]:
    """Weights of every row in the risk and in the entropy, (B,) each, that lower the entropy of the ``meta`` rows.

    A virtual step of the student is taken with both weights at 0; where they go is decided by the gradient of the
    entropy after it. Entropy weights add up to about ``budget`` at most, given out in the order of the rows.
    """
    weights = torch.zeros(2, len(batch.x), device=batch.x.device, requires_grad=True)
    z, parameters = student(batch.x), dict(student.named_parameters())
    inner = weighted_nnpu(z, batch.labeled, prior, weights[0]) - (binary_entropy(z) * weights[1]).mean()
    steps = torch.autograd.grad(inner, list(parameters.values()), create_graph=True)
    virtual = {name: p - 1e-3 * step for (name, p), step in zip(parameters.items(), steps, strict=True)}
    (slope,) = torch.autograd.grad(2 * binary_entropy(functional_call(student, virtual, (meta,))).mean(), weights)
    on_risk, on_entropy = (-slope).clamp(min=0)
    share = (on_entropy / (on_risk + 1e-10 + on_entropy)).masked_fill(batch.labeled, 0)
    share = share * (share.cumsum(0) - share < budget)
    return 1 - share, share


def most_decided(rows: Tensor, scores: Tensor, k: int) -> Tensor:
    """The k rows with the lowest and the k with the highest scores."""
    order = scores.argsort(stable=True)
    return rows[torch.cat([order[:k], order[len(order) - k :]])]


class SelfPU(Method[SelfPUConfig]):
    """Two students and their teachers; the weights of rows come from a virtual step."""

    scored_by = ("students", "teachers", "taught")

    @classmethod
    def requires(cls, config: SelfPUConfig) -> frozenset[str]:
        return frozenset({"prior"})

    def fit(self, data: PUData, run: Run[SelfPUConfig]) -> None:
        c, rows, prior = self.config, data.unlabeled_rows, data.unlabeled_prior
        self.students = nn.ModuleList([run.backbone(), run.backbone()])
        self.teachers = deepcopy(self.students).requires_grad_(False)
        self.taught, passes, clean = False, 0, [rows[:0], rows[:0]]
        optimizers = [run.optimizer(student.parameters()) for student in self.students]
        schedules = [CosineAnnealingLR(optimizer, c.epochs) for optimizer in optimizers]
        for epoch in run.epochs(c.epochs):
            paced = c.paced[0] <= epoch.total < c.paced[1]
            if epoch.total == c.taught_from:
                self.taught = True
                self.teachers.load_state_dict(self.students.state_dict())
            for noisy in (False, True):
                for i, student in enumerate(self.students):
                    for batch in self._batches(clean[i], noisy, data, run):
                        z = student(batch.x)
                        loss = weighted_nnpu(z, batch.labeled, prior) if noisy else binary_entropy(z).mean()
                        if noisy and paced:
                            with run.frozen_statistics(student):
                                on_risk, on_entropy = self._weights(student, batch, data, run)
                            loss = weighted_nnpu(z, batch.labeled, prior, on_risk)
                            loss = loss + (on_entropy * binary_entropy(z)).mean()
                        run.step(loss + self._disagreement(i, batch.x, z, loss, epoch.total, run), optimizers[i])
                if self.taught:
                    passes += 1
                    decay = min(1 - 1 / (passes + 1), c.decay)
                    averaging.update(self.teachers, self.students, decay, buffers="leave")
            for schedule in schedules:
                schedule.step()
            if paced and (epoch.total - c.paced[0]) % c.every == 0:
                sizes = [int(len(rows) * 0.5 * min(epoch.total / c.ramp, 1) * share) for share in c.shares]
                clean = [most_decided(rows, run.scores(s, rows), k) for s, k in zip(self.students, sizes, strict=True)]

    def _batches(self, clean: Tensor, noisy: bool, data: PUData, run: Run[SelfPUConfig]) -> Any:
        """Batches of the clean rows, or of all others, P included."""
        is_clean = torch.zeros(len(data), dtype=torch.bool, device=run.device)
        is_clean[clean] = True
        rows = torch.nonzero(~is_clean if noisy else is_clean).flatten()
        return run.joint_batches(rows)

    def _weights(self, student: nn.Module, batch: Batch, data: PUData, run: Run[SelfPUConfig]) -> tuple[Tensor, Tensor]:
        """Weights of a batch, calibrated on unlabeled validation rows: the official code takes test rows."""
        rows = data.validation.unlabeled_rows
        meta = data.validation.take(rows[run.integers(len(rows), len(batch.x))])
        budget = self.config.budget * self.config.batch_size
        return calibrated_weights(student, batch, meta, data.unlabeled_prior, budget)

    def _disagreement(
        self, i: int, x: Tensor, z: Tensor, loss: Tensor, epoch: int, run: Run[SelfPUConfig]
    ) -> Tensor | float:
        """Squared distances to the teacher, and to the other student where that is small beside the loss."""
        if not self.taught:
            return 0.0
        with run.inference(self.students[1 - i]):
            other = self.students[1 - i](x).sigmoid()
            teacher = self.teachers[i](x).sigmoid()  # in training mode: batch norm learns its statistics here
        mutual = (z.sigmoid() - other).square().mean()
        weight = self.config.consistency * math.exp(-5 * (1 - ramps.linear(epoch - 30, 400, 0, 1)) ** 2)
        return weight * (z.sigmoid() - teacher).square().mean() + torch.where(
            mutual < self.config.gate * loss, mutual, 0.0
        )

    def decision_function(self, x: Tensor) -> Tensor:
        return self.students[0](x)

    def candidates(self) -> dict[str, Scorer]:
        students = {f"student-{i}": net for i, net in enumerate(self.students)}
        teachers = {f"teacher-{i}": net for i, net in enumerate(self.teachers)}
        return students | teachers if self.taught else students


# ---------------------------------------------------------------- LaGAM (Long et al., CVPR 2024)


class LaGAMConfig(TrainingConfig):
    optimizer: Literal["adam", "adamw", "sgd"] = Field("sgd", description="optimizer; sgd uses momentum")
    weight_decay: float = Field(1e-4, ge=0, description="L2 penalty added to the gradient")
    batch_size: int = Field(64, ge=2, description="rows per batch")
    epochs: int = Field(400, ge=1, description="epochs, the first twentieth of which is a warm-up")
    warm_up: float = Field(0.05, ge=0, le=1, description="share of epochs with fixed labels and no groups")
    near_from: float = Field(0.125, ge=0, le=1, description="share of epochs after which neighbors are in a group")
    clusters: int = Field(100, ge=1, description="groups of rows, at most as many as rows")
    temperature: float = Field(0.07, gt=0, description="temperature of the contrastive loss")
    meta_lr: float = Field(1e-3, gt=0, description="learning rate of the virtual step of the head")
    held_out: float = Field(0.05, gt=0, lt=1, description="share of P and of U that judges the virtual step")


def balanced_bce(logits: Tensor, targets: Tensor) -> Tensor:
    """Sum of both classes' mean cross-entropies; (B,) logits, (B, 2) soft targets, negative and positive."""
    log_p = torch.stack([-logits, logits], dim=1).sigmoid().clamp(CLIP, 1 - CLIP).log()
    return (-(targets * log_p).sum(dim=0) / (targets.sum(dim=0) + 1e-8)).sum()


def columns(positive: Tensor) -> Tensor:
    """(B,) positive targets -> (B, 2), negative and positive."""
    return torch.stack([1 - positive, positive], dim=1)


def contrast(q: Tensor, k: Tensor, group: Tensor | None, near: int, temperature: float) -> Tensor:
    """Every row of q with its own view in k, and with its group among all of q and k; unit rows (B, d).

    ``group``: (B,) equal within a group; ``near``: how many neighbors, the row itself being the first, belong to it
    whatever their group is.
    """
    n, own = len(q), torch.eye(len(q), 2 * len(q), dtype=torch.bool, device=q.device)
    likeness = q @ torch.cat([q, k]).T / temperature
    total = likeness.masked_fill(own, -torch.inf).logsumexp(dim=1)
    instance = (total - likeness.diagonal(offset=n)).mean()
    if group is None:
        return instance
    same = (group[:, None] == group).repeat(1, 2).scatter(1, likeness.topk(near).indices, True) & ~own
    return instance + (total - (likeness * same).sum(dim=1) / same.sum(dim=1)).mean()


def k_means(points: Tensor, centers: Tensor, iterations: int = 20) -> tuple[Tensor, Tensor]:
    """(n,) nearest center of every point, and the sum of squared distances to it."""
    for _ in range(iterations):
        member = F.one_hot(torch.cdist(points, centers).argmin(dim=1), len(centers)).to(points.dtype)
        count = member.sum(dim=0)[:, None]
        centers = torch.where(count > 0, member.T @ points / count.clamp(min=1), centers)
    distance, nearest = torch.cdist(points, centers).min(dim=1)
    return nearest, distance.square().sum()


def meta_labels(
    head: nn.Linear, hidden: Tensor, soft: Tensor, judges: Tensor, labeled: Tensor, prior: float, rate: float
) -> Tensor:
    """(B,) 0 or 1: towards which label a row should go for a virtual step of the head's weight to serve the judges.

    ``hidden``, ``judges``: features of the batch and of held-out rows, of which ``labeled`` are in P.
    """

    def logits(features: Tensor, weight: Tensor) -> Tensor:
        return F.linear(features, weight, head.bias).squeeze(-1)

    shift = torch.zeros(len(soft), 2, device=soft.device, requires_grad=True)
    inner = balanced_bce(logits(hidden, head.weight), columns(soft) + shift)
    (step,) = torch.autograd.grad(inner, head.weight, create_graph=True)
    outer = pu_risk(logits(judges, head.weight - rate * step), labeled, prior, surrogate="logistic").objective
    (slope,) = torch.autograd.grad(outer, shift)
    return (slope[:, 1] < slope[:, 0]).to(soft.dtype)


class LaGAM(Method[LaGAMConfig]):
    """Soft labels of every row, renewed by a meta step on the head; a projection is contrasted within groups."""

    @classmethod
    def requires(cls, config: LaGAMConfig) -> frozenset[str]:
        return frozenset({"prior"})

    def check(self, data: PUData) -> None:
        if data.n_labeled < 2:
            raise RequestError("LaGAM holds labeled positives out and needs 2 of them, given 1; raise mechanism.c")

    def fit(self, data: PUData, run: Run[LaGAMConfig]) -> None:
        c, soft = self.config, data.labeled.float()
        views = {} if len(data.shape) == 1 else {"operations": "randaugment", "number": 3, "cutout": (0, 0.5)}
        rows, held = data.hold_out(c.held_out, run.generator)
        judges = held[data.labeled[held]], held[~data.labeled[held]]
        self.net = run.backbone()
        d = self.net.feature_dim
        projection = run.module(lambda: nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 128)))
        optimizer = run.optimizer([*self.net.parameters(), *projection.parameters()])
        schedule = MultiStepLR(optimizer, [int(share * c.epochs) for share in (0.625, 0.75, 0.875)])
        for epoch in run.epochs(c.epochs):
            progress, renewed = epoch.total / c.epochs, soft.clone()
            keep = ramps.linear(progress, 1, 0.95, 0.80)
            warm = epoch.total < c.warm_up * c.epochs
            cluster = None if warm else self._clusters(projection, run)
            for batch in run.joint_batches(rows):
                label, weak, strong = soft[batch.row], run.weak(batch.x), run.strong(batch.x, **views)
                if not warm:
                    hard = self._meta_step(weak, label, data, judges, run).masked_fill(batch.labeled, 1)
                    label = renewed[batch.row] = keep * label + (1 - keep) * hard
                partner, draw = run.permutation(len(weak)), float(run.numpy_rng.beta(4, 4))
                coefficient = max(draw, 1 - draw)
                hidden, hidden_strong = self.net.features(torch.cat([weak, strong])).chunk(2)
                z = self.net.head(hidden).squeeze(-1)
                z_mixed = self.net(mix(weak, weak[partner], coefficient))
                q, k = (F.normalize(projection(h), dim=1) for h in (hidden, hidden_strong))
                group = None if cluster is None else 2 * cluster[batch.row] + (z > 0.5)
                near = min(10, len(q)) if progress > c.near_from else 0
                on_mixed = balanced_bce(z_mixed, columns(mix(label, label[partner], coefficient)))
                loss = balanced_bce(z, columns(label)) + on_mixed + contrast(q, k, group, near, c.temperature)
                run.step(loss, optimizer)
            soft = renewed
            schedule.step()

    def _clusters(self, projection: nn.Module, run: Run[LaGAMConfig]) -> Tensor:
        """(n,) the cluster of every row: of five times k-means, the one with the least distances."""
        points = run.scores(lambda x: F.normalize(projection(self.net.features(x)), dim=1))
        starts = [points[run.permutation(len(points))[: self.config.clusters]] for _ in range(5)]
        return min((k_means(points, start) for start in starts), key=lambda found: float(found[1]))[0]

    def _meta_step(
        self, x: Tensor, soft: Tensor, data: PUData, judges: tuple[Tensor, Tensor], run: Run[LaGAMConfig]
    ) -> Tensor:
        """Hard labels of a batch, judged by as many held-out rows of P as of U."""
        half = self.config.batch_size // 2
        drawn = torch.cat([side[run.integers(len(side), half)] for side in judges])
        with run.frozen_statistics(self.net), torch.no_grad():
            hidden, features = self.net.features(x), self.net.features(data.take(drawn))
        rate, prior = self.config.meta_lr, data.unlabeled_prior
        return meta_labels(self.net.head, hidden, soft, features, data.labeled[drawn], prior, rate)

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)


# ---------------------------------------------------------------- P3Mix-E (Li et al., ICLR 2022)


class P3MixEConfig(TrainingConfig):
    weight_decay: float = Field(1e-6, ge=0, description="L2 penalty added to the gradient")
    steps_per_epoch: int | None = Field(100, ge=1, description="steps per epoch; none: one pass over U")
    heuristic_from: int = Field(5, ge=0, description="epoch from which partners are chosen")
    pool_size: int = Field(100, ge=1, description="labeled positives of highest entropy kept as partners")
    gamma: float = Field(0.85, gt=0.5, lt=1, description="probability above which a row is not marginal")
    alpha: float = Field(0.5, gt=0, description="parameter of the Beta distribution of the coefficient")
    weight_entropy: float = Field(0.01, ge=0, description="weight of the entropy")
    weight_early: float = Field(0.5, ge=0, description="weight of early-learning regularization")
    decay: float = Field(0.997, ge=0, le=1, description="largest decay of the teacher, per epoch")


def early_mixup_loss(
    logits: Tensor, target: Tensor, early: Tensor, labeled: Tensor, on_entropy: float, on_early: float
) -> Tensor:
    """Cross-entropy on P and on U, entropy, and likeness to the teacher; of (B,) logits and positive targets."""
    p = torch.stack([-logits, logits], dim=1).sigmoid().clamp(CLIP, 1 - CLIP)
    cross_entropy = -(columns(target) * p.log()).sum(dim=1)
    entropy = -(p * p.log()).sum(dim=1).mean()
    unlike = (1 - (columns(early) * p).sum(dim=1)).log().mean()
    on_labels = masked_mean(cross_entropy, labeled) + masked_mean(cross_entropy, ~labeled)
    return on_labels + on_entropy * entropy + on_early * unlike


class P3MixE(Method[P3MixEConfig]):
    """Rows are mixed with partners, and held to a teacher: the average of parameters over epochs."""

    def fit(self, data: PUData, run: Run[P3MixEConfig]) -> None:
        c = self.config
        self.net = run.backbone()
        teacher = deepcopy(self.net).requires_grad_(False)
        optimizer = run.optimizer(self.net.parameters(), betas=(0.5, 0.99))
        schedule = MultiStepLR(optimizer, [20, 40, 60, 80, 100], gamma=0.5)
        pool = data.labeled_rows[:0]
        for epoch in run.epochs(c.epochs):
            for batch in run.stacked_batches(tail="keep"):
                n, target = len(batch.x), batch.labeled.float()
                draw = float(run.numpy_rng.beta(c.alpha, c.alpha))
                coefficient = max(draw, 1 - draw)
                with torch.no_grad(), run.frozen_statistics(self.net):
                    early, probability = teacher(batch.x).sigmoid(), self.net(batch.x).sigmoid()
                partner = run.integers(n, n) if len(pool) else run.permutation(n)
                x, t, e = batch.x[partner], target[partner], early[partner]
                if len(pool):
                    marginal = ~batch.labeled & (probability > 1 - c.gamma) & (probability < c.gamma)
                    uncertain = data.take(pool[run.integers(len(pool), n)])
                    x = torch.where(marginal.view(-1, *[1] * (x.dim() - 1)), uncertain, x)
                    t, e = (values.masked_fill(marginal, 1) for values in (t, e))
                z = forward_mixed(self.net, batch.x, x, coefficient, layer=-1)
                t, e = (mix(own, other, coefficient) for own, other in ((target, t), (early, e)))
                run.step(early_mixup_loss(z, t, e, batch.labeled, c.weight_entropy, c.weight_early), optimizer)
            averaging.update(teacher, self.net, min(1 - 1 / (epoch.total + 1), c.decay), buffers="leave")
            schedule.step()
            if epoch.total >= c.heuristic_from - 1:
                entropies = binary_entropy(run.scores(self.net, data.labeled_rows))
                pool = data.labeled_rows[entropies.sort(descending=True, stable=True).indices[: c.pool_size]]

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)


# ---------------------------------------------------------------- Count Loss (Shukla et al., NeurIPS 2023)


class CountLossConfig(TrainingConfig):
    optimizer: Literal["adam", "adamw", "sgd"] = Field("sgd", description="optimizer; sgd uses momentum")
    lr: float = Field(0.1, gt=0, description="learning rate")
    weight_decay: float = Field(5e-4, ge=0, description="L2 penalty added to the gradient")
    batch_size: int = Field(200, ge=1, description="rows of P and of U per batch")
    form: Literal["exact", "distribution"] = Field(
        "exact", description="the likeliest number of positives in a batch of U, or the law of that number"
    )


def count_loss(logits: Tensor, prior: float, form: Literal["exact", "distribution"]) -> Tensor:
    """How far the number of positives among (n,) independent rows is from what the prior says."""
    n, law = len(logits), count_log_probabilities(logits)
    if form == "exact":
        return -law[round(n * prior)]
    binomial = count_log_probabilities(torch.full_like(logits, math.log(prior / (1 - prior))))
    return (binomial.exp() * (binomial - law)).sum() / (n + 1)


class CountLoss(Method[CountLossConfig]):
    """The number of positives in a batch of U is what it should be; the gradient is clipped."""

    @classmethod
    def requires(cls, config: CountLossConfig) -> frozenset[str]:
        return frozenset({"prior"})

    def fit(self, data: PUData, run: Run[CountLossConfig]) -> None:
        self.net = run.backbone()
        optimizer = run.optimizer(self.net.parameters())
        shorter: Literal["labeled", "unlabeled"] = "labeled" if data.n_labeled < data.n_unlabeled else "unlabeled"
        for _ in run.epochs(self.config.epochs):
            for p, u in run.paired_batches(epoch_of=shorter, tail="keep"):
                z_p, z_u = self.net(torch.cat([p.x, u.x])).split([len(p.x), len(u.x)])
                counted = count_loss(z_u, data.unlabeled_prior, self.config.form)
                run.step(logistic_loss(z_p).mean() + counted, optimizer, max_norm=10)

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)


# ---------------------------------------------------------------- the plugin

QUICK: dict[type[Method[Any]], dict[str, Any]] = {
    PAN: {"epochs": 5},
    CGenPU: {"epochs": 5, "latent": 8},
    HolisticPU: {"epochs": 4, "observed": 3, "steps_per_epoch": 4},
    SelfPU: {"epochs": 5, "paced": (0, 2), "every": 1, "ramp": 2, "taught_from": 1},
    LaGAM: {"epochs": 4, "warm_up": 0.25, "clusters": 5},
    P3MixE: {"epochs": 4, "steps_per_epoch": 4, "heuristic_from": 1},
    CountLoss: {"epochs": 5},
}


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [
        MethodInfo(
            key=f"to-come-{kind.__name__.lower()}",
            name=kind.__name__,
            summary=(kind.__doc__ or "").strip(),
            load=f"{__name__}:{kind.__name__}",
            needs=kind.requires(kind.Config()),
            presets={"quick": Preset(values={**values, "patience": None})},
        )
        for kind, values in QUICK.items()
    ]
