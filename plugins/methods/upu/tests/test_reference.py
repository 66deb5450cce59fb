"""uPU's risk against numbers of the official code and of Wang et al.'s two-output implementation."""

from __future__ import annotations

from pubench_testkit.testing import Case, Vectors, joined
from torch import Tensor

from pubench_formulas.losses import SURROGATES
from pubench_formulas.risks import pu_risk

VECTORS = Vectors("upu", tolerance=1e-10)


def objective_of(case: Case, p: Tensor, u: Tensor) -> Tensor:
    risk = pu_risk(*joined(p, u), case.number("prior"), surrogate=case.one_of(SURROGATES))
    assert risk.value is risk.objective
    return risk.objective


@VECTORS.cases()
def test_the_risk_and_its_gradient_are_those_of_the_official_code(case: Case) -> None:
    p, u = case.leaves("logits_p", "logits_u")
    objective = objective_of(case, p, u)
    case.expect(loss=objective)
    case.close(objective, case["risk_p_plus"] + case["risk_u_minus"] - case["risk_p_minus"])
    case.expect_gradients(objective, grad_logits_p=p, grad_logits_u=u)


@VECTORS.cases(having="two_logit_loss", tolerance=1e-6)  # float32 constant in that implementation
def test_the_risk_of_the_difference_of_two_outputs_is_that_of_wang_et_al(case: Case) -> None:
    p, u = case.leaves("two_logit_outputs_p", "two_logit_outputs_u")
    objective = objective_of(case, p[:, 1] - p[:, 0], u[:, 1] - u[:, 0])
    case.expect(two_logit_loss=objective)
    case.expect_gradients(objective, two_logit_grad_p=p, two_logit_grad_u=u)
