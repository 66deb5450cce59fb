"""LBE-PU: labeling bias estimation.

Paper: Gong, Wang, Liu, Han, You, Yang, Tao, IEEE TPAMI 44(8), 2022. Official code: not public.
Follows the authors' formulas and procedure as PU-Bench's source-aligned revision states them. A classifier p(x) and a
propensity eta(x) = P(s = 1 | y = 1, x) are pre-trained on the labels s; then each epoch finds the posterior q of y for
every row (E-step) and takes a number of steps on random subsets (M-step): the classifier learns q on the rows of
smallest loss, the propensity learns s with weight q. ``class_balance`` and ``subset_of = unlabeled`` are the choices of
PU-Bench's paper code. Differs from both in that logits are used throughout (nothing is added inside the logarithm) and
that rows are ranked in evaluation mode. The likelihood is that of a single training set; under case-control, where U
has unlabeled copies of P, it is misspecified, as in the published comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import Optimizer

from pubench.method import Batch, Field, LogUniform, Method, PUData, Run, TrainingConfig, exact


class Config(TrainingConfig):
    lr: float = Field(5e-4, gt=0, description="learning rate", search=LogUniform(10**-4.5, 10**-2.5))
    weight_decay: float = Field(1e-4, ge=0, description="L2 penalty added to the gradient")
    batch_size: int = Field(512, ge=1, description="rows of one forward pass; a step over more adds up their gradients")
    pre_training: int = Field(100, ge=0, description="passes over the rows that train both networks on the labels")
    pre_training_batch_size: int | None = Field(
        None, ge=1, description="rows per step of them; none: one step per pass, over all rows"
    )
    epochs: int = Field(20, ge=1, description="EM epochs, each with one E-step")
    steps_per_epoch: int | None = Field(
        20, ge=1, description="steps of the M-step; none: as many as make up one pass over the rows"
    )
    patience: int | None = Field(None, ge=1, description="EM epochs without improvement before a criterion stops")
    subset: float = Field(0.1, gt=0, le=1, description="size of the subset as a share of all rows")
    subset_of: Literal["all", "unlabeled"] = Field(
        "all", description="what it is drawn from; unlabeled: every labeled row is in every step, and kept"
    )
    keep: float = Field(
        0.8, gt=0, le=1, description="share of the subset, of smallest loss, that trains the classifier"
    )
    class_balance: bool = Field(
        False, description="give labeled rows weight n_U / n_P in the classifier's loss, pre-train eta unweighted"
    )


def posterior(logits: Tensor, propensity: Tensor, labeled: Tensor) -> Tensor:
    """(B,) q = P(y = 1 | x, s), the E-step: 1 if labeled, else p (1 - eta) / (p (1 - eta) + 1 - p).

    From logits z of p and r of eta: sigmoid(z - softplus(r)), which is no ratio of underflowed numbers.
    """
    return torch.sigmoid(logits - F.softplus(propensity)).masked_fill(labeled, 1)


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """(B,) -q log p - (1 - q) log(1 - p): the classifier's loss per row, targets fixed."""
    return F.binary_cross_entropy_with_logits(logits, targets, reduction="none")


def label_weights(labeled: Tensor, rho: float) -> Tensor:
    """(B,) weights of the pre-training loss: 1 - rho if labeled, rho if not; rho is the labeled share of all rows."""
    return torch.where(labeled, 1 - rho, rho)


def balancing_weights(labeled: Tensor) -> Tensor:
    """(B,) weights with mean 1 under which labeled and other rows count the same: n_U / n_P to 1."""
    weights = torch.where(labeled, (~labeled).sum().clamp(min=1) / labeled.sum().clamp(min=1), 1.0)
    return weights / weights.mean()


def smallest(losses: Tensor, share: float) -> Tensor:
    """Positions of the floor(share n), at least 1, smallest losses in ascending order; ties by position."""
    size = max(1, math.floor(exact(share) * len(losses)))
    return torch.sort(losses, stable=True).indices[:size].sort().values


class Task(NamedTuple):
    """Loss of a network in a step: the mean of weight * cross-entropy towards the targets over (m,) rows."""

    row: Tensor
    weight: Tensor
    target: Tensor


def accumulated(net: nn.Module, task: Task, batches: Iterable[Batch]) -> Tensor:
    """The mean loss of a task over ``batches`` of its rows, in their order; one batch at a time is in memory.

    It is linear in the parameters, with the gradient that was added up as coefficients: ``run.step`` then takes a step
    over all rows of the table as it takes any other.
    """
    parameters = list(net.parameters())
    gradients = [torch.zeros_like(parameter) for parameter in parameters]
    value, start = torch.zeros((), device=task.row.device), 0
    for batch in batches:
        part = slice(start, start := start + len(batch.row))
        loss = (task.weight[part] * cross_entropy(net(batch.x), task.target[part])).sum() / len(task.row)
        for total, gradient in zip(gradients, torch.autograd.grad(loss, parameters), strict=True):
            total += gradient
        value = value + loss.detach()
    linear = torch.stack([(p * g).sum() for p, g in zip(parameters, gradients, strict=True)]).sum()
    return value + (linear - linear.detach())


class LBEPU(Method[Config]):
    scored_by = ("net", "eta")

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c = self.config
        self.net, self.eta = run.backbone(), run.backbone()
        observed = data.labeled.float()
        rho = data.n_labeled / len(data)
        optimizers = [run.optimizer(net.parameters()) for net in (self.net, self.eta)]
        for _ in run.epochs(c.pre_training, stage="pre-training", selectable=False, patience=None):
            for rows in self._pre_training_rows(data, run):
                labeled = data.labeled[rows]
                if c.class_balance:
                    on_net, on_eta = balancing_weights(labeled), torch.ones_like(observed[rows])
                else:
                    on_net = on_eta = label_weights(labeled, rho)
                self._step(run, optimizers, Task(rows, on_net, observed[rows]), Task(rows, on_eta, observed[rows]))

        optimizers = [run.optimizer(net.parameters()) for net in (self.net, self.eta)]
        for _ in run.epochs(c.epochs, stage="em"):
            q = posterior(run.scores(self.net), run.scores(self.eta), data.labeled)
            for rows in self._subsets(data, run):
                kept = rows
                if c.keep < 1:
                    kept = rows[smallest(cross_entropy(run.scores(self.net, rows), q[rows]), c.keep)]
                if c.subset_of == "unlabeled":
                    kept = self._shuffled(torch.cat([data.labeled_rows, kept]), run)
                    rows = kept
                labeled = data.labeled[kept]
                on_net = balancing_weights(labeled) if c.class_balance else torch.ones_like(observed[kept])
                # A negative is never labeled, whatever eta is: a row counts for eta with its posterior q.
                self._step(run, optimizers, Task(kept, on_net, q[kept]), Task(rows, q[rows], observed[rows]))

    def _step(self, run: Run[Config], optimizers: list[Optimizer], on_net: Task, on_eta: Task) -> None:
        """One step of both networks, each on its task."""
        tasks = ((self.net, on_net), (self.eta, on_eta))
        losses = [accumulated(net, task, run.batches(task.row)) for net, task in tasks]
        run.step(
            *zip(losses, optimizers, strict=True), report={"classifier loss": losses[0], "propensity loss": losses[1]}
        )

    def _pre_training_rows(self, data: PUData, run: Run[Config]) -> Iterator[Tensor]:
        """Rows of each step of one pass, in random order, so that batch norm normalizes P and U together."""
        rows = self._shuffled(torch.arange(len(data), device=run.device), run)
        yield from rows.split(self.config.pre_training_batch_size or len(rows))

    def _subsets(self, data: PUData, run: Run[Config]) -> Iterator[Tensor]:
        """Rows of each step of one M-step, in random order; labeled rows that are always in it are left out."""
        c = self.config
        rows = data.unlabeled_rows if c.subset_of == "unlabeled" else torch.arange(len(data), device=run.device)
        size = max(1, math.floor(exact(c.subset) * len(data)))
        for _ in range(c.steps_per_epoch or math.ceil(1 / c.subset)):
            yield self._shuffled(rows, run)[:size]

    def _shuffled(self, rows: Tensor, run: Run[Config]) -> Tensor:
        """The rows in random order."""
        return rows[run.permutation(len(rows))]

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)

    def auxiliary_scores(self, x: Tensor) -> dict[str, Tensor]:
        return {"propensity": torch.sigmoid(self.eta(x))}
