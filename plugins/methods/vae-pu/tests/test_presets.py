"""The values of VAE-PU's presets, as the official code and PU-Bench's released code have them."""

from __future__ import annotations

from typing import Any

import pytest
from pubench_vae_pu import pubench_methods

(INFO,) = pubench_methods()
OFFICIAL = {
    "lr": 1e-5, "generator_lr": 3e-4, "discriminator_lr": 3e-4, "batch_size": 990, "p_batch_size": None,
    "pretraining_epochs": 100, "epochs": 800, "patience": None, "class_dim": 100, "observation_dim": 100,
    "weight_adversarial": 0.1, "weight_discriminator": 0.1, "weight_consistency": 1.0, "networks": "mlp",
    "responsibilities": "per-dimension",
}  # fmt: skip
PUBENCH = {
    "lr": 2e-4, "generator_lr": 2e-4, "discriminator_lr": 2e-4, "batch_size": 128, "p_batch_size": 64,
    "pretraining_epochs": 100, "epochs": 300, "patience": 30, "class_dim": None, "observation_dim": None,
    "weight_adversarial": 0.1, "weight_discriminator": 0.1, "weight_consistency": 3.0, "networks": "by-shape",
    "responsibilities": "once",
}  # fmt: skip
SMALL = {"epochs": 200, "weight_adversarial": 0.01, "weight_discriminator": 0.01, "weight_consistency": 1.0}


@pytest.mark.parametrize(
    ("preset", "data", "expected"),
    [
        ("official", "fashion-mnist", OFFICIAL),
        ("official", "mnist", {**OFFICIAL, "class_dim": 10, "observation_dim": 2}),
        ("official", "cifar10", {**OFFICIAL, "weight_adversarial": 0.3, "weight_discriminator": 0.3}),
        ("official", "20news", {**OFFICIAL, "weight_adversarial": 0.01, "weight_discriminator": 0.01}),
        ("pubench", "mnist", PUBENCH),
        *(("pubench", data, {**PUBENCH, **SMALL}) for data in ("20news", "imdb", "connect-4")),
        (
            "pubench",
            "spambase",
            {
                **PUBENCH, "batch_size": 256, "p_batch_size": 128, "epochs": 800, "weight_adversarial": 0.05,
                "weight_discriminator": 0.05, "weight_consistency": 1.0,
            },
        ),
        (
            "pubench",
            "adni",
            {
                **PUBENCH, "batch_size": 64, "p_batch_size": 32, "epochs": 400, "weight_adversarial": 0.01,
                "weight_discriminator": 1.0, "weight_consistency": 0.5,
            },
        ),
    ],
)  # fmt: skip
def test_a_preset_has_the_values_of_its_source(preset: str, data: str, expected: dict[str, Any]) -> None:
    found = INFO.presets[preset].resolve(data)
    assert {name: found[name] for name in expected} == expected
    assert set(found) - set(expected) == {"optimizer", "weight_decay", "steps_per_epoch", "likelihood"}
