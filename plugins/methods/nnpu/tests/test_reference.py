"""nnPU's risk against numbers of the official code (ascent), the formula (clamp) and Wang et al. (two outputs)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pubench_nnpu.method import NNPU
from pubench_testkit.testing import reference_cases
from torch import Tensor

from pubench_formulas.losses import SURROGATES, Surrogate
from pubench_formulas.risks import PURisk, pu_risk

pytestmark = pytest.mark.reference

TOLERANCE = 1e-10
#: The two-output implementation has a float32 constant inside.
TWO_LOGIT_TOLERANCE = 1e-6

CASES = reference_cases("nnpu")
TWO_LOGIT = [(name, case) for name, case in CASES if "two_logit_loss" in case]
Case = dict[str, Any]


def named(value: Any) -> str:
    return value if isinstance(value, str) else ""


def surrogate_of(name: str) -> Surrogate:
    """The vectors name the surrogate loss in the name of the case."""
    (found,) = (surrogate for surrogate in SURROGATES if surrogate in name.split("_"))
    return found


def risk_of(name: str, case: Case, p: Tensor, u: Tensor, correction: Any) -> PURisk:
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


@pytest.mark.parametrize(("name", "case"), CASES, ids=named)
def test_ascent_is_what_the_official_code_reports_and_minimizes(name: str, case: Case) -> None:
    p, u = logits_of(case)
    risk = risk_of(name, case, p, u, "ascent")
    close(risk.value, case["ascent_loss"])
    close(risk.objective, case["ascent_backward_objective"])
    risk.objective.backward()
    close(p.grad, case["ascent_grad_logits_p"])
    close(u.grad, case["ascent_grad_logits_u"])


@pytest.mark.parametrize(("name", "case"), CASES, ids=named)
def test_clamp_minimizes_equation_6_as_it_stands(name: str, case: Case) -> None:
    p, u = logits_of(case)
    risk = risk_of(name, case, p, u, "clamp")
    close(risk.value, case["clamp_loss"])
    assert risk.objective is risk.value
    risk.objective.backward()
    close(p.grad, case["clamp_grad_logits_p"])
    close(u.grad, case["clamp_grad_logits_u"])


@pytest.mark.parametrize(("name", "case"), CASES, ids=named)
def test_the_uncorrected_risk_is_the_sum_of_its_parts(name: str, case: Case) -> None:
    p, u = logits_of(case)
    close(risk_of(name, case, p, u, "none").value, case["positive_risk"] + case["negative_risk"])


@pytest.mark.parametrize(("name", "case"), CASES, ids=named)
def test_flip_descends_the_total_and_ascends_it_where_it_is_negative(name: str, case: Case) -> None:
    total = case["positive_risk"] + case["negative_risk"]
    p, u = logits_of(case)
    plain = risk_of(name, case, p, u, "none").objective
    expected = torch.autograd.grad(plain, (p, u))
    risk = risk_of(name, case, p, u, "flip")
    close(risk.value, total)
    found = torch.autograd.grad(risk.objective, (p, u))
    for ours, theirs in zip(found, expected, strict=True):
        close(ours, (-theirs if total < 0 else theirs).numpy())


@pytest.mark.parametrize(("name", "case"), CASES, ids=named)
def test_the_correction_acts_exactly_where_the_negative_part_is_below_minus_beta(name: str, case: Case) -> None:
    p, u = logits_of(case)
    acts = bool(case["corrected"])
    value = risk_of(name, case, p, u, "clamp").value
    close(value, case["positive_risk"] - case["beta"] if acts else case["positive_risk"] + case["negative_risk"])


def test_there_are_cases_on_both_sides_of_the_correction_and_of_two_outputs() -> None:
    assert {bool(case["corrected"]) for _, case in CASES} == {True, False}
    assert TWO_LOGIT


@pytest.mark.parametrize(("name", "case"), TWO_LOGIT, ids=named)
def test_clamp_on_the_difference_of_two_outputs_is_the_loss_of_wang_et_al(name: str, case: Case) -> None:
    p, u = (torch.from_numpy(case[f"two_logit_outputs_{side}"]).requires_grad_() for side in "pu")
    risk = risk_of(name, case, p[:, 1] - p[:, 0], u[:, 1] - u[:, 0], "clamp")
    close(risk.value, case["two_logit_loss"], TWO_LOGIT_TOLERANCE)
    risk.objective.backward()
    close(p.grad, case["two_logit_grad_p"], TWO_LOGIT_TOLERANCE)
    close(u.grad, case["two_logit_grad_u"], TWO_LOGIT_TOLERANCE)


def test_the_method_is_algorithm_1_of_the_paper_by_default() -> None:
    config = NNPU.Config()
    assert (config.correction, config.surrogate, config.beta, config.gamma) == ("ascent", "sigmoid", 0.0, 1.0)
    assert config.batching == "joint"
    assert NNPU.requires(config) == {"prior"}
