"""PUSB in the engine: the threshold follows the scores, and degenerate problems have results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from pubench_pusb.method import quantile_rank
from pubench_testkit.testing import MethodFacts, Trainer

trained = Trainer("pusb", short=("epochs=2", "mechanism.c=0.3"), sets=())


class TestFacts(MethodFacts):
    trained = trained
    learns = (("epochs=8 lr=2e-3 mechanism.c=0.3", 0.85),)
    presets_in = ("epochs=2", "steps_per_epoch=3")
    extremes = (*("mechanism.c=0.002 batch_size=64 batching=joint", "mechanism.c=0.002 batch_size=64 batching=paired"),)


@pytest.mark.parametrize(("scheme", "calibrate"), [("case-control", "auto"), ("single-training-set", "off")])
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


@pytest.mark.parametrize(("n", "prior", "rank"), [(10, 0.9, 1), (10, 0.5, 5), (100, 0.71, 29), (1, 0.5, 0)])
def test_a_rank_is_not_off_by_one_for_rounding(n: int, prior: float, rank: int) -> None:
    assert quantile_rank(n, prior) == rank
