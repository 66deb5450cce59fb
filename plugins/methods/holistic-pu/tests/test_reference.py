"""Holistic-PU against numbers of the executed official code and of jenkspy. Class 0 is the positive one there."""

from __future__ import annotations

import numpy as np
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
from pubench_testkit.testing import Case, Vectors
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

#: Cases of breaks and of the two stages are numbered.
VECTORS = Vectors("holistic-pu", tolerance=1e-10, case="(?:jk|p1|p2)_(?:b_ties|c_two|[^_]+)|[^_]+")
EXACT = 1e-15


@VECTORS.cases("c.*")
def test_trends_breaks_and_pseudo_labels(case: Case) -> None:
    case.expect(trend=trend(case.tensor("scores").T))
    trends = case.tensor("trend")  # theirs, because ties are theirs
    first = natural_break(trends)
    rest = trends[ordinary_trends(trends, "constant")]
    final = natural_break(rest) if first > 0 else first
    case.expect(EXACT, jenks=[trends.min(), first, trends.max()], break_first=first, break_final=final)
    positive = pseudo_labels(trends, "constant")
    case.expect(filtered_count=len(rest), pseudo_positive=positive, prior_estimate=positive.double().mean())
    np.testing.assert_array_equal(positive, case["pseudo_official"] == 0)


def test_some_cases_search_again_for_a_break_above_0() -> None:
    cases = VECTORS.select("c.*")
    again = [case for case in cases if case["break_first"] > 0]
    assert 0 < len(again) < len(cases)
    assert all(case["break_final"] < case["break_first"] for case in again)


@VECTORS.cases("jk_.*")
def test_natural_breaks_are_those_of_jenkspy(case: Case) -> None:
    values = case.tensor("values")
    at = natural_break(values)
    case.expect(EXACT, breaks=[values.min(), at, values.max()])
    case.expect(wcss=sum(((part - part.mean()) ** 2).sum() for part in (values[values <= at], values[values > at])))


@VECTORS.cases("p1_.*", smoothing=("0.1", "0.01", "0.0"))
def test_the_first_stages_loss_and_gradients(case: Case, smoothing: str) -> None:
    official = case.leaves("lw", "ls", "uw")
    weak, strong, u = (logits.flip(1) for logits in official)
    loss = trend_loss([weak, strong], u, float(smoothing))
    case.expect(**{f"rho{smoothing}_loss": loss})
    gradients = (f"rho{smoothing}_grad_lw", f"rho{smoothing}_grad_uw")
    case.expect_gradients(loss, **dict(zip(gradients, official[::2], strict=True)))


@VECTORS.cases("p2_.*", epoch=(0, 5, 24))
def test_the_second_stages_losses_and_gradients(case: Case, epoch: int) -> None:
    share = (epoch / 25) ** 0.8
    official = case.leaves("lx", "uw", "us")
    losses = torch.stack(
        pseudo_label_losses(*(logits.flip(1) for logits in official), case.tensor("pseudo") == 0, share, 0.9)
    )
    total = losses.sum()
    case.expect(**{f"e{epoch}_lambda": share, f"e{epoch}_components": losses, f"e{epoch}_loss": total})
    gradients = (f"e{epoch}_grad_{which}" for which in ("x", "uw", "us"))
    case.expect_gradients(total, **dict(zip(gradients, official, strict=True)))
    total.backward()
    counted = official[2].grad.abs().sum(dim=1) > 0  # type: ignore[union-attr]
    case.expect(mask=counted)


@VECTORS.cases("lr")
def test_the_learning_rate_follows_seven_sixteenths_of_a_cosine(case: Case) -> None:
    steps = int(case["total"])
    ours = np.array([lr_factor(step, steps, rising=float(case["warmup"])) for step in range(len(case["factor"]))])
    of_pubench = 0.5 * (1 + np.cos(2 * np.pi * 7 / 16 * np.arange(len(ours)) / steps))
    case.expect(factor=ours, factor_pubench=of_pubench)
    assert ours[steps] > of_pubench[steps] + 0.1


@VECTORS.cases("ema")
def test_the_average_starts_from_the_initial_parameters_and_copies_buffers(case: Case) -> None:
    net = nn.BatchNorm1d(len(case["init"])).double()
    assert net.running_mean is not None

    def put(values: torch.Tensor) -> None:
        with torch.no_grad():
            net.weight.copy_(values)
            net.running_mean.copy_(values)  # type: ignore[union-attr]

    put(case.tensor("init"))
    teacher = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.999))
    teacher.update_parameters(net)
    for values, parameter, buffer in zip(case.tensor("seq"), case["param"], case["buffer"], strict=True):
        put(values)
        teacher.update_parameters(net)
        case.close(teacher.module.weight, parameter)
        case.close(teacher.module.running_mean, buffer)


@VECTORS.cases("il")
def test_interleaving_rows_changes_nothing_on_one_device(case: Case) -> None:
    """The official code deals rows out to groups before a forward pass; batch norm sees the same rows either way."""
    x, where = case.tensor("x"), {}
    rows = {tuple(row): place for place, row in enumerate(x.tolist())}
    for groups in (2, 4):
        dealt = x.reshape(-1, groups, 2).transpose(0, 1).reshape(-1, 2)
        case.expect(**{str(groups): dealt})
        where[groups] = torch.tensor([rows[tuple(row)] for row in dealt.tolist()])
    case.expect(back=case["4"][where[4].argsort()])
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).double()
    for order in where.values():
        case.close(net(x[order].double())[order.argsort()], net(x.double()))


def test_the_score_is_of_the_second_output() -> None:
    method = HolisticPU(HolisticPU.Config())  # type: ignore[arg-type]
    method.net = nn.Identity()  # type: ignore[assignment]
    official = VECTORS.select("p2_.*")[0].tensor("uw")
    torch.testing.assert_close(method.decision_function(official.flip(1)), official[:, 0] - official[:, 1])


def test_every_array_is_read() -> None:
    VECTORS.assert_every_array_is_read()
