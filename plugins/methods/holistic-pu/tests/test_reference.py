"""Holistic-PU against numbers of the executed official code and of jenkspy. Class 0 is the positive one there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pubench_holistic_pu.method import (
    HolisticPU,
    lr_factor,
    natural_break,
    ordinary_trends,
    pseudo_label_losses,
    pseudo_labels,
    trend,
    trend_loss,
)
from pubench_testkit.testing import reference_arrays
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

pytestmark = pytest.mark.reference
TOLERANCE = 1e-10
Case = dict[str, Any]


def grouped() -> dict[str, Case]:
    """Arrays are named ``<case>_<array>``; those of some cases are numbered."""
    found: dict[str, Case] = {}
    for name, values in reference_arrays("holistic-pu").items():
        case, _, array = name.partition("_")
        if case in ("jk", "p1", "p2"):
            number, _, array = array.replace("b_ties", "ties").replace("c_two", "two").partition("_")
            case = f"{case}_{number}"
        if name != "meta":
            found.setdefault(case, {})[array] = values
    return found


GROUPS = grouped()
TRENDS, BREAKS, FIRST, SECOND = ([name for name in GROUPS if name.startswith(k)] for k in ("c", "jk_", "p1_", "p2_"))
SMOOTHINGS = ("0.1", "0.01", "0.0")
EPOCHS = (0, 5, 24)


def tensor(value: Any) -> Tensor:
    return torch.from_numpy(np.atleast_1d(np.asarray(value)))


def logits(official: Any) -> Tensor:
    """(n, 2) with the positive class second."""
    return tensor(official).flip(1).contiguous().requires_grad_()


def close(ours: Any, theirs: Any, tolerance: float = TOLERANCE) -> None:
    ours = ours.detach().numpy() if isinstance(ours, Tensor) else ours
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", TRENDS)
def test_trends_breaks_and_pseudo_labels(name: str) -> None:
    case = GROUPS[name]
    trends = trend(tensor(case["scores"]).T)
    close(trends, case["trend"])
    trends = tensor(case["trend"])  # theirs, so that ties are theirs
    first = natural_break(trends)
    close([trends.min(), first, trends.max()], case["jenks"], 1e-15)
    close(first, case["break_first"], 1e-15)
    rest = trends[ordinary_trends(trends, "constant")]
    assert len(rest) == case["filtered_count"]
    close(natural_break(rest) if first > 0 else first, case["break_final"], 1e-15)
    positive = pseudo_labels(trends, "constant")
    np.testing.assert_array_equal(positive, case["pseudo_positive"].astype(bool))
    np.testing.assert_array_equal(positive, case["pseudo_official"] == 0)
    close(positive.double().mean(), case["prior_estimate"])


def test_a_break_above_0_is_sought_again_in_some_cases() -> None:
    again = [name for name in TRENDS if GROUPS[name]["break_first"] > 0]
    assert 0 < len(again) < len(TRENDS)
    assert all(GROUPS[name]["break_final"] < GROUPS[name]["break_first"] for name in again)


@pytest.mark.parametrize("name", BREAKS)
def test_natural_breaks_are_those_of_jenkspy(name: str) -> None:
    case = GROUPS[name]
    values = tensor(case["values"])
    at = natural_break(values)
    close([values.min(), at, values.max()], case["breaks"], 1e-15)
    within = sum(((part - part.mean()) ** 2).sum() for part in (values[values <= at], values[values > at]))
    close(within, case["wcss"])


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize("name", FIRST)
def test_the_first_stages_loss_and_gradients(name: str, smoothing: str) -> None:
    case = GROUPS[name]
    theirs = {array.removeprefix(f"rho{smoothing}_"): values for array, values in case.items()}
    weak, strong, u = (logits(case[array]) for array in ("lw", "ls", "uw"))
    loss = trend_loss([weak, strong], u, float(smoothing))
    loss.backward()
    close(loss, theirs["loss"])
    close(weak.grad.flip(1), theirs["grad_lw"])  # type: ignore[union-attr]
    close(u.grad.flip(1), theirs["grad_uw"])  # type: ignore[union-attr]


@pytest.mark.parametrize("epoch", EPOCHS)
@pytest.mark.parametrize("name", SECOND)
def test_the_second_stages_losses_and_gradients(name: str, epoch: int) -> None:
    case = GROUPS[name]
    theirs = {array.removeprefix(f"e{epoch}_"): values for array, values in case.items()}
    share = (epoch / 25) ** 0.8
    close(share, theirs["lambda"])
    p, weak, strong = (logits(case[array]) for array in ("lx", "uw", "us"))
    losses = pseudo_label_losses(p, weak, strong, tensor(case["pseudo"]) == 0, share, 0.9)
    close(torch.stack(losses), theirs["components"])
    total = torch.stack(losses).sum()
    total.backward()
    close(total, theirs["loss"])
    for ours, array in ((p, "grad_x"), (weak, "grad_uw"), (strong, "grad_us")):
        close(ours.grad.flip(1), theirs[array])  # type: ignore[union-attr]
    counted = strong.grad.abs().sum(dim=1) > 0  # type: ignore[union-attr]
    np.testing.assert_array_equal(counted, case["mask"].astype(bool))


def test_the_learning_rate_follows_seven_sixteenths_of_a_cosine() -> None:
    case = GROUPS["lr"]
    steps = int(case["total"])
    assert case["warmup"] == 0
    ours = np.array([lr_factor(step, steps) for step in range(len(case["factor"]))])
    close(ours, case["factor"])
    progress = np.arange(len(ours)) / steps
    close(0.5 * (1 + np.cos(2 * np.pi * 7 / 16 * progress)), case["factor_pubench"])
    assert ours[steps] > case["factor_pubench"][steps] + 0.1


def test_the_average_starts_from_the_initial_parameters_and_copies_buffers() -> None:
    case = GROUPS["ema"]
    net = nn.BatchNorm1d(len(case["init"])).double()
    assert net.running_mean is not None

    def put(values: np.ndarray) -> None:
        with torch.no_grad():
            net.weight.copy_(tensor(values))
            net.running_mean.copy_(tensor(values))  # type: ignore[union-attr]

    put(case["init"])
    teacher = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.999))
    teacher.update_parameters(net)
    for values, parameter, buffer in zip(case["seq"], case["param"], case["buffer"], strict=True):
        put(values)
        teacher.update_parameters(net)
        close(teacher.module.weight, parameter)
        close(teacher.module.running_mean, buffer)


def test_interleaving_rows_changes_nothing_on_one_device() -> None:
    """The official code deals rows out to groups before a forward pass; batch norm sees the same rows either way."""
    case = GROUPS["il"]
    x, where = tensor(case["x"]), {}
    rows = {tuple(row): place for place, row in enumerate(case["x"].tolist())}
    for groups in (2, 4):
        dealt = x.reshape(-1, groups, 2).transpose(0, 1).reshape(-1, 2)
        np.testing.assert_array_equal(dealt, case[str(groups)])
        where[groups] = torch.tensor([rows[tuple(row)] for row in case[str(groups)].tolist()])
    np.testing.assert_array_equal(tensor(case["4"])[where[4].argsort()], case["back"])
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).double()
    for order in where.values():
        close(net(x[order].double())[order.argsort()], net(x.double()).detach())


def test_the_score_is_of_the_second_output() -> None:
    method = HolisticPU(HolisticPU.Config())  # type: ignore[arg-type]
    method.net = nn.Identity()  # type: ignore[assignment]
    official = tensor(GROUPS["p2_0"]["uw"])
    close(method.decision_function(official.flip(1)), official[:, 0] - official[:, 1])


def test_every_array_is_of_a_kind_that_is_tested() -> None:
    assert all((TRENDS, BREAKS, FIRST, SECOND))
    assert set(GROUPS) == {*TRENDS, *BREAKS, *FIRST, *SECOND, "il", "lr", "ema"}
    of_first = {"lw", "ls", "uw", *(f"rho{s}_{what}" for s in SMOOTHINGS for what in ("loss", "grad_lw", "grad_uw"))}
    assert all(set(GROUPS[name]) == of_first for name in FIRST)
    terms = ("lambda", "components", "loss", "grad_x", "grad_uw", "grad_us")
    of_second = {"lx", "uw", "us", "pseudo", "mask", *(f"e{e}_{what}" for e in EPOCHS for what in terms)}
    assert all(set(GROUPS[name]) == of_second for name in SECOND)
    assert all(set(GROUPS[name]) == {"values", "breaks", "wcss"} for name in BREAKS)
