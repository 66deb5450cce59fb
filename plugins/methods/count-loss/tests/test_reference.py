"""Count Loss's law and losses against the official code, its routine for an exact count, and that of Wang et al."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from pubench_count_loss.method import binomial, distribution_loss, exact_count_loss
from pubench_testkit.testing import reference_arrays
from torch import Tensor

from pubench_formulas.counts import count_log_probabilities, expected_count
from pubench_formulas.losses import logistic_loss

pytestmark = pytest.mark.reference

TOLERANCE = 1e-9
#: Wang et al. add this to the sum of the law, which is one, before they divide by it.
WANG_NORMALIZER = 1 + 1e-6

ARRAYS = reference_arrays("count-loss")
NAMES = sorted({name.partition("_")[0] for name in ARRAYS} - {"meta"})
CASES = [
    {name.removeprefix(f"{case}_"): values for name, values in ARRAYS.items() if name.startswith(f"{case}_")}
    for case in NAMES
]
Case = dict[str, Any]
of_every_case = pytest.mark.parametrize("case", CASES, ids=NAMES)


def logits_of(case: Case) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Two outputs of P and of U, which take gradients, and the one logit that each pair means."""
    p, u = (torch.from_numpy(case[f"logits_{side}"]).requires_grad_() for side in "pu")
    return p, u, p[:, 1] - p[:, 0], u[:, 1] - u[:, 0]


def close(ours: Any, theirs: Any) -> None:
    assert ours is not None
    ours = ours.detach().numpy() if isinstance(ours, Tensor) else ours
    np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE)


@of_every_case
def test_the_law_of_the_count(case: Case) -> None:
    *_, z_u = logits_of(case)
    close(count_log_probabilities(z_u).exp(), case["count_dist"])


@of_every_case
def test_the_count_that_is_asked_for(case: Case) -> None:
    n, prior = len(case["logits_u"]), float(case["prior"])
    assert expected_count(n, prior, "nearest") == case["k_round"]
    assert expected_count(n, prior, "floor") == case["k_floor"]


@of_every_case
def test_the_exact_count_of_the_paper(case: Case) -> None:
    _, u, _, z_u = logits_of(case)
    loss = exact_count_loss(z_u, int(case["k_round"]))
    close(loss, case["u_loss_exact_k"])
    loss.backward()
    close(u.grad, case["u_loss_exact_k_grad"])


@of_every_case
def test_the_official_routine_for_an_exact_count_is_the_likelihood_of_at_most_as_many(case: Case) -> None:
    _, u, _, z_u = logits_of(case)
    loss = -count_log_probabilities(z_u)[: int(case["k_round"]) + 1].logsumexp(0)
    close(loss, case["u_loss_official_k"])
    loss.backward()
    close(u.grad, case["u_loss_official_k_grad"])
    assert loss < exact_count_loss(z_u, int(case["k_round"]))  # which is another loss


@of_every_case
def test_the_distribution_and_the_official_total(case: Case) -> None:
    _, u, z_p, z_u = logits_of(case)
    loss = distribution_loss(z_u, float(case["prior"]))
    close(loss, case["u_loss_dist"])
    loss.backward()
    close(u.grad, case["u_loss_dist_grad"])
    positive = logistic_loss(z_p).mean()
    close(positive, case["p_loss"])
    close(10 * positive + 10 * loss, case["total_dist"])


@of_every_case
def test_the_total_of_wang_et_al_but_for_their_normalizer(case: Case) -> None:
    p, u, z_p, z_u = logits_of(case)
    loss = logistic_loss(z_p).mean() + exact_count_loss(z_u, int(case["k_floor"]))
    close(loss + math.log(WANG_NORMALIZER), case["loss_wu"])
    loss.backward()
    close(p.grad, case["grad_p_wu"])
    close(u.grad, case["grad_u_wu"])


def test_a_case_has_saturated_logits() -> None:
    assert max(np.abs(case["logits_u"]).max() for case in CASES) > 10


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_binomial_law(share: float) -> None:
    n = 7
    expected = [math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1)]
    close(binomial(n, share, torch.device("cpu")), expected)


def test_every_array_is_compared_with() -> None:
    inputs = {"logits_u", "logits_p", "prior"}
    laws = {"count_dist", "k_floor", "k_round", "p_loss", "total_dist"}
    unlabeled = {f"u_loss_{kind}{what}" for kind in ("official_k", "exact_k", "dist") for what in ("", "_grad")}
    wang = {"loss_wu", "grad_u_wu", "grad_p_wu"}
    assert [set(case) for case in CASES] == [inputs | laws | unlabeled | wang] * len(CASES)
    described = {json.loads(entry).get("name") for entry in ARRAYS["meta"]} - {None}
    assert described == set(ARRAYS) - {"meta"}
