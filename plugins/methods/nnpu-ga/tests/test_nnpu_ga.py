"""nnPU-GA in the engine: what it needs, that it learns, and inputs at the edge of what is possible."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pubench_nnpu_ga.method import NNPUGA

from pubench_core.engine.build import build_problem
from pubench_core.engine.layers import Layer
from pubench_core.engine.resolve import resolve
from pubench_core.engine.train import Trained, train
from pubench_core.plugins.registry import registry
from pubench_formulas.losses import SURROGATES, Surrogate
from pubench_formulas.risks import pu_risk

pytestmark = pytest.mark.usefixtures("one_thread")


def trained(*sets: str) -> Trained:
    layer = Layer.of("data.key=digits", "method.key=nnpu-ga", "backbone.key=mlp-wang", *sets)
    plan = resolve([layer], registry())
    return train(plan, build_problem(plan))


def last(*sets: str) -> np.ndarray:
    """Test scores after the last epoch of a run that needs no labeled validation row."""
    return trained("selection.criterion=last", "selection.criteria=[last]", *sets).scores["last"]["test"]


def accuracy(result: Trained) -> float:
    truth = result.evaluator.problem.truth_test
    return float(((result.scores["pa"]["test"] > 0) == truth).mean())


def test_it_needs_the_prior_and_differs_from_nnpu_in_its_rule_only() -> None:
    config = NNPUGA.Config()
    assert NNPUGA.requires(config) == {"prior"}
    assert (config.surrogate, config.batching) == ("sigmoid", "joint")


def test_it_learns_digits() -> None:
    assert accuracy(trained("epochs=40", "lr=1e-3", "mechanism.c=0.3", "backbone.key=mlp-wang")) > 0.8


@pytest.mark.parametrize("sets", [(), ("surrogate=logistic", "batching=paired")], ids=["joint", "paired"])
def test_the_same_seed_gives_the_same_scores_and_another_seed_others(sets: tuple[str, ...]) -> None:
    first, again, other = (last("epochs=1", f"seed={seed}", *sets) for seed in (2, 2, 25))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("preset", ["official", "pubench", "wang", "quick"])
def test_presets_run(preset: str) -> None:
    assert np.isfinite(last(f"method.preset={preset}", "epochs=1", "steps_per_epoch=3")).all()


@pytest.mark.parametrize("prior", [0.01, 0.99])
@pytest.mark.parametrize("sets", [(), ("surrogate=logistic",)], ids=["sigmoid", "logistic"])
def test_any_prior_gives_finite_scores(prior: float, sets: tuple[str, ...]) -> None:
    assert np.isfinite(last("epochs=3", f"prior={prior}", *sets)).all()


@pytest.mark.parametrize(
    "sets", [("batch_size=2", "steps_per_epoch=30"), ("batching=paired",)], ids=["joint", "paired"]
)
def test_one_labeled_positive_is_enough(sets: tuple[str, ...]) -> None:
    result = trained("mechanism.c=0.002", "epochs=2", "selection.criterion=last", "selection.criteria=[last]", *sets)
    assert result.evaluator.problem.split.train.n_labeled == 1
    assert np.isfinite(result.scores["last"]["test"]).all()


@pytest.mark.parametrize("labeled", [True, False], ids=["only P", "only U"])
@pytest.mark.parametrize("surrogate", SURROGATES)
def test_a_batch_of_one_kind_has_a_finite_risk_and_gradient(surrogate: Surrogate, labeled: bool) -> None:
    scores = torch.linspace(-5, 5, 7, requires_grad=True)
    risk = pu_risk(scores, torch.full((7,), labeled), 0.4, surrogate=surrogate, correction="flip")
    risk.objective.backward()
    assert risk.value.isfinite()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
