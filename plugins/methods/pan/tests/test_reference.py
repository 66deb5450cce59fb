"""PAN's value, its gradients and whole updates against numbers of the official code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pubench_pan.method import PAN, Config, difference, separation
from pubench_testkit.testing import reference_arrays
from torch import Tensor, nn

from pubench.method import Backbone
from pubench_core.training.run import Run
from pubench_core.training.views import Features, PUData, PUPart

pytestmark = pytest.mark.reference

TOLERANCE = 1e-10

ARRAYS = reference_arrays("pan")
CASES = sorted({name.partition("_")[0] for name in ARRAYS} - {"meta", "traj"})
#: The constants of the vectors are the defaults.
CONFIG = Config()
#: What is tested of every case, and of the trajectories.
OF_A_CASE = {
    *("d_logit_p", "d_logit_u", "r_logit_u", "term1", "term2", "value", "value_wu"),
    *("grad_d_logit_p", "grad_d_logit_u", "grad_r_logit_u"),
}
ORDERS = ("joint", "sequential")
OF_TRAJECTORIES = {"x_p", "x_u", "w_d0", "w_r0", *(f"w_{n}3_{order}" for n in "dr" for order in ORDERS)}


def close(ours: Any, theirs: Any) -> None:
    assert ours is not None
    ours = ours.detach().numpy() if isinstance(ours, Tensor) else ours
    np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE)


def of(case: str, *names: str) -> list[Tensor]:
    return [torch.from_numpy(ARRAYS[f"{case}_{name}"]) for name in names]


def test_every_array_is_tested() -> None:
    expected = {f"{case}_{name}" for case in CASES for name in OF_A_CASE}
    assert set(ARRAYS) == expected | {f"traj_{name}" for name in OF_TRAJECTORIES} | {"meta"}


def test_the_cases_have_fewer_as_many_and_more_rows_of_p_than_of_u_and_both_sides_of_the_mean() -> None:
    logits = [of(case, "d_logit_p", "d_logit_u") for case in CASES]
    assert {np.sign(len(p) - len(u)) for p, u in logits} == {-1, 0, 1}
    for p, u in logits:
        d = u[: len(p)].sigmoid()
        assert len({bool(active) for active in d < d.mean()}) == 2


@pytest.mark.parametrize("case", CASES)
def test_the_value_and_its_gradients(case: str) -> None:
    logits = of(case, "d_logit_p", "d_logit_u", "r_logit_u")
    d_p, d_u, r_u = (z.requires_grad_().sigmoid() for z in logits)
    first = separation(d_p, d_u[: len(d_p)], CONFIG.epsilon)
    second = CONFIG.balance * difference(d_u, r_u, CONFIG.epsilon)
    close(first, ARRAYS[f"{case}_term1"])
    close(second, ARRAYS[f"{case}_term2"])
    close(first + second, ARRAYS[f"{case}_value"])
    close(separation(d_p, d_u, CONFIG.epsilon) + second, ARRAYS[f"{case}_value_wu"])
    (first + second).backward()
    for z, name in zip(logits, ("grad_d_logit_p", "grad_d_logit_u", "grad_r_logit_u"), strict=True):
        close(z.grad, ARRAYS[f"{case}_{name}"])


def linear(weight: Tensor) -> nn.Module:
    """x -> x . weight, (B,) logits."""
    layer = nn.Linear(len(weight), 1, bias=False, dtype=weight.dtype)
    with torch.no_grad():
        layer.weight.copy_(weight[None])
    return nn.Sequential(layer, nn.Flatten(0))


def no_backbone(outputs: int) -> Backbone:
    raise AssertionError("the networks of a trajectory are linear")


def run_of(config: Config, x: Tensor, n_labeled: int) -> Run[Config]:
    rows, labeled = torch.arange(len(x)), torch.arange(len(x)) < n_labeled
    part = PUPart(Features(x), rows, labeled, "case-control")
    data = PUData(
        Features(x), rows, labeled, "case-control", validation=part, granted=frozenset(), prior=None, truth=None
    )
    return Run(config=config, data=data, seed=2, device=torch.device("cpu"), threads=1, build=no_backbone)


@pytest.mark.parametrize("order", ORDERS)
def test_three_updates_of_both_networks(order: str) -> None:
    p, u, of_discriminator, of_net = of("traj", "x_p", "x_u", "w_d0", "w_r0")
    config = Config.model_validate({"update_order": order})
    method, run = PAN(config), run_of(config, torch.cat([p, u]), len(p))
    method.net, method.discriminator = linear(of_net), linear(of_discriminator)  # type: ignore[assignment]
    lowers, raises = (
        run.optimizer(network.parameters(), betas=config.betas) for network in (method.net, method.discriminator)
    )
    for _ in range(3):
        method._update(p, u, lowers, raises, run)
    close(method.discriminator[0].weight[0], ARRAYS[f"traj_w_d3_{order}"])
    close(method.net[0].weight[0], ARRAYS[f"traj_w_r3_{order}"])


def test_the_two_orders_differ() -> None:
    assert not np.array_equal(ARRAYS["traj_w_r3_joint"], ARRAYS["traj_w_r3_sequential"])
