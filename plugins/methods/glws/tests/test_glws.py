"""GLWS in the engine: that it learns, what its two steps see, its schedule, and degenerate problems."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pubench_glws import method
from pubench_glws.method import Posterior, glws_loss, parameter_groups, posteriors
from pubench_testkit.testing import LAST, MethodFacts, Trainer, watch

from pubench.method import Run

trained = Trainer("glws", short=("epochs=2", "mechanism.c=0.3"))


class TestFacts(MethodFacts):
    trained = trained
    learns = (("epochs=15 lr=3e-3 mechanism.c=0.3", 0.85),)
    options = (
        "posterior=released",
        "decay_biases=false",
        "augment=true",
        "final_lr=1e-6",
        "batch_size=999",
    )
    presets_in = ("epochs=1", "steps_per_epoch=3", "mechanism.c=0.3")
    extremes = tuple(f"{edge} posterior=released" for edge in ("mechanism.c=0.002", "prior=0.01", "prior=0.99"))


@pytest.mark.parametrize(("scheme", "rounding"), [("case-control", "nearest"), ("single-training-set", "floor")])
def test_as_many_rows_of_a_batch_are_positive_as_the_share_in_u_says(
    scheme: str, rounding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = watch(monkeypatch, method, "posteriors")
    result = trained.shortly(f"data.scheme={scheme}", f"rounding={rounding}", "batch_size=102")
    data = result.evaluator.problem.view(frozenset({"truth"}))
    rows = 102 * float(data.truth[data.unlabeled_rows].mean())
    assert rows % 1 > 0.5  # rounding up and down differ
    for call in calls:
        logits, count, _ = call.args
        assert float(call.result.double().sum()) == pytest.approx(count, abs=1e-3)
        assert (len(logits), count) == (102, int(rows) + (rounding == "nearest"))  # incomplete batches are dropped
    assert calls


def test_the_posteriors_come_from_another_view_than_what_learns_them(monkeypatch: pytest.MonkeyPatch) -> None:
    expected, learned = (watch(monkeypatch, method, name) for name in ("posteriors", "glws_loss"))
    for augmented in (False, True):
        trained.last(f"augment={augmented}".lower())
        for of_view, of_loss in zip(expected, learned, strict=True):
            assert not of_view.result.requires_grad
            assert of_loss.args[2] is of_view.result
            assert torch.equal(of_loss.args[1], of_view.args[0]) != augmented
        assert expected
        expected.clear()
        learned.clear()


def test_the_learning_rate_follows_half_a_cosine_over_all_steps_or_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = watch(monkeypatch, Run, "step", lambda run, loss, optimizer: optimizer.param_groups[0]["lr"])
    trained.last("lr=0.01", "final_lr=1e-6", "steps_per_epoch=10")
    expected = 1e-6 + (0.01 - 1e-6) * (1 + np.cos(np.pi * np.arange(20) / 20)) / 2
    np.testing.assert_allclose(rates, expected, rtol=1e-9)
    rates.clear()
    result = trained.shortly(*LAST, "final_lr=0", "batch_size=100")
    steps = 2 * (result.evaluator.problem.view(frozenset()).n_unlabeled // 100)
    assert len(rates) == steps
    assert rates[-1] == pytest.approx(3e-4 * (1 + np.cos(np.pi * (steps - 1) / steps)) / 2)
    rates.clear()
    trained.last()
    assert set(rates) == {3e-4}


@pytest.mark.parametrize("kind", ["exact", "released"])
@pytest.mark.parametrize("size", [5.0, 100.0, 700.0])
def test_saturated_rows_have_posteriors_between_0_and_1(size: float, kind: Posterior) -> None:
    z = size * torch.linspace(-1, 1, 33)
    for k in (0, 1, 16, 32, 33):
        targets = posteriors(z, k, kind)
        assert targets.dtype == torch.float32
        assert ((targets >= 0) & (targets <= 1 + 1e-6)).all()
        assert glws_loss(z, z, targets).isfinite()


@pytest.mark.parametrize(("decay_biases", "of_vectors"), [("true", 0.1), ("false", 0.0)])
def test_biases_and_normalization_are_spared_from_decay_on_request(
    decay_biases: str, of_vectors: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = watch(monkeypatch, Run, "step", lambda run, loss, optimizer: optimizer.param_groups)
    trained.last("weight_decay=0.1", f"decay_biases={decay_biases}")
    decays = {(p.dim() > 1, group["weight_decay"]) for of in groups for group in of for p in group["params"]}
    assert decays == {(True, 0.1), (False, of_vectors)}


def test_every_parameter_is_trained_once() -> None:
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Linear(4, 1, bias=False))
    matrices, vectors = (group["params"] for group in parameter_groups(net, decay_biases=False))
    assert [tuple(p.shape) for p in matrices] == [(4, 3, 3, 3), (1, 4)]
    assert [tuple(p.shape) for p in vectors] == [(4,), (4,), (4,)]
