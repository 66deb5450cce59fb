"""PU-Bench's nnPU as released, in plain PyTorch, without a line of this project: what does the recipe itself give?

    python benchmarks/released_nnpu.py --root ../shared/data --data spambase
    python benchmarks/released_nnpu.py --root ../shared/data --data connect-4 --seeds 2 --trace [--standardise]

Case-control, c = 0.1, validation 1 %; the prior of P and U together; sigmoid loss with gradient ascent; output bias at
the prior's logit; Adam 3e-4, weight decay 1e-4, batches of 256, 40 epochs; the epoch of best validation F1, patience
10. A model that decides every row alike is measured with the threshold moved to the prior's quantile. Spambase is
standardised with all its rows, as released. Prints accuracy and AUC on the test rows per seed, then their mean.
"""

from __future__ import annotations

import argparse
import gzip
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import train_test_split
from torch import nn

C, LR, WEIGHT_DECAY, BATCH, EPOCHS, PATIENCE, LEAST_GAIN = 0.1, 3e-4, 1e-4, 256, 40, 10, 1e-4
SEEDS = (2, 25, 42, 52, 99, 103, 250, 666, 777, 2026)

Table = tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]


def read(root: Path, data: str, standardise: bool) -> Table:
    """Features and which rows are positive."""
    if data == "spambase":
        cells = np.loadtxt(root / "spambase" / "spambase.data", delimiter=",")
        x, y = cells[:, :-1].astype(np.float32), cells[:, -1] == 1
    else:
        with gzip.open(root / "connect-4" / "connect-4.data.gz", "rt") as file:
            words = np.array([line.strip().split(",") for line in file])
        x = np.concatenate([words[:, :-1] == value for value in "box"], axis=1).astype(np.float32)
        y = words[:, -1] == "win"
    if standardise or data == "spambase":
        scale = x.std(axis=0)
        x = (x - x.mean(axis=0)) / np.where(scale == 0, 1, scale)
    return x, y


def network(inputs: int, prior: float) -> nn.Sequential:
    """The published tabular network, its output bias at the logit of the prior."""
    layers: list[nn.Module] = []
    for width, dropout in ((512, 0.3), (256, 0.3), (128, 0.2)):
        layers += [nn.Linear(inputs, width), nn.ReLU(), nn.Dropout(dropout)]
        inputs = width
    last = nn.Linear(64, 1)
    with torch.no_grad():
        last.bias.fill_(math.log(prior / (1 - prior)))
    return nn.Sequential(*layers, nn.Linear(inputs, 64), nn.ReLU(), last, nn.Flatten(0))


def objective(z: torch.Tensor, labeled: torch.Tensor, prior: float) -> torch.Tensor:
    """What a step minimises: the PU risk, or the ascent of its negative part where that is below 0."""
    n_p, n_u = labeled.sum().clamp(min=1), (~labeled).sum().clamp(min=1)
    positive = prior * torch.sigmoid(-z[labeled]).sum() / n_p
    negative = torch.sigmoid(z[~labeled]).sum() / n_u - prior * torch.sigmoid(z[labeled]).sum() / n_p
    return -negative if negative < 0 else positive + negative


class Measured(NamedTuple):
    """``alike``: the model decides every row alike, so that the threshold was moved."""

    accuracy: float
    f1: float
    auc: float
    alike: bool
    lowest: float
    highest: float


def measure(net: nn.Module, x: npt.NDArray[np.float32], y: npt.NDArray[np.bool_], prior: float) -> Measured:
    """The released evaluation."""
    net.eval()
    with torch.no_grad():
        z = net(torch.from_numpy(x)).numpy()
    decided = z > 0
    alike = bool(decided.all() or not decided.any())
    if alike:
        k, ordered = round(prior * len(z)), np.sort(z)
        decided = z >= (ordered[len(z) - k] + ordered[len(z) - k - 1]) / 2
    accuracy, f1 = float(np.mean(decided == y)), float(f1_score(y, decided))
    return Measured(accuracy, f1, float(roc_auc_score(y, z)), alike, float(z.min()), float(z.max()))


def trained(table: Table, seed: int, trace: bool) -> tuple[int, Measured]:
    """The epoch of best validation F1 and its test measures."""
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    x, y = table
    pool_x, test_x, pool_y, test_y = train_test_split(x, y, test_size=0.2, stratify=y, random_state=seed)
    pool_x, val_x, pool_y, val_y = train_test_split(pool_x, pool_y, test_size=0.01, stratify=pool_y, random_state=seed)
    chosen = rng.choice(np.flatnonzero(pool_y), int(C * pool_y.sum()), replace=False)
    train_x = torch.from_numpy(np.concatenate([pool_x[chosen], pool_x]))
    labeled = torch.arange(len(train_x)) < len(chosen)
    prior = float((len(chosen) + pool_y.sum()) / len(train_x))
    net = network(x.shape[1], prior)
    optimizer = torch.optim.Adam(net.parameters(), lr=LR, weight_decay=WEIGHT_DECAY)
    best, best_f1 = (0, measure(net, test_x, test_y, prior)), -1.0
    for epoch in range(1, EPOCHS + 1):
        net.train()
        for rows in torch.randperm(len(train_x)).split(BATCH):
            optimizer.zero_grad()
            objective(net(train_x[rows]), labeled[rows], prior).backward()
            optimizer.step()
        f1, found = measure(net, val_x, val_y, prior).f1, measure(net, test_x, test_y, prior)
        if trace:
            print(f"  epoch {epoch:2}: validation F1 {f1:.3f}; {words(found)}", flush=True)
        if f1 > best_f1 + LEAST_GAIN:
            best, best_f1 = (epoch, found), f1
        elif epoch - best[0] >= PATIENCE:
            break
    return best


def words(found: Measured) -> str:
    """Test measures in per cent."""
    alike = ", all decided alike: threshold moved" if found.alike else ""
    return (
        f"accuracy {100 * found.accuracy:.2f}, AUC {100 * found.auc:.2f}, "
        f"scores {found.lowest:.2f} to {found.highest:.2f}{alike}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--data", choices=["connect-4", "spambase"], required=True)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--standardise", action="store_true", help="connect-4 too")
    parser.add_argument("--trace", action="store_true", help="a line per epoch")
    options = parser.parse_args()
    table = read(options.root, options.data, options.standardise)
    accuracies = []
    for seed in options.seeds:
        epoch, found = trained(table, seed, options.trace)
        print(f"seed {seed}, epoch {epoch}: {words(found)}", flush=True)
        accuracies.append(100 * found.accuracy)
    spread = f" ± {np.std(accuracies, ddof=1):.2f}" if len(accuracies) > 1 else ""
    print(f"accuracy {np.mean(accuracies):.2f}{spread} ({len(accuracies)})")


if __name__ == "__main__":
    main()
