"""Four methods of PU-Bench as released, in plain PyTorch, without pubench: what do they give?

    python benchmarks/released.py --method nnpu --root ../shared/data --data spambase
    python benchmarks/released.py --method lbe --root ../shared/data --data 20news --seeds 2 25 42
    python benchmarks/released.py --method nnpu --root ../shared/data --data connect-4 --seeds 2 --trace [--standardize]

Case-control, c = 0.1, validation 1 %; the prior of P and U together; the classifier's output bias at its logit; Adam,
weight decay 1e-4; the epoch of best validation F1. A model that decides every row alike is measured with the threshold
moved to the prior's quantile. Spambase is standardized with all its rows, text vectors have unit length, Connect-4 is
0/1, as released. Prints accuracy and AUC on the test rows per seed, then the mean.
"""

from __future__ import annotations

import argparse
import gzip
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import raw_rows
import torch
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import train_test_split
from torch import Tensor, nn
from torch.nn import functional as F

C, WEIGHT_DECAY, LEAST_GAIN = 0.1, 1e-4, 1e-4
SEEDS = (2, 25, 42, 52, 99, 103, 250, 666, 777, 2026)


class Part(NamedTuple):
    """Features and which rows are positive."""

    x: npt.NDArray[np.float32]
    y: npt.NDArray[np.bool_]


class Problem(NamedTuple):
    """``x``, ``labeled``: the training table, P before U; ``prior``: the share of positives in it, as released."""

    x: Tensor
    labeled: Tensor
    prior: float
    validation: Part
    test: Part


# ---------------------------------------------------------------- data


def read(root: Path, data: str, standardize: bool, seed: int) -> tuple[Part, Part]:
    """Training pool and test part."""
    if data == "20news":
        with np.load(root / "20newsgroups" / "minilm_l6_v2.npz") as file:
            x, train = file["embedding"].astype(np.float32), file["split"] == "train"
            groups = np.array([str(name).split(".")[0] for name in file["target_names"]])[file["target"]]
        x, y = x / np.linalg.norm(x, axis=1, keepdims=True), np.isin(groups, ["alt", "comp", "misc", "rec"])
        return Part(x[train], y[train]), Part(x[~train], y[~train])
    if data == "spambase":
        cells = np.loadtxt(root / "spambase" / "spambase.data", delimiter=",")
        x, y = cells[:, :-1].astype(np.float32), cells[:, -1] == 1
    else:
        with gzip.open(root / "connect-4" / "connect-4.data.gz", "rt") as file:
            words = np.array([line.strip().split(",") for line in file])
        x = np.concatenate([words[:, :-1] == value for value in "box"], axis=1).astype(np.float32)
        y = words[:, -1] == "win"
    if standardize or data == "spambase":
        scale = x.std(axis=0)
        x = (x - x.mean(axis=0)) / np.where(scale == 0, 1, scale)
    pool_x, test_x, pool_y, test_y = train_test_split(x, y, test_size=0.2, stratify=y, random_state=seed)
    return Part(pool_x, pool_y), Part(test_x, test_y)


def problem_of(pool: Part, test: Part, seed: int) -> Problem:
    """Validation rows set aside, then P drawn from the positives and U all rows."""
    x, val_x, y, val_y = train_test_split(pool.x, pool.y, test_size=0.01, stratify=pool.y, random_state=seed)
    positives = np.flatnonzero(y)
    chosen = np.random.default_rng(seed).choice(positives, int(C * len(positives)), replace=False)
    table = torch.from_numpy(np.concatenate([x[chosen], x]))
    prior = (len(chosen) + len(positives)) / len(table)
    return Problem(table, torch.arange(len(table)) < len(chosen), prior, Part(val_x, val_y), test)


# ---------------------------------------------------------------- networks and evaluation


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


class Measured(NamedTuple):
    """``alike``: the model decides every row alike, so that the threshold was moved."""

    accuracy: float
    f1: float
    auc: float
    alike: bool
    lowest: float
    highest: float

    def __str__(self) -> str:
        alike = ", all decided alike: threshold moved" if self.alike else ""
        return (
            f"accuracy {100 * self.accuracy:.2f}, AUC {100 * self.auc:.2f}, "
            f"scores {self.lowest:.2f} to {self.highest:.2f}{alike}"
        )


def measure(net: nn.Module, part: Part, prior: float) -> Measured:
    """The released evaluation."""
    net.eval()
    with torch.no_grad():
        z = net(torch.from_numpy(part.x)).numpy()
    decided = z > 0
    alike = bool(decided.all() or not decided.any())
    if alike:
        k, ordered = round(prior * len(z)), np.sort(z)
        decided = z >= (ordered[len(z) - k] + ordered[len(z) - k - 1]) / 2
    accuracy, f1 = float(np.mean(decided == part.y)), float(f1_score(part.y, decided))
    return Measured(accuracy, f1, float(roc_auc_score(part.y, z)), alike, float(z.min()), float(z.max()))


# ---------------------------------------------------------------- methods: each yields its classifier after an epoch


def adam(net: nn.Module, lr: float) -> torch.optim.Optimizer:
    return torch.optim.Adam(net.parameters(), lr=lr, weight_decay=WEIGHT_DECAY)


def nnpu(data: Problem, loss: Callable[[Tensor], Tensor] = torch.sigmoid) -> Iterator[nn.Module]:
    """The negative part of the risk is ascended where it is below 0; batches of 256, 40 epochs. ``loss``: of -yz."""
    net = network(data.x.shape[1], data.prior)
    optimizer = adam(net, 3e-4)
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


def pusb(data: Problem) -> Iterator[nn.Module]:
    """nnPU with the logistic loss; the threshold stays at 0, as released."""
    return nnpu(data, F.softplus)


def vpu(data: Problem) -> Iterator[nn.Module]:
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


def lbe(data: Problem) -> Iterator[nn.Module]:
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


#: Method -> its epochs and its patience.
METHODS = {"nnpu": (nnpu, 10), "pusb": (pusb, 10), "vpu": (vpu, 10), "lbe": (lbe, 5)}


def trained(method: str, data: Problem, trace: bool) -> tuple[int, Measured]:
    """The epoch of best validation F1 and its test measures."""
    epochs, patience = METHODS[method]
    best, best_f1 = None, -1.0
    for epoch, net in enumerate(epochs(data), start=1):
        f1, found = measure(net, data.validation, data.prior).f1, measure(net, data.test, data.prior)
        if trace:
            print(f"  epoch {epoch:2}: validation F1 {f1:.3f}; {found}", flush=True)
        if f1 > best_f1 + LEAST_GAIN:
            best, best_f1 = (epoch, found), f1
        elif best is not None and epoch - best[0] >= patience:
            break
    assert best is not None
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", choices=METHODS, required=True)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--data", choices=["20news", "connect-4", "spambase"], required=True)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--standardize", action="store_true", help="connect-4 too")
    parser.add_argument("--trace", action="store_true", help="a line per epoch")
    parser.add_argument("--out", type=Path, help="a CSV file that gets a row per seed")
    options = parser.parse_args()
    accuracies = []
    for seed in options.seeds:
        torch.manual_seed(seed)
        np.random.seed(seed)
        data = problem_of(*read(options.root, options.data, options.standardize, seed), seed)
        epoch, found = trained(options.method, data, options.trace)
        print(f"seed {seed}, epoch {epoch}: {found}", flush=True)
        accuracies.append(100 * found.accuracy)
        if options.out is not None:
            row = {
                "method": options.method,
                "data": options.data,
                "standardised": options.standardize,  # a column keeps the name that it has in the stored rows
                "seed": seed,
                "epoch": epoch,
                **found._asdict(),
                "torch": torch.__version__,
                "threads": torch.get_num_threads(),
                "commit": raw_rows.commit(),
                "machine": raw_rows.machine(),
                "command": f"released.py --method {options.method} --data {options.data} --seeds {seed}"
                + (" --standardize" if options.standardize else ""),
            }
            raw_rows.append(options.out, row)
    spread = f" ± {np.std(accuracies, ddof=1):.2f}" if len(accuracies) > 1 else ""
    print(f"accuracy {np.mean(accuracies):.2f}{spread} ({len(accuracies)})")


if __name__ == "__main__":
    main()
