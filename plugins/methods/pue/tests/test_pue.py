"""PUe in the engine: what trains the propensity, how P is weighted, and degenerate problems."""

from __future__ import annotations

import math

import pytest
import torch
from pubench_pue.method import Correction, PUe, inverse_weights, pue_risk, rows_without_copies
from pubench_testkit.testing import LAST, MethodFacts, Trainer, watch

from pubench_formulas.risks import pu_risk

trained = Trainer("pue", short=("epochs=2", "warm_up=2", "mechanism.c=0.3"))


class TestFacts(MethodFacts):
    trained = trained
    learns = (("epochs=10 warm_up=5 lr=2e-3 mechanism.c=0.3", 0.85),)
    by = "pa"
    stages = (("", ["propensity"] * 2 + ["train"] * 2),)
    unselected = "propensity"
    options = (
        "alpha=15",
        "normalization=batch",
        "batching=paired",
        "correction=none",
        "min_propensity=0.5",
    )
    compared_in = ("epochs=15", "lr=3e-3")  # long enough for a negative part below zero
    presets_in = ("epochs=1", "warm_up=1", "steps_per_epoch=3", "mechanism.c=0.3")


@pytest.mark.parametrize(("scheme", "batching"), [("case-control", "joint"), ("single-training-set", "paired")])
def test_copies_of_p_in_u_train_the_classifier_not_the_propensity(
    scheme: str, batching: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = watch(monkeypatch, PUe, "_batches")
    result = trained.shortly(*LAST, f"data.scheme={scheme}", f"batching={batching}")
    data = result.evaluator.problem.view(frozenset())
    labeled = set(data.instance[data.labeled_rows].tolist())
    for in_warm_up in (True, False):
        rows = torch.cat([one.row for call in batches if (len(call.args) > 2) == in_warm_up for one in call.result])
        unlabeled = rows[~data.labeled[rows]]
        copies = labeled & set(data.instance[unlabeled].tolist())
        assert copies == (set() if in_warm_up else labeled)  # U contains P: in case-control, and calibrated
    apart = rows_without_copies(data)
    assert len(apart) == len(data) - data.n_labeled
    assert len(set(data.instance[apart].tolist())) == len(apart)


@pytest.mark.parametrize(("normalization", "per_epoch"), [("set", False), ("batch", True)])
def test_weights_are_found_once_with_mean_1_over_p_or_in_every_batch(
    normalization: str, per_epoch: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def watched(logits: torch.Tensor, labeled: torch.Tensor, min_propensity: float) -> torch.Tensor:
        weights = inverse_weights(logits, labeled, min_propensity)
        assert not weights.requires_grad
        assert float(weights[labeled].mean()) == pytest.approx(1, rel=1e-4)
        sizes.append(len(logits))
        return weights

    monkeypatch.setattr("pubench_pue.method.inverse_weights", watched)
    result = trained.shortly(*LAST, f"normalization={normalization}", "batching=paired", "batch_size=100")
    data = result.evaluator.problem.view(frozenset())
    assert sizes[0] == len(data)
    assert sizes[1:] == ([200] * (2 * math.ceil(data.n_unlabeled / 100)) if per_epoch else [])


@pytest.mark.parametrize("correction", ["clamp", "ascent", "none"])
def test_a_constant_propensity_gives_the_ordinary_risk(correction: Correction) -> None:
    scores = torch.linspace(-3, 4, 12, dtype=torch.float64)
    labeled = torch.arange(12) % 3 == 0
    weights = inverse_weights(torch.full((12,), -1.7, dtype=torch.float64), labeled)
    ours = pue_risk(scores, labeled, 0.4, weights, correction)
    plain = pu_risk(scores, labeled, 0.4, surrogate="logistic", correction=correction)
    torch.testing.assert_close(ours, plain)


def test_small_propensities_count_as_the_smallest_and_weights_stay_finite() -> None:
    labeled = torch.tensor([True, True, True, False])
    logits = torch.tensor([-9.0, math.log(1 / 3), 0.0, -200.0])  # e = .0001, 1/4, 1/2
    torch.testing.assert_close(inverse_weights(logits, labeled, 0.1), torch.tensor([10, 4, 2, 16 / 3]) * 3 / 16)
    extreme = inverse_weights(torch.tensor([-300.0, 0.0, 300.0, -300.0]), labeled)
    torch.testing.assert_close(extreme, torch.tensor([3.0, 0.0, 0.0, 1.0]))
