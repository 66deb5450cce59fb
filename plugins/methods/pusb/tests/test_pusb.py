"""PUSB in the engine: the threshold follows the scores, and degenerate problems have results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pubench_pusb.method import pusb_risk, quantile_rank, quantile_threshold
from pubench_testkit.testing import MethodFacts, Trainer, check_finite

trained = Trainer("pusb", short=("epochs=2", "mechanism.c=0.3"), sets=())


class TestFacts(MethodFacts):
    trained = trained
    learns = (("epochs=15 lr=1e-3 mechanism.c=0.3", 0.85),)
    presets_in = ("epochs=2", "steps_per_epoch=3")
    extremes = (*("mechanism.c=0.002 batch_size=64 batching=joint", "mechanism.c=0.002 batch_size=64 batching=paired"),)


@pytest.mark.parametrize("calibrate", ["auto", "off"])
@pytest.mark.parametrize("scheme", ["case-control", "single-training-set"])
def test_as_many_unlabeled_rows_are_positive_as_the_prior_says(scheme: str, calibrate: str) -> None:
    sets = ("epochs=2", "mechanism.c=0.3", f"data.scheme={scheme}", f"method.calibrate={calibrate}")
    result = trained(*sets, "selection.criteria=[pa, last]", "selection.criterion=last")
    problem = result.evaluator.problem
    data = problem.view(frozenset({"prior", "truth"}))
    u = data.unlabeled_rows
    result.method.net.eval()
    with torch.inference_mode():
        positive = int((result.method.decision_function(data.take(u)) > 0).sum())
    share = float(data.truth[u].mean())  # the prior that is given is the true one
    if scheme == "single-training-set" and calibrate == "off":  # U lacks the labeled positives, and π is believed
        assert data.prior > share + 0.05
        share = data.prior
    assert positive == pytest.approx(share * len(u), abs=2)


def test_without_its_threshold_it_is_nnpu_with_the_logistic_loss() -> None:
    nnpu = replace(trained, key="nnpu")
    np.testing.assert_array_equal(trained.last("threshold=zero"), nnpu.last("surrogate=logistic"))


def test_the_threshold_moves_the_scores_and_keeps_their_order() -> None:
    short = ("epochs=2", "mechanism.c=0.3", "selection.criteria=[last]", "selection.criterion=last")
    ours, zero = (trained(*short, f"threshold={t}").scores["last"]["test"] for t in ("unlabeled-quantile", "zero"))
    shift = zero - ours
    np.testing.assert_allclose(shift, shift[0], atol=1e-6)
    assert abs(shift[0]) > 1e-4


@pytest.mark.parametrize("correction", ["ascent", "clamp"])
@pytest.mark.parametrize("labeled", [True, False])
@pytest.mark.parametrize("prior", [0.01, 0.99])
def test_a_batch_of_one_side_only_has_a_finite_risk(correction: str, labeled: bool, prior: float) -> None:
    scores = torch.tensor([-200.0, 0.0, 200.0], requires_grad=True)
    risk = pusb_risk(scores, torch.full((3,), labeled), prior, correction)  # type: ignore[arg-type]
    check_finite(risk.objective, scores)


@pytest.mark.parametrize(("n", "prior", "rank"), [(10, 0.9, 1), (10, 0.5, 5), (100, 0.71, 29), (1, 0.5, 0)])
def test_a_rank_is_not_off_by_one_for_rounding(n: int, prior: float, rank: int) -> None:
    assert quantile_rank(n, prior) == rank


@given(
    scores=st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=60),
    prior=st.floats(0, 1, exclude_min=True, exclude_max=True),
)
def test_no_more_than_the_prior_says_are_positive(scores: list[float], prior: float) -> None:
    values = torch.tensor(scores)
    positive = int((values - float(quantile_threshold(values, prior)) > 0).sum())
    assert positive <= prior * len(values) + 1e-6
    assert positive == int((values > quantile_threshold(values, prior)).sum())
