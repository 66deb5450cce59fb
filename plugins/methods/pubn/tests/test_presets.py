"""The values of PUbN's preset ``official``, as the parameter files without negatives (PUbN-N.yml) have them."""

from __future__ import annotations

from typing import Any

import pytest
from pubench_pubn import pubench_methods

(INFO,) = pubench_methods()
#: Of every file: Adam with AMSGrad, an L2 penalty of 1e-4, 10 rows of P, τ = .9, logistic losses in all epochs.
COMMON = {
    "variant": "two-stage", "optimizer": "adam", "weight_decay": 1e-4, "p_batch_size": 10, "steps_per_epoch": None,
    "patience": None, "negative_share": 0.9, "surrogate": "logistic",
}  # fmt: skip
MNIST = {
    "lr": 1e-2, "first_lr": 1e-2, "batch_size": 120, "first_epochs": 100, "epochs": 100, "milestones": (),
}  # fmt: skip
CIFAR10 = {
    "lr": 1e-3, "first_lr": 1e-3, "batch_size": 100, "first_epochs": 200, "epochs": 200, "milestones": (80, 120),
}  # fmt: skip
NEWSGROUPS = {
    "lr": 5e-4, "first_lr": 5e-3, "batch_size": 120, "first_epochs": 50, "epochs": 50, "milestones": (),
}  # fmt: skip


@pytest.mark.parametrize(
    ("data", "expected"), [("mnist", MNIST), ("cifar10", CIFAR10), ("20news", NEWSGROUPS), ("imdb", CIFAR10)]
)
def test_official_has_the_values_of_the_file_of_each_data_set(data: str, expected: dict[str, Any]) -> None:
    assert INFO.presets["official"].resolve(data) == COMMON | expected


@pytest.mark.parametrize("preset", ["pubench", "wang", "quick"])
@pytest.mark.parametrize("data", ["mnist", "cifar10", "20news"])
def test_no_other_preset_changes_the_learning_rate(preset: str, data: str) -> None:
    assert INFO.presets[preset].resolve(data).get("milestones", ()) == ()
