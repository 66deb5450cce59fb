"""Seconds, peak memory and model size of pu-bagging with 200 trees, next to the same loop written with scikit-learn.

    python -m benchmarks.timing.bagging_cost --rows 45000 --threads 2 --out benchmarks/results/bagging-cost.csv

Data: ``make_classification`` (half of the features informative), 30 % positive, a tenth of them labeled, the rest
unlabeled. ``fit`` is ``PUBagging.fit``: trees, scores of all rows out of bag, threshold. ``loop`` is what a balanced
random forest does, by scikit-learn's ExtraTreeClassifier on the same number and size of draws with predictions for all
rows, in one thread. ``processor_s`` counts the processor alone, which other work on the machine disturbs less than
``seconds``.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from pubench_pu_bagging.method import Config, PUBagging
from safetensors.torch import save
from sklearn.datasets import make_classification
from sklearn.tree import ExtraTreeClassifier

from benchmarks import raw_rows
from pubench_core.training.run import Run
from pubench_core.training.views import Features, PUData, PUPart

PRIOR, LABELED = 0.3, 0.1


class OneEpoch:
    """The part of a run that the method uses."""

    def __init__(self, threads: int) -> None:
        self.numpy_rng, self.threads = np.random.default_rng(2), threads

    def epochs(self, n: int, *, patience: int | None) -> range:
        return range(n)

    def warn(self, text: str) -> None:
        print(text)


def table(rows: int, features: int) -> PUData:
    """LP ‖ U."""
    x, y = make_classification(rows, features, n_informative=features // 2, weights=[1 - PRIOR], random_state=2)
    labeled = (y == 1) & (np.random.default_rng(2).random(rows) < LABELED)
    order = np.argsort(~labeled, kind="stable")
    values = torch.from_numpy(x[order].astype(np.float32))
    part = (Features(values), torch.arange(rows), torch.from_numpy(labeled[order]))
    return PUData(
        *part,
        "single-training-set",
        validation=PUPart(*part, "single-training-set"),
        granted=frozenset({"prior"}),
        prior=PRIOR,
        unlabeled_prior=float(y[~labeled].mean()),
        truth=None,
    )


def loop(data: PUData, trees: int) -> None:
    """The same draws' sizes with scikit-learn."""
    x, n_p, rng = data.x.numpy(), data.n_labeled, np.random.default_rng(2)
    y, total = np.repeat([1, 0], n_p), np.zeros(len(x))
    for seed in range(trees):
        drawn = np.r_[np.arange(n_p), rng.integers(n_p, len(x), n_p)]
        total += ExtraTreeClassifier(random_state=seed).fit(x[drawn], y).predict_proba(x)[:, 1]


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds by the clock and of the processor."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return round(time.perf_counter() - wall, 2), round(time.process_time() - processor, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=45_000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--min-samples-leaf", type=int, help="of the trees; by default their own")
    parser.add_argument("--loop", action="store_true", help="time scikit-learn's loop instead")
    parser.add_argument("--out", type=Path, required=True, help="the CSV file to append to")
    options = parser.parse_args()
    data = table(options.rows, options.features)
    size: float | str = ""
    if options.loop:
        seconds, processor = timed(lambda: loop(data, options.trees))
    else:
        leaf = {"min_samples_leaf": options.min_samples_leaf} if options.min_samples_leaf else {}
        method = PUBagging(Config(n_estimators=options.trees, base_config=leaf))
        PUBagging(Config(n_estimators=1)).fit(table(500, 4), cast(Run[Config], OneEpoch(1)))  # compiles the kernel
        seconds, processor = timed(lambda: method.fit(data, cast(Run[Config], OneEpoch(options.threads))))
        arrays = {k: torch.from_numpy(v) for k, v in method.model.state_dict().items() if isinstance(v, np.ndarray)}
        size = round(len(save(arrays)) / 1e6, 1)
    row = {
        "what": "loop" if options.loop else "fit",
        "rows": options.rows,
        "features": options.features,
        "labeled": data.n_labeled,
        "trees": options.trees,
        "min_samples_leaf": options.min_samples_leaf or 1,
        "threads": options.threads,
        "seconds": seconds,
        "processor_s": processor,
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "model_mb": size,
        "commit": raw_rows.commit(),
        "machine": raw_rows.machine(),
    }
    raw_rows.append(options.out, row)
    print(row)


if __name__ == "__main__":
    main()
