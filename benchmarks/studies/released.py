"""Twelve methods of PU-Bench as released, in plain PyTorch, without pubench: what do they give?

    python -m benchmarks.studies.released --method nnpu --root ../shared/data --data spambase
    python -m benchmarks.studies.released --method lbe --root ../shared/data --data 20news --seeds 2 25 42
    python -m benchmarks.studies.released --method nnpu --root ../shared/data --data connect-4 --seeds 2 --trace

Case-control, c = 0.1, validation 1 %; the prior of P and U together; the classifier's output bias at its logit; the
recipes of :mod:`released_recipes`; the epoch of best validation F1, of the positive class. A model that decides every
row alike is measured with the threshold moved to the prior's quantile. Spambase is standardized with all its rows, text
vectors have unit length, Connect-4 is 0/1, values of images are from -1 to 1, as released. Images are for pn, nnpu,
pusb, vpu, lbe, dist-pu and pulda. Prints accuracy and AUC on the test rows per seed, then the mean.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import train_test_split
from torch import nn

from benchmarks import raw_rows
from benchmarks.studies import released_recipes as recipes

C, LEAST_GAIN = 0.1, 1e-4
#: Positive classes of image data.
POSITIVE = {"mnist": (0, 2, 4, 6, 8), "fashion-mnist": (0, 2, 3, 4, 6)}
SEEDS = (2, 25, 42, 52, 99, 103, 250, 666, 777, 2026)


class Part(NamedTuple):
    """Features and which rows are positive."""

    x: npt.NDArray[np.float32]
    y: npt.NDArray[np.bool_]


class Problem(NamedTuple):
    """Training and test data of one cell."""

    train: recipes.Table
    validation: Part
    test: Part


# ---------------------------------------------------------------- data


def read(root: Path, data: str, standardize: bool, seed: int) -> tuple[Part, Part]:
    """Training pool and test part."""
    if data in POSITIVE:
        return images(root / data, "train", POSITIVE[data]), images(root / data, "t10k", POSITIVE[data])
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


def images(folder: Path, part: str, positive: tuple[int, ...]) -> Part:
    with gzip.open(folder / f"{part}-images-idx3-ubyte.gz") as file:
        pixels = np.frombuffer(file.read(), dtype=np.uint8, offset=16).reshape(-1, 1, 28, 28)
    with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz") as file:
        classes = np.frombuffer(file.read(), dtype=np.uint8, offset=8)
    return Part(pixels.astype(np.float32) / 127.5 - 1, np.isin(classes, positive))


def problem_of(pool: Part, test: Part, seed: int) -> Problem:
    """Validation rows set aside, then P drawn from the positives and U all rows."""
    x, val_x, y, val_y = train_test_split(pool.x, pool.y, test_size=0.01, stratify=pool.y, random_state=seed)
    positives = np.flatnonzero(y)
    chosen = np.random.default_rng(seed).choice(positives, int(C * len(positives)), replace=False)
    table = torch.from_numpy(np.concatenate([x[chosen], x]))
    prior = (len(chosen) + len(positives)) / len(table)
    labeled, positive = torch.arange(len(table)) < len(chosen), torch.from_numpy(np.concatenate([y[chosen], y]))
    return Problem(recipes.Table(table, labeled, prior, positive), Part(val_x, val_y), test)


# ---------------------------------------------------------------- evaluation


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
    if z.ndim == 2:  # of Holistic-PU: decisions for class 1, scores of class 0, as released
        decided, z = z[:, 1] > z[:, 0], z[:, 0]
    alike = bool(decided.all() or not decided.any())
    if alike:
        k, ordered = round(prior * len(z)), np.sort(z)
        decided = z >= (ordered[len(z) - k] + ordered[len(z) - k - 1]) / 2
    accuracy, f1 = float(np.mean(decided == part.y)), float(f1_score(part.y, decided))
    return Measured(accuracy, f1, float(roc_auc_score(part.y, z)), alike, float(z.min()), float(z.max()))


class Recipe(NamedTuple):
    """Epochs, and how many of them may pass without a better one, counted from ``patient_until`` on."""

    epochs: Callable[[recipes.Table], Iterator[nn.Module]]
    patience: int
    patient_until: int = 0


METHODS = {
    "pn": Recipe(recipes.pn, 5),
    "nnpu": Recipe(recipes.nnpu, 10),
    "pusb": Recipe(recipes.pusb, 10),
    "vpu": Recipe(recipes.vpu, 10),
    "lbe": Recipe(recipes.lbe, 5),
    "dist-pu": Recipe(recipes.dist_pu, 10, patient_until=20),
    "pulda": Recipe(recipes.pulda, 20, patient_until=60),
    "p3mix-e": Recipe(recipes.p3mix_e, 10),
    "robust-pu": Recipe(recipes.robust_pu, 20, patient_until=20),
    "pan": Recipe(recipes.pan, 25),
    "self-pu": Recipe(recipes.self_pu, 40),
    "holistic-pu": Recipe(recipes.holistic_pu, 20, patient_until=10),
    "holistic-pu-turned": Recipe(recipes.holistic_pu_turned, 20, patient_until=10),
}


def trained(method: str, data: Problem, trace: bool) -> tuple[int, Measured]:
    """The epoch of best validation F1 and its test measures."""
    recipe, prior = METHODS[method], data.train.prior
    best, best_f1 = None, -1.0
    for epoch, net in enumerate(recipe.epochs(data.train), start=1):
        f1 = measure(net, data.validation, prior).f1
        found = measure(net, data.test, prior)
        if trace:
            print(f"  epoch {epoch:2}: validation F1 {f1:.3f}; {found}", flush=True)
        if f1 > best_f1 + LEAST_GAIN:
            best, best_f1 = (epoch, found), f1
        elif best is not None and epoch - max(best[0], recipe.patient_until) >= recipe.patience:
            break
    assert best is not None
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", choices=METHODS, required=True)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--data", choices=["20news", "connect-4", "spambase", *POSITIVE], required=True)
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
                "standardized": options.standardize,
                "seed": seed,
                "epoch": epoch,
                **found._asdict(),
                "torch": torch.__version__,
                "threads": torch.get_num_threads(),
                "command": f"released.py --method {options.method} --data {options.data} --seeds {seed}"
                + (" --standardize" if options.standardize else ""),
            }
            raw_rows.append(options.out, row)
    spread = f" ± {np.std(accuracies, ddof=1):.2f}" if len(accuracies) > 1 else ""
    print(f"accuracy {np.mean(accuracies):.2f}{spread} ({len(accuracies)})")


if __name__ == "__main__":
    main()
