"""Problems that know nothing but their labels, for tests of counts, order and views."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from pubench_core.data.dataset import PNDataset
from pubench_core.data.generator import Split, generate
from pubench_core.engine.open import OpenedData
from pubench_core.engine.problem import Problem
from pubench_core.results import Code
from pubench_core.training.views import Features

Counts = tuple[int, int]


def labels_only(positive: int, negative: int, test: Counts | None = None) -> PNDataset:
    """A problem of these class counts whose only feature is the row number; positives first, then negatives.

    ``test``: (positives, negatives) of a fixed test part, where there is one.
    """

    def part(counts: Counts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n = sum(counts)
        return np.arange(n, dtype=np.float32)[:, None], np.repeat([1, 0], counts).astype(np.int8), np.arange(n)

    x, y, rows = part((positive, negative))
    x_test, y_test, rows_test = part(test) if test is not None else (None, None, None)
    return PNDataset(
        key="labels-only",
        modality="tabular",
        x=x,
        y=y,
        rows=rows,
        x_test=x_test,
        y_test=y_test,
        rows_test=rows_test,
        mean=None,
        std=None,
    )


def uniformly(pool: np.ndarray, positives: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.choice(len(positives), size=n, replace=False)


def split_of(data: PNDataset, **more: Any) -> Split:
    """A split of PU-Bench's fractions, labeled uniformly, where ``more`` does not say otherwise."""
    defaults: dict[str, Any] = {
        "scheme": "case-control",
        "choose": uniformly,
        "c": 0.1,
        "validation_fraction": 0.01,
        "test_fraction": 0.2,
        "seed": 2,
    }
    return generate(data, **{**defaults, **more})


def problem_of(
    data: PNDataset, *, calibrated: bool = False, uncalibrated: bool = False, prior: float | None = None, **more: Any
) -> Problem:
    """The problem of such a split; its prior is the true one where none is given."""
    split = split_of(data, **more)
    truth = data.y[split.train.rows]
    features = Features(torch.from_numpy(data.x[np.concatenate([split.train.rows, split.validation.rows])]))
    test = Features(torch.from_numpy((data.x if data.x_test is None else data.x_test)[split.test_rows]))
    true = float(truth.mean())
    return Problem(
        opened=OpenedData(data, Code.of({}, {})),
        split=split,
        scheme=more.get("scheme", "case-control"),
        seed=more.get("seed", 2),
        calibrated=calibrated,
        uncalibrated=uncalibrated,
        prior_true=true,
        prior=true if prior is None else prior,
        estimate=None,
        features=features,
        features_test=test,
        truth_train=truth,
        truth_validation=data.y[split.validation.rows],
        truth_test=(data.y if data.y_test is None else data.y_test)[split.test_rows],
    )
