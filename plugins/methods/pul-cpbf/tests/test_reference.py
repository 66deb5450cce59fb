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

from pubench_formulas.entropy import binary_entropy

#: Cases of the final network are numbered. Unread: what PU-Bench has instead, and sums of labels.
VECTORS = Vectors("pul-cpbf", tolerance=1e-10, case="p2_[^_]+|[^_]+", unread="trend|sched|active|sum|.*_pubench")
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


@VECTORS.cases("w.*", surrogate=("logistic", "sigmoid"))
def test_the_risk_of_a_weak_classifier(case: Case, surrogate: Surrogate) -> None:
    (z,), n_p, alpha, prior = case.leaves("logit"), int(case["n_p"]), case.number("alpha"), case.number("pi")
    r = n_p / len(z)
    case.expect(beta=weight_of_u(alpha, r, prior))
    clamped = z.clamp(-LARGEST_LOGIT, LARGEST_LOGIT)
    risk = fence_risk(clamped[:n_p], clamped[n_p:], alpha, r, prior, surrogate)
    case.expect(SINGLE, **{f"{surrogate}_loss": risk})
    case.expect_gradients(risk, SINGLE, **{f"{surrogate}_grad": z})


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
