"""PAN in the engine: its batches, the order of its steps, its outputs, and inputs at the edge of what is possible."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pubench_pan.method import PAN, difference, separation
from pubench_testkit.testing import MethodFacts, Trainer, check_finite, watch

from pubench_core.engine.train import Trained
from pubench_core.training.run import Run

trained = Trainer("pan", short=("epochs=2", "mechanism.c=0.3"))


class TestFacts(MethodFacts):
    trained = trained
    learns = (("epochs=15 lr=3e-3 batch_size=128 mechanism.c=0.3", 0.8),)
    options = (
        "update_order=sequential",
        "unlabeled_batch=equal",
        "balance=1",
        "epsilon=0.1",
        "betas=[0.9,0.999]",
    )
    presets_in = ("epochs=1", "steps_per_epoch=3", "mechanism.c=0.3")


def batches(monkeypatch: pytest.MonkeyPatch, *sets: str) -> tuple[Trained, list[tuple[int, int]]]:
    """A run, and the rows of P and of U in each of its steps."""
    sizes = watch(monkeypatch, PAN, "_update", lambda method, p, u, *_: (len(p), len(u)))
    return trained.shortly(*sets), sizes


def test_batches_have_p_and_u_in_proportion_and_an_epoch_passes_over_u(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result, sizes = batches(monkeypatch, "batch_size=200")
    data = result.evaluator.problem.view(frozenset())
    ((p_size, u_size),) = set(sizes)
    assert p_size + u_size == 200
    assert p_size == pytest.approx(200 * data.n_labeled / len(data), abs=0.5)
    assert len(sizes) == 2 * -(-data.n_unlabeled // u_size)


@pytest.mark.parametrize("size", [2, 3])
def test_the_smallest_batches_have_a_row_of_p_and_two_of_u(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    result, sizes = batches(monkeypatch, f"batch_size={size}", "steps_per_epoch=3")
    assert set(sizes) == {(1, 2)}
    assert np.isfinite(result.scores["last"]["test"]).all()


@pytest.mark.parametrize(
    ("order", "names", "passes"), [("joint", ["loss"], 1), ("sequential", ["discriminator", "loss"], 2)]
)
def test_the_order_of_updates_decides_how_often_a_batch_passes(
    order: str, names: list[str], passes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stepped = watch(monkeypatch, Run, "step", lambda *_, **options: options.get("name", "loss"))
    valued = watch(monkeypatch, PAN, "_value")
    result = trained.shortly("steps_per_epoch=2", f"update_order={order}")
    assert stepped == names * 4
    assert len(valued) == passes * 4
    assert all(event.values["loss"] != 0 for event in result.epochs)


def test_both_outputs_are_scored_and_the_discriminator_is_a_probability() -> None:
    result = trained.shortly()
    result.method.net.eval()
    result.method.discriminator.eval()
    x = result.evaluator.problem.view(frozenset()).take(torch.arange(50))
    with torch.inference_mode():
        (name, scores), *rest = result.method.auxiliary_scores(x).items()
        assert (name, rest) == ("discriminator", [])
        assert ((scores >= 0) & (scores <= 1)).all()
        assert not torch.allclose(scores, torch.sigmoid(result.method.decision_function(x)), atol=1e-3)


@pytest.mark.parametrize("logit", [-200.0, 0.0, 200.0])
def test_saturated_scores_have_a_finite_value_and_gradient(logit: float) -> None:
    z_d, z_r = (torch.full((6,), logit, requires_grad=True) for _ in range(2))
    d, r = z_d.sigmoid(), z_r.sigmoid()
    check_finite(separation(d[:3], d[3:], 0.01) + difference(d[3:], r[3:], 0.01), z_d, z_r)
