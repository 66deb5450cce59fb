"""PUbN's threshold and losses, of both stages and of Wang et al.'s one, against numbers of the codes themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pubench_pubn.method import SINGLE_STAGE_RHO, SMALLEST_POSTERIOR, single_stage_risk, threshold, weighted_risk
from pubench_testkit.testing import reference_arrays
from torch import Tensor

from pubench_formulas.losses import SURROGATES, Surrogate
from pubench_formulas.risks import pu_risk

pytestmark = pytest.mark.reference

TOLERANCE = 1e-10

ARRAYS = reference_arrays("pubn")
CASES = sorted({name.partition("_")[0] for name in ARRAYS} - {"meta"})
SIZES = ("fulltrain", "batch")
#: The prior that Wang et al.'s code has for every data set.
FIXED_PRIOR = 0.5
#: What is tested of every case.
OF_A_CASE = {
    *("f_p", "f_u", "sigma_p", "sigma_u", "prior", "tau", "eta"),
    *(f"stage1_{loss}_{name}" for loss in SURROGATES for name in ("true", "neg", "back")),
    *(f"stage2_{loss}_{name}" for loss in SURROGATES for name in ("loss", "grad_p", "grad_u")),
    *(f"wu_{size}_{name}" for size in SIZES for name in ("u_numbers", "loss", "quantile")),
}


def close(ours: Any, theirs: Any) -> None:
    assert ours is not None
    ours = ours.detach().numpy() if isinstance(ours, Tensor) else ours
    np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE)


def of(case: str, *names: str) -> list[Tensor]:
    return [torch.from_numpy(ARRAYS[f"{case}_{name}"]) for name in names]


def number(case: str, name: str) -> float:
    return float(ARRAYS[f"{case}_{name}"])


def test_every_array_is_tested() -> None:
    assert set(ARRAYS) == {f"{case}_{name}" for case in CASES for name in OF_A_CASE} | {"meta"}


@pytest.mark.parametrize("case", CASES)
def test_the_threshold_is_a_percentile_cut_to_an_integer(case: str) -> None:
    (sigma_u,) = of(case, "sigma_u")
    close(threshold(sigma_u, number(case, "prior"), number(case, "tau")), ARRAYS[f"{case}_eta"])


def test_in_one_case_the_cut_matters() -> None:
    levels = [(1 - number(case, "prior")) * number(case, "tau") for case in CASES]
    found = [np.quantile(ARRAYS[f"{case}_sigma_u"], level) for case, level in zip(CASES, levels, strict=True)]
    assert not np.allclose(found, [number(case, "eta") for case in CASES])


@pytest.mark.parametrize("loss", SURROGATES)
@pytest.mark.parametrize("case", CASES)
def test_the_first_stage(case: str, loss: Surrogate) -> None:
    z_p, z_u = of(case, "f_p", "f_u")
    scores, labeled = torch.cat([z_p, z_u]), torch.arange(len(z_p) + len(z_u)) < len(z_p)
    prior = number(case, "prior")
    unbiased = pu_risk(scores, labeled, prior, surrogate=loss)
    close(unbiased.value, ARRAYS[f"{case}_stage1_{loss}_true"])
    positive = prior * SURROGATES[loss](z_p).mean()
    close(unbiased.value - positive, ARRAYS[f"{case}_stage1_{loss}_neg"])
    close(
        pu_risk(scores, labeled, prior, surrogate=loss, correction="ascent").objective,
        ARRAYS[f"{case}_stage1_{loss}_back"],
    )


@pytest.mark.parametrize("loss", SURROGATES)
@pytest.mark.parametrize("case", CASES)
def test_the_second_stage_and_its_gradients(case: str, loss: Surrogate) -> None:
    z_p, z_u, sigma_p, sigma_u = of(case, "f_p", "f_u", "sigma_p", "sigma_u")
    z_p.requires_grad_()
    z_u.requires_grad_()
    risk = weighted_risk(z_p, z_u, sigma_p, sigma_u, number(case, "eta"), number(case, "prior"), loss)
    close(risk, ARRAYS[f"{case}_stage2_{loss}_loss"])
    risk.backward()
    close(z_p.grad, ARRAYS[f"{case}_stage2_{loss}_grad_p"])
    close(z_u.grad, ARRAYS[f"{case}_stage2_{loss}_grad_u"])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("case", CASES)
def test_the_loss_of_one_stage(case: str, size: str) -> None:
    z_p, z_u = of(case, "f_p", "f_u")
    n, tau = int(ARRAYS[f"{case}_wu_{size}_u_numbers"]), number(case, "tau")
    assert min(z.sigmoid().min() for z in (z_p, z_u)) > SMALLEST_POSTERIOR
    close(min(1, tau * (1 - FIXED_PRIOR - SINGLE_STAGE_RHO) * n / len(z_u)), ARRAYS[f"{case}_wu_{size}_quantile"])
    close(single_stage_risk(z_p, z_u, n, FIXED_PRIOR, tau), ARRAYS[f"{case}_wu_{size}_loss"])


def test_with_the_whole_of_u_the_quantile_is_the_largest_value() -> None:
    assert {number(case, "wu_fulltrain_quantile") for case in CASES} == {1}
    assert all(number(case, "wu_batch_quantile") < 1 for case in CASES)
