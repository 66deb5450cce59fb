"""Robust-PU: noise negative sample self-correction.

Paper: Zhu, Wang, Zhao, Du, Zhang, Dong, Qiao, Lin, Rajmohan, Zhang, KDD 2023. Official code: woriazzc/Robust-PU.
A network pre-trained with nnPU tells how hard every row is under its label, U being negative. In each episode all rows
get weights that fall with their hardness, and the network learns P against U under these weights for a few passes.
Thresholds grow from episode to episode, by number alone: easy rows first. An epoch is an episode. Follows the official
code; positives among U stay hard, and so count little. Differs in that no true label is read: the state of the
pre-training is chosen by the nnPU risk of the validation part. Differs also in convex pacing, which stays where it
ends, and in the momentum of weights, which goes by row. When all weights of a batch are nearly 0, the step is too.
Officially the pre-training has the sigmoid loss and gradient ascent, and none of its epochs is a candidate; Wang et
al. minimize the logistic loss with ``correction = clamp``, and both benchmarks choose among those epochs too. The
official batches have P and U shuffled together; in Wang et al.'s pairs P counts as much as U (``batching = paired``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from pubench.method import Batch, Field, LogUniform, Method, PowerOfTwo, PUData, Run, TrainingConfig
from pubench_formulas import averaging
from pubench_formulas.risks import PURisk, pu_risk

Pacing = Literal["linear", "convex", "concave", "exp", "const"]
Hardness = Literal["logistic", "sigmoid", "crps", "brier"]
Weighting = Literal["welsch", "linear", "hard", "logistic", "cauchy", "poly", "log"]
NonNegative = Literal["ascent", "clamp"]


class Config(TrainingConfig):
    pre_training: int = Field(20, ge=0, description="passes over P and U with the nnPU risk; not in epochs")
    pre_training_lr: float = Field(1e-4, gt=0, description="learning rate of these passes")
    pre_training_weight_decay: float = Field(1e-4, ge=0, description="weight decay of these passes")
    pre_training_batch_size: int = Field(256, ge=1, description="rows per batch of these passes")
    pre_training_selectable: bool = Field(False, description="criteria choose among epochs of the pre-training as well")
    surrogate: Literal["sigmoid", "logistic"] = Field("sigmoid", description="loss in the nnPU risk")
    correction: NonNegative = Field(
        "ascent", description="step where the negative part is below 0: up its gradient, or with that part at 0"
    )
    epochs: int = Field(5, ge=1, description="episodes: weights are renewed at the start of each")
    inner_epochs: int = Field(5, ge=1, description="passes over P and U per episode")
    steps_per_epoch: int | None = Field(None, ge=1, description="steps in place of a pass; none: one pass over P and U")
    lr: float = Field(1e-2, gt=0, description="learning rate of the episodes", search=LogUniform(10**-4.5, 10**-2.5))
    weight_decay: float = Field(0.0, ge=0, description="L2 penalty added to the gradient in the episodes")
    batch_size: int = Field(256, ge=1, description="rows per batch in the episodes", search=PowerOfTwo(5, 8))
    batching: Literal["joint", "paired"] = Field(
        "joint", description="P and U shuffled together, or one batch of each, whose mean losses are added"
    )
    patience: int | None = Field(
        5, ge=1, description="episodes without improvement after which a criterion stops; none: never"
    )
    pacing: Pacing = Field("linear", description="how thresholds go from their start to their end")
    threshold_positive: float = Field(0.1, gt=0, description="threshold of P in the first episode (lambda_p)")
    threshold_unlabeled: float = Field(0.11, gt=0, description="threshold of U in the first episode (lambda_n)")
    threshold_end: float = Field(1.0, gt=0, description="threshold of both at the end of the pacing")
    growing_steps: int = Field(10, ge=1, description="episodes until the end of the pacing; not read by exp and const")
    hardness: Hardness = Field("logistic", description="loss that tells how hard a row is")
    temperature_positive: float = Field(1.0, gt=0, description="divides the scores of P in their hardness")
    temperature_unlabeled: float = Field(1.5, gt=0, description="divides the scores of U in their hardness")
    weighting: Weighting = Field("welsch", description="how weights fall with hardness, in units of the threshold")
    weight_momentum: float = Field(0.0, ge=0, lt=1, description="share of a row's earlier weight that is kept (phi)")


def nnpu_risk(
    scores: Tensor,
    labeled: Tensor,
    prior: float,
    surrogate: Literal["sigmoid", "logistic"],
    correction: NonNegative = "ascent",
) -> PURisk:
    """The pre-training's risk of (B,) logits: where its negative part is below 0, gradient ascent or that part at 0."""
    return pu_risk(scores, labeled, prior, surrogate=surrogate, correction=correction, beta=0.0, gamma=1.0)


#: Share of the way from start to end, of k completed episodes and g growing steps, k <= g except for ``exp``.
SHARES: dict[Pacing, Callable[[int, int], float]] = {
    "linear": lambda k, g: k / g,
    "convex": lambda k, g: math.sin(math.pi * k / (2 * g)),
    "concave": lambda k, g: 1 - math.cos(math.pi * k / (2 * g)),
    "exp": lambda k, g: 1 - 0.5**k,
    "const": lambda k, g: 0.0,
}


def threshold_after(completed: int, pacing: Pacing, start: float, end: float, growing_steps: int) -> float:
    """The threshold of the episode before which ``completed`` others were; between start and end, both above 0."""
    k = completed if pacing == "exp" else min(completed, growing_steps)
    return start + (end - start) * SHARES[pacing](k, growing_steps)


#: Losses of (B,) negative margins: the larger, the harder.
HARDNESS: dict[Hardness, Callable[[Tensor], Tensor]] = {
    "logistic": F.softplus,
    "sigmoid": torch.sigmoid,
    "crps": lambda v: torch.sigmoid(v).square(),
    "brier": lambda v: 2 * torch.sigmoid(v).square(),
}

#: Weights in [0, 1] of hardnesses h >= 0 under a threshold t > 0.
WEIGHTINGS: dict[Weighting, Callable[[Tensor, float], Tensor]] = {
    "welsch": lambda h, t: torch.exp(-h / t**2),
    "linear": lambda h, t: (1 - h / t).clamp(min=0),
    "hard": lambda h, t: (h < t).to(h.dtype),
    "logistic": lambda h, t: (1 + math.exp(-t)) * torch.sigmoid(t - h),
    "cauchy": lambda h, t: 1 / (1 + h / t**2),
    "poly": lambda h, t: (1 - h / t).clamp(min=0).sqrt(),
    "log": lambda h, t: _logarithmic(h, min(t, 0.9)),
}


def _logarithmic(h: Tensor, t: float) -> Tensor:
    """log(h + 1 - t) / log(1 - t) for h < t < 1, else 0."""
    return (h.clamp(max=t) + 1 - t).log() / math.log(1 - t)


def row_weights(
    scores: Tensor,
    labeled: Tensor,
    *,
    thresholds: tuple[float, float],
    temperatures: tuple[float, float],
    hardness: Hardness = "logistic",
    weighting: Weighting = "welsch",
) -> Tensor:
    """(n,) weights in [0, 1] of (n,) logits: P is hard where they are low, U where they are high.

    ``thresholds`` and ``temperatures``: of P and of U.
    """
    loss, weight = HARDNESS[hardness], WEIGHTINGS[weighting]
    of_p = weight(loss(-scores / temperatures[0]), thresholds[0])
    of_u = weight(loss(scores / temperatures[1]), thresholds[1])
    return torch.where(labeled, of_p, of_u)


def moved(earlier: Tensor | None, weights: Tensor, momentum: float) -> Tensor:
    """momentum * earlier + (1 - momentum) * weights, row by row; the weights themselves in the first episode."""
    return weights if earlier is None else momentum * earlier + (1 - momentum) * weights


def weighted_cross_entropy(scores: Tensor, labeled: Tensor, weights: Tensor) -> Tensor:
    """Mean over the (B,) rows, not over their weights, of weight * cross-entropy; P is positive, U negative."""
    return (weights * F.binary_cross_entropy_with_logits(scores, labeled.to(scores.dtype), reduction="none")).mean()


class RobustPU(Method[Config]):
    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"})

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c = self.config
        self.net = run.backbone()
        self._pre_train(data, run)
        weights = None
        for episode in run.epochs(c.epochs, stage="self-paced"):
            weights = moved(weights, self._weights(data, run, episode.in_stage), c.weight_momentum)
            optimizer = run.optimizer(self.net.parameters())
            for _ in range(c.inner_epochs):
                for batch in self._batches(run, c.batch_size):
                    of_batch = weights[batch.row]
                    loss = weighted_cross_entropy(self.net(batch.x), batch.labeled, of_batch)
                    # Half of a pair's rows are P: twice their mean is the mean over P plus the mean over U.
                    run.step(loss if c.batching == "joint" else 2 * loss, optimizer, report={"weight": of_batch.mean()})

    def _batches(self, run: Run[Config], size: int) -> Iterator[Batch]:
        """Batches of ``size`` rows, or of so many rows of P and of U."""
        return run.joint_batches(size=size) if self.config.batching == "joint" else run.stacked_batches(size)

    def _pre_train(self, data: PUData, run: Run[Config]) -> None:
        """nnPU; of its epochs, the one with the least risk of the validation part is kept.

        Without a labeled positive there, the least risk is that of the lowest scores: the last epoch is kept.
        """
        c, part = self.config, data.validation

        def risk(scores: Tensor, labeled: Tensor) -> PURisk:
            return nnpu_risk(scores, labeled, data.unlabeled_prior, c.surrogate, c.correction)

        parameters = {"params": list(self.net.parameters()), "weight_decay": c.pre_training_weight_decay}
        optimizer = run.optimizer([parameters], lr=c.pre_training_lr)
        best = averaging.Best(self.net)
        selectable = c.pre_training_selectable
        for _ in run.epochs(c.pre_training, stage="pre-training", selectable=selectable, patience=None):
            for batch in self._batches(run, c.pre_training_batch_size):
                of_batch = risk(self.net(batch.x), batch.labeled)
                run.step(of_batch.objective, optimizer, report={"risk": of_batch.value})
            if part.n_labeled:
                best.offer(-float(risk(run.scores(self.net, part=part), part.labeled).value))
        if c.pre_training and part.n_labeled:
            best.restore()

    def _weights(self, data: PUData, run: Run[Config], completed: int) -> Tensor:
        """(n,) weights of all rows, from scores in evaluation mode."""
        c = self.config
        positive, unlabeled = (
            threshold_after(completed, c.pacing, start, c.threshold_end, c.growing_steps)
            for start in (c.threshold_positive, c.threshold_unlabeled)
        )
        return row_weights(
            run.scores(self.net),
            data.labeled,
            thresholds=(positive, unlabeled),
            temperatures=(c.temperature_positive, c.temperature_unlabeled),
            hardness=c.hardness,
            weighting=c.weighting,
        )

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)
