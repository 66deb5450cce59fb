"""PUbN's threshold and losses, of both stages and of Wang et al.'s one, against numbers of the codes themselves."""

from __future__ import annotations

import numpy as np
from pubench_pubn.method import SINGLE_STAGE_RHO, SMALLEST_POSTERIOR, single_stage_risk, threshold, weighted_risk
from pubench_testkit.testing import Case, Vectors, joined

from pubench_formulas.losses import SURROGATES, Surrogate
from pubench_formulas.risks import pu_risk

VECTORS = Vectors("pubn", tolerance=1e-10, case="[^_]+")
#: The prior that Wang et al.'s code has for every data set.
FIXED_PRIOR = 0.5


@VECTORS.cases()
def test_the_threshold_is_a_percentile_cut_to_an_integer(case: Case) -> None:
    """The script cuts a product of floats: 100 (1 - .3) .7 is 48.99... there, so 48, and 49 for us."""
    product = 100 * (1 - case.number("prior")) * case.number("tau")
    case.expect(eta=np.percentile(case["sigma_u"], int(product)))
    ours = threshold(case.tensor("sigma_u"), case.number("prior"), case.number("tau"))
    case.close(ours, np.percentile(case["sigma_u"], int(product + 1e-9)))


@VECTORS.cases(loss=tuple(SURROGATES))
def test_the_first_stage(case: Case, loss: Surrogate) -> None:
    z_p, z_u = case.tensors("f_p", "f_u")
    prior = case.number("prior")
    unbiased = pu_risk(*joined(z_p, z_u), prior, surrogate=loss).value
    ascended = pu_risk(*joined(z_p, z_u), prior, surrogate=loss, correction="ascent").objective
    negative = unbiased - prior * SURROGATES[loss](z_p).mean()
    stage = f"stage1_{loss}"
    case.expect(**{f"{stage}_true": unbiased, f"{stage}_neg": negative, f"{stage}_back": ascended})


@VECTORS.cases(loss=tuple(SURROGATES))
def test_the_second_stage_and_its_gradients(case: Case, loss: Surrogate) -> None:
    z_p, z_u = case.leaves("f_p", "f_u")
    risk = weighted_risk(z_p, z_u, *case.tensors("sigma_p", "sigma_u"), case.number("eta"), case.number("prior"), loss)
    case.expect(**{f"stage2_{loss}_loss": risk})
    case.expect_gradients(risk, **{f"stage2_{loss}_grad_p": z_p, f"stage2_{loss}_grad_u": z_u})


@VECTORS.cases(size=("fulltrain", "batch"))
def test_the_loss_of_one_stage(case: Case, size: str) -> None:
    z_p, z_u = case.tensors("f_p", "f_u")
    n, tau = int(case[f"wu_{size}_u_numbers"]), case.number("tau")
    assert min(z.sigmoid().min() for z in (z_p, z_u)) > SMALLEST_POSTERIOR
    quantile = min(1, tau * (1 - FIXED_PRIOR - SINGLE_STAGE_RHO) * n / len(z_u))
    loss = single_stage_risk(z_p, z_u, n, FIXED_PRIOR, tau)
    case.expect(**{f"wu_{size}_quantile": quantile, f"wu_{size}_loss": loss})
