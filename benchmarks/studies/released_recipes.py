"""Training recipes of PU-Bench as released, in plain PyTorch: each yields its classifier after an epoch."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

WEIGHT_DECAY = 1e-4


class Table(NamedTuple):
    """``x``, ``labeled``: the training rows, P before U; ``prior``: the share of positives in them, as released.

    ``positive``: which rows are, for the supervised recipe alone.
    """

    x: Tensor
    labeled: Tensor
    prior: float
    positive: Tensor


def classifier(data: Table, *, biased: bool = True) -> nn.Sequential:
    """The published network for vectors, or for images of 28x28, its output bias at the logit of the prior."""
    prior = data.prior if biased else None
    return network(data.x.shape[1], prior) if data.x.ndim == 2 else lenet(prior)


def lenet(prior: float | None) -> nn.Sequential:
    last = nn.Linear(50, 1)
    if prior is not None:
        with torch.no_grad():
            last.bias.fill_(math.log(prior / (1 - prior)))
    layers: list[nn.Module] = []
    for inputs, outputs in ((1, 10), (10, 20)):
        layers += [nn.Conv2d(inputs, outputs, 5), nn.MaxPool2d(2), nn.ReLU()]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(320, 50), nn.ReLU(), last, nn.Flatten(0))


def network(inputs: int, prior: float | None, outputs: int = 1) -> nn.Sequential:
    """The published network of vectors, its output bias at the logit of the prior; of two outputs, (B, 2) logits."""
    layers: list[nn.Module] = []
    for width, dropout in ((512, 0.3), (256, 0.3), (128, 0.2)):
        layers += [nn.Linear(inputs, width), nn.ReLU(), nn.Dropout(dropout)]
        inputs = width
    last = nn.Linear(64, outputs)
    if prior is not None:
        with torch.no_grad():
            last.bias.fill_(math.log(prior / (1 - prior)))
    layers += [nn.Linear(inputs, 64), nn.ReLU(), last, *([nn.Flatten(0)] if outputs == 1 else [])]
    return nn.Sequential(*layers)


def adam(net: nn.Module, lr: float, weight_decay: float = WEIGHT_DECAY) -> torch.optim.Optimizer:
    return torch.optim.Adam(net.parameters(), lr=lr, weight_decay=weight_decay)


def pn(data: Table) -> Iterator[nn.Module]:
    """Supervised: the true labels of all rows of P and U; batches of 128, 50 epochs."""
    net = classifier(data)
    optimizer = adam(net, 5e-4, 1e-5)
    for _ in range(50):
        net.train()
        for rows in torch.randperm(len(data.x)).split(128):
            optimizer.zero_grad()
            F.binary_cross_entropy_with_logits(net(data.x[rows]), data.positive[rows].float()).backward()
            optimizer.step()
        yield net


def nnpu_loss(z: Tensor, labeled: Tensor, prior: float, loss: Callable[[Tensor], Tensor] = torch.sigmoid) -> Tensor:
    """Risk that nnPU minimizes on (B,) logits: minus the negative part if that is below 0, else the whole."""
    n_p, n_u = labeled.sum().clamp(min=1), (~labeled).sum().clamp(min=1)
    positive = prior * loss(-z[labeled]).sum() / n_p
    negative = loss(z[~labeled]).sum() / n_u - prior * loss(z[labeled]).sum() / n_p
    return -negative if negative < 0 else positive + negative


def nnpu(data: Table, loss: Callable[[Tensor], Tensor] = torch.sigmoid, lr: float = 3e-4) -> Iterator[nn.Module]:
    """The negative part of the risk is ascended where it is below 0; batches of 256, 40 epochs. ``loss``: of -yz."""
    net = classifier(data)
    optimizer = adam(net, lr)
    for _ in range(40):
        net.train()
        for rows in torch.randperm(len(data.x)).split(256):
            optimizer.zero_grad()
            nnpu_loss(net(data.x[rows]), data.labeled[rows], data.prior, loss).backward()
            optimizer.step()
        yield net


def pusb(data: Table) -> Iterator[nn.Module]:
    """nnPU with the logistic loss; the threshold stays at 0, as released."""
    return nnpu(data, F.softplus)


def vpu(data: Table) -> Iterator[nn.Module]:
    """X is the joint batch, P its labeled rows; the regularizer's weight is the mixup coefficient; threshold at 0."""
    net = classifier(data)
    optimizer = adam(net, 3e-4)
    for _ in range(40):
        net.train()
        for rows in torch.randperm(len(data.x)).split(256):
            x, labeled = data.x[rows], data.labeled[rows]
            if not labeled.any():
                continue
            g = float(np.random.beta(0.3, 0.3))
            partners = x[labeled][torch.randint(int(labeled.sum()), (len(x),))]
            z = F.logsigmoid(net(x))
            with torch.no_grad():
                target = (g * net(x).sigmoid() + 1 - g).log()
            variational = z.logsumexp(0) - math.log(len(z)) - z[labeled].mean()
            regularizer = (target - F.logsigmoid(net(g * x + (1 - g) * partners))).square().mean()
            optimizer.zero_grad()
            (variational + g * regularizer).backward()
            optimizer.step()
        yield net


def lbe(data: Table) -> Iterator[nn.Module]:
    """20 passes of pre-training in batches of 64, then 20 EM epochs of 20 steps; one pair of optimizers throughout."""
    net, eta = classifier(data), classifier(data, biased=False)
    on_net, on_eta = adam(net, 5e-4), adam(eta, 5e-4)
    observed = data.labeled.float()
    rows_p, rows_u = data.labeled.nonzero().flatten(), (~data.labeled).nonzero().flatten()

    def balanced(z: Tensor, target: Tensor, s: Tensor) -> Tensor:
        weight = torch.where(s > 0, (1 - s).sum().clamp(min=1) / s.sum().clamp(min=1), 1.0)
        return (F.binary_cross_entropy_with_logits(z, target, reduction="none") * weight).sum() / weight.sum()

    for _ in range(20):
        net.train(), eta.train()
        for rows in torch.randperm(len(data.x)).split(64):
            on_net.zero_grad(), on_eta.zero_grad()
            balanced(net(data.x[rows]), observed[rows], observed[rows]).backward()
            F.binary_cross_entropy_with_logits(eta(data.x[rows]), observed[rows]).backward()
            on_net.step(), on_eta.step()
    for _ in range(20):
        net.eval(), eta.eval()
        with torch.no_grad():
            p, h = net(data.x).sigmoid(), eta(data.x).sigmoid()
            positive = p * torch.where(data.labeled, h, 1 - h)
            q = positive / (positive + (1 - p) * (1 - observed) + 1e-8)
        net.train(), eta.train()
        for _ in range(20):
            subset = rows_u[torch.randperm(len(rows_u))[: int(0.1 * len(data.x))]]
            with torch.no_grad():
                losses = F.binary_cross_entropy_with_logits(net(data.x[subset]), q[subset], reduction="none")
            kept = torch.cat([rows_p, subset[losses.topk(int(0.8 * len(subset)), largest=False).indices]])
            kept = kept[torch.randperm(len(kept))]
            on_net.zero_grad(), on_eta.zero_grad()
            for rows in kept.split(512):
                s = observed[rows]
                weight = torch.where(s > 0, 1.0, q[rows])
                on_label = F.binary_cross_entropy_with_logits(eta(data.x[rows]), s, reduction="none")
                loss = balanced(net(data.x[rows]), q[rows], s) + (on_label * weight).mean()
                (loss * len(rows) / len(kept)).backward()
            on_net.step(), on_eta.step()
        yield net


def dist_pu(data: Table) -> Iterator[nn.Module]:
    """20 epochs of label distributions, then 20 with mixup of believed labels; batches of 256 of all rows."""
    net, labeled = classifier(data), data.labeled
    stages = (20, adam(net, 3e-4, 5e-4)), (20, adam(net, 5e-5, 5e-4))
    for stage, (epochs, optimizer) in enumerate(stages):
        belief = probabilities(net, data.x)
        for _ in range(epochs):
            net.train()
            for rows in torch.randperm(len(data.x)).split(256):
                of_p, of_u, x = rows[labeled[rows]], rows[~labeled[rows]], data.x[rows]
                p = net(x).sigmoid()
                loss = 1 - p[labeled[rows]].mean() if len(of_p) else p.new_zeros(())
                if len(of_u):
                    loss = loss + (p[~labeled[rows]].mean() - data.prior).abs() / (2 * data.prior)
                if stage == 1:
                    mixed, target = mixup(x, torch.where(labeled[rows], 1.0, belief[rows]), 1.0)
                    q = net(mixed).sigmoid().clamp(1e-7, 1 - 1e-7)
                    entropy = -(q * q.log() + (1 - q) * (1 - q).log()).mean()
                    loss = loss + 0.04 * entropy + 5 * F.binary_cross_entropy(q, target)
                    belief[rows] = p.detach()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            yield net


def pulda(data: Table) -> Iterator[nn.Module]:
    """60 epochs of P against U, then 60 of aligned label distributions and mixup; batches of 16 of P and 128 of U."""
    net = classifier(data)
    rows_p, rows_u = data.labeled.nonzero().flatten(), (~data.labeled).nonzero().flatten()
    batches_p = endless_full(rows_p, 16)
    optimizer = adam(net, 1e-4, 5e-4)
    for _ in range(60):
        net.train()
        for of_u in rows_u[torch.randperm(len(rows_u))].split(128):
            rows = torch.cat([next(batches_p), of_u])
            optimizer.zero_grad()
            F.binary_cross_entropy_with_logits(net(data.x[rows]), data.labeled[rows].float()).backward()
            optimizer.step()
        yield net
    belief, aligned, optimizer = probabilities(net, data.x), Aligned(data.prior), adam(net, 1e-3, 1e-4)
    rate = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 60, eta_min=7e-4)
    for _ in range(60):
        net.train()
        for of_u in rows_u[torch.randperm(len(rows_u))].split(128):
            of_p = next(batches_p)
            rows = torch.cat([of_p, of_u])
            x, z = data.x[rows], net(data.x[rows]).clamp(-10, 10)
            mixed, target = mixup(x, torch.where(data.labeled[rows], 1.0, belief[rows]), 11.0)
            loss_mixed = F.binary_cross_entropy_with_logits(net(mixed).clamp(-10, 10), target)
            optimizer.zero_grad()
            (aligned(z[: len(of_p)], z[len(of_p) :]) + 4.2 * loss_mixed).backward()
            optimizer.step()
            belief[rows] = z.detach().sigmoid()
        rate.step()
        yield net


class Aligned:
    """PULDA's alignment and margin terms of a batch of P and one of U, by moving averages."""

    def __init__(self, prior: float) -> None:
        self.prior = prior
        self.before: tuple[Tensor, Tensor, Tensor] | None = None

    def __call__(self, z_p: Tensor, z_u: Tensor) -> Tensor:
        margin, keeps = 0.6, (0.85, 0.5, 0.5)
        negative_p, negative_u = ((z + margin).sigmoid() * (-z).sigmoid() for z in (z_p, z_u))
        now = z_u.sigmoid().mean(), negative_p.mean(), negative_u.mean()
        scales = 1.0, 1.0
        if self.before is not None:
            triples = zip(keeps, self.before, now, strict=True)
            share, of_p, of_u = (keep * old + (1 - keep) * new for keep, old, new in triples)
            scales = 1 / (1 - keeps[0]), 1 / (1 - keeps[1])
        else:
            share, of_p, of_u = now
        self.before = share.detach(), of_p.detach(), of_u.detach()
        alignment = 2 * self.prior * (1 - z_p.sigmoid().mean()) + scales[0] * distance(share, self.prior, 3.5)
        positive = (z_p.sigmoid() * (margin - z_p).sigmoid()).mean()
        return alignment + self.prior * positive + scales[1] * distance(of_u, self.prior * of_p, 1.0)


def distance(a: Tensor, b: Tensor | float, sharpness: float) -> Tensor:
    return F.softplus(a - b, sharpness) + F.softplus(b - a, sharpness)


def probabilities(net: nn.Module, x: Tensor) -> Tensor:
    net.eval()
    with torch.no_grad():
        p: Tensor = net(x).sigmoid()
    return p


def mixup(x: Tensor, target: Tensor, concentration: float) -> tuple[Tensor, Tensor]:
    share, other = float(np.random.beta(concentration, concentration)), torch.randperm(len(x))
    return share * x + (1 - share) * x[other], share * target + (1 - share) * target[other]


def endless(rows: Tensor, size: int) -> Iterator[Tensor]:
    """Shuffled batches of rows, again and again; the last of a pass may be short."""
    while True:
        yield from rows[torch.randperm(len(rows))].split(size)


def p3mix_e(data: Table) -> Iterator[nn.Module]:
    """40 times 100 steps. The layer to mix at, 3, is beyond this network: targets are mixed, inputs are not."""
    net = network(data.x.shape[1], data.prior)
    teacher = copy.deepcopy(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, betas=(0.5, 0.99), weight_decay=1e-6)
    halving = torch.optim.lr_scheduler.MultiStepLR(optimizer, [20, 40], 0.5)
    rows_p, rows_u = data.labeled.nonzero().flatten(), (~data.labeled).nonzero().flatten()
    batches_p, batches_u = endless(rows_p, 256), endless(rows_u, 256)
    for epoch in range(1, 41):
        net.train(), teacher.train()
        for _ in range(100):
            of_p, of_u = next(batches_p), next(batches_u)
            x = data.x[torch.cat([of_p, of_u])]
            positive = torch.arange(len(x)) < len(of_p)
            z = net(x)
            with torch.no_grad():  # each pass has dropout of its own
                p, belief = net(x).sigmoid(), teacher(x).sigmoid()
            partner = torch.randint(len(x), (len(x),)) if epoch >= 5 else torch.randperm(len(x))
            target, guide = positive.float(), belief
            other_target, other_guide = target[partner], guide[partner]
            if epoch >= 5:  # a U row that the network is not sure of is mixed with a labeled one
                marginal = ~positive & (p > 1 - 0.85) & (p < 0.85)
                other_target = torch.where(marginal, 1.0, other_target)
                other_guide = torch.where(marginal, 1.0, other_guide)
            share = float(np.random.beta(0.5, 0.5))
            share = max(share, 1 - share)
            target = share * target + (1 - share) * other_target
            guide = share * guide + (1 - share) * other_guide
            p = z.sigmoid().clamp(1e-4, 1 - 1e-4)
            cross = -(target * p.log() + (1 - target) * (1 - p).log())
            entropy = -(p * p.log() + (1 - p) * (1 - p).log()).mean()
            early = (1 - guide * p - (1 - guide) * (1 - p)).log().mean()
            optimizer.zero_grad()
            (cross[positive].mean() + cross[~positive].mean() + 0.01 * entropy + 0.5 * early).backward()
            optimizer.step()
        decay = min(1 - 1 / (epoch + 1), 0.997)
        with torch.no_grad():
            for old, new in zip(teacher.parameters(), net.parameters(), strict=True):
                old.lerp_(new, 1 - decay)
        halving.step()
        yield net


def robust_pu(data: Table) -> Iterator[nn.Module]:
    """20 epochs of nnPU at 1e-4, then 5 episodes of 5 passes at 1e-2, weighted linearly by hardness.

    An epoch of either kind can be the one that is kept, as released.
    """
    for net in itertools.islice(nnpu(data, lr=1e-4), 20):
        yield net
    for episode in range(5):
        net.eval()
        with torch.no_grad():
            z = net(data.x)
        reach_p, reach_u = (start + (1 - start) * episode / 10 for start in (0.1, 0.11))
        weight = torch.where(data.labeled, 1 - F.softplus(-z) / reach_p, 1 - F.softplus(z / 1.5) / reach_u).clamp(min=0)
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
        for _ in range(5):
            net.train()
            for rows in torch.randperm(len(data.x)).split(256):
                if weight[rows].sum() < 1e-6:
                    continue
                loss = F.binary_cross_entropy_with_logits(
                    net(data.x[rows]), data.labeled[rows].float(), reduction="none"
                )
                optimizer.zero_grad()
                ((loss * weight[rows]).sum() / (weight[rows].sum() + 1e-6)).backward()
                optimizer.step()
            yield net


def pan(data: Table) -> Iterator[nn.Module]:
    """D tells U from what R calls positive there; R is a PN classifier, its U weighted by D. D never sees P."""
    r, d = network(data.x.shape[1], data.prior), network(data.x.shape[1], data.prior)
    on_r, on_d = (torch.optim.Adam(net.parameters(), lr=3e-4) for net in (r, d))
    rows_p, rows_u = data.labeled.nonzero().flatten(), (~data.labeled).nonzero().flatten()
    for _ in range(120):
        r.train(), d.train()
        shuffled = (rows[torch.randperm(len(rows))].split(64) for rows in (rows_p, rows_u))
        for of_p, of_u in zip(*shuffled, strict=False):  # ends with the shorter of the two, as released
            x_u = data.x[of_u]
            with torch.no_grad():
                chosen = x_u[r(x_u) > 0]
            if len(chosen):
                on_d.zero_grad()
                (F.softplus(-d(x_u)).mean() + F.softplus(d(chosen)).mean()).backward()
                on_d.step()
            with torch.no_grad():
                trust = d(x_u).sigmoid()
            on_r.zero_grad()
            (F.softplus(-r(data.x[of_p])).mean() + 0.4 * (trust * F.softplus(r(x_u))).mean()).backward()
            on_r.step()
        yield r


def self_pu(data: Table) -> Iterator[nn.Module]:
    """40 epochs of two students; the first is measured. An epoch is as long as P and the chosen rows of U in batches.

    Teachers stand still until epoch 10, and choose from epoch 6 on. Chosen rows keep the label of U, those of the
    lowest and of the highest scores, so that they are trained as negatives. There is no calibration.
    """
    students = [network(data.x.shape[1], data.prior) for _ in range(2)]
    teachers = copy.deepcopy(students)
    optimizers = [torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=5e-4) for net in students]
    rows_p, rows_u = data.labeled.nonzero().flatten(), (~data.labeled).nonzero().flatten()
    clean, noisy = [rows_p[:0]] * 2, [torch.arange(len(data.x))] * 2
    for epoch in range(1, 41):
        if epoch >= 5 and epoch % 2 == 0:
            share = min((epoch - 5) / 30, 1)
            half = [int(len(rows_u) * top * share) // 2 for top in (0.1, 0.2)]
            for i in range(2):
                teachers[i].eval()
                with torch.no_grad():
                    ordered = rows_u[teachers[i](data.x[rows_u]).argsort()]
                clean[i] = torch.cat([ordered[: half[i]], ordered[len(ordered) - half[i] :]])
                rest = torch.ones(len(data.x), dtype=torch.bool)
                rest[clean[i]] = False
                noisy[i] = rest.nonzero().flatten()
        chosen = epoch >= 5 and min(len(rows) for rows in clean) > 0
        first = [torch.cat([rows_p, rows]) if chosen else rows_p for rows in clean]
        second = noisy if chosen or epoch < 5 else [rows_p] * 2
        passes = [full_batches(rows, 256, always=chosen) for rows in first]
        others = [endless_full(rows, 256) for rows in second]
        weight = 0.3 * math.exp(-5 * (1 - min(epoch, 20) / 20) ** 2)
        for batches in zip(*passes, strict=False):
            for i, (net, teacher) in enumerate(zip(students, teachers, strict=True)):
                net.train(), teacher.train()
                a, b = batches[i], next(others[i])
                z_a, z_b, labeled = net(data.x[a]), net(data.x[b]), data.labeled[a]
                if epoch < 5:
                    loss = nnpu_loss(z_a, labeled, data.prior)
                else:
                    loss = F.binary_cross_entropy_with_logits(z_a, labeled.float())
                loss = loss + nnpu_loss(z_b, data.labeled[b], data.prior)
                if epoch >= 10:
                    with torch.no_grad():
                        taught = [teacher(data.x[rows]).sigmoid() for rows in (a, b)]
                    gaps = [F.mse_loss(z.sigmoid(), t) for z, t in zip((z_a, z_b), taught, strict=True)]
                    loss = loss + weight * sum(gaps) / 2
                optimizers[i].zero_grad()
                loss.backward()
                optimizers[i].step()
                if epoch >= 10:
                    average(teacher, net)
        yield students[0]


def full_batches(rows: Tensor, size: int, *, always: bool = False) -> list[Tensor]:
    """A shuffled pass without its incomplete batch; of fewer rows than one has, one batch, or (``always``) none."""
    batches = list(rows[torch.randperm(len(rows))].split(size))
    return batches if len(rows) < size and not always else [batch for batch in batches if len(batch) == size]


def endless_full(rows: Tensor, size: int) -> Iterator[Tensor]:
    while True:
        yield from full_batches(rows, size)


def average(old: nn.Module, new: nn.Module) -> None:
    """Moving average of parameters, a step of .999."""
    with torch.no_grad():
        for mean, value in zip(old.parameters(), new.parameters(), strict=True):
            mean.lerp_(value, 0.001)


def weak(x: Tensor) -> Tensor:
    return x + 0.01 * torch.randn_like(x)


def strong(x: Tensor) -> Tensor:
    x = (x + 0.05 * torch.randn_like(x)) * (torch.rand_like(x) > 0.05)
    return torch.where(torch.rand_like(x) < 0.05, -x, x)


def nesterov(net: nn.Module, steps: int) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    """At .01, decay of weights only, down to .04 of the rate in so many steps."""
    parts = [{"params": [p for p in net.parameters() if (p.ndim > 1) == decayed]} for decayed in (True, False)]
    optimizer = torch.optim.SGD(parts, lr=1e-2, momentum=0.9, nesterov=True)
    optimizer.param_groups[0]["weight_decay"] = 5e-4
    rate = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: 0.5 * (1 + math.cos(math.pi * 7 / 8 * k / steps)))
    return optimizer, rate


def natural_break(values: Tensor) -> float:
    """The largest value of the lower of two classes with the least squares within."""
    ordered = values.double().sort().values
    n = torch.arange(1, len(ordered), dtype=torch.float64)
    below, above = ordered.cumsum(0)[:-1], ordered.flip(0).cumsum(0).flip(0)[1:]
    return float(ordered[(below.square() / n + above.square() / n.flip(0)).argmax()])


class Positive(nn.Module):
    """The logit of class 0 above that of class 1."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        z: Tensor = self.net(x)
        return z[:, 0] - z[:, 1]


def holistic_pu_turned(data: Table) -> Iterator[nn.Module]:
    """:func:`holistic_pu`, measured by the class that it trains as the positive one."""
    return map(Positive, holistic_pu(data))


def holistic_pu(data: Table) -> Iterator[nn.Module]:
    """10 epochs of 512 steps of P against U, then 100 passes with pseudo-labels. Class 0 is the positive one.

    Where released code measures, class 1 is: a network is measured by the rows that it decides negative.
    """
    x_p, x_u = data.x[data.labeled], data.x[~data.labeled]
    net = network(data.x.shape[1], None, outputs=2)
    mean = copy.deepcopy(net)
    optimizer, rate = nesterov(net, 10 * 512)
    batches_p = endless(torch.arange(len(x_p)), min(256, len(x_p)))
    batches_u = itertools.cycle(b for b in torch.arange(len(x_u)).split(256) if len(b) == 256)
    seen = []
    for _ in range(10):
        net.train(), mean.eval()
        for _ in range(512):
            of_p, of_u = next(batches_p), next(batches_u)
            zero, one = torch.zeros(len(of_p), dtype=torch.long), torch.ones(len(of_u), dtype=torch.long)
            views = (F.cross_entropy(net(view(x_p[of_p])), zero, label_smoothing=0.05) for view in (weak, strong))
            optimizer.zero_grad()
            (sum(views) / 2 + F.cross_entropy(net(weak(x_u[of_u])), one)).backward()
            optimizer.step(), rate.step()
            average(mean, net)
        yield net
        with torch.no_grad():
            seen.append(mean(weak(x_u)).softmax(dim=1)[:, 0])
    rises = torch.stack(seen).diff(dim=0)
    trends = (1 + rises + rises.square() / 2).log().mean(dim=0)
    limit = natural_break(trends)
    if limit > 0:
        limit = natural_break(trends[(trends - trends.mean()).abs() < 3 * trends.std(correction=0)])
    pseudo = F.one_hot((trends <= limit).long(), 2).float()
    size = min(256, len(x_p) // 2)
    net = network(data.x.shape[1], None, outputs=2)
    steps = len(x_u) // size
    optimizer, rate = nesterov(net, 100 * steps)
    for epoch in range(1, 101):
        net.train()
        trust, batches_p = (epoch / 100) ** 0.8, endless_full(torch.arange(len(x_p)), size)
        for of_u in torch.arange(steps * size).split(size):
            of_p = next(batches_p)
            z_p, z_u = net(torch.cat([weak(x_p[of_p]), weak(x_u[of_u])])).split(size)
            z_strong = net(torch.cat([strong(x_p[of_p]), strong(x_u[of_u])]))[size:]
            target = trust * pseudo[of_u] + (1 - trust) * torch.tensor([0.0, 1.0])
            sure, guess = z_u.detach().softmax(dim=1).max(dim=1)
            consistency = (F.cross_entropy(z_strong, guess, reduction="none") * (sure >= 0.9)).mean()
            positive = F.cross_entropy(z_p, torch.zeros(size, dtype=torch.long))
            optimizer.zero_grad()
            (positive + F.cross_entropy(z_u, target) + consistency).backward()
            optimizer.step(), rate.step()
        yield net
