"""Count Loss in the engine: that it learns, what it counts, and degenerate problems."""

from __future__ import annotations

import pytest
import torch
from pubench_count_loss import method
from pubench_count_loss.method import distribution_loss, exact_count_loss
from pubench_testkit.testing import MethodFacts, Trainer, check_finite, watch

from pubench.method import Run

trained = Trainer("count-loss", short=("epochs=2", "mechanism.c=0.3"))


class TestFacts(MethodFacts):
    trained = trained
    learns = (
        ("epochs=8 lr=3e-3 mechanism.c=0.3", 0.85),
        # divided by the number of rows
        ("epochs=8 lr=3e-3 mechanism.c=0.3 form=distribution weight_unlabeled=100", 0.85),
    )
    options = (
        "form=distribution",
        "weight_positive=3",
        "weight_unlabeled=0.1",
        "max_norm=0.01",
        "batch_size=999",
    )
    compared_in = ("optimizer=sgd",)
    presets_in = ("epochs=1", "steps_per_epoch=3", "mechanism.c=0.3")
    extremes = tuple(f"{edge} form=distribution" for edge in ("mechanism.c=0.002", "prior=0.01", "prior=0.99"))


@pytest.mark.parametrize(("scheme", "rounding"), [("case-control", "nearest"), ("single-training-set", "floor")])
def test_the_count_of_a_batch_is_its_share_of_positives_in_u(
    scheme: str, rounding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = watch(monkeypatch, method, "exact_count_loss", lambda logits, count: (len(logits), count))
    result = trained.shortly(f"data.scheme={scheme}", f"rounding={rounding}", "batch_size=102")
    data = result.evaluator.problem.view(frozenset({"truth"}))
    rows = 102 * float(data.truth[data.unlabeled_rows].mean())
    assert rows % 1 > 0.5  # rounding up and down differ
    assert set(seen) == {(102, int(rows) + (rounding == "nearest"))}


def test_the_gradient_of_a_step_is_bounded_as_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = watch(monkeypatch, Run, "step", lambda *_, max_norm=None, **more: max_norm)
    trained.last()
    trained.last("max_norm=null")
    assert set(bounds) == {10.0, None}


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_share_of_none_or_all_has_finite_losses_and_gradients(share: float) -> None:
    z = torch.linspace(-200, 200, 16, requires_grad=True)
    for loss in (distribution_loss(z, share), exact_count_loss(z, round(16 * share))):
        check_finite(loss, z)
        assert loss.dtype == torch.float32
