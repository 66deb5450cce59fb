"""nnPU-GA in the engine: that it learns, and inputs at the edge of what is possible."""

from __future__ import annotations

import pytest
import torch
from pubench_testkit.testing import MethodFacts, Trainer

from pubench_formulas.losses import SURROGATES, Surrogate
from pubench_formulas.risks import pu_risk

trained = Trainer("nnpu-ga", short=("epochs=2",))


class TestFacts(MethodFacts):
    trained = trained
    learns = (("epochs=40 lr=1e-3 mechanism.c=0.3", 0.8),)
    presets_in = ("epochs=1", "steps_per_epoch=3")
    extremes = (
        *("mechanism.c=0.002 batch_size=2 steps_per_epoch=30", "mechanism.c=0.002 batching=paired"),
        *(f"prior={prior} surrogate={loss}" for prior in (0.01, 0.99) for loss in ("sigmoid", "logistic")),
    )


@pytest.mark.parametrize("labeled", [True, False], ids=["only P", "only U"])
@pytest.mark.parametrize("surrogate", SURROGATES)
def test_a_batch_of_one_kind_has_a_finite_risk_and_gradient(surrogate: Surrogate, labeled: bool) -> None:
    scores = torch.linspace(-5, 5, 7, requires_grad=True)
    risk = pu_risk(scores, torch.full((7,), labeled), 0.4, surrogate=surrogate, correction="flip")
    risk.objective.backward()
    assert risk.value.isfinite()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
