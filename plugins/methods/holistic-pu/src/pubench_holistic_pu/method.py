"""Holistic-PU: pseudo-labels from the trends of predictions.

Paper: Wang, Wan, Geng, Li, Chen, NeurIPS 2023. Official code: wxr99/HolisticPU.
A network learns P against U, and after every epoch the average of its parameters says how positive each row of U is.
Those of negatives fall over the epochs. The mean logarithmic rise of each row is its trend, and the natural break
between two classes of trends gives pseudo-labels. A fresh network learns them: at first all of U is negative, then they
count more each epoch, and confident predictions of weak views label strong ones. No class prior is needed.
Follows the official code: consecutive differences, where the paper has all ordered pairs; one repetition of the break,
without the steepest rows, if it is above 0; the schedule of the learning rate, 7/16 of a cosine over the second stage.
The first stage's cosine is 25/15 of its own steps, the official ratio; Wang et al. raise its rate from 0 instead
(``trend_warm_up = 1``). Differs: the average scores all of U as it is; batches of the second stage have no strong views
of P. Fewer than two distinct trends make all of U negative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from pubench.method import Field, LogUniform, Method, PowerOfTwo, PUData, Run, TrainingConfig
from pubench_formulas.augmentation import strong_view, weak_view

Ordinary = Literal["constant", "three-sigma"]

#: Strong views of images, one change after the other: RandAugment as the official code has it for color images; what it
#: does to Fashion-MNIST (its jitter without arguments changes nothing); and to MRI.
OPERATIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "randaugment": ({"operations": "randaugment", "probability": 0.5, "magnitude": 0.9, "cutout": 0.5, "fill": 0.5},),
    "gray": tuple(
        {"operations": name, "number": 1, "probability": 0.5, "cutout": 0} for name in ("autocontrast", "equalize")
    ),
    "mri": tuple({"operations": name, "number": 1, "cutout": 0} for name in ("brightness", "contrast", "rotate")),
}
#: Weak and strong views of vectors: PU-Bench's.
WEAK_VECTOR, STRONG_VECTOR = {"noise": 0.01}, {"noise": 0.05, "drop": 0.05, "sign": 0.05}
#: A trend from here on is no ordinary one: a rise of 0.2 over ten epochs.
STEEP = 0.2 / 9


class Config(TrainingConfig):
    optimizer: Literal["adam", "adamw", "sgd"] = Field("sgd", description="optimizer; sgd uses Nesterov's momentum")
    lr: float = Field(0.01, gt=0, description="initial learning rate of a stage", search=LogUniform(1e-4, 10**-1.5))
    weight_decay: float = Field(5e-4, ge=0, description="L2 penalty of weights; biases and batch norm have none")
    batch_size: int = Field(64, ge=1, description="rows of P and of U per batch", search=PowerOfTwo(5, 8))
    trend_epochs: int | None = Field(
        15, ge=2, description="epochs over which the trend of every row of U is followed; none: as trend_total says"
    )
    trend_steps: int | None = Field(512, ge=1, description="steps per epoch of these; none: one pass over U")
    trend_total: int = Field(15 * 512, ge=1, description="steps in all that make these epochs, rounded, two at least")
    trend_schedule: float = Field(
        25 / 15, ge=1, description="length of these steps' 7/16 of a cosine, in units of the steps themselves"
    )
    trend_warm_up: float = Field(0.0, ge=0, le=1, description="share of these steps in which the learning rate rises")
    epochs: int = Field(25, ge=1, description="epochs of the second stage, which learns the pseudo-labels")
    steps_per_epoch: int | None = Field(512, ge=1, description="steps per epoch of the second stage; none: one pass")
    patience: int | None = Field(
        None, ge=1, description="epochs without improvement after which a criterion stops; none: never"
    )
    smoothing: float = Field(0.1, ge=0, lt=1, description="label smoothing of P while trends are followed (rho)")
    teacher_decay: float = Field(0.999, ge=0, le=1, description="decay of the average of the parameters, per step")
    ordinary: Ordinary = Field(
        "constant", description="trends of the second break: below 0.2 / 9, or within three deviations of their mean"
    )
    growth: float = Field(
        0.8, ge=0, description="power of the finished share of epochs that pseudo-labels count with; 0: fully at once"
    )
    threshold: float = Field(0.9, gt=0.5, lt=1, description="confidence from which a weak view labels its strong one")
    augment: bool = Field(True, description="weak and strong views; off: rows as they are, and no strong view")
    flip: bool = Field(True, description="views of images may be mirrored; off where that changes the class")
    operations: Literal["randaugment", "gray", "mri"] = Field(
        "randaugment", description="what strong views of images get; mri: images are not cropped either"
    )


class Views(NamedTuple):
    """Weak and strong views of P and U in one batch, or their logits; strong ones are None without augmentation."""

    p: Tensor
    u: Tensor
    u_strong: Tensor | None = None
    p_strong: Tensor | None = None


class Losses(NamedTuple):
    """The three terms of the second stage; their sum is minimized."""

    positive: Tensor
    unlabeled: Tensor
    consistency: Tensor


def towards(label: int, logits: Tensor, smoothing: float = 0.0) -> Tensor:
    """Mean cross-entropy of (n, 2) logits against one class (1 is positive), with label smoothing."""
    target = torch.full((len(logits),), label, device=logits.device)
    return F.cross_entropy(logits, target, label_smoothing=smoothing)


def trend_loss(p_views: Sequence[Tensor], u: Tensor, smoothing: float) -> Tensor:
    """The first stage's loss: smoothed cross-entropy of P, mean over its views, and cross-entropy of U as negative.

    ``p_views``, ``u``: (n, 2) logits.
    """
    return torch.stack([towards(1, z, smoothing) for z in p_views]).mean() + towards(0, u)


def trend(history: Tensor) -> Tensor:
    """(T, n) probabilities of being positive after T > 1 epochs -> (n,) trends: mean_t log(1 + d_t + d_t^2 / 2).

    d_t are differences of consecutive epochs; the argument is at least 1/2. Double precision.
    """
    rise = history.double().diff(dim=0)
    return (rise + rise.square() / 2).log1p().mean(dim=0)


def natural_break(values: Tensor) -> Tensor:
    """(n,) -> the largest value of the lower of two classes with the least sum of squares within them (Fisher, Jenks).

    One sort and one cumulative sum: what is within the classes is least where what is between them is largest, and
    that is S^2 n / (k (n - k)) for the k lowest values, whose deviations from the mean sum to S. Of equal splits the
    lowest. Where all values are equal, no value is above the break.
    """
    v = values.double().sort().values
    low = torch.arange(1, len(v), device=v.device)
    if not len(low):
        return v[0]
    between = (v - v.mean()).cumsum(0)[:-1].square() / (low * (len(v) - low))
    return v[between.argmax()]


def ordinary_trends(trends: Tensor, ordinary: Ordinary) -> Tensor:
    """(n,) bool: rows that the second break is sought among."""
    if ordinary == "constant":
        return trends < STEEP
    return (trends - trends.mean()).abs() < 3 * trends.std(correction=0)


def pseudo_labels(trends: Tensor, ordinary: Ordinary) -> Tensor:
    """(n,) bool: trends above the break, strictly; a break above 0 is sought again, once, among ordinary trends."""
    at = natural_break(trends)
    if at > 0:
        rest = trends[ordinary_trends(trends, ordinary)]
        if len(rest) and rest.min() < rest.max():
            at = natural_break(rest)
    return trends > at


def pseudo_label_losses(
    p: Tensor, u_weak: Tensor, u_strong: Tensor | None, pseudo: Tensor, share: float, threshold: float
) -> Losses:
    """The second stage's terms: (n, 2) logits of P and of two views of U; (n,) bool pseudo-labels of U.

    The target of U is ``share`` of its pseudo-label and the rest of the negative class. Rows whose weak view is below
    ``threshold`` count 0 in the mean over the strong views.
    """
    target = share * pseudo.to(u_weak.dtype)
    on_u = F.cross_entropy(u_weak, torch.stack([1 - target, target], dim=1))
    if u_strong is None:
        return Losses(towards(1, p), on_u, torch.zeros_like(on_u))
    confidence, label = u_weak.detach().softmax(dim=1).max(dim=1)
    on_strong = F.cross_entropy(u_strong, label, reduction="none") * (confidence >= threshold)
    return Losses(towards(1, p), on_u, on_strong.mean())


def lr_factor(step: int, steps: float, rising: float = 0.0) -> float:
    """Factor of the learning rate: step / rising before step ``rising``, then 7/16 of a cosine that ends at ``steps``.

    It goes on from there, to 0 at 8/7 of the cosine's length, and stays at 0.
    """
    if step < rising:
        return step / rising
    return max(0.0, math.cos(7 * math.pi * (step - rising) / (16 * max(1, steps - rising))))


class HolisticPU(Method[Config]):
    def fit(self, data: PUData, run: Run[Config]) -> None:
        c = self.config
        one_pass = math.ceil(data.n_unlabeled / c.batch_size)
        steps = c.steps_per_epoch or one_pass
        pseudo = torch.zeros(len(data), dtype=torch.bool, device=run.device)
        history = self._followed(data, run, c.trend_steps or one_pass)
        pseudo[data.unlabeled_rows] = pseudo_labels(trend(history), c.ordinary)

        self.net = run.backbone(outputs=2)
        optimizer, schedule = self._optimizer(run, c.epochs * steps)
        for epoch in run.epochs(c.epochs, stage="pseudo-labels"):
            share = (epoch.in_stage / c.epochs) ** c.growth
            for p, u in run.paired_batches(steps=steps):
                z = self._logits(self._views(p.x, u.x, run)._replace(p_strong=None))
                losses = pseudo_label_losses(z.p, z.u, z.u_strong, pseudo[u.row], share, c.threshold)
                run.step(torch.stack(losses).sum(), optimizer, report=losses._asdict())
                schedule.step()

    def _followed(self, data: PUData, run: Run[Config], steps: int) -> Tensor:
        """The first stage: (T, n_U) probabilities of the unlabeled rows, of the average network after each epoch."""
        c, history = self.config, []
        self.net = run.backbone(outputs=2)
        teacher = AveragedModel(self.net, multi_avg_fn=get_ema_multi_avg_fn(c.teacher_decay))  # buffers are copied
        teacher.update_parameters(self.net)  # the first call copies: the average starts from the initial parameters
        epochs = c.trend_epochs or max(2, round(c.trend_total / steps))
        optimizer, schedule = self._optimizer(
            run, c.trend_schedule * epochs * steps, rising=c.trend_warm_up * epochs * steps
        )
        for _ in run.epochs(epochs, stage="trends", selectable=False, patience=None):
            for p, u in run.paired_batches(steps=steps):
                z = self._logits(self._views(p.x, u.x, run))
                run.step(trend_loss([z.p] if z.p_strong is None else [z.p, z.p_strong], z.u, c.smoothing), optimizer)
                schedule.step()
                teacher.update_parameters(self.net)
            history.append(run.scores(lambda x: teacher(x).softmax(dim=1)[:, 1], data.unlabeled_rows))
        return torch.stack(history)

    def _optimizer(self, run: Run[Config], steps: float, rising: float = 0.0) -> tuple[Optimizer, LambdaLR]:
        """The optimizer of a stage and its schedule over ``steps``; biases and batch norm have no weight decay."""
        weights, rest = ([p for p in self.net.parameters() if (p.dim() > 1) == many] for many in (True, False))
        optimizer = run.optimizer([{"params": weights}, {"params": rest, "weight_decay": 0.0}], nesterov=True)
        return optimizer, LambdaLR(optimizer, lambda step: lr_factor(step, steps, rising))

    def _views(self, p: Tensor, u: Tensor, run: Run[Config]) -> Views:
        c = self.config
        if not c.augment:
            return Views(p, u)
        if p.dim() != 4:
            weak = [run.augment(weak_view, x, **WEAK_VECTOR) for x in (p, u)]
            return Views(*weak, *[run.augment(strong_view, x, **STRONG_VECTOR) for x in (u, p)])
        moved: dict[str, Any] = {**({} if c.flip else {"flip": False}), **({"pad": 0} if c.operations == "mri" else {})}
        first, *others = OPERATIONS[c.operations]
        weak = [run.augment(weak_view, x, **moved) for x in (p, u)]
        changed = [run.augment(strong_view, x, **moved, **first) for x in (u, p)]
        for change in others:
            changed = [run.augment(strong_view, x, flip=False, pad=0, **change) for x in changed]
        return Views(*weak, *changed)

    def _logits(self, views: Views) -> Views:
        """(n, 2) logits of each view, from one forward pass: batch norm sees P and U together."""
        shown = [view for view in views if view is not None]
        logits = iter(self.net(torch.cat(shown)).split([len(view) for view in shown]))
        return Views._make(None if view is None else next(logits) for view in views)

    def decision_function(self, x: Tensor) -> Tensor:
        negative, positive = self.net(x).unbind(dim=1)
        return positive - negative
