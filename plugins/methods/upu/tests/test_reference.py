"""uPU's risk against numbers of the official code and of Wang et al.'s two-output implementation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pubench_testkit.testing import reference_cases
from pubench_upu.method import UPU
from torch import Tensor

from pubench_formulas.losses import SURROGATES, Surrogate
from pubench_formulas.risks import pu_risk

pytestmark = pytest.mark.reference

TOLERANCE = 1e-10
#: The two-output implementation has a float32 constant inside.
TWO_LOGIT_TOLERANCE = 1e-6

CASES = reference_cases("upu")
TWO_LOGIT = [(name, case) for name, case in CASES if "two_logit_loss" in case]
Case = dict[str, Any]


def named(value: Any) -> str:
    return value if isinstance(value, str) else ""


def surrogate_of(name: str) -> Surrogate:
    """The vectors name the surrogate loss in the name of the case."""
    (found,) = (surrogate for surrogate in SURROGATES if surrogate in name.split("_"))
    return found


def objective_of(name: str, case: Case, p: Tensor, u: Tensor) -> Tensor:
    labeled = torch.arange(len(p) + len(u)) < len(p)
    risk = pu_risk(torch.cat([p, u]), labeled, float(case["prior"]), surrogate=surrogate_of(name))
    assert risk.value is risk.objective
    return risk.objective


def close(ours: Tensor | None, theirs: Any, tolerance: float = TOLERANCE) -> None:
    assert ours is not None
    assert ours.dtype == torch.float64
    np.testing.assert_allclose(ours.detach().numpy(), theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("name", "case"), CASES, ids=named)
def test_the_risk_and_its_gradient_are_those_of_the_official_code(name: str, case: Case) -> None:
    p, u = (torch.from_numpy(case[f"logits_{side}"].astype(np.float64)).requires_grad_() for side in "pu")
    objective = objective_of(name, case, p, u)
    close(objective, case["loss"])
    close(objective, case["risk_p_plus"] + case["risk_u_minus"] - case["risk_p_minus"])
    objective.backward()
    close(p.grad, case["grad_logits_p"])
    close(u.grad, case["grad_logits_u"])


def test_there_are_cases_of_two_outputs() -> None:
    assert TWO_LOGIT


@pytest.mark.parametrize(("name", "case"), TWO_LOGIT, ids=named)
def test_the_risk_of_the_difference_of_two_outputs_is_that_of_wang_et_al(name: str, case: Case) -> None:
    p, u = (torch.from_numpy(case[f"two_logit_outputs_{side}"]).requires_grad_() for side in "pu")
    objective = objective_of(name, case, p[:, 1] - p[:, 0], u[:, 1] - u[:, 0])
    close(objective, case["two_logit_loss"], TWO_LOGIT_TOLERANCE)
    objective.backward()
    close(p.grad, case["two_logit_grad_p"], TWO_LOGIT_TOLERANCE)
    close(u.grad, case["two_logit_grad_u"], TWO_LOGIT_TOLERANCE)


def test_the_method_uses_the_sigmoid_loss_over_joint_batches_by_default() -> None:
    config = UPU.Config()
    assert (config.surrogate, config.batching) == ("sigmoid", "joint")
    assert UPU.requires(config) == {"prior"}
