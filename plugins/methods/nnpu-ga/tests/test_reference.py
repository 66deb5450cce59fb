"""nnPU-GA's rule against the flip of Wang et al., and next to it the rules that it is not."""

from __future__ import annotations

from pubench_testkit.testing import Case, Vectors, joined
from torch import Tensor

from pubench_formulas.losses import SURROGATES
from pubench_formulas.risks import Correction, PURisk, pu_risk

VECTORS = Vectors("nnpu-ga", tolerance=1e-10)


def risk_of(case: Case, p: Tensor, u: Tensor, correction: Correction) -> PURisk:
    return pu_risk(
        *joined(p, u),
        case.number("prior"),
        surrogate=case.one_of(SURROGATES),
        correction=correction,
        beta=case.number("beta"),
        gamma=case.number("gamma"),
    )


@VECTORS.cases(having="flip_loss")
def test_the_flip_reports_the_total_and_reverses_a_negative_ones_gradient(case: Case) -> None:
    p, u = case.leaves("logits_p", "logits_u")
    risk = risk_of(case, p, u, "flip")
    case.expect(flip_loss=risk.value)
    case.close(risk.value, case["positive_risk"] + case["negative_risk"])
    case.expect_gradients(risk.objective, flip_grad_logits_p=p, flip_grad_logits_u=u)


@VECTORS.cases(having="two_logit_loss", tolerance=1e-6)  # float32 constant in that implementation
def test_the_flip_of_two_outputs_is_that_of_wang_et_al(case: Case) -> None:
    p, u = case.leaves("two_logit_outputs_p", "two_logit_outputs_u")
    risk = risk_of(case, p[:, 1] - p[:, 0], u[:, 1] - u[:, 0], "flip")
    case.expect(two_logit_loss=risk.value)
    sign = -1 if case["two_logit_loss"] < 0 else 1  # the vectors hold the gradient before their sign is flipped
    case.expect_gradients(sign * risk.objective, two_logit_grad_p=p, two_logit_grad_u=u)


@VECTORS.cases(correction=("ascent", "clamp"))
def test_ascent_and_clamp_act_if_the_negative_part_is_below_minus_beta(case: Case, correction: Correction) -> None:
    p, u = case.leaves("logits_p", "logits_u")
    risk = risk_of(case, p, u, correction)
    acts = case["negative_risk"] < -case["beta"]
    assert acts == case["corrected"]
    case.close(risk.value, case["positive_risk"] + (-case["beta"] if acts else case["negative_risk"]))
    objective = "ascent_backward_objective" if correction == "ascent" else "clamp_loss"
    case.expect(**{f"{correction}_loss": risk.value, objective: risk.objective})
    case.expect_gradients(risk.objective, **{f"{correction}_grad_logits_{side}": x for side, x in (("p", p), ("u", u))})
