"""Dist-PU in the engine: its two stages, that it learns, and inputs at the edge of what is possible."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pubench_dist_pu.method import DistPU, clipped, distribution_risk, mixup_loss, stored_targets
from pubench_testkit.testing import MethodFacts, Trainer, accuracy, check_finite

from pubench_formulas.entropy import binary_entropy
from pubench_formulas.losses import masked_mean

pytestmark = pytest.mark.usefixtures("one_thread")

trained = Trainer("dist-pu", short=("epochs=3", "warm_up=1", "steps_per_epoch=3"))


class TestFacts(MethodFacts):
    trained = trained
    extremes = (
        *("mechanism.c=0.002 batch_size=2 steps_per_epoch=30", "mechanism.c=0.002 batching=paired"),
        *(f"prior={prior} clip={clip}" for prior in (0.01, 0.99) for clip in (10, "null")),
    )


def test_dist_pu_learns_digits_and_chooses_no_epoch_of_the_warm_up() -> None:
    result = trained("epochs=50", "warm_up=30", "lr=5e-4", "mechanism.c=0.3", "backbone.key=mlp-wang")
    assert [event.stage for event in result.epochs] == ["warm-up"] * 30 + ["mixup"] * 20
    chosen = [track.epoch for track in result.selection.tracks.values()]
    assert chosen
    assert all(epoch is None or epoch > 30 for epoch in chosen)
    assert accuracy(result, "pa") > 0.85


@pytest.mark.parametrize(
    ("epochs", "warm_up", "stages"),
    [(1, 60, ["mixup"]), (2, 0, ["mixup"] * 2), (3, 60, ["warm-up"] * 2 + ["mixup"])],
)
def test_there_is_always_a_second_stage(epochs: int, warm_up: int, stages: list[str]) -> None:
    result = trained("steps_per_epoch=2", f"epochs={epochs}", f"warm_up={warm_up}")
    assert [event.stage for event in result.epochs] == stages
    assert result.scores["pa"]


@pytest.mark.parametrize("batch_size", [16, 64])
def test_a_warm_up_in_passes_over_u_is_longer_with_smaller_batches(batch_size: int) -> None:
    sets = ("epochs=30", "warm_up=2", "counted_in=passes", "steps_per_epoch=10", "batching=paired")
    result = trained(*sets, f"batch_size={batch_size}")
    stages = [event.stage for event in result.epochs]
    assert stages.count("warm-up") == round(
        2 * (result.evaluator.problem.view(frozenset()).n_unlabeled // batch_size) / 10
    )


@pytest.mark.parametrize("batching", ["joint", "paired"])
def test_the_same_seed_gives_the_same_scores_and_another_seed_others(batching: str) -> None:
    first, again, other = (trained.last(f"seed={seed}", f"batching={batching}") for seed in (2, 2, 25))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_official_preset_is_the_default() -> None:
    info = trained.info
    assert DistPU.Config(**info.presets["official"].values) == DistPU.Config()
    assert DistPU.requires(DistPU.Config()) == {"prior"} == info.needs


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
