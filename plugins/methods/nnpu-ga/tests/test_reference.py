"""nnPU-GA's rule against the flip of Wang et al., and next to it the rules that it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pubench_testkit.testing import reference_cases
from torch import Tensor

from pubench_formulas.losses import SURROGATES, Surrogate
from pubench_formulas.risks import Correction, PURisk, pu_risk

pytestmark = pytest.mark.reference

TOLERANCE = 1e-10
#: The two-output implementation has a float32 constant inside.
TWO_LOGIT_TOLERANCE = 1e-6

CASES = reference_cases("nnpu-ga")
FLIP = [(name, case) for name, case in CASES if "flip_loss" in case]
TWO_LOGIT = [(name, case) for name, case in CASES if "two_logit_loss" in case]
Case = dict[str, Any]


def named(value: Any) -> str:
    return value if isinstance(value, str) else ""


def surrogate_of(name: str) -> Surrogate:
    """The vectors name the surrogate loss in the name of the case."""
    (found,) = (surrogate for surrogate in SURROGATES if surrogate in name.split("_"))
    return found


def risk_of(name: str, case: Case, p: Tensor, u: Tensor, correction: Correction) -> PURisk:
    labeled = torch.arange(len(p) + len(u)) < len(p)
    return pu_risk(
        torch.cat([p, u]),
        labeled,
        float(case["prior"]),
        surrogate=surrogate_of(name),
        correction=correction,
        beta=float(case["beta"]),
        gamma=float(case["gamma"]),
    )


def logits_of(case: Case) -> tuple[Tensor, Tensor]:
    p, u = (torch.from_numpy(case[f"logits_{side}"].astype(np.float64)).requires_grad_() for side in "pu")
    return p, u


def close(ours: Tensor | None, theirs: Any, tolerance: float = TOLERANCE) -> None:
    assert ours is not None
    assert ours.dtype == torch.float64
    np.testing.assert_allclose(ours.detach().numpy(), theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("name", "case"), FLIP, ids=named)
def test_the_flip_reports_the_total_and_reverses_its_gradient_where_it_is_negative(name: str, case: Case) -> None:
    p, u = logits_of(case)
    risk = risk_of(name, case, p, u, "flip")
    close(risk.value, case["flip_loss"])
    close(risk.value, case["positive_risk"] + case["negative_risk"])
    risk.objective.backward()
    close(p.grad, case["flip_grad_logits_p"])
    close(u.grad, case["flip_grad_logits_u"])


@pytest.mark.parametrize(("name", "case"), TWO_LOGIT, ids=named)
def test_the_flip_of_two_outputs_is_that_of_wang_et_al(name: str, case: Case) -> None:
    p, u = (torch.from_numpy(case[f"two_logit_outputs_{side}"]).requires_grad_() for side in "pu")
    risk = risk_of(name, case, p[:, 1] - p[:, 0], u[:, 1] - u[:, 0], "flip")
    close(risk.value, case["two_logit_loss"], TWO_LOGIT_TOLERANCE)
    risk.objective.backward()
    sign = -1 if case["two_logit_loss"] < 0 else 1  # the vectors hold the gradient before their sign is flipped
    close(p.grad, sign * case["two_logit_grad_p"], TWO_LOGIT_TOLERANCE)
    close(u.grad, sign * case["two_logit_grad_u"], TWO_LOGIT_TOLERANCE)


@pytest.mark.parametrize("correction", ["ascent", "clamp"])
@pytest.mark.parametrize(("name", "case"), CASES, ids=named)
def test_ascent_and_clamp_act_exactly_where_the_negative_part_is_below_minus_beta(
    name: str, case: Case, correction: Correction
) -> None:
    p, u = logits_of(case)
    risk = risk_of(name, case, p, u, correction)
    acts = case["negative_risk"] < -case["beta"]
    assert acts == case["corrected"]
    close(risk.value, case[f"{correction}_loss"])
    close(risk.value, case["positive_risk"] + (-case["beta"] if acts else case["negative_risk"]))
    close(risk.objective, case["ascent_backward_objective" if correction == "ascent" else "clamp_loss"])
    risk.objective.backward()
    close(p.grad, case[f"{correction}_grad_logits_p"])
    close(u.grad, case[f"{correction}_grad_logits_u"])


def test_the_cases_tell_the_rules_apart() -> None:
    """Both sides of the flip occur, and so does a negative part below zero under a total above it."""
    totals = {name: case["positive_risk"] + case["negative_risk"] for name, case in FLIP}
    assert min(totals.values()) < 0 < max(totals.values())
    mild = [case for name, case in FLIP if name.startswith("mild_negative") and totals[name] > 0]
    assert mild
    for case in mild:
        assert case["negative_risk"] < 0
        assert not np.allclose(case["flip_grad_logits_p"], case["ascent_grad_logits_p"])
