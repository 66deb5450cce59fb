"""PUe's propensity loss, weights and risks against numbers of Wang et al.'s code."""

from __future__ import annotations

import numpy as np
import torch
from pubench_pue.method import inverse_weights, propensity_loss, pue_risk
from pubench_testkit.testing import Case, Vectors, joined
from torch import Tensor
from torch.nn import functional as F

VECTORS = Vectors("pue", tolerance=1e-9, case="[^_]+")


def logits_of(case: Case, prefix: str = "") -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Two outputs of P and of U, which take gradients; the logit that each pair means, P first; who is labeled."""
    p, u = case.leaves(f"{prefix}logits_p", f"{prefix}logits_u")
    outputs, labeled = joined(p, u)
    return p, u, outputs[:, 1] - outputs[:, 0], labeled


def weights_of(case: Case) -> Tensor:
    """Weights of all rows, from the propensity network's outputs; those of P have mean 1."""
    *_, e, labeled = logits_of(case, "e_")
    return inverse_weights(e.detach(), labeled)


@VECTORS.cases()
def test_the_propensity_loss_and_its_gradients(case: Case) -> None:
    p, u, e, labeled = logits_of(case, "e_")
    loss = propensity_loss(e, labeled, case.number("alpha"))
    case.expect(e_loss=loss)
    case.expect_gradients(loss, e_grad_p=p, e_grad_u=u)


@VECTORS.cases()
def test_propensities_and_the_weights_of_labeled_positives(case: Case) -> None:
    p, _, e, _ = logits_of(case, "e_")
    n, propensity = len(p), torch.sigmoid(e[: len(p)])
    ours = weights_of(case)[:n]
    case.expect(propensity_p=propensity, normalizer=(1 / propensity).sum(), weights=ours / n)  # theirs have sum 1
    case.close(propensity * ours, np.full(n, n / case["normalizer"]))


@VECTORS.cases()
def test_the_unbiased_risk_and_its_gradients(case: Case) -> None:
    p, u, z, labeled = logits_of(case)
    risk = pue_risk(z, labeled, case.number("prior"), weights_of(case), "none")
    case.expect(clf_loss=risk.value)
    case.expect_gradients(risk.objective, clf_grad_p=p, clf_grad_u=u)


@VECTORS.cases()
def test_the_non_negative_risk(case: Case) -> None:
    *_, z, labeled = logits_of(case)
    prior, weights = case.number("prior"), weights_of(case)
    unbiased = pue_risk(z, labeled, prior, weights, "none").value
    case.expect(neg_part=unbiased - prior * (weights * F.softplus(-z))[labeled].mean())
    clamped, ascended = (pue_risk(z, labeled, prior, weights, correction) for correction in ("clamp", "ascent"))
    for value in (clamped.value, clamped.objective, ascended.value):
        case.expect(nn_variant=value)
    case.close(ascended.objective, -case["neg_part"] if case["neg_part"] < 0 else case["clf_loss"])
