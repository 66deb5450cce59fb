"""Count Loss's law and losses against the official code, its routine for an exact count, and that of Wang et al."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from pubench_count_loss.method import binomial, distribution_loss, exact_count_loss
from pubench_testkit.testing import Case, Vectors
from torch import Tensor

from pubench_formulas.counts import count_log_probabilities, expected_count
from pubench_formulas.losses import logistic_loss

VECTORS = Vectors("count-loss", tolerance=1e-9, case="[^_]+")
#: Wang et al. add this to the sum of the law, which is one, before they divide by it.
WANG_NORMALIZER = 1 + 1e-6


def logit(outputs: Tensor) -> Tensor:
    """The one logit that each pair of outputs means."""
    return outputs[:, 1] - outputs[:, 0]


@VECTORS.cases()
def test_the_law_of_the_count(case: Case) -> None:
    case.expect(count_dist=count_log_probabilities(logit(case.tensor("logits_u"))).exp())


@VECTORS.cases()
def test_the_expected_count(case: Case) -> None:
    n, prior = len(case["logits_u"]), case.number("prior")
    case.expect(k_round=expected_count(n, prior, "nearest"), k_floor=expected_count(n, prior, "floor"))


@VECTORS.cases()
def test_the_exact_count_of_the_paper(case: Case) -> None:
    (u,) = case.leaves("logits_u")
    loss = exact_count_loss(logit(u), int(case["k_round"]))
    case.expect(u_loss_exact_k=loss)
    case.expect_gradients(loss, u_loss_exact_k_grad=u)


@VECTORS.cases()
def test_the_official_exact_count_is_the_likelihood_of_at_most_that_count(case: Case) -> None:
    (u,) = case.leaves("logits_u")
    k = int(case["k_round"])
    loss = -count_log_probabilities(logit(u))[: k + 1].logsumexp(0)
    case.expect(u_loss_official_k=loss)
    case.expect_gradients(loss, u_loss_official_k_grad=u)
    assert loss < exact_count_loss(logit(u), k)  # which is another loss


@VECTORS.cases()
def test_the_distribution_and_the_official_total(case: Case) -> None:
    (u,) = case.leaves("logits_u")
    loss = distribution_loss(logit(u), case.number("prior"))
    positive = logistic_loss(logit(case.tensor("logits_p"))).mean()
    case.expect(u_loss_dist=loss, p_loss=positive, total_dist=10 * positive + 10 * loss)
    case.expect_gradients(loss, u_loss_dist_grad=u)


@VECTORS.cases()
def test_the_total_of_wang_et_al_except_for_their_normalizer(case: Case) -> None:
    p, u = case.leaves("logits_p", "logits_u")
    loss = logistic_loss(logit(p)).mean() + exact_count_loss(logit(u), int(case["k_floor"]))
    case.expect(loss_wu=loss + math.log(WANG_NORMALIZER))
    case.expect_gradients(loss, grad_p_wu=p, grad_u_wu=u)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_binomial_law(share: float) -> None:
    n = 7
    expected = [math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1)]
    np.testing.assert_allclose(binomial(n, share, torch.device("cpu")), expected, rtol=1e-9, atol=1e-9)
