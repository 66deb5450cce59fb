"""PU-Bench's nnPU on Connect-4 in plain PyTorch, without a line of this project: does the recipe itself collapse?

    python benchmarks/connect4_plain.py --data DIR/connect-4/connect-4.data.gz --epochs 15 [--standardise]

As released: case-control, c = 0.1, validation 1 %, the prior of P and U together, sigmoid loss with gradient ascent,
output bias at the prior's logit, Adam 3e-4, weight decay 1e-4, batches of 256. Per epoch: test accuracy at 0, accuracy
with the threshold at the prior's quantile (what its evaluation reports of a collapsed model), AUC, range of scores.
"""

from __future__ import annotations

import argparse
import gzip
import math
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from torch import nn

C, LR, WEIGHT_DECAY, BATCH = 0.1, 3e-4, 1e-4, 256


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--standardise", action="store_true")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    torch.manual_seed(options.seed)

    with gzip.open(options.data, "rt") as file:
        cells = np.array([line.strip().split(",") for line in file])
    x = np.concatenate([cells[:, :-1] == value for value in "box"], axis=1).astype(np.float32)
    y = cells[:, -1] == "win"
    pool_x, test_x, pool_y, test_y = train_test_split(x, y, test_size=0.2, stratify=y, random_state=options.seed)
    pool_x, _, pool_y, _ = train_test_split(pool_x, pool_y, test_size=0.01, stratify=pool_y, random_state=options.seed)
    if options.standardise:
        mean, scale = pool_x.mean(0), pool_x.std(0)
        scale[scale == 0] = 1
        pool_x, test_x = (pool_x - mean) / scale, (test_x - mean) / scale
    chosen = rng.choice(np.flatnonzero(pool_y), int(C * pool_y.sum()), replace=False)
    train_x = torch.from_numpy(np.concatenate([pool_x[chosen], pool_x]))
    labeled = torch.arange(len(train_x)) < len(chosen)
    prior = (len(chosen) + pool_y.sum()) / len(train_x)
    print(f"{len(chosen)} labelled, {len(pool_x)} unlabelled, prior as released {prior:.4f}")

    net = network(x.shape[1], prior)
    optimizer = torch.optim.Adam(net.parameters(), lr=LR, weight_decay=WEIGHT_DECAY)
    for epoch in range(1, options.epochs + 1):
        net.train()
        for rows in torch.randperm(len(train_x)).split(BATCH):
            optimizer.zero_grad()
            objective(net(train_x[rows]), labeled[rows], prior).backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            z = net(torch.from_numpy(test_x)).numpy()
        moved = z > np.quantile(z, 1 - prior)
        print(
            f"epoch {epoch:2}: accuracy {100 * np.mean((z > 0) == test_y):.2f}, re-thresholded "
            f"{100 * np.mean(moved == test_y):.2f}, AUC {100 * roc_auc_score(test_y, z):.2f}, "
            f"positive {100 * np.mean(z > 0):.1f} %, scores {z.min():.2f} to {z.max():.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
