"""Seconds per epoch of nnPU on Fashion-MNIST: the engine against a plain ``DataLoader`` loop, alternating.

    PUBENCH_DATA=... python benchmarks/epoch_time.py --out benchmarks/results/epoch-time.csv

Both sides train the same LeNet with the same risk on the same rows (62,370 = 2,970 labeled positives and 59,400
unlabeled ones, batches of 256, Adam) and after every epoch score the 59,400 training instances, the 600 validation
rows and the 10,000 test rows and compute accuracy and F1 on each. The engine does more in that time: all measures on
all three parts and every selection criterion with its snapshot. The plain loop is what one would write with
torchvision: a data set of uint8 images with ``ToTensor`` and ``Normalize``, a shuffling ``DataLoader`` (0 and 2
workers; the better one counts) and one ``DataLoader`` per evaluated part.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import raw_rows
import torch
from PIL import Image
from sklearn.metrics import accuracy_score, f1_score
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

from pubench_core.backbones.networks import lenet
from pubench_core.engine.building import build_problem
from pubench_core.engine.problem import Problem
from pubench_core.engine.train import train
from pubench_core.execution.compute import computing
from pubench_core.formulas.risks import pu_risk
from pubench_core.plugins.registry import registry
from pubench_core.request import Layer, resolve


class Rows(Dataset[tuple[torch.Tensor, int, int]]):
    """Images by row number, transformed one at a time as torchvision's own data sets do."""

    def __init__(self, images: np.ndarray, rows: np.ndarray, labeled: np.ndarray, truth: np.ndarray) -> None:
        self.images, self.rows, self.labeled, self.truth = images, rows, labeled, truth
        self.transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.2860,), (0.3530,))])

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> tuple[torch.Tensor, int, int]:
        image = Image.fromarray(self.images[self.rows[i], 0])
        return self.transform(image), int(self.labeled[i]), int(self.truth[i])


def plain_loop(problem: Problem, workers: int, epochs: int) -> list[float]:
    """Seconds of each epoch of the plain loop."""
    split, x, x_test = problem.split, problem.data.x, problem.data.x_test
    positions = np.concatenate([np.flatnonzero(split.train.labeled), np.arange(len(split.train.rows))])
    labeled = np.arange(len(positions)) < split.train.n_labeled
    options: dict[str, Any] = {"num_workers": workers, "persistent_workers": workers > 0}
    table = Rows(x, split.train.rows[positions], labeled, problem.truth_train[positions])
    training = DataLoader(table, batch_size=256, shuffle=True, **options)
    parts = [
        DataLoader(Rows(images, rows, np.zeros(len(rows)), truth), batch_size=256, **options)
        for images, rows, truth in (
            (x, split.train.rows, problem.truth_train),
            (x, split.validation.rows, problem.truth_validation),
            (x_test, split.test_rows, problem.truth_test),
        )
    ]
    torch.manual_seed(0)
    net: nn.Module = lenet((1, 28, 28), 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-4, weight_decay=1e-4)
    seconds = []
    for _ in range(epochs):
        started = time.perf_counter()
        net.train()
        for images, is_labeled, _ in training:
            risk = pu_risk(net(images), is_labeled.bool(), problem.prior, correction="ascent")
            optimizer.zero_grad()
            risk.objective.backward()
            optimizer.step()
        net.eval()
        for part in parts:
            decisions, truth = [], []
            with torch.no_grad():
                for images, _, labels in part:
                    decisions.append(net(images) > 0)
                    truth.append(labels)
            y, h = torch.cat(truth), torch.cat(decisions)
            accuracy_score(y, h), f1_score(y, h)
        seconds.append(time.perf_counter() - started)
    return seconds


def engine(epochs: int) -> tuple[Problem, list[float]]:
    """The problem, and seconds of each epoch of the engine."""
    layer = Layer.of(
        "data.key=fashion-mnist",
        "method.key=nnpu",
        "method.preset=pubench",
        f"epochs={epochs}",
        "validation.fraction=0.01",
        "selection.criterion=f1",
        "evaluation.trace=[train, test]",
        "execution.device=cpu",
    )
    plan, device = resolve([layer], registry()), torch.device("cpu")
    with computing(plan, device):
        problem = build_problem(plan, device)
        trained = train(plan, problem)
    return problem, [e.seconds + e.evaluation_seconds for e in trained.epochs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=3, help="epochs of each side in each round")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    taken: dict[str, list[float]] = {"pubench": [], "plain-0-workers": [], "plain-2-workers": []}
    for _ in range(options.rounds):
        problem, seconds = engine(options.epochs)
        taken["pubench"] += seconds
        for workers in (0, 2):
            taken[f"plain-{workers}-workers"] += plain_loop(problem, workers, options.epochs)
    medians = {name: statistics.median(seconds) for name, seconds in taken.items()}
    best = min(medians["plain-0-workers"], medians["plain-2-workers"])
    for name, seconds in taken.items():
        print(f"{name}: median {medians[name]:.2f} s per epoch of {', '.join(f'{s:.2f}' for s in seconds)}")
    print(f"ratio plain (better of 0 and 2 workers) / pubench: {best / medians['pubench']:.1f}")
    for name, seconds in taken.items():
        for epoch, value in enumerate(seconds, start=1):
            row = {
                "what": name,
                "epoch": epoch,
                "seconds": round(value, 3),
                "threads": torch.get_num_threads(),
                "commit": raw_rows.commit(),
                "machine": raw_rows.machine(),
                "command": f"epoch_time.py --epochs {options.epochs} --rounds {options.rounds}",
            }
            raw_rows.append(options.out, row)


if __name__ == "__main__":
    main()
