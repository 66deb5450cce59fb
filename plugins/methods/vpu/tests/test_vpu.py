"""VPU in the engine: stored maximum, its criterion, and degenerate problems that have results."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pubench_testkit.testing import MethodFacts, Trainer, check_finite, watch
from pubench_vpu.method import decision_logit, mixup_regularizer, variational_loss
from torch.nn import functional as F

from pubench_core.errors import RequestError
from pubench_core.training.run import Run

trained = Trainer("vpu", short=("steps_per_epoch=3", "batch_size=64", "epochs=3", "mechanism.c=0.3"))


class TestFacts(MethodFacts):
    trained = trained
    learns = (("epochs=10 mechanism.c=0.3 patience=3 selection.criterion=native backbone.key=mlp", 0.8),)
    by = "native"


@pytest.mark.parametrize("scheme", ["case-control", "single-training-set"])
def test_the_largest_normalized_posterior_of_the_training_rows_is_one(scheme: str) -> None:
    result = trained.shortly(f"data.scheme={scheme}", "selection.criteria=[last]", "selection.criterion=last")
    method, data = result.method, result.evaluator.problem.view(frozenset())
    assert len(data.distinct_rows) == data.n_unlabeled  # X holds the labeled positives
    method.net.eval()
    with torch.inference_mode():
        z = method.net(data.take(data.unlabeled_rows))
        score = method.decision_function(data.take(data.unlabeled_rows))
    phi = torch.sigmoid(z) / torch.sigmoid(z).max()
    sure = (phi - 0.5).abs() > 1e-5
    np.testing.assert_array_equal((score > 0)[sure], (phi > 0.5)[sure])
    assert (score[z.argsort()].diff() >= 0).all()


def test_its_criterion_is_minus_the_variational_loss_on_validation_rows() -> None:
    result = trained.shortly("selection.criterion=native")
    chosen = result.selection.tracks["native"].chosen
    assert chosen is not None
    problem = result.evaluator.problem
    part = problem.view(frozenset()).validation
    result.method.net.eval()
    with torch.inference_mode():
        z = result.method.net(part.take(torch.arange(len(part))))
    assert chosen.value == pytest.approx(-float(variational_loss(z[part.labeled], z[~part.labeled])), abs=1e-5)


def test_the_learning_rate_is_halved_in_every_nth_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = watch(monkeypatch, Run, "step", lambda run, loss, optimizer, **_: optimizer.param_groups[0]["lr"])
    trained("epochs=7", "steps_per_epoch=1", "batch_size=8", "lr=0.008", "halve_every=3", "mechanism.c=0.3")
    # epochs count from 1 here: the third and the sixth are e mod 3 = 2
    assert rates == pytest.approx([0.008, 0.008, 0.004, 0.004, 0.004, 0.002, 0.002])


@pytest.mark.parametrize(
    ("preset", "betas"), [("pubench", (0.9, 0.999)), ("official", (0.5, 0.99)), ("quick", (0.9, 0.999))]
)
def test_adams_betas_are_those_of_the_preset(
    preset: str, betas: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = watch(monkeypatch, Run, "step", lambda run, loss, optimizer, **_: optimizer.param_groups)
    trained(f"method.preset={preset}", "epochs=2", "steps_per_epoch=1", "batch_size=8", "halve_every=2")
    assert {group["betas"] for of in groups for group in of} == {betas}


@pytest.mark.parametrize("betas", ["[0.5, 1]", "[-0.1, 0.9]", "[0.9]", "0.9"])
def test_betas_are_two_numbers_below_one(betas: str) -> None:
    with pytest.raises(RequestError, match="betas"):
        trained.shortly(f"betas={betas}")


@pytest.mark.parametrize("coefficient", [0.0, 1e-300, 0.5, 1 - 1e-16, 1.0])
@pytest.mark.parametrize("size", [1.0, 1e4])
def test_losses_are_finite_for_any_coefficient_and_logits(coefficient: float, size: float) -> None:
    z = (size * torch.tensor([-1.0, -0.5, 0.0, 1.0])).requires_grad_()
    check_finite(variational_loss(z, z) + mixup_regularizer(z, -z, coefficient), z)


@given(z=st.lists(st.floats(-80, 80), min_size=1, max_size=20))
def test_at_the_decision_logit_the_posterior_is_half_of_its_maximum(z: list[float]) -> None:
    logits = torch.tensor(z, dtype=torch.float64)
    threshold = decision_logit(logits)
    assert threshold <= 0
    assert float(F.logsigmoid(threshold)) == pytest.approx(float(F.logsigmoid(logits).max()) - math.log(2), abs=1e-12)
