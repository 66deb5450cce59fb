"""Count Loss in the engine: that it learns, what it counts, and degenerate problems."""

from __future__ import annotations

import pytest
import torch
from pubench_count_loss.method import CountLoss, distribution_loss, exact_count_loss
from pubench_testkit.testing import MethodFacts, Trainer

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
    seen: set[tuple[int, int]] = set()

    def watched(logits: torch.Tensor, count: int) -> torch.Tensor:
        seen.add((len(logits), count))
        return exact_count_loss(logits, count)

    monkeypatch.setattr("pubench_count_loss.method.exact_count_loss", watched)
    result = trained.shortly(f"data.scheme={scheme}", f"rounding={rounding}", "batch_size=102")
    data = result.evaluator.problem.view(frozenset({"truth"}))
    rows = 102 * float(data.truth[data.unlabeled_rows].mean())
    assert rows % 1 > 0.5  # rounding up and down differ
    assert seen == {(102, int(rows) + (rounding == "nearest"))}


def test_the_gradient_of_a_step_is_bounded_as_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds: set[float | None] = set()
    step = Run.step

    def watched(self: Run[CountLoss.Config], *rest: object, max_norm: float | None = None, **more: object) -> None:
        bounds.add(max_norm)
        step(self, *rest, max_norm=max_norm, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(Run, "step", watched)
    trained.last()
    trained.last("max_norm=null")
    assert bounds == {10.0, None}


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_share_of_none_or_all_has_finite_losses_and_gradients(share: float) -> None:
    z = torch.linspace(-200, 200, 16, requires_grad=True)
    for loss in (distribution_loss(z, share), exact_count_loss(z, round(16 * share))):
        (gradient,) = torch.autograd.grad(loss, z)
        assert loss.isfinite()
        assert gradient.isfinite().all()
        assert loss.dtype == torch.float32
