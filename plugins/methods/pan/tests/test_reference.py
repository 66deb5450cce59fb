"""PAN's value, its gradients and whole updates against numbers of the official code."""

from __future__ import annotations

import torch
from pubench_pan.method import PAN, Config, difference, separation
from pubench_testkit.testing import Case, Vectors, linear, pu_table, run_on

VECTORS = Vectors("pan", tolerance=1e-10, case="[^_]+")
#: The constants of the vectors are the defaults.
CONFIG = Config()


@VECTORS.cases("c.*")
def test_the_value_and_its_gradients(case: Case) -> None:
    logits = case.leaves("d_logit_p", "d_logit_u", "r_logit_u")
    d_p, d_u, r_u = (z.sigmoid() for z in logits)
    first = separation(d_p, d_u[: len(d_p)], CONFIG.epsilon)
    second = CONFIG.balance * difference(d_u, r_u, CONFIG.epsilon)
    case.expect(term1=first, term2=second, value=first + second)
    case.expect(value_wu=separation(d_p, d_u, CONFIG.epsilon) + second)
    case.expect_gradients(first + second, grad_d_logit_p=logits[0], grad_d_logit_u=logits[1], grad_r_logit_u=logits[2])


@VECTORS.cases("traj", order=("joint", "sequential"))
def test_three_updates_of_both_networks(case: Case, order: str) -> None:
    p, u, of_discriminator, of_net = case.tensors("x_p", "x_u", "w_d0", "w_r0")
    config = Config.model_validate({"update_order": order})
    method, run = PAN(config), run_on(pu_table(torch.cat([p, u]), len(p), "case-control"), config)
    method.net, method.discriminator = linear(of_net), linear(of_discriminator)  # type: ignore[assignment]
    lowers, raises = (
        run.optimizer(network.parameters(), betas=config.betas) for network in (method.net, method.discriminator)
    )
    for _ in range(3):
        method._update(p, u, lowers, raises, run)
    weights = (network[0].weight[0] for network in (method.discriminator, method.net))
    case.expect(**dict(zip((f"w_d3_{order}", f"w_r3_{order}"), weights, strict=True)))
