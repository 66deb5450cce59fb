"""PULDA in the engine: its two stages, that it learns, and inputs at the edge of what is possible."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from pubench_pulda.method import PULDA, Averages, alignment_loss, distance, two_way_loss
from pubench_testkit.testing import MethodFacts, Trainer, accuracy, check_finite

pytestmark = pytest.mark.usefixtures("one_thread")

trained = Trainer("pulda", short=("epochs=3", "warm_up=1", "steps_per_epoch=3"))


class TestFacts(MethodFacts):
    trained = trained
    extremes = (
        *("mechanism.c=0.002", "mechanism.c=0.002 batch_size=5000 p_batch_size=1"),
        *("prior=0.01", "prior=0.99"),
    )


def test_pulda_learns_digits_and_chooses_no_epoch_of_the_warm_up() -> None:
    result = trained(
        "epochs=16", "warm_up=8", "warm_up_lr=1e-2", "steps_per_epoch=40", "mechanism.c=0.3", "backbone.key=mlp-wang"
    )
    assert [event.stage for event in result.epochs] == ["warm-up"] * 8 + ["mixup"] * 8
    chosen = [track.epoch for track in result.selection.tracks.values()]
    assert chosen
    assert all(epoch is None or epoch > 8 for epoch in chosen)
    assert accuracy(result, "pa") > 0.75


@pytest.mark.parametrize(
    ("epochs", "warm_up", "stages"),
    [(1, 60, ["mixup"]), (2, 0, ["mixup"] * 2), (3, 60, ["warm-up"] * 2 + ["mixup"])],
)
def test_there_is_always_a_second_stage(epochs: int, warm_up: int, stages: list[str]) -> None:
    result = trained("steps_per_epoch=2", f"epochs={epochs}", f"warm_up={warm_up}")
    assert [event.stage for event in result.epochs] == stages
    assert result.scores["pa"]


def test_every_choice_of_losses_gives_another_result() -> None:
    found = [trained.last(*sets) for sets in ((), ("warm_up_loss=bce",), ("two_way=false",), ("smoothing=0",))]
    for i, first in enumerate(found):
        for second in found[i + 1 :]:
            assert not np.allclose(first, second)


def test_the_official_preset_is_the_default() -> None:
    info = trained.info
    assert PULDA.Config(**info.presets["official"].values) == PULDA.Config()
    assert PULDA.requires(PULDA.Config()) == {"prior"} == info.needs


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
