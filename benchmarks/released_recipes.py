"""Training recipes of PU-Bench as released, in plain PyTorch: each yields its classifier after an epoch."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

WEIGHT_DECAY = 1e-4


class Table(NamedTuple):
    """``x``, ``labeled``: the training rows, P before U; ``prior``: the share of positives in them, as released."""

    x: Tensor
    labeled: Tensor
    prior: float


def network(inputs: int, prior: float | None) -> nn.Sequential:
    """The published network of vectors, its output bias at the logit of the prior."""
    layers: list[nn.Module] = []
    for width, dropout in ((512, 0.3), (256, 0.3), (128, 0.2)):
        layers += [nn.Linear(inputs, width), nn.ReLU(), nn.Dropout(dropout)]
        inputs = width
    last = nn.Linear(64, 1)
    if prior is not None:
        with torch.no_grad():
            last.bias.fill_(math.log(prior / (1 - prior)))
    return nn.Sequential(*layers, nn.Linear(inputs, 64), nn.ReLU(), last, nn.Flatten(0))


def adam(net: nn.Module, lr: float) -> torch.optim.Optimizer:
    return torch.optim.Adam(net.parameters(), lr=lr, weight_decay=WEIGHT_DECAY)


def nnpu(data: Table, loss: Callable[[Tensor], Tensor] = torch.sigmoid, lr: float = 3e-4) -> Iterator[nn.Module]:
    """The negative part of the risk is ascended where it is below 0; batches of 256, 40 epochs. ``loss``: of -yz."""
    net = network(data.x.shape[1], data.prior)
    optimizer = adam(net, lr)
    for _ in range(40):
        net.train()
        for rows in torch.randperm(len(data.x)).split(256):
            z, labeled = net(data.x[rows]), data.labeled[rows]
            n_p, n_u = labeled.sum().clamp(min=1), (~labeled).sum().clamp(min=1)
            positive = data.prior * loss(-z[labeled]).sum() / n_p
            negative = loss(z[~labeled]).sum() / n_u - data.prior * loss(z[labeled]).sum() / n_p
            optimizer.zero_grad()
            (-negative if negative < 0 else positive + negative).backward()
            optimizer.step()
        yield net


def pusb(data: Table) -> Iterator[nn.Module]:
    """nnPU with the logistic loss; the threshold stays at 0, as released."""
    return nnpu(data, F.softplus)


def vpu(data: Table) -> Iterator[nn.Module]:
    """X is the joint batch, P its labeled rows; the regularizer's weight is the mixup coefficient; threshold at 0."""
    net = network(data.x.shape[1], data.prior)
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
    net, eta = network(data.x.shape[1], data.prior), network(data.x.shape[1], None)
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
    for epoch in range(40):
        net.train(), teacher.train()
        for _ in range(100):
            of_p, of_u = next(batches_p), next(batches_u)
            x = data.x[torch.cat([of_p, of_u])]
            positive = torch.arange(len(x)) < len(of_p)
            z = net(x)
            with torch.no_grad():
                p, belief = z.sigmoid(), teacher(x).sigmoid()
            partner = torch.randint(len(x), (len(x),)) if epoch >= 4 else torch.randperm(len(x))
            target, guide = positive.float(), belief
            other_target, other_guide = target[partner], guide[partner]
            if epoch >= 4:  # a U row that the network is not sure of is mixed with a labeled one
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
    """20 epochs of nnPU at 1e-4, then 5 episodes of 5 passes at 1e-2, weighted linearly by hardness."""
    pretraining = nnpu(data, lr=1e-4)
    for _ in range(20):
        net = next(pretraining)
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
                chosen = r(x_u) > 0
            z = d(x_u)
            loss = F.softplus(-z).mean()
            if chosen.any():
                loss = loss + F.softplus(z[chosen]).mean()
            on_d.zero_grad()
            loss.backward()
            on_d.step()
            with torch.no_grad():
                trust = d(x_u).sigmoid().mean()
            on_r.zero_grad()
            (F.softplus(-r(data.x[of_p])).mean() + 0.4 * trust * F.softplus(r(x_u)).mean()).backward()
            on_r.step()
        yield r
