"""Seconds and accuracy of 100 PU extra trees, against what the official code was measured to take on the same data.

    python -m benchmarks.timing.puet_speed --out benchmarks/results/puet-speed.csv

One thread, ``PUET`` with the official defaults (100 trees, quadratic loss, nnPU risk, no depth limit). ``seconds`` is
``PUET.fit``, the rearranging of the table included; compiling the kernels is not: a small forest is grown before, and
what that took is printed. Data: ``make_classification`` with 50 features, 10 of them informative and 10 redundant; n_P
positives, n_U rows of which half are positive, 5,000 balanced test rows, prior 0.5. The seed draws the rows and the
trees. Rows ``official``: the two sizes that the official code was timed at (one run each, single-threaded, on a shared
machine: 28 s and 212 s, accuracy 0.886 and 0.913). Rows ``growth``: n_P : n_U = 1 : 4 up to 200,000 rows, one seed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from pubench_puet.method import PUET, Config
from sklearn.datasets import make_classification

from benchmarks import raw_rows
from pubench_core.specs import Scheme
from pubench_core.training.run import Run
from pubench_core.training.views import Features, PUData, PUPart

#: (n_P, n_U): seconds and test accuracy of the official code
OFFICIAL = {(1_000, 4_000): (28.0, 0.886), (4_000, 16_000): (212.0, 0.913)}
GROWTH = (5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
TEST = 5_000


class OneEpoch:
    """The part of a run that a forest uses."""

    def __init__(self, seed: int) -> None:
        self.numpy_rng = np.random.default_rng(seed)
        self.threads = 1

    def epochs(self, n: int, *, patience: int | None) -> Iterator[int]:
        yield from range(n)


class Population:
    """Rows of one class each, to be drawn from without replacement."""

    def __init__(self, n: int) -> None:
        x, y = make_classification(
            n_samples=3 * n + 10_000,
            n_features=50,
            n_informative=10,
            n_redundant=10,
            n_clusters_per_class=2,
            class_sep=1,
            flip_y=0.01,
            random_state=0,
        )
        self.x = torch.from_numpy(x.astype(np.float32))
        self.rows = [np.flatnonzero(y == label) for label in (0, 1)]

    def draw(self, n_p: int, n_u: int, seed: int) -> tuple[PUData, torch.Tensor]:
        """The training table, and the test rows: the first half of them negative, the second positive."""
        rng = np.random.default_rng(seed)
        negative, positive = (rng.permutation(rows) for rows in self.rows)
        half = n_u // 2
        p, u_p, test_p = np.split(positive, [n_p, n_p + half])
        u_n, test_n = np.split(negative, [n_u - half])
        instance = torch.from_numpy(np.concatenate([p, rng.permutation(np.concatenate([u_p, u_n]))]))
        labeled = torch.arange(n_p + n_u) < n_p
        part: tuple[Features, torch.Tensor, torch.Tensor, Scheme] = (
            Features(self.x),
            instance,
            labeled,
            "case-control",
        )
        granted = frozenset({"prior"})
        data = PUData(*part, validation=PUPart(*part), granted=granted, prior=0.5, truth=None)
        return data, self.x[np.concatenate([test_n[: TEST // 2], test_p[: TEST // 2]])]


def measure(population: Population, n_p: int, n_u: int, seed: int) -> dict[str, Any]:
    """Trains and tests once."""
    data, test = population.draw(n_p, n_u, seed)
    method, run = PUET(Config()), cast(Run[Config], OneEpoch(seed))
    started = time.perf_counter()
    method.fit(data, run)
    seconds = time.perf_counter() - started
    truth = torch.arange(TEST) >= TEST // 2
    nodes, trees = method.forest.nodes, len(method.forest)
    return {
        "n": n_p + n_u,
        "n_p": n_p,
        "n_u": n_u,
        "seed": seed,
        "seconds": round(seconds, 4),
        "accuracy": round(float(((method.decision_function(test) > 0) == truth).double().mean()), 4),
        "leaves": round(float((nodes["feature"] < 0).sum()) / trees, 1),
        "depth": round(statistics.mean(int(tree["depth"].max()) for tree in method.forest.trees), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--growth", nargs="*", type=int, default=list(GROWTH), help="numbers of training rows")
    options = parser.parse_args()
    torch.set_num_threads(1)

    def write(what: str, row: dict[str, Any]) -> None:
        raw_rows.append(options.out, {"what": what, **row, "threads": 1})
        print(f"{what}: " + ", ".join(f"{name} {value}" for name, value in row.items()), flush=True)

    started = time.perf_counter()
    measure(Population(500), 100, 400, 0)
    print(f"compiling or loading the kernels, and a forest on 500 rows: {time.perf_counter() - started:.2f} s")
    for (n_p, n_u), (seconds, accuracy) in OFFICIAL.items():
        population = Population(n_p + n_u)
        rows = [measure(population, n_p, n_u, seed) for seed in options.seeds]
        for row in rows:
            write("official", row)
        median, mean = statistics.median(r["seconds"] for r in rows), statistics.mean(r["accuracy"] for r in rows)
        print(
            f"{n_p + n_u} rows: median {median:.3f} s, {seconds / median:.0f} times as fast as the official code's "
            f"{seconds:.0f} s; mean accuracy {mean:.4f}, the official code's {accuracy:.3f}"
        )
    for n in options.growth:
        write("growth", measure(Population(n), n // 5, n - n // 5, options.seeds[0]))


if __name__ == "__main__":
    main()
