"""LBE-PU in the engine: its stages and steps, that it learns, and inputs at the edge of what is possible."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pubench_backbones.networks import mlp_wang
from pubench_lbe_pu.method import (
    Task,
    accumulated,
    cross_entropy,
    smallest,
)
from pubench_testkit.testing import MethodFacts, Trainer

from pubench_core.training.batches import Batch

trained = Trainer("lbe-pu", short=("pre_training=2", "epochs=2", "steps_per_epoch=3", "backbone.key=mlp-wang"), sets=())


class TestFacts(MethodFacts):
    trained = trained
    learns = (
        *(
            (f"epochs=3 pre_training=15 lr=4e-3 mechanism.c=0.5 backbone.key=mlp-wang data.scheme={scheme}", 0.85)
            for scheme in ("single-training-set", "case-control")
        ),
        ("method.preset=quick mechanism.c=0.1 backbone.key=mlp-wang", 0.75),  # few labels, as in PU-Bench
    )
    by = "pa"
    options = (
        *("class_balance=true", "subset_of=unlabeled", "keep=1", "pre_training_batch_size=64"),
        "steps_per_epoch=null subset=0.3",
    )
    stages = (("", ["pre-training"] * 2 + ["em"] * 2),)
    unselected = "pre-training"
    defaults = "official"
    extremes = tuple(
        f"mechanism.c=0.002 subset={subset} subset_of={rows} class_balance=true"
        for subset in (0.001, 1)
        for rows in ("all", "unlabeled")
    )


def test_the_propensity_is_a_further_output() -> None:
    result = trained.shortly()
    eta = result.states[result.state_of["last"]].auxiliary["propensity"]
    assert ((eta > 0) & (eta < 1)).all()
    assert eta.std() > 0


def test_the_rows_of_one_forward_pass_do_not_change_a_step() -> None:
    small, large = (trained.last(f"batch_size={size}") for size in (100, 5000))
    np.testing.assert_allclose(small, large, atol=1e-4)


@settings(deadline=None, max_examples=20)
@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_a_step_in_parts_has_the_value_and_gradient_of_a_step_in_one_piece(sizes: list[int]) -> None:
    torch.manual_seed(0)
    n = sum(sizes)
    net, x, weight, target = mlp_wang((3,), 1), torch.randn(n, 3), torch.rand(n), torch.rand(n)
    rows = torch.arange(n)
    whole = (weight * cross_entropy(net(x), target)).mean()
    expected = torch.autograd.grad(whole, list(net.parameters()))
    batches = [Batch(x[part], part >= 0, part) for part in rows.split(sizes)]
    in_parts = accumulated(net, Task(rows, weight, target), batches)
    torch.testing.assert_close(in_parts, whole)
    torch.testing.assert_close(torch.autograd.grad(in_parts, list(net.parameters())), expected)


@settings(deadline=None)
@given(n=st.integers(1, 300), hundredths=st.integers(1, 100))
def test_the_number_of_kept_rows_is_a_floor_and_at_least_one(n: int, hundredths: int) -> None:
    losses = torch.arange(n, 0, -1.0)
    kept = smallest(losses, hundredths / 100)
    assert len(kept) == max(1, n * hundredths // 100)
    assert kept.tolist() == list(range(n - len(kept), n))
