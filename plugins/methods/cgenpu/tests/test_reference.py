"""CGenPU's divergence, and losses and gradients of its three steps, against numbers of the official code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pubench_cgenpu.method import (
    CGenPU,
    Config,
    adversarial_loss,
    agreement,
    classifier_loss,
    discriminator_loss,
    divergence,
    prior_divergence,
)
from pubench_testkit.testing import reference_arrays
from torch import Tensor, nn

pytestmark = pytest.mark.reference

TOLERANCE = 1e-10

ARRAYS = reference_arrays("cgenpu")
DIVERGENCES = sorted({name.partition("_")[0] for name in ARRAYS if name.startswith("k")})
STEPS = sorted({name.partition("_")[0] for name in ARRAYS if name.startswith("c")})
#: What is tested of every divergence, and of every case of three steps.
OF_DIVERGENCES = {"P", "Q", "mean", "sum", "sum_grad_P", "sum_grad_Q"}
OF_STEPS = {
    *("xp", "xu", "gp", "gn", "wd", "wa", "wg", "zp", "zn", "aux", "mean", "loss_d", "grad_wd"),
    *("a_anchor", "a_match", "a_separate", "loss_a", "grad_wa", "loss_g_adv", "loss_g_aux", "grad_wg"),
    "pubench_prior_kl_pi037",
}


def close(ours: Tensor | None, theirs: Any) -> None:
    assert ours is not None
    np.testing.assert_allclose(ours.detach().numpy(), theirs, rtol=TOLERANCE, atol=TOLERANCE)


def of(case: str, *names: str) -> list[Tensor]:
    return [torch.from_numpy(ARRAYS[f"{case}_{name}"]) for name in names]


def test_every_array_is_tested() -> None:
    expected = {f"{case}_{name}" for case in DIVERGENCES for name in OF_DIVERGENCES}
    assert set(ARRAYS) == expected | {f"{case}_{name}" for case in STEPS for name in OF_STEPS} | {"meta"}


def test_the_cases_have_both_reductions_and_probabilities_outside_the_clipped_range() -> None:
    assert {bool(ARRAYS[f"{case}_mean"]) for case in STEPS} == {True, False}
    assert any(ARRAYS[f"{case}_{name}"].min() < 1e-7 for case in DIVERGENCES for name in "PQ")


# -------------------------------------------------------------------- the divergence


@pytest.mark.parametrize("case", DIVERGENCES)
def test_the_divergence_and_its_gradients(case: str) -> None:
    p, q = (values.requires_grad_() for values in of(case, "P", "Q"))
    close(divergence(p, q), ARRAYS[f"{case}_mean"])
    total = divergence(p, q, "sum")
    close(total, ARRAYS[f"{case}_sum"])
    total.backward()
    close(p.grad, ARRAYS[f"{case}_sum_grad_P"])
    close(q.grad, ARRAYS[f"{case}_sum_grad_Q"])


# -------------------------------------------------------------------- the three steps


def linear(weight: Tensor) -> nn.Linear:
    """x -> x W for W of shape (inputs, outputs)."""
    layer = nn.Linear(weight.shape[0], weight.shape[1], bias=False, dtype=weight.dtype)
    with torch.no_grad():
        layer.weight.copy_(weight.T)
    return layer


def method_of(case: str) -> Any:
    """CGenPU with the case's options and its linear networks."""
    (noise,) = of(case, "zp")
    options = {
        "latent": noise.shape[1],
        "weight_auxiliary": float(ARRAYS[f"{case}_aux"]),
        "reduction": "mean" if ARRAYS[f"{case}_mean"] else "sum",
    }
    method = CGenPU(Config.model_validate(options))
    of_discriminator, of_net, of_generator = of(case, "wd", "wa", "wg")
    method.discriminator = nn.Sequential(linear(of_discriminator), nn.Flatten(0))
    method.net = nn.Sequential(linear(of_net), nn.Flatten(0))  # type: ignore[assignment]
    method.generator = linear(of_generator)
    return method


class GivenNoise:
    """A run whose uniform numbers become the given noise in turn."""

    def __init__(self, *noise: Tensor) -> None:
        self.noise = list(noise)

    def uniform(self, *shape: int) -> Tensor:
        given = self.noise.pop(0)
        assert given.shape == shape
        return (given + 1) / 2


@pytest.mark.parametrize("case", STEPS)
def test_the_discriminators_loss_and_gradient(case: str) -> None:
    method = method_of(case)
    loss = discriminator_loss(*(method.discriminator(x) for x in of(case, "xp", "xu", "gp", "gn")))
    close(loss, ARRAYS[f"{case}_loss_d"])
    loss.backward()
    close(method.discriminator[0].weight.grad.T, ARRAYS[f"{case}_grad_wd"])


@pytest.mark.parametrize("case", STEPS)
def test_the_classifiers_loss_its_terms_and_its_gradient(case: str) -> None:
    method = method_of(case)
    p, g_p, g_n = of(case, "xp", "gp", "gn")
    a_p, a_gp, a_gn = (method.net(x).sigmoid() for x in (p, g_p, g_n))
    reduction = method.config.reduction
    close(divergence(torch.ones_like(a_p), a_p, reduction), ARRAYS[f"{case}_a_anchor"])
    close(divergence(a_p, a_gp, reduction), ARRAYS[f"{case}_a_match"])
    close(divergence(a_gp, 1 - a_gn, reduction), ARRAYS[f"{case}_a_separate"])
    close(classifier_loss(a_p, a_gp, a_gn, reduction), ARRAYS[f"{case}_loss_a"])
    method._classifier_loss(p, g_p, g_n, None).backward()
    close(method.net[0].weight.grad.T, ARRAYS[f"{case}_grad_wa"])


@pytest.mark.parametrize("case", STEPS)
def test_the_generators_loss_its_terms_and_its_gradient(case: str) -> None:
    method = method_of(case)
    p, z_p, z_n = of(case, "xp", "zp", "zn")
    g_p, g_n = method._generate(len(p), GivenNoise(z_p, z_n))
    close(adversarial_loss(method.discriminator(g_p), method.discriminator(g_n)), ARRAYS[f"{case}_loss_g_adv"])
    a_p, a_gp, a_gn = (method.net(x).sigmoid() for x in (p, g_p, g_n))
    close(agreement(a_p, a_gp, a_gn, method.config.reduction), ARRAYS[f"{case}_loss_g_aux"])
    method._generator_loss(p, g_p, g_n).backward()
    close(method.generator.weight.grad.T, ARRAYS[f"{case}_grad_wg"])


@pytest.mark.parametrize("case", STEPS)
def test_pu_benchs_term_of_the_prior(case: str) -> None:
    a_gn = method_of(case).net(*of(case, "gn")).sigmoid()
    close(prior_divergence(0.37, a_gn), ARRAYS[f"{case}_pubench_prior_kl_pi037"])
