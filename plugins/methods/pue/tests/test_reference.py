"""PUe's propensity loss, weights and risks against numbers of Wang et al.'s code."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from pubench_pue.method import inverse_weights, propensity_loss, pue_risk
from pubench_testkit.testing import reference_arrays
from torch import Tensor
from torch.nn import functional as F

pytestmark = pytest.mark.reference

TOLERANCE = 1e-9

ARRAYS = reference_arrays("pue")
NAMES = sorted({name.partition("_")[0] for name in ARRAYS} - {"meta"})
CASES = [
    {name.removeprefix(f"{case}_"): values for name, values in ARRAYS.items() if name.startswith(f"{case}_")}
    for case in NAMES
]
Case = dict[str, Any]
of_every_case = pytest.mark.parametrize("case", CASES, ids=NAMES)


def logits_of(case: Case, prefix: str = "") -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Two outputs of P and of U, which take gradients; the logit that each pair means, P first; who is labeled."""
    p, u = (torch.from_numpy(case[f"{prefix}logits_{side}"]).requires_grad_() for side in "pu")
    outputs = torch.cat([p, u])
    return p, u, outputs[:, 1] - outputs[:, 0], torch.arange(len(outputs)) < len(p)


def close(ours: Any, theirs: Any) -> None:
    assert ours is not None
    ours = ours.detach().numpy() if isinstance(ours, Tensor) else ours
    np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE)


def weights_of(case: Case) -> Tensor:
    """Weights of all rows, from the propensity network's outputs; those of P have mean 1."""
    *_, e, labeled = logits_of(case, "e_")
    return inverse_weights(e.detach(), labeled)


@of_every_case
def test_the_propensity_loss_and_its_gradients(case: Case) -> None:
    p, u, e, labeled = logits_of(case, "e_")
    loss = propensity_loss(e, labeled, float(case["alpha"]))
    close(loss, case["e_loss"])
    loss.backward()
    close(p.grad, case["e_grad_p"])
    close(u.grad, case["e_grad_u"])


@of_every_case
def test_propensities_and_the_weights_of_labeled_positives(case: Case) -> None:
    p, _, e, _ = logits_of(case, "e_")
    propensity = torch.sigmoid(e[: len(p)])
    close(propensity, case["propensity_p"])
    close((1 / propensity).sum(), case["normalizer"])
    ours = weights_of(case)[: len(p)]
    close(ours / len(p), case["weights"])  # theirs have sum 1
    close(propensity * ours, np.full(len(p), len(p) / case["normalizer"]))


@of_every_case
def test_the_unbiased_risk_and_its_gradients(case: Case) -> None:
    p, u, z, labeled = logits_of(case)
    risk = pue_risk(z, labeled, float(case["prior"]), weights_of(case), "none")
    close(risk.value, case["clf_loss"])
    risk.objective.backward()
    close(p.grad, case["clf_grad_p"])
    close(u.grad, case["clf_grad_u"])


@of_every_case
def test_the_non_negative_risk(case: Case) -> None:
    *_, z, labeled = logits_of(case)
    prior, weights = float(case["prior"]), weights_of(case)
    clamped = pue_risk(z, labeled, prior, weights, "clamp")
    close(clamped.value, case["nn_variant"])
    close(clamped.objective, case["nn_variant"])
    unbiased = pue_risk(z, labeled, prior, weights, "none").value
    positive = prior * (weights * F.softplus(-z))[labeled].mean()
    close(unbiased - positive, case["neg_part"])
    ascended = pue_risk(z, labeled, prior, weights, "ascent")
    close(ascended.value, case["nn_variant"])
    close(ascended.objective, -case["neg_part"] if case["neg_part"] < 0 else case["clf_loss"])


def test_every_array_is_compared_with() -> None:
    inputs = {"e_logits_p", "e_logits_u", "logits_p", "logits_u", "prior", "alpha"}
    propensity = {"e_loss", "e_grad_p", "e_grad_u", "propensity_p", "normalizer", "weights"}
    classifier = {"clf_loss", "clf_grad_p", "clf_grad_u", "neg_part", "nn_variant"}
    assert [set(case) for case in CASES] == [inputs | propensity | classifier] * len(CASES)
    described = {json.loads(entry).get("name") for entry in ARRAYS["meta"]} - {None}
    assert described == set(ARRAYS) - {"meta"}
