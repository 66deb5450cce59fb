"""The values of CGenPU's presets, as the official code and PU-Bench's paper code have them."""

from __future__ import annotations

from typing import Any

import pytest
from pubench_cgenpu import pubench_methods

(INFO,) = pubench_methods()
OFFICIAL = {
    "optimizer": "adam", "lr": 1e-4, "discriminator_lr": 1e-4, "generator_lr": 1e-4, "betas": (0.5, 0.999),
    "weight_decay": 0.0, "batch_size": 128, "epochs": 1000, "steps_per_epoch": None, "patience": None, "latent": 8,
    "noise": "uniform", "weight_auxiliary": 1.0, "reduction": "mean", "weight_prior": 0.0,
}  # fmt: skip
PUBENCH = {
    **OFFICIAL, "lr": 5e-5, "generator_lr": 3e-4, "batch_size": 32, "epochs": 200, "patience": 30, "latent": 256,
    "noise": "normal", "weight_auxiliary": 0.5,
}  # fmt: skip


@pytest.mark.parametrize(("preset", "expected"), [("official", OFFICIAL), ("pubench", PUBENCH)])
def test_a_preset_has_the_values_of_its_source(preset: str, expected: dict[str, Any]) -> None:
    assert INFO.presets[preset].resolve("mnist") == expected
