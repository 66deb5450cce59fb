"""PULDA in the engine: its two stages, that it learns, and inputs at the edge of what is possible."""

from __future__ import annotations

import math

import pytest
import torch
from pubench_pulda.method import Averages, alignment_loss, distance, two_way_loss
from pubench_testkit.testing import MethodFacts, Trainer, check_finite

trained = Trainer("pulda", short=("epochs=3", "warm_up=1", "steps_per_epoch=3"))


class TestFacts(MethodFacts):
    trained = trained
    learns = (("epochs=16 warm_up=8 warm_up_lr=1e-2 steps_per_epoch=40 mechanism.c=0.3", 0.75),)
    by = "pa"
    options = ("warm_up_loss=bce", "two_way=false", "smoothing=0")
    stages = (
        ("epochs=1 warm_up=60", ["mixup"]),
        ("epochs=2 warm_up=0", ["mixup"] * 2),
        ("epochs=3 warm_up=60", ["warm-up"] * 2 + ["mixup"]),  # there is always a second stage
    )
    unselected = "warm-up"
    defaults = "official"
    extremes = ("mechanism.c=0.002 batch_size=5000 p_batch_size=1",)


@pytest.mark.parametrize("kinds", [(True, True), (False, False), (True, False), (False, True)], ids=str)
@pytest.mark.parametrize("size", [1.0, 800.0])
def test_batches_of_one_kind_have_finite_losses_and_gradients(kinds: tuple[bool, bool], size: float) -> None:
    """... whatever kind came before: running means are then not, or partly, known."""
    averages = Averages.unknown()
    for labeled in kinds:
        logits = torch.linspace(-size, size, 7, requires_grad=True)
        mask = torch.full((7,), labeled)
        aligned, score_u = alignment_loss(logits, mask, 0.3, averages.score_u)
        two_way, negative = two_way_loss(logits, mask, 0.3, averages[1:])
        averages = Averages(score_u, *negative)
        check_finite(aligned + two_way, logits)
    assert all(average.value.isfinite() for average in averages)


def test_the_distance_is_smallest_where_both_are_equal() -> None:
    here, there = torch.tensor(0.4), torch.tensor(0.9)
    assert float(distance(here, 0.4, 3.5)) == pytest.approx(2 * math.log(2) / 3.5)
    assert distance(there, here, 3.5) == distance(here, there, 3.5) > distance(here, here, 3.5)
