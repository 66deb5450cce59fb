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

#: Cases of breaks and of the two stages are numbered. Unread: what is PyTorch's alone, averages and interleaved rows.
VECTORS = Vectors("holistic-pu", tolerance=1e-10, case="(?:jk|p1|p2)_(?:b_ties|c_two|[^_]+)|[^_]+", unread="ema|il")
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


def test_the_score_is_of_the_second_output() -> None:
    method = HolisticPU(HolisticPU.Config())  # type: ignore[arg-type]
    method.net = nn.Identity()  # type: ignore[assignment]
    official = VECTORS.select("p2_.*")[0].tensor("uw")
    torch.testing.assert_close(method.decision_function(official.flip(1)), official[:, 0] - official[:, 1])
