"""Scoring: evaluation mode for whatever is called, one pass for all outputs, batches bound by bytes, no row twice."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from pubench_backbones.networks import cnn
from torch import Tensor, nn

from pubench_core.training import scoring
from pubench_core.training.scoring import ROWS, score_outputs, score_rows
from pubench_core.training.views import Features


class Counting(nn.Module):
    """A linear map with dropout and batch norm that counts the rows it was called with."""

    def __init__(self, width: int = 3) -> None:
        super().__init__()
        self.norm, self.drop, self.head = nn.BatchNorm1d(width), nn.Dropout(0.5), nn.Linear(width, 1)
        self.seen: list[int] = []

    def forward(self, x: Tensor) -> Tensor:
        self.seen.append(len(x))
        out: Tensor = self.head(self.drop(self.norm(x))).squeeze(-1)
        return out


def features(n: int = 50, *shape: int) -> Features:
    return Features(torch.randn(n, *(shape or (3,)), generator=torch.Generator().manual_seed(1)))


def state(module: nn.Module) -> list[Tensor]:
    return [value.clone() for value in module.state_dict().values()]


# ---------------------------------------------------------------- evaluation mode


@pytest.mark.parametrize("wrapped", ["itself", "closure", "list"])
def test_a_network_is_in_evaluation_mode_whoever_holds_it(wrapped: str) -> None:
    net, table = Counting(), features()
    before = state(net)
    functions: dict[str, Any] = {"itself": net, "closure": lambda x: net(x), "list": lambda x, held=[net]: held[0](x)}
    one, other = (score_rows(functions[wrapped], table, torch.arange(50)) for _ in range(2))
    assert torch.equal(one, other)
    assert torch.allclose(one, net.head(table.values / (1 + 1e-5) ** 0.5).squeeze(-1), atol=1e-6)
    assert all(torch.equal(a, b) for a, b in zip(before, state(net), strict=True))
    assert net.training
    assert net.drop.training


def test_flags_are_restored_as_they_were_one_by_one() -> None:
    net = Counting()
    net.norm.eval()
    score_rows(net, features(), torch.arange(4))
    assert (net.training, net.norm.training, net.drop.training) == (True, False, True)


def test_a_failing_function_leaves_flags_and_hooks_as_they_were() -> None:
    net = Counting()

    def fails(x: Tensor) -> Tensor:
        net(x)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        score_rows(fails, features(), torch.arange(4))
    assert net.training
    net(torch.ones(2, 3))
    assert net.training


# ---------------------------------------------------------------- batches


def test_all_outputs_of_a_function_come_from_one_pass() -> None:
    net = Counting()

    def outputs(x: Tensor) -> dict[str, Tensor]:
        z = net(x)
        return {"score": z, "double": 2 * z}

    found = score_outputs(outputs, features(ROWS + 5), torch.arange(ROWS + 5))
    assert net.seen == [ROWS, 5]
    assert torch.equal(found["double"], 2 * found["score"])


def test_no_row_gives_empty_outputs() -> None:
    assert score_rows(lambda x: x.sum(1), features(), torch.arange(0)).shape == (0,)
    assert score_outputs(lambda x: {}, features(), torch.arange(3)) == {}


def test_batches_are_bound_by_the_bytes_of_the_largest_output(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    net = cnn((1, 32, 32), 1)
    net.stages[0].register_forward_hook(lambda module, given, output: sizes.append(output.numel() * 4))
    table, rows = features(300, 1, 32, 32), torch.arange(300)
    monkeypatch.setattr(scoring, "ACTIVATION_BYTES", 2**30)
    whole = score_rows(net, table, rows)
    assert len(sizes) == 1
    sizes.clear()
    widest = 32 * 32 * 32 * 4  # the first convolution: 32 channels
    monkeypatch.setattr(scoring, "ACTIVATION_BYTES", 40 * widest)
    bounded = score_rows(net, table, rows)
    assert max(sizes) <= 40 * widest / 4  # the stage ends in a pooling that halves both sides
    assert len(sizes) >= 300 / 32  # the largest power of two below 40
    assert torch.allclose(whole, bounded, atol=1e-6)
