"""PUL-CPBF: a controlled probability boundary fence.

Paper: Li, Dai, Feng, Li, Wang, Ouyang, ICML 2024. Official code: not public.
K weak classifiers answer whether the posterior p(y = 1 | x) is above a_1 < ... < a_K: each minimizes a risk of P and
U whose weights put its boundary there. Their votes put every unlabeled row between two boundaries, and its label is
drawn between these, once. A final network learns P as positive and U by a mixture of that label and its own sharpened
opinion; where it is sure of a weak view, that is the label of the strong one.
Follows the paper's method as its card has it. The weak classifiers are trained on the same batches, in one pass over
the data for all. The boundary is the first whose classifier votes negative, so that inconsistent votes have a label in
[0, 1] as well. The risk is divided by the labeled share r, which moves no minimum: otherwise few labels would leave
nothing of it but the weight decay. Differs from PU-Bench's paper code, whose targets are true labels and whose fence
is one network with weights that put its boundary elsewhere. Here no label of U enters.
The weight of the network's own decision rises with the epochs, as in that code: at 1/2 from the start, as in its later
revision, the target of a row that the network takes for positive is 1/2 or more whatever the label, which then cannot
move any decision.
The final network is fresh, or goes on from the weak classifier whose boundary is nearest to 1/2, as PU-Bench's does
(``start``). P weighs 1 and U ``weight_unlabeled`` w: under labels whose means are the posteriors, a row is decided
positive from a posterior of (w / 2) / (1 / (2 pi) + w) on, .2 for pi = .4 and w = .85. A fresh network can therefore
call every row positive at first. A low threshold then makes all strong views positive too, and it stays so.
Boundaries near 0 or 1 may have constant classifiers: then a whole interval is empty, and that is valid.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.optim.lr_scheduler import LambdaLR

from pubench.method import Backbone, Batch, Field, LogUniform, Method, PowerOfTwo, PUData, Run, TrainingConfig
from pubench_formulas import ramps
from pubench_formulas.augmentation import strong_view, weak_view
from pubench_formulas.entropy import binary_entropy
from pubench_formulas.losses import SURROGATES

#: Strong views of images: two operations and a square of half the side. Vectors have the default views.
STRONG_IMAGE: dict[str, Any] = {"operations": "randaugment", "number": 2, "magnitude": 1.0, "cutout": 0.5}


class Config(TrainingConfig):
    optimizer: Literal["adam", "adamw", "sgd"] = Field(
        "adam", description="optimizer of the final network; sgd uses Nesterov's momentum"
    )
    fence_optimizer: Literal["adam", "adamw", "sgd"] = Field("adam", description="optimizer of the weak classifiers")
    fence: int = Field(9, ge=1, description="weak classifiers; their boundaries k / (fence + 1) are equally spaced")
    fence_epochs: int = Field(20, ge=1, description="epochs of the weak classifiers; not in epochs")
    fence_lr: float = Field(2e-3, gt=0, description="learning rate of the weak classifiers")
    fence_weight_decay: float = Field(5e-3, ge=0, description="weight decay of the weak classifiers")
    surrogate: Literal["logistic", "sigmoid"] = Field("logistic", description="loss of the weak classifiers")
    labels: Literal["stochastic", "rounded"] = Field(
        "stochastic", description="labels of U: drawn between two boundaries, or 0 and 1 by whether that is below 1/2"
    )
    start: Literal["fresh", "weak"] = Field(
        "fresh",
        description="the final network begins fresh, or as the weak classifier whose boundary is nearest to 1/2",
    )
    lr: float = Field(2e-3, gt=0, description="learning rate", search=LogUniform(10**-4.5, 10**-2.5))
    weight_decay: float = Field(5e-3, ge=0, description="L2 penalty of weights; biases and batch norm have none")
    schedule: Literal["constant", "cosine"] = Field("constant", description="learning rate over the planned epochs")
    batch_size: int = Field(64, ge=1, description="rows of U per batch", search=PowerOfTwo(5, 8))
    labeled_batch: Literal["equal", "proportional"] = Field(
        "equal", description="rows of P per batch: as many as of U, or in the proportion of the whole sets"
    )
    epochs: int = Field(50, ge=1, description="epochs of the final network")
    patience: int | None = Field(
        None, ge=1, description="epochs without improvement after which a criterion stops; none: never"
    )
    trust: float | None = Field(
        None, ge=0, le=1, description="weight of the network's own decision in targets of U; none: (epoch / epochs)^0.8"
    )
    temperature_start: float = Field(0.5, gt=0, description="temperature of the opinion in the first epochs")
    temperature: float = Field(0.5, gt=0, description="temperature of the opinion in the last epoch")
    threshold_start: float = Field(0.9, ge=0.5, lt=1, description="confidence asked for in the first epochs")
    threshold: float = Field(0.9, ge=0.5, lt=1, description="confidence from which a weak view labels its strong one")
    weight_unlabeled: float = Field(0.85, ge=0, description="weight of both terms of U")
    weight_entropy: float = Field(0.0, ge=0, description="weight of the entropy of weak views of U, which is minimized")
    flip: bool = Field(True, description="views of images may be mirrored; off where that changes the class")


class Losses(NamedTuple):
    """P as positive; weak views of U, strong views of U against their targets; entropy of the weak views."""

    positive: Tensor
    weak: Tensor
    strong: Tensor
    entropy: Tensor


def boundaries(n: int) -> list[float]:
    """n posteriors, equally spaced between 0 and 1."""
    return [k / (n + 1) for k in range(1, n + 1)]


def weight_of_u(alpha: float, r: float, prior: float) -> float:
    """beta = alpha r / (pi - pi r + alpha r): the weight that puts the boundary at posterior ``alpha``.

    ``r``: labeled share of all rows, in (0, 1). ``prior``: share of positives in U, at least 0.
    """
    return alpha * r / (prior - prior * r + alpha * r)


def fence_risk(
    z_p: Tensor, z_u: Tensor, alpha: float, r: float, prior: float, surrogate: Literal["logistic", "sigmoid"]
) -> Tensor:
    """(1 - beta) r mean_P l(f) + beta (1 - r) mean_U l(-f) of (n,) and (m,) logits f: a scalar.

    Its pointwise minimum changes sign where the posterior is ``alpha``.
    """
    loss, beta = SURROGATES[surrogate], weight_of_u(alpha, r, prior)
    return (1 - beta) * r * loss(z_p).mean() + beta * (1 - r) * loss(-z_u).mean()


def fence_labels(votes: Tensor, alphas: list[float], uniform: Tensor) -> Tensor:
    """(n,) labels in [0, 1]: drawn below the first boundary that a row is not above, and above the one before.

    ``votes``: (K, n) bool, whether a row is above each boundary. ``uniform``: (n,) draws in [0, 1).
    """
    interval = votes.long().cumprod(dim=0).sum(dim=0)
    ends = torch.tensor([0.0, *alphas, 1.0], dtype=uniform.dtype, device=uniform.device)
    return ends[interval] + (ends[interval + 1] - ends[interval]) * uniform


def opinion(logits: Tensor, temperature: float) -> Tensor:
    """(n,) sharpened probabilities p^(1/T) / (p^(1/T) + (1 - p)^(1/T)), which is sigmoid(z / T); no gradient."""
    return (logits.detach() / temperature).sigmoid()


def final_losses(
    p: Tensor, u_weak: Tensor, u_strong: Tensor, labels: Tensor, trust: float, temperature: float, threshold: float
) -> Losses:
    """The final network's terms, of logits of P and of two views of U and the (n,) labels of U.

    Targets of weak views are ``trust`` of the network's own decision and the rest the label. The strong term is a mean
    over all rows, of which those below ``threshold`` count 0.
    """
    q = opinion(u_weak, temperature)
    decision = (q > 0.5).to(q.dtype)
    sure = torch.maximum(q, 1 - q) >= threshold
    target = trust * decision + (1 - trust) * labels
    on_strong = F.binary_cross_entropy_with_logits(u_strong, decision, reduction="none") * sure
    return Losses(
        F.binary_cross_entropy_with_logits(p, torch.ones_like(p)),
        F.binary_cross_entropy_with_logits(u_weak, target),
        on_strong.mean(),
        binary_entropy(u_weak).mean(),
    )


class PULCPBF(Method[Config]):
    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"})

    def fit(self, data: PUData, run: Run[Config]) -> None:
        c = self.config
        labels = self._stage_labels(data, run)
        if c.start == "fresh":
            self.net = run.backbone()
        weights, rest = ([p for p in self.net.parameters() if (p.dim() > 1) == many] for many in (True, False))
        optimizer = run.optimizer([{"params": weights}, {"params": rest, "weight_decay": 0.0}], nesterov=True)
        longer = max(data.n_labeled, data.n_unlabeled) if c.labeled_batch == "equal" else data.n_unlabeled
        steps = c.epochs * (c.steps_per_epoch or math.ceil(longer / c.batch_size))
        cosine = c.schedule == "cosine"
        schedule = LambdaLR(optimizer, lambda step: ramps.cosine(step, steps, 1.0, 0.0) if cosine else 1.0)
        for epoch in run.epochs(c.epochs, stage="mixed labels"):
            done = epoch.in_stage + 1
            trust = (done / c.epochs) ** 0.8 if c.trust is None else c.trust
            temperature = ramps.linear(done, c.epochs, c.temperature_start, c.temperature)
            threshold = ramps.linear(done, c.epochs, c.threshold_start, c.threshold)
            for p, u in self._batches(data, run):
                logits = self._logits(p.x, u.x, run)
                losses = final_losses(*logits, labels[u.row], trust, temperature, threshold)
                on_u = c.weight_unlabeled * (losses.weak + losses.strong)
                run.step(losses.positive + on_u + c.weight_entropy * losses.entropy, optimizer, report=losses._asdict())
                schedule.step()

    def _stage_labels(self, data: PUData, run: Run[Config]) -> Tensor:
        """(n,) labels by the votes of the weak classifiers, for unlabeled rows; 1 for P, which no loss reads."""
        c, alphas = self.config, boundaries(self.config.fence)
        drawn = fence_labels(self._votes(data, run, alphas), alphas, run.uniform(data.n_unlabeled))
        labels = torch.ones(len(data), device=run.device)
        labels[data.unlabeled_rows] = drawn if c.labels == "stochastic" else (drawn >= 0.5).to(drawn.dtype)
        return labels

    def _votes(self, data: PUData, run: Run[Config], alphas: list[float]) -> Tensor:
        """(K, n_U) bool: whether each weak classifier takes an unlabeled row for more likely than its boundary."""
        c, r = self.config, data.n_labeled / len(data)
        fence = [run.backbone() for _ in alphas]
        self.net = fence[len(fence) // 2]  # whose boundary is nearest to 1/2; a trace shows it in this stage
        parameters = {"params": [p for net in fence for p in net.parameters()], "weight_decay": c.fence_weight_decay}
        optimizer = run.optimizer([parameters], kind=c.fence_optimizer, lr=c.fence_lr, nesterov=True)
        for _ in run.epochs(c.fence_epochs, stage="fence", selectable=False, patience=None):
            for p, u in self._batches(data, run):
                x = torch.cat([p.x, u.x])
                risks = [self._risk(net, x, len(p.x), alpha, r, data) for net, alpha in zip(fence, alphas, strict=True)]
                run.step(torch.stack(risks).sum(), optimizer)
        return torch.stack([run.scores(net, data.unlabeled_rows) > 0 for net in fence])

    def _batches(self, data: PUData, run: Run[Config]) -> Iterator[tuple[Batch, Batch]]:
        """Batches of P and U for an epoch; of equal size, it is a pass over the larger side."""
        c = self.config
        if c.labeled_batch == "equal":
            return run.paired_batches(epoch_of="labeled" if data.n_labeled > data.n_unlabeled else "unlabeled")
        return run.paired_batches(math.ceil(data.n_labeled / data.n_unlabeled * c.batch_size))

    def _risk(self, net: Backbone, x: Tensor, n_p: int, alpha: float, r: float, data: PUData) -> Tensor:
        z_p, z_u = net(x).split([n_p, len(x) - n_p])
        return fence_risk(z_p, z_u, alpha, r, data.unlabeled_prior, self.config.surrogate) / r

    def _logits(self, p: Tensor, u: Tensor, run: Run[Config]) -> tuple[Tensor, Tensor, Tensor]:
        """Logits of weak views of P and U and of strong views of U, from one forward pass."""
        unmirrored: dict[str, Any] = {} if self.config.flip or p.dim() != 4 else {"flip": False}
        strong = {**STRONG_IMAGE, **unmirrored} if p.dim() == 4 else {}
        views = [run.augment(weak_view, x, **unmirrored) for x in (p, u)]
        views.append(run.augment(strong_view, u, **strong))
        on_p, weak, strong_u = self.net(torch.cat(views)).split([len(view) for view in views])
        return on_p, weak, strong_u

    def decision_function(self, x: Tensor) -> Tensor:
        return self.net(x)
