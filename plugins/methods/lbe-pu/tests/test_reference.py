"""LBE-PU's posteriors and losses against an independent implementation, PU-Bench's variants and an executed class of
Wang et al., whose floors and sums are recomputed here from the same parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from pubench_lbe_pu.method import (
    balancing_weights,
    cross_entropy,
    label_weights,
    posterior,
    smallest,
)
from pubench_testkit.testing import reference_arrays
from torch import Tensor

pytestmark = pytest.mark.reference

TOLERANCE = 1e-9
#: PU-Bench adds 1e-8 to the sum of the weights of a batch.
PUBENCH_TOLERANCE = 1e-8
Case = dict[str, Any]


def grouped() -> dict[str, Case]:
    """Arrays are named ``<case>_<array>``."""
    found: dict[str, Case] = {}
    for name, values in reference_arrays("lbe-pu").items():
        case, separator, array = name.partition("_")
        if separator:
            found.setdefault(case, {})[array] = values
    return found


GROUPS = grouped()
CASES = [name for name in GROUPS if name.startswith("c")]
WANG = [name for name in GROUPS if name.startswith("wang")]


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    """The vectors are float64; so is everything that is made on the way."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def close(ours: Tensor | None, theirs: Any, tolerance: float = TOLERANCE) -> None:
    assert ours is not None
    np.testing.assert_allclose(ours.detach().numpy(), theirs, rtol=tolerance, atol=tolerance)


def parts(case: Case) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Logits of the classifier and of the propensity, who is labeled, and the posterior of the vectors."""
    z, r = (torch.from_numpy(case[f"logit_{net}"]).requires_grad_() for net in ("clf", "eta"))
    return z, r, torch.from_numpy(case["s"]) == 1, torch.from_numpy(case["posterior"])


def gradient(loss: Tensor, logits: Tensor) -> Tensor:
    return torch.autograd.grad(loss, logits)[0]


@pytest.mark.parametrize("name", CASES)
def test_the_posterior_is_exact_for_saturated_logits_too(name: str) -> None:
    case = GROUPS[name]
    z, r, labeled, _ = parts(case)
    q = posterior(z, r, labeled)
    close(q, case["posterior"])
    assert (q[labeled] == 1).all()


@pytest.mark.parametrize(("code", "floor"), [("pubench", 1e-8), ("wang", 1e-10)])
@pytest.mark.parametrize("name", CASES)
def test_posteriors_of_other_codes_are_ours_but_for_their_floor(name: str, code: str, floor: float) -> None:
    case = GROUPS[name]
    z, r, labeled, _ = parts(case)
    p, eta = torch.sigmoid(z), torch.sigmoid(r)
    positive = p * torch.where(labeled, eta, 1 - eta)
    total = positive + (1 - p) * ~labeled
    close(positive / (total + floor), case[f"posterior_{code}"])
    usual = total > 1e6 * floor  # elsewhere, the floor decides
    close(posterior(z, r, labeled)[usual], case[f"posterior_{code}"][usual.numpy()], 1e-6)


@pytest.mark.parametrize("name", CASES)
def test_the_classifiers_loss(name: str) -> None:
    case = GROUPS[name]
    z, _, _, q = parts(case)
    losses = cross_entropy(z, q)
    close(losses, case["clf_ce"])
    close(losses.mean(), case["clf_loss_mean"])
    close(gradient(losses.mean(), z), case["clf_grad"])


@pytest.mark.parametrize("name", CASES)
def test_the_authors_floor_in_the_classifiers_loss_matters_for_saturated_rows_only(name: str) -> None:
    case = GROUPS[name]
    z, _, _, q = parts(case)
    p = torch.sigmoid(z)
    close(-(q * torch.log(p + 1e-5) + (1 - q) * torch.log(1 - p + 1e-5)), case["clf_ce_eps1e5"])
    usual = z.abs() < 5
    close(cross_entropy(z, q)[usual], case["clf_ce_eps1e5"][usual.numpy()], 2e-3)


@pytest.mark.parametrize("name", CASES)
def test_the_rows_of_smallest_loss(name: str) -> None:
    case = GROUPS[name]
    z, _, _, q = parts(case)
    losses = cross_entropy(z, q).detach()
    kept = smallest(losses, 0.8)  # keep80
    assert len(kept) == case["keep80_count"]
    np.testing.assert_array_equal(kept, case["keep80_index"])
    # The vectors give this mean in the floored form, which differs from ours in saturated rows.
    floored = torch.from_numpy(case["clf_ce_eps1e5"])[kept].mean()
    exact = losses[kept].mean()
    assert min(abs(float(mean) - case["keep80_loss"]) for mean in (floored, exact)) < TOLERANCE


@pytest.mark.parametrize("name", CASES)
def test_the_propensitys_loss(name: str) -> None:
    case = GROUPS[name]
    _, r, labeled, q = parts(case)
    nll = cross_entropy(r, labeled.double())
    close(nll, case["eta_nll"])
    loss = (q * nll).mean()
    close(loss, case["eta_loss"])
    close(loss, case["pubench_eta_loss"])
    close(gradient(loss, r), case["eta_grad"])
    eta = torch.sigmoid(r)
    floored = -(q * torch.log(torch.where(labeled, eta, 1 - eta) + 1e-5)).mean()
    close(floored, case["eta_loss_eps1e5"])


@pytest.mark.parametrize("name", CASES)
def test_the_loss_of_the_pre_training(name: str) -> None:
    case = GROUPS[name]
    z, _, labeled, _ = parts(case)
    rho = float(labeled.double().mean())
    np.testing.assert_allclose(rho, case["rho"])
    loss = (label_weights(labeled, rho) * cross_entropy(z, labeled.double())).mean()
    close(loss, case["pretrain_loss"])
    close(gradient(loss, z), case["pretrain_grad"])


@pytest.mark.parametrize("name", CASES)
def test_class_balance_is_that_of_pu_bench(name: str) -> None:
    case = GROUPS[name]
    z, r, labeled, q = parts(case)
    weights = balancing_weights(labeled)
    close(weights.mean(), 1)
    loss = (weights * cross_entropy(z, q)).mean()
    close(loss, case["pubench_clf_loss"], PUBENCH_TOLERANCE)
    close(gradient(loss, z), case["pubench_clf_grad"], PUBENCH_TOLERANCE)
    close((weights * cross_entropy(z, labeled.double())).mean(), case["pubench_pretrain_clf"], PUBENCH_TOLERANCE)
    close(cross_entropy(r, labeled.double()).mean(), case["pubench_pretrain_eta"])


@pytest.mark.parametrize("name", WANG)
def test_an_executed_step_of_wang_et_al(name: str) -> None:
    """Its E-step is ours; its M-step sums, and leaves the posterior out of the propensity's loss, which we do not."""
    case = GROUPS[name]
    x = torch.from_numpy(np.concatenate([case["xp"], case["xu"]]))
    labeled = torch.arange(len(x)) < len(case["xp"])
    z_frozen, r_frozen, z, r = (
        x @ torch.from_numpy(case[net][:, 1] - case[net][:, 0]) for net in ("W_frozen", "We_frozen", "W", "We")
    )
    q = posterior(z_frozen, r_frozen, labeled)
    theirs = np.concatenate([case["post_p"], case["post_u"]])
    close(q, theirs[:, 1], 1e-6)
    close(1 - q, theirs[:, 0], 1e-6)
    nll = cross_entropy(r, labeled.double())
    close(cross_entropy(z, q).sum() + nll.sum(), case["loss"], 1e-6)
    assert not np.isclose(float(cross_entropy(z, q).sum() + (q * nll).sum()), case["loss"])


def test_every_array_is_used() -> None:
    assert CASES
    assert WANG
    assert set(GROUPS) == {*CASES, *WANG}
