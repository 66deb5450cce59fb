"""PN's risk against numbers of PU-Bench's oracle trainer and of acmi-lab's two-output one."""

from __future__ import annotations

from pubench_pn.method import pn_risk
from pubench_testkit.testing import Case, Vectors

VECTORS = Vectors("pn", tolerance=1e-10, unread="pred")  # decisions are the engine's


@VECTORS.cases()
def test_the_risk_and_its_gradient_are_those_of_the_oracle_trainer(case: Case) -> None:
    (logits,) = case.leaves("logits")
    risk = pn_risk(logits, case.tensor("labels"))
    case.expect(loss=risk)
    case.expect_gradients(risk, grad_logits=logits)


@VECTORS.cases()
def test_two_outputs_are_the_same_risk_of_their_difference(case: Case) -> None:
    (outputs,) = case.leaves("two_logit_outputs")
    risk = pn_risk(outputs[:, 0] - outputs[:, 1], case.tensor("labels"))
    case.expect(two_logit_loss=risk)
    case.expect_gradients(risk, two_logit_grad=outputs)
