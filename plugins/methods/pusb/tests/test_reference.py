"""PUSB's risk and threshold against numbers of the official code, and of Wang et al. (two outputs, clamp)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pubench_pusb.method import PUSB, pusb_risk, quantile_rank, quantile_threshold
from pubench_testkit.testing import reference_cases
from sklearn.metrics import accuracy_score, precision_score, recall_score
from torch import Tensor

from pubench_formulas.losses import masked_mean
from pubench_formulas.risks import pu_risk

pytestmark = pytest.mark.reference

TOLERANCE = 1e-10
#: The official code computes in float32.
FLOAT32_TOLERANCE = 5e-6
#: The two-output implementation has a float32 constant inside.
TWO_LOGIT_TOLERANCE = 1e-6

CASES = reference_cases("pusb")
LOSSES = [(name, case) for name, case in CASES if "logits_p" in case]
TWO_LOGIT = [(name, case) for name, case in LOSSES if "two_logit_loss" in case]
THRESHOLDS = [(name, case) for name, case in CASES if "theta" in case]
Case = dict[str, Any]


def named(value: Any) -> str:
    return value if isinstance(value, str) else ""


def logits_of(case: Case) -> tuple[Tensor, Tensor]:
    p, u = (torch.from_numpy(case[f"logits_{side}"]).requires_grad_() for side in "pu")
    return p, u


def joined(p: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
    """Scores and the labeled mask of one batch."""
    return torch.cat([p, u]), torch.arange(len(p) + len(u)) < len(p)


def close(ours: Tensor | None, theirs: Any, tolerance: float = TOLERANCE) -> None:
    assert ours is not None
    np.testing.assert_allclose(ours.detach().numpy(), theirs, rtol=tolerance, atol=tolerance)


def test_every_case_is_of_a_kind_that_is_tested() -> None:
    assert THRESHOLDS
    assert TWO_LOGIT
    assert len(CASES) == len(LOSSES) + len(THRESHOLDS)
    assert {bool(case["corrected"]) for _, case in LOSSES} == {True, False}


@pytest.mark.parametrize(("name", "case"), LOSSES, ids=named)
def test_the_loss_and_its_gradient(name: str, case: Case) -> None:
    p, u = logits_of(case)
    objective = pusb_risk(*joined(p, u), float(case["prior"])).objective
    close(objective, case["loss"])
    objective.backward()
    close(p.grad, case["grad_logits_p"])
    close(u.grad, case["grad_logits_u"])


@pytest.mark.parametrize(("name", "case"), LOSSES, ids=named)
def test_the_loss_of_the_official_code(name: str, case: Case) -> None:
    p, u = (torch.from_numpy(case[f"logits_{side}"]).float().requires_grad_() for side in "pu")
    objective = pusb_risk(*joined(p, u), float(case["prior"])).objective
    assert objective.dtype == torch.float32
    close(objective, case["official_loss_f32"], FLOAT32_TOLERANCE)
    objective.backward()
    assert p.grad is not None
    assert u.grad is not None
    close(torch.cat([p.grad, u.grad]), case["official_grad_f32"], FLOAT32_TOLERANCE)


@pytest.mark.parametrize(("name", "case"), LOSSES, ids=named)
def test_the_parts_of_the_risk(name: str, case: Case) -> None:
    scores, labeled = joined(*logits_of(case))
    prior = float(case["prior"])
    total = pu_risk(scores, labeled, prior, surrogate="logistic").value
    positive = prior * masked_mean(torch.nn.functional.softplus(-scores), labeled)
    close(positive, case["positive_risk"])
    close(total - positive, case["negative_risk"])
    corrected = bool(case["corrected"])
    assert corrected == bool(total - positive < 0)
    # Where the correction acts, its objective is minus the negative part, and the risk keeps the positive part.
    risk = pusb_risk(scores, labeled, prior)
    close(risk.objective, -case["negative_risk"] if corrected else total.detach())
    close(risk.value, case["positive_risk"] if corrected else total.detach())


@pytest.mark.parametrize(("name", "case"), TWO_LOGIT, ids=named)
def test_clamp_on_the_difference_of_two_outputs_is_the_loss_of_wang_et_al(name: str, case: Case) -> None:
    p, u = (torch.from_numpy(case[f"two_logit_outputs_{side}"]).requires_grad_() for side in "pu")
    for outputs, logits in ((p, case["logits_p"]), (u, case["logits_u"])):
        close(outputs[:, 1] - outputs[:, 0], logits)
    objective = pusb_risk(
        *joined(p[:, 1] - p[:, 0], u[:, 1] - u[:, 0]), float(case["prior"]), correction="clamp"
    ).objective
    close(objective, case["two_logit_loss"], TWO_LOGIT_TOLERANCE)
    objective.backward()
    close(p.grad, case["two_logit_grad_p"], TWO_LOGIT_TOLERANCE)
    close(u.grad, case["two_logit_grad_u"], TWO_LOGIT_TOLERANCE)


@pytest.mark.parametrize(("name", "case"), THRESHOLDS, ids=named)
def test_the_threshold_is_a_quantile_of_the_scores(name: str, case: Case) -> None:
    scores, prior = torch.from_numpy(case["scores"]), float(case["prior"])
    assert quantile_rank(len(scores), prior) == case["index"]
    assert quantile_threshold(scores, prior) == case["theta"]


@pytest.mark.parametrize("rule", ["quantile", "zero"])
@pytest.mark.parametrize(("name", "case"), THRESHOLDS, ids=named)
def test_decisions_are_the_official_ones(name: str, case: Case, rule: str) -> None:
    method = PUSB(PUSB.Config())
    method.net = torch.nn.Identity()  # type: ignore[assignment]
    scores = torch.from_numpy(case["scores"])
    # What finalize stores: a Python number.
    method.threshold = float(quantile_threshold(scores, float(case["prior"]))) if rule == "quantile" else 0.0
    positive = (method.decision_function(scores) > 0).numpy()
    np.testing.assert_array_equal(positive, case[f"pred_{rule}"])
    precision = precision_score(case["labels"], positive, zero_division=0) if positive.any() else np.nan
    measured = accuracy_score(case["labels"], positive), precision, recall_score(case["labels"], positive)
    np.testing.assert_allclose(measured, case[f"acc_prec_rec_{rule}"], atol=TOLERANCE)
