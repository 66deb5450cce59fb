"""PUL-CPBF against numbers of independent implementations of the fence and of executed methods of PU-Bench, whose
variants are recomputed here from the same parts.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import Literal

import numpy as np
import torch
from pubench_pul_cpbf.method import (
    boundaries,
    fence_labels,
    fence_risk,
    final_losses,
    opinion,
    weight_of_u,
)
from pubench_testkit.testing import Case, Vectors
from torch import Tensor

from pubench_formulas import ramps
from pubench_formulas.entropy import binary_entropy
from pubench_formulas.losses import SURROGATES

#: Cases of the final network are numbered.
VECTORS = Vectors("pul-cpbf", tolerance=1e-10, case="p2_[^_]+|[^_]+")
#: Some executed methods hold r in float32.
SINGLE = 1e-6
#: Logits are clamped in the executed risks of the fence.
LARGEST_LOGIT = 10.0
Surrogate = Literal["logistic", "sigmoid"]


# -------------------------------------------------------------------- the fence


@VECTORS.cases("beta")
def test_weights_and_the_boundaries_that_follow_from_them(case: Case) -> None:
    alphas = case["alpha"]
    grid = list(product(alphas, case["r"], case["pi"]))
    betas = [weight_of_u(alpha, r, prior) for alpha, r, prior in grid]
    found = [beta * (1 - r) * prior / ((1 - beta) * r) for beta, (_, r, prior) in zip(betas, grid, strict=True)]
    shape = case["table"].shape
    case.expect(table=np.reshape(betas, shape), boundary=np.reshape(found, shape))
    case.close(case["boundary"], np.broadcast_to(alphas[:, None, None], shape))


def arguments(case: Case) -> tuple[Tensor, int, float, float, float]:
    """Logits, rows of P, boundary, labeled share, prior."""
    (z,), n_p = case.leaves("logit"), int(case["n_p"])
    return z, n_p, case.number("alpha"), n_p / len(z), case.number("pi")


@VECTORS.cases("w.*", surrogate=("logistic", "sigmoid"))
def test_the_risk_of_a_weak_classifier(case: Case, surrogate: Surrogate) -> None:
    z, n_p, alpha, r, prior = arguments(case)
    case.expect(beta=weight_of_u(alpha, r, prior))
    clamped = z.clamp(-LARGEST_LOGIT, LARGEST_LOGIT)
    risk = fence_risk(clamped[:n_p], clamped[n_p:], alpha, r, prior, surrogate)
    case.expect(SINGLE, **{f"{surrogate}_loss": risk})
    case.expect_gradients(risk, SINGLE, **{f"{surrogate}_grad": z})


@VECTORS.cases("w.*", tolerance=SINGLE, surrogate=("logistic", "sigmoid"))
def test_pu_benchs_risk_is_another_one(case: Case, surrogate: Surrogate) -> None:
    """The positive term counts five times, beta is cut, entropy and the distance of the mean to the prior are added."""
    z, n_p, alpha, r, prior = arguments(case)
    loss, clamped = SURROGATES[surrogate], z.clamp(-LARGEST_LOGIT, LARGEST_LOGIT)
    beta = min(max(weight_of_u(alpha, r, prior), 0.05), 0.99)
    theirs = 5 * (1 - beta) * r * loss(clamped[:n_p]).mean() + beta * (1 - r) * loss(-clamped[n_p:]).mean()
    theirs = theirs + 0.1 * binary_entropy(clamped[n_p:]).mean() + 0.1 * (clamped.sigmoid().mean() - prior).square()
    case.expect(**{f"{surrogate}_loss_pubench": theirs})
    case.expect_gradients(theirs, **{f"{surrogate}_grad_pubench": z})
    ours = fence_risk(clamped[:n_p], clamped[n_p:], alpha, r, prior, surrogate)
    assert not np.isclose(ours.detach(), theirs.detach())


@VECTORS.cases("fence")
def test_labels_are_drawn_below_the_first_boundary_that_a_row_is_not_above(case: Case) -> None:
    alphas, votes = case["alpha"].tolist(), case.tensor("sign") > 0
    intervals = list(pairwise([0.0, *alphas, 1.0]))
    case.expect(alpha=boundaries(len(alphas)), low=[low for low, _ in intervals], high=[high for _, high in intervals])
    interval = case["interval_first_crossing"]
    draws = torch.from_numpy(case["uniform"][interval, np.arange(len(interval))])
    labels = fence_labels(votes, alphas, draws)
    case.expect(label_first_crossing=labels)
    case.expect(interval_first_crossing=np.searchsorted(alphas, labels.numpy(), side="right"))
    assert ((labels >= 0) & (labels <= 1)).all()


@VECTORS.cases("fence")
def test_inconsistent_rows_cross_twice_and_their_sum_is_no_probability(case: Case) -> None:
    """An interval is active if the classifier below votes positive and the one above negative."""
    votes = np.pad(case["sign"] > 0, ((1, 1), (0, 0)))
    votes[0] = True
    active = votes[:-1] & ~votes[1:]
    drawn = case["low"][:, None] + (case["high"] - case["low"])[:, None] * case["uniform"]
    case.expect(active=active, interval_first_crossing=active.argmax(axis=0), sum=(active * drawn).sum(axis=0))
    consistent = active.sum(axis=0) == 1
    case.close(case["sum"][consistent], case["label_first_crossing"][consistent])
    assert case["sum"][~consistent].max() > 1


@VECTORS.cases("trend")
def test_the_trends_that_pu_bench_puts_in_place_of_the_fence_are_inverted(case: Case) -> None:
    """Its labels are 1 up to the natural break, among trends of negatives."""
    rise = np.diff(case["scores"], axis=0)
    value = np.log1p(rise + rise**2 / 2).mean(axis=0)
    ascending = np.sort(value)
    costs = [sum(part.var() * len(part) for part in np.split(ascending, [k])) for k in range(1, len(ascending))]
    case.expect(**{"break": ascending[int(np.argmin(costs))]}, value=value)
    case.expect(pubench_label=case["value"] <= case["break"])


# -------------------------------------------------------------------- the final network


@VECTORS.cases("p2_.*")
def test_losses_and_gradients_of_the_final_network(case: Case) -> None:
    p, weak, strong = case.leaves("logit_p_weak", "logit_u_weak", "logit_u_strong")
    trust, temperature, threshold = (case.number(which) for which in ("lambda", "temperature", "threshold"))
    q, labels = opinion(weak, temperature), case.tensor("stage1_label")
    hard = q > 0.5
    case.expect(sharpened=q, hard=hard, target=trust * hard.double() + (1 - trust) * labels)
    losses = final_losses(p, weak, strong, labels, trust, temperature, threshold)
    total = losses.positive + case.number("lambda_u") * (losses.weak + losses.strong)
    case.expect(loss_l=losses.positive, loss_u_weak=losses.weak, loss_u_strong=losses.strong, total=total)
    case.expect_gradients(total, grad_p=p, grad_u_weak=weak, grad_u_strong=strong)
    case.expect(mask=case["grad_u_strong"] != 0)
    case.close(losses.entropy, binary_entropy(weak).mean())


@VECTORS.cases("sched")
def test_pu_bench_anneals_over_epochs_that_count_from_1(case: Case) -> None:
    epochs = case["epoch"]
    n = len(epochs)
    case.expect(
        lambda_pubench=(epochs / n) ** 0.8,
        threshold_pubench=[ramps.linear(e, n, 0.6, 0.9) for e in epochs],
        T_pubench=[ramps.linear(e, n, 1.5, 0.5) for e in epochs],
    )


def test_every_array_is_read() -> None:
    VECTORS.assert_every_array_is_read()
