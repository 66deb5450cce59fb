"""The way of the published benchmark, which ``epoch-time`` measures next to the engine's.

That of most research code: a ``DataLoader`` per part over a data set whose ``__getitem__`` makes a tensor of one image
and returns it with its labels, its number and a pseudo-label; a batch at a time; nine measures by scikit-learn. Its
epoch of VPU is over joint batches, and of PULDA it is one of the second stage.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from pubench_backbones.networks import lenet
from sklearn import metrics
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from pubench_core.engine.problem import Problem

#: What a run of each method says besides its preset: an epoch of PULDA is one of its second stage.
METHODS: dict[str, tuple[str, ...]] = {"nnpu": (), "vpu": (), "pusb": (), "pulda": ("warm_up=0",)}
MEASURES: tuple[Callable[[Any, Any], float], ...] = (
    metrics.accuracy_score,
    lambda y, h: metrics.precision_score(y, h, zero_division=0),
    lambda y, h: metrics.recall_score(y, h, zero_division=0),
    lambda y, h: metrics.f1_score(y, h, zero_division=0),
    lambda y, h: metrics.f1_score(y, h, average="macro", zero_division=0),
    metrics.balanced_accuracy_score,
    metrics.matthews_corrcoef,
)
RANKED: tuple[Callable[[Any, Any], float], ...] = (metrics.roc_auc_score, metrics.average_precision_score)

#: Images, who is labeled, true labels, numbers and pseudo-labels of the rows of a batch.
Batch = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]


class Rows(Dataset[Any]):
    """Images by row number, made into tensors one at a time, in [-1, 1]."""

    def __init__(self, images: npt.NDArray[np.uint8], labeled: npt.NDArray[Any], truth: npt.NDArray[Any]) -> None:
        self.images, self.labeled, self.truth = images, labeled, truth
        self.pseudo = np.where(labeled, 1.0, 0.5).astype(np.float32)
        self.transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, i: int) -> tuple[Tensor, int, int, int, float]:
        image = self.transform(Image.fromarray(self.images[i, 0]))
        return image, int(self.labeled[i]), int(self.truth[i]), i, float(self.pseudo[i])


class Parts:
    """The rows of a problem as data sets: ``train`` is P above U."""

    def __init__(self, problem: Problem) -> None:
        split, data = problem.split, problem.data
        assert data.x_test is not None
        assert problem.truth_train is not None
        p = np.flatnonzero(split.train.labeled)
        rows = np.concatenate([p, split.train.unlabeled(problem.scheme)])
        self.n_labeled, self.prior = len(p), problem.unlabeled_prior
        labeled = np.arange(len(rows)) < len(p)
        self.train = Rows(np.asarray(data.x[split.train.rows[rows]]), labeled, problem.truth_train[rows])
        self.validation = self._unlabeled(data.x[split.validation.rows], problem.truth_validation)
        self.test = self._unlabeled(data.x_test[split.test_rows], problem.truth_test)

    @staticmethod
    def _unlabeled(images: npt.NDArray[Any], truth: npt.NDArray[Any] | None) -> Rows:
        assert truth is not None
        return Rows(np.asarray(images), np.zeros(len(images), dtype=bool), truth)


def non_negative(z: Tensor, labeled: Tensor, prior: float, loss: Callable[[Tensor], Tensor]) -> Tensor:
    """The objective of one step on the non-negative risk with gradient ascent; ``loss``: of logits of positives."""
    p, u = z[labeled], z[~labeled]
    n_p, n_u = max(len(p), 1), max(len(u), 1)
    negative = loss(-u).sum() / n_u - prior * loss(-p).sum() / n_p
    return -negative if negative < 0 else prior * loss(p).sum() / n_p + negative


def nnpu(net: nn.Module, batch: Batch, prior: float) -> Tensor:
    """nnPU with the sigmoid loss."""
    x, labeled, *_ = batch
    return non_negative(net(x).view(-1), labeled == 1, prior, lambda z: torch.sigmoid(-z))


def pusb(net: nn.Module, batch: Batch, prior: float) -> Tensor:
    """PUSB: the same with the logistic loss."""
    x, labeled, *_ = batch
    return non_negative(net(x).view(-1), labeled == 1, prior, lambda z: F.softplus(-z))


def vpu(net: nn.Module, batch: Batch, prior: float) -> Tensor | None:
    """VPU on a joint batch: positives and partners are its labeled rows, targets come from a pass of their own."""
    x, labeled, *_ = batch
    p = x[labeled == 1]
    if not len(p):
        return None
    log_phi = F.logsigmoid(net(x).view(-1))
    variational = torch.logsumexp(log_phi, 0) - np.log(len(x)) - log_phi[labeled == 1].mean()
    share = torch.distributions.Beta(0.3, 0.3).sample()
    partners = p[torch.randint(len(p), (len(x),))]
    with torch.no_grad():
        target = share * torch.sigmoid(net(x).view(-1)) + 1 - share
    mixed = F.logsigmoid(net(share * x + (1 - share) * partners).view(-1))
    return variational + share * ((torch.log(target + 1e-10) - mixed) ** 2).mean()


class Pulda:
    """PULDA's second stage: alignment and margin losses over running means, mixup towards the stored predictions."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.past: dict[str, Tensor] = {}

    def __call__(self, net: nn.Module, batch: Batch, prior: float) -> Tensor:
        x, labeled, _, number, pseudo = batch
        labeled = labeled == 1
        order, share = torch.randperm(len(x)), float(np.random.beta(11.0, 11.0))
        target = torch.where(labeled, torch.ones_like(pseudo), pseudo).float()
        mixed = net(share * x + (1 - share) * x[order]).view(-1).clamp(-10, 10)
        z = net(x).view(-1).clamp(-10, 10)
        s = torch.sigmoid(z)
        positive = torch.sigmoid(z) * torch.sigmoid(0.6 - z)
        negative = torch.sigmoid(z + 0.6) * torch.sigmoid(-z)
        loss = 2 * prior * (1 - s[labeled].mean()) + prior * positive[labeled].mean()
        loss = loss + self._apart(self._running("s", s[~labeled].mean(), 0.85), torch.tensor(prior), 3.5) / 0.15
        q, r = (self._running(name, negative[side].mean(), 0.5) for name, side in (("q", labeled), ("r", ~labeled)))
        loss = loss + self._apart(r, prior * q, 1.0) / 0.5
        for weight, wanted in ((share, target), (1 - share, target[order])):
            loss = loss + 4.2 * weight * F.binary_cross_entropy_with_logits(mixed, wanted)
        self.rows.pseudo[number.numpy()] = s.detach().numpy()
        return loss

    def _running(self, name: str, mean: Tensor, kept: float) -> Tensor:
        current = kept * self.past.get(name, mean.detach()) + (1 - kept) * mean
        self.past[name] = current.detach()
        return current

    @staticmethod
    def _apart(one: Tensor, other: Tensor, sharpness: float) -> Tensor:
        return F.softplus(one - other, beta=sharpness) + F.softplus(other - one, beta=sharpness)


def joint(parts: Parts, workers: int) -> Callable[[], Iterable[Batch]]:
    """Shuffled batches of 256 rows of P and U together."""
    loader = DataLoader(parts.train, batch_size=256, shuffle=True, num_workers=workers)
    return lambda: loader


def paired(parts: Parts, workers: int) -> Callable[[], Iterable[Batch]]:
    """One pass over U in batches of 128, each with 16 rows of P, which starts again when it is exhausted."""
    p, u = (
        DataLoader(torch.utils.data.Subset(parts.train, rows), batch_size=size, shuffle=True, num_workers=workers)
        for rows, size in ((range(parts.n_labeled), 16), (range(parts.n_labeled, len(parts.train)), 128))
    )

    def batches() -> Iterator[Batch]:
        again = itertools.chain.from_iterable(itertools.repeat(p))
        for of_p, of_u in zip(again, u, strict=False):
            x, labeled, truth, number, pseudo = (torch.cat(pair) for pair in zip(of_p, of_u, strict=True))
            yield x, labeled, truth, number, pseudo

    return batches


class Published:
    """One method trained the published benchmark's way, an epoch at a time."""

    def __init__(self, method: str, parts: Parts, workers: int, steps: int | None) -> None:
        torch.manual_seed(0)
        self.net: nn.Module = lenet((1, 28, 28), 1)
        self.parts, self.steps = parts, steps
        self.batches = (paired if method == "pulda" else joint)(parts, workers)
        of_method: dict[str, Callable[[nn.Module, Batch, float], Tensor | None]] = {
            "nnpu": nnpu,
            "pusb": pusb,
            "vpu": vpu,
            "pulda": Pulda(parts.train),
        }
        self.objective = of_method[method]
        rate = 1e-3 if method == "pulda" else 3e-4
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=rate, weight_decay=1e-4)
        self.loaders = [
            DataLoader(part, batch_size=256, num_workers=workers)
            for part in (parts.train, parts.validation, parts.test)
        ]

    def epoch(self) -> float:
        """Its seconds."""
        started = time.perf_counter()
        self.net.train()
        total = 0.0
        for batch in itertools.islice(self.batches(), self.steps):
            objective = self.objective(self.net, batch, self.parts.prior)
            if objective is None:
                continue
            self.optimizer.zero_grad()
            objective.backward()
            self.optimizer.step()
            total += objective.item()
        self.net.eval()
        for loader in self.loaders:
            self.evaluate(loader)
        return time.perf_counter() - started

    def evaluate(self, loader: DataLoader[Any]) -> list[float]:
        """Nine measures of one part."""
        found, truth = [], []
        with torch.no_grad():
            for x, _, labels, *_ in loader:
                found.append(torch.sigmoid(self.net(x).view(-1)).cpu().numpy())
                truth.append(labels.cpu().numpy())
        scores, y = np.concatenate(found), np.concatenate(truth)
        decisions = (scores > 0.5).astype(int)
        return [measure(y, decisions) for measure in MEASURES] + [measure(y, scores) for measure in RANKED]
