"""PUSB's risk and threshold against numbers of the official code, and of Wang et al. (two outputs, clamp)."""

from __future__ import annotations

import numpy as np
import torch
from pubench_pusb.method import PUSB, pusb_risk, quantile_rank, quantile_threshold
from pubench_testkit.testing import Case, Vectors, joined
from sklearn.metrics import accuracy_score, precision_score, recall_score

from pubench_formulas.losses import masked_mean
from pubench_formulas.risks import pu_risk

VECTORS = Vectors("pusb", tolerance=1e-10)
#: The official code computes in float32.
FLOAT32_TOLERANCE = 5e-6


@VECTORS.cases("loss_.*")
def test_the_loss_and_its_gradient(case: Case) -> None:
    p, u = case.leaves("logits_p", "logits_u")
    objective = pusb_risk(*joined(p, u), case.number("prior")).objective
    case.expect(loss=objective)
    case.expect_gradients(objective, grad_logits_p=p, grad_logits_u=u)


@VECTORS.cases("loss_.*", tolerance=FLOAT32_TOLERANCE)
def test_the_loss_of_the_official_code(case: Case) -> None:
    scores, labeled = joined(*(case.tensor(f"logits_{side}").float() for side in "pu"))
    objective = pusb_risk(scores.requires_grad_(), labeled, case.number("prior")).objective
    assert objective.dtype == torch.float32
    case.expect(official_loss_f32=objective)
    case.expect_gradients(objective, official_grad_f32=scores)


@VECTORS.cases("loss_.*")
def test_the_parts_of_the_risk(case: Case) -> None:
    scores, labeled = joined(*case.tensors("logits_p", "logits_u"))
    prior = case.number("prior")
    total = pu_risk(scores, labeled, prior, surrogate="logistic").value
    positive = prior * masked_mean(torch.nn.functional.softplus(-scores), labeled)
    case.expect(positive_risk=positive, negative_risk=total - positive)
    corrected = bool(case["corrected"])
    assert corrected == bool(total - positive < 0)
    # If the correction acts, its objective is minus the negative part, and the risk keeps the positive part.
    risk = pusb_risk(scores, labeled, prior)
    case.close(risk.objective, -case["negative_risk"] if corrected else total)
    case.close(risk.value, case["positive_risk"] if corrected else total)


@VECTORS.cases(having="two_logit_loss")
def test_clamp_on_the_difference_of_two_outputs_is_the_loss_of_wang_et_al(case: Case) -> None:
    p, u = case.leaves("two_logit_outputs_p", "two_logit_outputs_u")
    z_p, z_u = p[:, 1] - p[:, 0], u[:, 1] - u[:, 0]
    case.expect(logits_p=z_p, logits_u=z_u)
    objective = pusb_risk(*joined(z_p, z_u), case.number("prior"), correction="clamp").objective
    float32 = 1e-6  # a constant of that implementation
    case.expect(float32, two_logit_loss=objective)
    case.expect_gradients(objective, float32, two_logit_grad_p=p, two_logit_grad_u=u)


@VECTORS.cases("threshold_.*")
def test_the_threshold_is_a_quantile_of_the_scores(case: Case) -> None:
    scores, prior = case.tensor("scores"), case.number("prior")
    assert quantile_rank(len(scores), prior) == case["index"]
    assert quantile_threshold(scores, prior) == case["theta"]


@VECTORS.cases("threshold_.*", rule=("quantile", "zero"))
def test_decisions_are_the_official_ones(case: Case, rule: str) -> None:
    method = PUSB(PUSB.Config())
    method.net = torch.nn.Identity()  # type: ignore[assignment]
    scores, labels = case.tensor("scores"), case["labels"]
    # What finalize stores: a Python number.
    method.threshold = float(quantile_threshold(scores, case.number("prior"))) if rule == "quantile" else 0.0
    positive = (method.decision_function(scores) > 0).numpy()
    np.testing.assert_array_equal(positive, case[f"pred_{rule}"])
    precision = precision_score(labels, positive, zero_division=0) if positive.any() else np.nan
    measured = accuracy_score(labels, positive), precision, recall_score(labels, positive)
    case.expect(**{f"acc_prec_rec_{rule}": measured})
