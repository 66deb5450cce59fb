"""Best bin estimation, ranking, losses and their alternation against numbers of the official code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pubench_mpe_pu.method import cvir_loss, discriminator_threshold, provisional_negatives
from pubench_testkit.testing import reference_cases
from torch import Tensor
from torch.nn import functional as F

from pubench_formulas.bbe import best_bin
from pubench_formulas.losses import masked_mean

pytestmark = pytest.mark.reference

TOLERANCE = 1e-10

CASES = reference_cases("mpe-pu")
ESTIMATES = [(name, case) for name, case in CASES if "p_probs" in case]
RANKINGS = [(name, case) for name, case in CASES if "n_removed" in case]
WARM_UPS = [(name, case) for name, case in CASES if name.startswith("warm_")]
STEPS = [(name, case) for name, case in CASES if "kept_in_batch" in case]
SKIPPED = [(name, case) for name, case in CASES if "skipped" in case]
BY_NAME = dict(CASES)
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


def joined(z_p: Tensor, z_u: Tensor) -> tuple[Tensor, Tensor]:
    """Scores and the labeled mask of one batch."""
    return torch.cat([z_p, z_u]), torch.arange(len(z_p) + len(z_u)) < len(z_p)


def test_every_case_is_of_a_kind_that_is_tested() -> None:
    kinds = (ESTIMATES, RANKINGS, WARM_UPS, STEPS, SKIPPED)
    assert all(kinds)
    assert len(CASES) == sum(len(kind) for kind in kinds) + len(("tedn_chain", "pvu_threshold"))


@pytest.mark.parametrize(("name", "case"), ESTIMATES, ids=named)
def test_the_best_bin_and_all_others(name: str, case: Case) -> None:
    found = best_bin(case["p_probs"], case["u_probs"], delta=float(case["delta"]), gamma=float(case["gamma"]))
    close(found.share, case["estimate"])
    assert found.best == case["argmin"]
    np.testing.assert_array_equal(found.position, case["candidate_index"])
    close(found.estimate, case["candidate_estimate"])
    if found.best < 0:
        assert case["lower"] == case["upper"] == found.share == 0  # the official code puts a 0 in their place
        return
    close(found.estimate - found.width, case["lower"])
    close(found.estimate + found.width, case["upper"])


@pytest.mark.parametrize(("name", "case"), RANKINGS, ids=named)
def test_the_rows_with_the_highest_scores_are_ignored(name: str, case: Case) -> None:
    close(logit(torch.from_numpy(case["outputs_u"])), case["z_u"])
    kept = provisional_negatives(torch.from_numpy(case["z_u"]), float(case["alpha"])).numpy()
    np.testing.assert_array_equal(kept, case["keep"].astype(bool))
    assert (~kept).sum() == case["n_removed"]
    ignored_negatives = case["y_u_is_negative"][~kept]
    mean = ignored_negatives.mean() if len(ignored_negatives) else np.nan
    np.testing.assert_allclose(mean, case["frac_negative_rejected"], atol=TOLERANCE)


def parts(case: Case, z_p: Tensor, z_u: Tensor) -> None:
    """The two means, each over its rows."""
    scores, labeled = joined(z_p, z_u)
    close(masked_mean(F.softplus(-scores), labeled), case["loss_p"])
    close(masked_mean(F.softplus(scores), ~labeled), case["loss_u"])


@pytest.mark.parametrize(("name", "case"), WARM_UPS, ids=named)
def test_a_step_of_the_warm_up(name: str, case: Case) -> None:
    p, u = (torch.from_numpy(case[f"outputs_{side}"]).requires_grad_() for side in "pu")
    close(logit(p), case["z_p"])
    close(logit(u), case["z_u"])
    parts(case, logit(p), logit(u))
    loss = cvir_loss(*joined(logit(p), logit(u)))
    close(loss, case["loss"])
    loss.backward()
    close(p.grad, case["grad_outputs_p"])
    close(u.grad, case["grad_outputs_u"])


@pytest.mark.parametrize(("name", "case"), STEPS + SKIPPED, ids=named)
def test_a_batch_finds_its_rows_by_their_number(name: str, case: Case) -> None:
    kept = torch.from_numpy(case["keep"]).bool()[torch.from_numpy(case["u_index"]).long()]
    assert kept.any() != bool(case.get("skipped", False))
    if "kept_in_batch" in case:
        np.testing.assert_array_equal(kept, case["kept_in_batch"])
    assert len(kept) == len(case["outputs_u"])
    assert len(case["outputs_p"])  # there are positives in the skipped batch as well


@pytest.mark.parametrize(("name", "case"), STEPS, ids=named)
def test_a_step_on_what_is_kept(name: str, case: Case) -> None:
    kept = torch.from_numpy(case["kept_in_batch"])
    for form, of in (("outputs", logit), ("z", lambda z: z)):
        p, u = (torch.from_numpy(case[f"{form}_{side}"]).requires_grad_() for side in "pu")
        close(of(p), case["z_p"])
        close(of(u), case["z_u"])
        parts(case, of(p), of(u)[kept])
        loss = cvir_loss(*joined(of(p), of(u)[kept]))
        close(loss, case["loss"])
        loss.backward()
        close(p.grad, case[f"grad_{form}_p"])
        close(u.grad, case[f"grad_{form}_u"])


@pytest.mark.parametrize(("name", "case"), STEPS, ids=named)
def test_the_weighted_variant_has_the_same_two_means(name: str, case: Case) -> None:
    weight = float(case["weighted_prior"])
    close(weight * case["loss_p"] + (1 - weight) * case["loss_u"], case["weighted_loss"])


def test_estimates_and_rankings_alternate() -> None:
    case = BY_NAME["tedn_chain"]
    turns = sorted(name.removeprefix("alpha_hat_") for name in case if name.startswith("alpha_hat_"))
    assert len(turns) > 1
    for turn in turns:
        share = best_bin(case[f"val_p_probs_{turn}"], case[f"val_u_probs_{turn}"]).share
        close(share, case[f"alpha_hat_{turn}"])
        kept = provisional_negatives(torch.from_numpy(case[f"z_u_train_{turn}"]), share)
        np.testing.assert_array_equal(kept, case[f"keep_{turn}"].astype(bool))


def test_the_threshold_of_the_discriminator() -> None:
    case = BY_NAME["pvu_threshold"]
    found = [discriminator_threshold(float(a), float(b)) for a, b in zip(case["alpha"], case["beta"], strict=True)]
    close(np.array(found), case["threshold"])
