"""LaGAM: latent group-aware meta disambiguation.

Paper: Long, Wang, Jiang, Feng, Yao, Chen, Zhao, CVPR 2024. Official code: llong-cs/LaGAM.
Every row has a soft label: at first 1 for labeled positives, 0 for U. After a warm-up, each batch asks which label of a
row would, by a virtual step of the head's weight, serve held-out rows better; soft labels move there by a little. The
network learns these labels, the labels of mixed rows, and to tell a row from others but not from its group: rows of the
same cluster and the same prediction. Follows the official code, in which labels accumulate and the step moves the last
layer only: its gradient is written out below, on features.
Differs in the held-out rows. The official ones have true labels (``oracle_support``). Here they are labeled positives
and rows of U, and the outer loss is the class-balanced one with the sigmoid loss l. As l(z) + l(-z) = 1, mean_P l(z) +
mean_U l(-z) is (1 - share of positives in U) times the balanced loss of true labels, plus a constant: both gradients
have one direction, no prior is needed (Menon, van Rooyen, Ong, Williamson, ICML 2015), and rows of which the head is
sure count little, as in the official loss. In the unbiased risk with the logistic loss, terms of sure rows cancel only
on average, and what is left of them hides the few others.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from pubench.method import (
    Batch,
    Field,
    LogUniform,
    Method,
    PowerOfTwo,
    PUData,
    RequestError,
    Run,
    TrainingConfig,
    exact,
)
from pubench_formulas import ramps
from pubench_formulas.augmentation import strong_view, weak_view
from pubench_formulas.mixing import mix

from .clustering import k_means
from .disambiguation import (
    CLIP,
    MASS,
    better_labels,
    clean_outer,
    columns,
    inner_gradient,
    meta_gradient,
    pu_outer,
)

Schedule = Literal["steps", "cosine", "none"]


class Config(TrainingConfig):
    optimizer: Literal["adam", "adamw", "sgd"] = Field("adam", description="optimizer; sgd uses momentum")
    lr: float = Field(1e-3, gt=0, description="learning rate", search=LogUniform(10**-4.5, 10**-2.5))
    weight_decay: float = Field(1e-4, ge=0, description="L2 penalty added to the gradient")
    batch_size: int = Field(64, ge=2, description="rows per batch, and of held-out rows", search=PowerOfTwo(5, 8))
    epochs: int = Field(50, ge=1, description="epochs")
    patience: int | None = Field(25, ge=1, description="epochs without improvement; none: never stops")
    schedule: Schedule = Field(
        "none", description="learning rates: tenths after 5/8, 6/8, 7/8 of the epochs, or cosine"
    )
    warm_up: float = Field(0.3, ge=0, le=1, description="share of the epochs with fixed labels and no groups")
    held_out_labeled: float = Field(0.2, gt=0, lt=1, description="share of labeled positives that judge labels")
    held_out: float = Field(0.05, gt=0, lt=1, description="share of all other rows that judge labels; oracle: of all")
    oracle_support: bool = Field(False, description="judge labels by true ones, as officially: an oracle")
    meta_lr: float = Field(1e-3, gt=0, description="learning rate of the virtual step of the head")
    keep_start: float = Field(0.95, ge=0, le=1, description="share of a soft label that is kept, at first (rho)")
    keep_end: float = Field(0.80, ge=0, le=1, description="share that is kept at the end")
    clusters: int = Field(50, ge=1, description="clusters, at most as many as rows")
    restarts: int = Field(5, ge=1, description="k-means from so many starts, the best of which is taken")
    iterations: int = Field(20, ge=1, description="iterations of k-means")
    points_per_cluster: int = Field(1000, ge=1, description="rows per cluster that these iterations see, at most")
    temperature: float = Field(0.07, gt=0, description="temperature of the contrastive loss (tau)")
    neighbors: int = Field(10, ge=1, description="nearest views that belong to a row's group, itself among them")
    neighbors_from: float = Field(0.125, ge=0, le=1, description="share of the epochs after which they do")
    mixup_alpha: float = Field(4.0, gt=0, description="parameter of the Beta distribution of the coefficient")
    weight_mixed: float = Field(1.0, ge=0, description="weight of the loss of mixed rows")
    weight_entropy: float = Field(0.0, ge=0, description="weight of the entropy in either loss of labels")
    flip: bool = Field(True, description="views of images may be mirrored; off where that changes the class")


def clipped(logits: Tensor) -> Tensor:
    """(B,) logits -> (B, 2) clipped probabilities, negative and positive."""
    return torch.sigmoid(torch.stack([-logits, logits], dim=1)).clamp(CLIP, 1 - CLIP)


def balanced_bce(logits: Tensor, labels: Tensor, entropy: float = 0.0) -> Tensor:
    """Sum of both classes' mean cross-entropies of (B,) logits under (B, 2) soft labels, and a weighted entropy."""
    p = clipped(logits)
    loss = (-(labels * p.log()).sum(dim=0) / (labels.sum(dim=0) + MASS)).sum()
    return loss - entropy * (p * p.log()).sum(dim=1).mean() if entropy else loss


def contrast(q: Tensor, k: Tensor, temperature: float, group: Tensor | None = None, near: int = 0) -> Tensor:
    """Unit rows (B, d) of weak views against all views: each with its strong view, and with the views of its group.

    ``group``: (B,) equal within a group; none: no group term. ``near``: how many nearest views, the row's own among
    them, belong to it whatever their group is.
    """
    n = len(q)
    own = torch.eye(n, 2 * n, dtype=torch.bool, device=q.device)
    likeness = q @ torch.cat([q, k]).T / temperature
    total = likeness.masked_fill(own, -torch.inf).logsumexp(dim=1)
    instance = (total - likeness.diagonal(offset=n)).mean()
    if group is None:
        return instance
    same = (group[:, None] == group).repeat(1, 2)
    if near:
        same = same.scatter(1, likeness.topk(min(near, 2 * n), dim=1).indices, True)
    same = same & ~own
    return instance + (total - (likeness * same).sum(dim=1) / same.sum(dim=1)).mean()


def learning_rate(epoch: int, epochs: int, lr: float, schedule: Schedule) -> float:
    """Learning rate of an epoch from 0: a tenth each after 5/8, 6/8 and 7/8; or a cosine down to a thousandth."""
    if schedule == "cosine":
        return ramps.cosine(epoch, epochs, lr, lr * 1e-3)
    return lr * 0.1 ** sum(epoch > share * epochs for share in (0.625, 0.75, 0.875)) if schedule == "steps" else lr


class LaGAM(Method[Config]):
    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"truth"}) if config.oracle_support else frozenset()

    def check(self, data: PUData) -> None:
        if data.n_labeled < 2:
            raise RequestError("lagam-pu holds labeled positives out and needs 2 of them, given 1; raise mechanism.c")
        others = data.instance[~torch.isin(data.instance, data.instance[data.labeled_rows])]
        if len(others) < 2:
            raise RequestError(
                f"lagam-pu holds unlabeled rows out and needs 2 that are no copies of labeled ones, given {len(others)}"
            )

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c, soft = self.config, data.labeled.float()
        rows, judges = self._hold_out(data, run)
        self.net = run.backbone()
        d = self.net.feature_dim
        projection = run.module(lambda: nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 128)))
        optimizer = run.optimizer([*self.net.parameters(), *projection.parameters()])
        for epoch in run.epochs(c.epochs):
            warm = epoch.total < c.warm_up * c.epochs
            keep = ramps.linear(epoch.total, c.epochs, c.keep_start, c.keep_end)
            near = c.neighbors if epoch.total > c.neighbors_from * c.epochs else 0
            for parameters in optimizer.param_groups:
                parameters["lr"] = learning_rate(epoch.total, c.epochs, c.lr, c.schedule)
            cluster = None if warm else self._clusters(projection, rows, data, run)
            renewed = soft.clone()
            for batch in run.joint_batches(rows):
                label = soft[batch.row]
                if warm and not batch.labeled.any():
                    continue  # no mass of positive labels, which the loss divides by
                weak, strong = self._views(batch, run)
                draw, partner = float(run.numpy_rng.beta(c.mixup_alpha, c.mixup_alpha)), run.permutation(len(weak))
                share = max(draw, 1 - draw)
                features = self.net.features(torch.cat([weak, strong, mix(weak, weak[partner], share)]))
                logits, _, mixed = self.net.head(features).squeeze(-1).chunk(3)
                seen = features[: len(weak)]
                if cluster is not None:
                    found = self._better(seen.detach(), logits.detach(), label, batch.labeled, data, judges, run)
                    label = renewed[batch.row] = keep * label + (1 - keep) * found
                q, k = (F.normalize(projection(h), dim=1) for h in features[: 2 * len(weak)].chunk(2))
                group = None if cluster is None else 2 * cluster[batch.row] + (logits > 0.5)
                on_labels = balanced_bce(logits, columns(label), c.weight_entropy)
                on_mixed = balanced_bce(mixed, columns(mix(label, label[partner], share)), c.weight_entropy)
                contrasted = contrast(q, k, c.temperature, group, near)
                run.step(on_labels + c.weight_mixed * on_mixed + contrasted, optimizer, report={"labels": on_labels})
            soft = renewed

    def _hold_out(self, data: PUData, run: Run[Config]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Rows to train on; held-out positives, and held-out rows of U (of the oracle: true negatives).

        No group is on both sides: the rows in U of what is held out, such as copies, are trained on neither.
        """
        c = self.config
        positive = data.truth > 0.5 if c.oracle_support else data.labeled
        first = torch.nonzero(positive).flatten()
        second = torch.nonzero(~torch.isin(data.group, data.group[first])).flatten()
        shares = (c.held_out, c.held_out) if c.oracle_support else (c.held_out_labeled, c.held_out)
        held = []
        for side, share in zip((first, second), shares, strict=True):
            number = min(max(1, math.floor(exact(share) * len(side))), len(side) - 1)
            held.append(side[run.permutation(len(side))[:number]])
        out = torch.isin(data.group, data.group[torch.cat(held)])
        return torch.nonzero(~out).flatten(), (held[0], held[1])

    def _clusters(self, projection: nn.Module, rows: Tensor, data: PUData, run: Run[Config]) -> Tensor:
        """(n,) clusters of the rows to train on, by their projections in evaluation mode, without a view; 0 of others.

        ``rows``: (m,) those to train on.
        """
        c, found = self.config, torch.zeros(len(data), dtype=torch.long, device=run.device)
        points = run.scores(lambda x: F.normalize(projection(self.net.features(x)), dim=1), rows)
        found[rows] = k_means(
            points,
            c.clusters,
            run.permutation,
            restarts=c.restarts,
            iterations=c.iterations,
            sample=c.clusters * c.points_per_cluster,
        )[0]
        return found

    def _views(self, batch: Batch, run: Run[Config]) -> tuple[Tensor, Tensor]:
        """A weak and a strong view; of images, the strong one has three of fourteen operations and a gray square."""
        if batch.x.dim() != 4:
            return run.augment(weak_view, batch.x), run.augment(strong_view, batch.x)
        moved: dict[str, Any] = {"padding": "zeros", **({} if self.config.flip else {"flip": False})}
        changes: dict[str, Any] = {"operations": "randaugment", "number": 3, "cutout": (0, 0.5), "fill": 0.5}
        return run.augment(weak_view, batch.x, **moved), run.augment(strong_view, batch.x, **moved, **changes)

    def _better(
        self,
        features: Tensor,
        logits: Tensor,
        label: Tensor,
        labeled: Tensor,
        data: PUData,
        judges: tuple[Tensor, Tensor],
        run: Run[Config],
    ) -> Tensor:
        """(B,) hard labels of a batch, judged by as many held-out rows of either side after the virtual step."""
        c, half = self.config, max(1, self.config.batch_size // 2)
        drawn = torch.cat([side[run.integers(len(side), half)] for side in judges])
        positive = torch.arange(len(drawn), device=run.device) < half
        with torch.no_grad(), run.frozen_statistics(self.net):
            held = self.net.features(data.take(drawn))
            step = inner_gradient(features, logits, columns(label))
            after = held @ (self.net.head.weight[0] - c.meta_lr * step) + self.net.head.bias[0]
            outer = (clean_outer if c.oracle_support else pu_outer)(held, after, positive)
            gradient = meta_gradient(features, logits, columns(label), outer, c.meta_lr)
        return better_labels(gradient, labeled)

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)
