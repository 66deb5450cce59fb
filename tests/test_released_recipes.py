"""Recipes of PU-Bench as released, in ``benchmarks/``: what its code does and a reader of the formulas would not."""

from __future__ import annotations

from copy import deepcopy
from itertools import islice
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.studies import released_recipes


@pytest.fixture(scope="module")
def recipes() -> ModuleType:
    return released_recipes


@pytest.fixture
def table(recipes: ModuleType) -> Any:
    """20 rows of P before 40 of U, three features."""
    torch.manual_seed(0)
    return recipes.Table(torch.randn(60, 3), torch.arange(60) < 20, 0.4, torch.zeros(60, dtype=torch.bool))


def state(net: nn.Module) -> torch.Tensor:
    return nn.utils.parameters_to_vector(net.parameters()).detach().clone()


def test_epochs_of_robust_pus_pre_training_are_candidates(recipes: ModuleType, table: Any) -> None:
    torch.manual_seed(1)
    candidates = [state(net) for net in recipes.robust_pu(table)]
    assert len(candidates) == 20 + 5 * 5
    torch.manual_seed(1)
    for candidate, net in zip(candidates, islice(recipes.nnpu(table, lr=1e-4), 20), strict=False):
        assert torch.equal(candidate, state(net))


def test_the_first_decay_of_p3mixs_teacher_is_a_half(
    recipes: ModuleType, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[torch.Tensor, nn.Module]] = []

    def copied(net: nn.Module) -> nn.Module:
        made.append((state(net), deepcopy(net)))
        return made[-1][1]

    monkeypatch.setattr(recipes.copy, "deepcopy", copied)
    net = next(recipes.p3mix_e(table))
    ((start, teacher),) = made
    torch.testing.assert_close(state(teacher), (start + state(net)) / 2)


def test_pan_weighs_rows_by_their_trust_and_its_discriminator_may_rest(
    recipes: ModuleType, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    r, d = (nn.Sequential(nn.Linear(3, 1), nn.Flatten(0)) for _ in range(2))
    networks = iter((r, d))
    monkeypatch.setattr(recipes, "network", lambda inputs, prior: next(networks))
    monkeypatch.setattr(recipes.torch.optim, "Adam", lambda parameters, lr: torch.optim.SGD(parameters, lr=1.0))
    with torch.no_grad():
        r[0].bias.fill_(-4)  # type: ignore[union-attr, operator]
        d[0].weight.mul_(5)  # type: ignore[union-attr, operator]
    of_r, of_d = deepcopy(r), state(d)
    next(recipes.pan(table))  # one batch of P and one of U, nothing of which is called positive
    assert torch.equal(state(d), of_d)
    p, u = table.x[:20], table.x[20:]
    loss = F.softplus(-of_r(p)).mean() + 0.4 * (d(u).sigmoid().detach() * F.softplus(of_r(u))).mean()
    gradients = torch.autograd.grad(loss, list(of_r.parameters()))
    torch.testing.assert_close(state(r), state(of_r) - nn.utils.parameters_to_vector(gradients))
