"""CGenPU's divergence, and losses and gradients of its three steps, against numbers of the official code."""

from __future__ import annotations

from typing import Any

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
from pubench_testkit.testing import Case, Vectors
from torch import Tensor, nn

VECTORS = Vectors("cgenpu", tolerance=1e-10, case="[^_]+")


@VECTORS.cases("k.*")
def test_the_divergence_and_its_gradients(case: Case) -> None:
    p, q = case.leaves("P", "Q")
    total = divergence(p, q, "sum")
    case.expect(mean=divergence(p, q), sum=total)
    case.expect_gradients(total, sum_grad_P=p, sum_grad_Q=q)


def linear(weight: Tensor) -> nn.Linear:
    """x -> x W for W of shape (inputs, outputs)."""
    layer = nn.Linear(weight.shape[0], weight.shape[1], bias=False, dtype=weight.dtype)
    with torch.no_grad():
        layer.weight.copy_(weight.T)
    return layer


def method_of(case: Case) -> Any:
    """CGenPU with the case's options and its linear networks."""
    options = {
        "latent": case["zp"].shape[1],
        "weight_auxiliary": case.number("aux"),
        "reduction": "mean" if case["mean"] else "sum",
    }
    method = CGenPU(Config.model_validate(options))
    of_discriminator, of_net, of_generator = case.tensors("wd", "wa", "wg")
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


@VECTORS.cases("c.*")
def test_the_discriminators_loss_and_gradient(case: Case) -> None:
    method = method_of(case)
    loss = discriminator_loss(*(method.discriminator(x) for x in case.tensors("xp", "xu", "gp", "gn")))
    case.expect(loss_d=loss)
    loss.backward()
    case.expect(grad_wd=method.discriminator[0].weight.grad.T)


@VECTORS.cases("c.*")
def test_the_classifiers_loss_its_terms_and_its_gradient(case: Case) -> None:
    method = method_of(case)
    p, g_p, g_n = case.tensors("xp", "gp", "gn")
    a_p, a_gp, a_gn = (method.net(x).sigmoid() for x in (p, g_p, g_n))
    reduction = method.config.reduction
    case.expect(
        a_anchor=divergence(torch.ones_like(a_p), a_p, reduction),
        a_match=divergence(a_p, a_gp, reduction),
        a_separate=divergence(a_gp, 1 - a_gn, reduction),
        loss_a=classifier_loss(a_p, a_gp, a_gn, reduction),
        pubench_prior_kl_pi037=prior_divergence(0.37, a_gn),
    )
    method._classifier_loss(p, g_p, g_n, None).backward()
    case.expect(grad_wa=method.net[0].weight.grad.T)


@VECTORS.cases("c.*")
def test_the_generators_loss_its_terms_and_its_gradient(case: Case) -> None:
    method = method_of(case)
    p, z_p, z_n = case.tensors("xp", "zp", "zn")
    g_p, g_n = method._generate(len(p), GivenNoise(z_p, z_n))
    a_p, a_gp, a_gn = (method.net(x).sigmoid() for x in (p, g_p, g_n))
    case.expect(
        loss_g_adv=adversarial_loss(method.discriminator(g_p), method.discriminator(g_n)),
        loss_g_aux=agreement(a_p, a_gp, a_gn, method.config.reduction),
    )
    method._generator_loss(p, g_p, g_n).backward()
    case.expect(grad_wg=method.generator.weight.grad.T)
