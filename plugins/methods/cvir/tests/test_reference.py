"""CVIR's ranking and loss against numbers of the official code, and the weighted loss of Wang et al."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pubench_cvir.method import cvir_loss, n_ignored, provisional_negatives
from pubench_testkit.testing import reference_cases
from torch import Tensor
from torch.nn import functional as F

from pubench_formulas.losses import masked_mean

pytestmark = pytest.mark.reference

TOLERANCE = 1e-10

CASES = reference_cases("cvir")
RANKINGS = [(name, case) for name, case in CASES if "n_removed" in case]
STEPS = [(name, case) for name, case in CASES if "loss" in case]
SKIPPED = [(name, case) for name, case in CASES if "skipped" in case]
Case = dict[str, Any]


def named(value: Any) -> str:
    return value if isinstance(value, str) else ""


def close(ours: Any, theirs: Any) -> None:
    assert ours is not None
    ours = ours.detach().numpy() if isinstance(ours, Tensor) else ours
    np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE)


def logit(outputs: Tensor) -> Tensor:
    """Of two outputs of the official code, the first is the positive class."""
    return outputs[:, 0] - outputs[:, 1]


def loss_of(case: Case, z_p: Tensor, z_u: Tensor, weight: float = 0.5) -> Tensor:
    scores = torch.cat([z_p, z_u[torch.from_numpy(case["kept_in_batch"])]])
    return cvir_loss(scores, torch.arange(len(scores)) < len(z_p), weight)


def test_every_case_is_of_a_kind_that_is_tested() -> None:
    kinds = (RANKINGS, STEPS, SKIPPED)
    assert all(kinds)
    assert len(CASES) == sum(len(kind) for kind in kinds)


@pytest.mark.parametrize(("name", "case"), RANKINGS, ids=named)
def test_the_rows_with_the_highest_scores_are_ignored(name: str, case: Case) -> None:
    z, share = torch.from_numpy(case["z_u"]), float(case["alpha"])
    close(logit(torch.from_numpy(case["outputs_u"])), case["z_u"])
    kept = provisional_negatives(z, share).numpy()
    np.testing.assert_array_equal(kept, case["keep"].astype(bool))
    assert (~kept).sum() == n_ignored(len(z), share) == case["n_removed"]
    ignored_negatives = case["y_u_is_negative"][~kept]
    mean = ignored_negatives.mean() if len(ignored_negatives) else np.nan
    np.testing.assert_allclose(mean, case["frac_negative_rejected"], atol=TOLERANCE)


@pytest.mark.parametrize(("name", "case"), STEPS + SKIPPED, ids=named)
def test_a_batch_finds_its_rows_by_their_number(name: str, case: Case) -> None:
    kept = torch.from_numpy(case["keep"]).bool()[torch.from_numpy(case["u_index"]).long()]
    assert kept.any() != bool(case.get("skipped", False))
    if "kept_in_batch" in case:
        np.testing.assert_array_equal(kept, case["kept_in_batch"])
    assert len(kept) == len(case["outputs_u"])
    assert len(case["outputs_p"])  # there are positives in the skipped batch as well


@pytest.mark.parametrize(("name", "case"), STEPS, ids=named)
def test_the_loss_of_one_logit(name: str, case: Case) -> None:
    z_p, z_u = (torch.from_numpy(case[f"z_{side}"]).requires_grad_() for side in "pu")
    labeled = torch.arange(len(z_p) + len(z_u)) < len(z_p)
    kept_u = ~labeled & torch.cat([torch.ones(len(z_p)).bool(), torch.from_numpy(case["kept_in_batch"])])
    scores = torch.cat([z_p, z_u])
    close(masked_mean(F.softplus(-scores), labeled), case["loss_p"])
    close(masked_mean(F.softplus(scores), kept_u), case["loss_u"])
    loss = loss_of(case, z_p, z_u)
    close(loss, case["loss"])
    loss.backward()
    close(z_p.grad, case["grad_z_p"])
    close(z_u.grad, case["grad_z_u"])


@pytest.mark.parametrize(("name", "case"), STEPS, ids=named)
def test_the_loss_of_two_outputs(name: str, case: Case) -> None:
    p, u = (torch.from_numpy(case[f"outputs_{side}"]).requires_grad_() for side in "pu")
    close(logit(p), case["z_p"])
    close(logit(u), case["z_u"])
    loss = loss_of(case, logit(p), logit(u))
    close(loss, case["loss"])
    loss.backward()
    close(p.grad, case["grad_outputs_p"])
    close(u.grad, case["grad_outputs_u"])


@pytest.mark.parametrize(("name", "case"), STEPS, ids=named)
def test_the_weights_of_wang_et_al(name: str, case: Case) -> None:
    z_p, z_u = (torch.from_numpy(case[f"z_{side}"]) for side in "pu")
    close(loss_of(case, z_p, z_u, float(case["weighted_prior"])), case["weighted_loss"])
