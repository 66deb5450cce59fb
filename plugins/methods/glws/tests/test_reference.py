"""GLWS's posteriors, exact and as released, and its loss against numbers of the official code and an enumeration."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from pubench_glws.method import Posterior, glws_loss, posteriors
from pubench_testkit.testing import reference_arrays
from torch import Tensor

from pubench_formulas.counts import count_log_probabilities

pytestmark = pytest.mark.reference

TOLERANCE = 1e-9

ARRAYS = reference_arrays("glws")
NAMES = sorted({name.partition("_")[0] for name in ARRAYS} - {"meta"})
CASES = [
    {name.removeprefix(f"{case}_"): values for name, values in ARRAYS.items() if name.startswith(f"{case}_")}
    for case in NAMES
]
Case = dict[str, Any]
of_every_case = pytest.mark.parametrize("case", CASES, ids=NAMES)
of_both_kinds = pytest.mark.parametrize("kind", ["exact", "released"])


def logits_of(case: Case) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Two outputs of P and of U, which take gradients, and the one logit that each pair means."""
    p, u = (torch.from_numpy(case[f"logits_{side}"]).requires_grad_() for side in "pu")
    return p, u, p[:, 1] - p[:, 0], u[:, 1] - u[:, 0]


def close(ours: Any, theirs: Any) -> None:
    assert ours is not None
    ours = ours.detach().numpy() if isinstance(ours, Tensor) else ours
    np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE)


@of_both_kinds
@of_every_case
def test_the_posterior_of_a_row_given_the_number_of_positives(case: Case, kind: Posterior) -> None:
    *_, z_u = logits_of(case)
    close(posteriors(z_u, int(case["k"]), kind), case[f"posterior_{kind}"])


@of_every_case
def test_the_probability_of_the_number_and_what_the_released_code_has_in_its_place(case: Case) -> None:
    *_, z_u = logits_of(case)
    k, law = int(case["k"]), count_log_probabilities(z_u)
    close(law[k].exp(), case["prob_count_k"])
    # Its automaton ends in one state per number up to k, so that the share of the last is a conditional probability.
    close((law[k] - law[: k + 1].logsumexp(0)).exp(), case["sup_pred_released"])


@of_both_kinds
@of_every_case
def test_the_loss_and_its_gradients(case: Case, kind: Posterior) -> None:
    p, u, z_p, z_u = logits_of(case)
    loss = glws_loss(z_p, z_u, posteriors(z_u, int(case["k"]), kind))
    close(loss, case[f"loss_{kind}"])
    loss.backward()
    close(u.grad, case[f"grad_u_{kind}"])
    close(p.grad, case["grad_p_exact"])  # the posterior is no part of it


def test_the_cases_tell_the_posteriors_apart() -> None:
    """They agree where none or all rows are positive; elsewhere the released ones are off and do not sum to k."""
    for case in CASES:
        exact, released, k = case["posterior_exact"], case["posterior_released"], int(case["k"])
        close(exact.sum(), k)
        if k in (0, len(exact)):
            close(released, exact)
        else:
            assert np.abs(released - exact).max() > 0.05
            assert abs(released.sum() - k) > 0.02
    assert {int(case["k"]) in (0, len(case["logits_u"])) for case in CASES} == {True, False}


def test_every_array_is_compared_with() -> None:
    both = {f"{what}_{kind}" for what in ("posterior", "loss", "grad_u") for kind in ("exact", "released")}
    others = {"logits_u", "logits_p", "k", "prob_count_k", "sup_pred_released", "grad_p_exact"}
    assert [set(case) for case in CASES] == [both | others] * len(CASES)
    described = {json.loads(entry).get("name") for entry in ARRAYS["meta"]} - {None}
    assert described == set(ARRAYS) - {"meta"}
