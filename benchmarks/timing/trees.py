"""Timings of trees: PU bagging next to the loop written with scikit-learn, and PUET next to its official code."""

from __future__ import annotations

import resource
import statistics
from collections.abc import Iterator
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from pubench_pu_bagging.method import Config as BaggingConfig
from pubench_pu_bagging.method import PUBagging
from pubench_puet.method import PUET
from pubench_puet.method import Config as PUETConfig
from safetensors.torch import save
from sklearn.datasets import make_classification
from sklearn.tree import ExtraTreeClassifier

from benchmarks.timing.turns import Case
from pubench_core.specs import Scheme
from pubench_core.training.views import Features, PUData, PUPart

#: (n_P, n_U): seconds and test accuracy of PUET's official code, one run each, one thread, on a shared machine.
OFFICIAL = {(1_000, 4_000): (28.0, 0.886), (4_000, 16_000): (212.0, 0.913)}
TEST = 5_000


class OneEpoch:
    """The part of a run that a forest uses."""

    def __init__(self, seed: int, threads: int = 1) -> None:
        self.numpy_rng, self.threads = np.random.default_rng(seed), threads

    def epochs(self, n: int, *, patience: int | None) -> range:
        return range(n)

    def warn(self, text: str) -> None:
        print(text)


def bagging_cost(
    rows: int = 45_000, features: int = 20, trees: int = 200, threads: int = 1, leaf: int = 1
) -> Iterator[Case]:
    """``fit`` is ``PUBagging.fit``: trees, scores of all rows out of bag, threshold.

    ``loop`` is what a balanced random forest does, by scikit-learn's ExtraTreeClassifier on the same number and size
    of draws, in one thread. A tenth of 30 % positives is labeled.
    """
    x, y = make_classification(rows, features, n_informative=features // 2, weights=[0.7], random_state=2)
    labeled = (y == 1) & (np.random.default_rng(2).random(rows) < 0.1)
    order = np.argsort(~labeled, kind="stable")
    part = (
        Features(torch.from_numpy(x[order].astype(np.float32))),
        torch.arange(rows),
        torch.from_numpy(labeled[order]),
    )
    scheme: Scheme = "single-training-set"
    data = PUData(
        *part, scheme, validation=PUPart(*part, scheme), granted=frozenset({"prior"}), prior=0.3,
        unlabeled_prior=float(y[~labeled].mean()), truth=None,
    )  # fmt: skip

    def fit() -> dict[str, Any]:
        method = PUBagging(BaggingConfig(n_estimators=trees, base_config={"min_samples_leaf": leaf}))
        method.fit(data, cast(Any, OneEpoch(2, threads)))
        arrays = {k: torch.from_numpy(v) for k, v in method.model.state_dict().items() if isinstance(v, np.ndarray)}
        return {"model_mb": round(len(save(arrays)) / 1e6, 1), "peak_mib": _peak()}

    def loop() -> dict[str, Any]:
        values, n_p, rng = data.x.numpy(), data.n_labeled, np.random.default_rng(2)
        target, total = np.repeat([1, 0], n_p), np.zeros(rows)
        for seed in range(trees):
            drawn = np.r_[np.arange(n_p), rng.integers(n_p, rows, n_p)]
            tree = ExtraTreeClassifier(random_state=seed).fit(values[drawn], target)
            total += tree.predict_proba(values)[:, 1]
        return {"model_mb": "", "peak_mib": _peak()}

    facts = {"rows": rows, "features": features, "labeled": data.n_labeled, "trees": trees}
    yield Case({**facts, "min_samples_leaf": leaf, "threads": threads}, {"fit": fit, "loop": loop})


def _peak() -> int:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def puet_speed(growth: tuple[int, ...] = (5_000, 10_000, 20_000, 50_000, 100_000, 200_000)) -> Iterator[Case]:
    """100 trees with the official defaults on the sizes of ``OFFICIAL``, then n_P : n_U = 1 : 4 up to 200,000 rows.

    50 features, 10 of them informative and 10 redundant; half of U is positive, 5,000 balanced test rows, prior .5.
    The turn draws the rows and the trees. Compiling the kernels is not part of it.
    """
    torch.set_num_threads(1)
    for what, sizes in (("official", [*OFFICIAL]), ("growth", [(n // 5, n - n // 5) for n in growth])):
        for n_p, n_u in sizes:
            seeds = iter(range(1_000))
            work = partial(_forest, _population(n_p + n_u), n_p, n_u, seeds)
            yield Case({"n": n_p + n_u, "n_p": n_p, "n_u": n_u, "threads": 1}, {what: work})


def _population(n: int) -> tuple[torch.Tensor, list[Any]]:
    """Features of enough rows, and the rows of either class."""
    x, y = make_classification(
        n_samples=3 * n + 10_000, n_features=50, n_informative=10, n_redundant=10, n_clusters_per_class=2, class_sep=1,
        flip_y=0.01, random_state=0,
    )  # fmt: skip
    return torch.from_numpy(x.astype(np.float32)), [np.flatnonzero(y == label) for label in (0, 1)]


def _forest(population: tuple[torch.Tensor, list[Any]], n_p: int, n_u: int, seeds: Iterator[int]) -> dict[str, Any]:
    x, of_class = population
    seed = next(seeds)
    rng = np.random.default_rng(seed)
    negative, positive = (rng.permutation(rows) for rows in of_class)
    p, u_p, test_p = np.split(positive, [n_p, n_p + n_u // 2])
    u_n, test_n = np.split(negative, [n_u - n_u // 2])
    instance = torch.from_numpy(np.concatenate([p, rng.permutation(np.concatenate([u_p, u_n]))]))
    scheme: Scheme = "case-control"
    part = (Features(x), instance, torch.arange(n_p + n_u) < n_p, scheme)
    data = PUData(*part, validation=PUPart(*part), granted=frozenset({"prior"}), prior=0.5, truth=None)
    method = PUET(PUETConfig())
    method.fit(data, cast(Any, OneEpoch(seed)))
    test = x[np.concatenate([test_n[: TEST // 2], test_p[: TEST // 2]])]
    right = (method.decision_function(test) > 0) == (torch.arange(TEST) >= TEST // 2)
    forest = method.forest
    return {
        "seed": seed,
        "accuracy": round(float(right.double().mean()), 4),
        "leaves": round(float((forest.nodes["feature"] < 0).sum()) / len(forest), 1),
        "depth": round(statistics.mean(int(tree["depth"].max()) for tree in forest.trees), 1),
    }
