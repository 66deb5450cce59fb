"""Dist-PU in the engine: its two stages, that it learns, and inputs at the edge of what is possible."""

from __future__ import annotations

import pytest
import torch
from pubench_dist_pu.method import clipped, distribution_risk, mixup_loss, stored_targets
from pubench_testkit.testing import MethodFacts, Trainer, check_finite

from pubench_formulas.entropy import binary_entropy
from pubench_formulas.losses import masked_mean

trained = Trainer("dist-pu", short=("epochs=3", "warm_up=1", "steps_per_epoch=3"))


class TestFacts(MethodFacts):
    trained = trained
    learns = (("epochs=50 warm_up=30 lr=5e-4 mechanism.c=0.3", 0.85),)
    by = "pa"
    stages = (
        ("epochs=1 warm_up=60", ["mixup"]),
        ("epochs=2 warm_up=0", ["mixup"] * 2),
        ("epochs=3 warm_up=60", ["warm-up"] * 2 + ["mixup"]),  # there is always a second stage
        # 2 passes of 71 batches over the 1,149 rows of U
        ("epochs=16 warm_up=2 counted_in=passes steps_per_epoch=10 batch_size=16", ["warm-up"] * 14 + ["mixup"] * 2),
    )
    unselected = "warm-up"
    defaults = "official"
    extremes = (
        *("mechanism.c=0.002 batch_size=2 steps_per_epoch=30", "mechanism.c=0.002 batching=paired"),
        *(f"prior={prior} clip=null" for prior in (0.01, 0.99)),
    )


@pytest.mark.parametrize("bins", [1, 5])
@pytest.mark.parametrize("labeled", [True, False], ids=["only P", "only U"])
@pytest.mark.parametrize("size", [1.0, 800.0])
def test_a_batch_of_one_kind_has_a_finite_loss_and_gradient(labeled: bool, size: float, bins: int) -> None:
    logits = torch.linspace(-size, size, 7, requires_grad=True)
    mask = torch.full((7,), labeled)
    targets = stored_targets(torch.linspace(0, 1, 9), mask, torch.arange(7))
    loss = (
        distribution_risk(logits, mask, 0.3, bins)
        + masked_mean(binary_entropy(logits), ~mask)
        + mixup_loss(logits, targets, torch.arange(6, -1, -1), 0.4)
    )
    check_finite(loss, logits)


def test_u_has_no_gradient_at_the_prior_nor_beyond_the_clipped_logits() -> None:
    logits = torch.zeros(4, requires_grad=True)
    distribution_risk(logits, torch.zeros(4, dtype=torch.bool), 0.5).backward()
    assert logits.grad is not None
    assert not logits.grad.any()
    beyond = torch.tensor([-11.0, -9.0, 9.0, 11.0], requires_grad=True)
    clipped(beyond, 10).sum().backward()
    assert beyond.grad is not None
    assert beyond.grad.tolist() == [0, 1, 1, 0]
