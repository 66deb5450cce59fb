"""nnPU's risk against numbers of the official code (ascent), the formula (clamp) and Wang et al. (two outputs)."""

from __future__ import annotations

from pubench_nnpu.method import NNPU
from pubench_testkit.testing import Case, Vectors, joined
from torch import Tensor

from pubench_formulas.losses import SURROGATES
from pubench_formulas.risks import Correction, PURisk, pu_risk

VECTORS = Vectors("nnpu", tolerance=1e-10)


def risk_of(case: Case, p: Tensor, u: Tensor, correction: Correction) -> PURisk:
    return pu_risk(
        *joined(p, u),
        case.number("prior"),
        surrogate=case.one_of(SURROGATES),
        correction=correction,
        beta=case.number("beta"),
        gamma=case.number("gamma"),
    )


@VECTORS.cases()
def test_ascent_is_what_the_official_code_reports_and_minimizes(case: Case) -> None:
    p, u = case.leaves("logits_p", "logits_u")
    risk = risk_of(case, p, u, "ascent")
    case.expect(ascent_loss=risk.value, ascent_backward_objective=risk.objective)
    case.expect_gradients(risk.objective, ascent_grad_logits_p=p, ascent_grad_logits_u=u)


@VECTORS.cases()
def test_clamp_minimizes_equation_6_itself(case: Case) -> None:
    p, u = case.leaves("logits_p", "logits_u")
    risk = risk_of(case, p, u, "clamp")
    case.expect(clamp_loss=risk.value)
    assert risk.objective is risk.value
    case.expect_gradients(risk.objective, clamp_grad_logits_p=p, clamp_grad_logits_u=u)


@VECTORS.cases()
def test_the_uncorrected_risk_is_the_sum_of_its_parts(case: Case) -> None:
    p, u = case.leaves("logits_p", "logits_u")
    case.close(risk_of(case, p, u, "none").value, case["positive_risk"] + case["negative_risk"])


@VECTORS.cases()
def test_the_correction_acts_only_if_the_negative_part_is_below_minus_beta(case: Case) -> None:
    negative = -case["beta"] if case["corrected"] else case["negative_risk"]
    p, u = case.leaves("logits_p", "logits_u")
    case.close(risk_of(case, p, u, "clamp").value, case["positive_risk"] + negative)


@VECTORS.cases(having="two_logit_loss", tolerance=1e-6)  # float32 constant in that implementation
def test_clamp_on_the_difference_of_two_outputs_is_the_loss_of_wang_et_al(case: Case) -> None:
    p, u = case.leaves("two_logit_outputs_p", "two_logit_outputs_u")
    risk = risk_of(case, p[:, 1] - p[:, 0], u[:, 1] - u[:, 0], "clamp")
    case.expect(two_logit_loss=risk.value)
    case.expect_gradients(risk.objective, two_logit_grad_p=p, two_logit_grad_u=u)


def test_the_method_is_algorithm_1_of_the_paper_by_default() -> None:
    config = NNPU.Config()
    assert (config.correction, config.surrogate, config.beta, config.gamma) == ("ascent", "sigmoid", 0.0, 1.0)
    assert config.batching == "joint"
    assert NNPU.requires(config) == {"prior"}
