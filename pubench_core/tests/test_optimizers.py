"""Optimizers without torch's compiler compute what torch's own do, to the last bit."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from pubench_core.specs.config import TrainingConfig
from pubench_core.training import optimizers

pytestmark = pytest.mark.usefixtures("no_compiler")
CASES: list[tuple[str, dict[str, Any]]] = [
    ("Adam", {"fused": True}),
    ("Adam", {"weight_decay": 0.1, "betas": (0.5, 0.99), "amsgrad": True, "fused": True}),
    ("Adam", {"weight_decay": 0.1}),
    ("AdamW", {"weight_decay": 0.1, "fused": True}),
    ("SGD", {"momentum": 0.9, "weight_decay": 0.01}),
    ("SGD", {"momentum": 0.9, "nesterov": True}),
]


def trained(kind: type[Optimizer], options: dict[str, Any], steps: int = 5) -> tuple[list[Tensor], Optimizer]:
    """Weights after every step, with two groups of parameters and a falling rate."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        net, x = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 1)), torch.randn(7, 6)
    groups = [{"params": net[0].parameters()}, {"params": net[2].parameters(), "lr": 0.3}]
    optimizer: Optimizer = kind(groups, lr=0.1, **options)
    schedule, found = LambdaLR(optimizer, lambda epoch: 0.5**epoch), []
    for _ in range(steps):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
        schedule.step()
        found.append(torch.cat([p.detach().flatten().clone() for p in net.parameters()]))
    return found, optimizer


@pytest.mark.parametrize(("kind", "options"), CASES, ids=[f"{kind} {' '.join(options)}" for kind, options in CASES])
def test_every_step_is_the_one_of_torch(kind: str, options: dict[str, Any]) -> None:
    ours, optimizer = trained(getattr(optimizers, kind), options)
    theirs, other = trained(getattr(torch.optim, kind), options)
    for one, two in zip(ours, theirs, strict=True):
        assert torch.equal(one, two)
    assert not torch.equal(ours[0], ours[-1])
    assert isinstance(optimizer, getattr(torch.optim, kind))
    assert optimizer.state_dict()["param_groups"] == other.state_dict()["param_groups"]


@pytest.mark.parametrize("kind", ["Adam", "AdamW", "SGD"])
def test_gradients_are_dropped_and_no_step_is_part_of_a_graph(kind: str) -> None:
    weight = nn.Parameter(torch.ones(3))
    optimizer: Optimizer = getattr(optimizers, kind)([weight], lr=0.1)

    def closure() -> float:
        optimizer.zero_grad()
        loss = weight.square().sum()
        loss.backward()
        return float(loss.detach())

    assert optimizer.step(closure) == 3.0
    assert weight.requires_grad
    assert weight.is_leaf
    assert (weight < 1).all()
    optimizer.zero_grad()
    assert weight.grad is None


def test_a_group_can_be_added_and_is_refused_as_torch_refuses_it() -> None:
    one, two = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))
    optimizer = optimizers.SGD([one], lr=0.1)
    optimizer.add_param_group({"params": [two], "lr": 0.2})
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.2]
    with pytest.raises(ValueError, match="some parameters appear in more than one parameter group"):
        optimizer.add_param_group({"params": [two]})


@pytest.mark.parametrize(("kind", "expected"), [(None, "SGD"), ("adam", "Adam"), ("adamw", "AdamW"), ("sgd", "SGD")])
def test_a_stage_may_have_another_optimizer_than_the_configured_one(kind: Any, expected: str) -> None:
    config = TrainingConfig(optimizer="sgd", lr=0.2, momentum=0.5, weight_decay=0.1)
    options = {"betas": (0.5, 0.9), "nesterov": True}  # each family takes its own
    optimizer = optimizers.new_optimizer(config, [nn.Parameter(torch.ones(1))], None, options, kind)
    (group,) = optimizer.param_groups
    assert type(optimizer).__name__ == expected
    assert optimizers.new_optimizer(config, [nn.Parameter(torch.ones(1))], 0.01, {}, kind).defaults["lr"] == 0.01
    assert (group["lr"], group["weight_decay"]) == (0.2, 0.1)
    if expected == "SGD":
        assert (group["momentum"], group["nesterov"]) == (0.5, True)
    else:
        assert group["betas"] == (0.5, 0.9)
