"""PUL-CPBF against numbers of independent implementations of the fence and of executed methods of PU-Bench, whose
variants are recomputed here from the same parts.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pytest
import torch
from pubench_pul_cpbf.method import (
    boundaries,
    fence_labels,
    fence_risk,
    final_losses,
    opinion,
    weight_of_u,
)
from pubench_testkit.testing import reference_arrays
from torch import Tensor

from pubench_formulas import ramps
from pubench_formulas.entropy import binary_entropy
from pubench_formulas.losses import SURROGATES

pytestmark = pytest.mark.reference
TOLERANCE = 1e-10
#: Some executed methods hold r in float32.
SINGLE = 1e-6
#: Logits are clamped in the executed risks of the fence.
LARGEST_LOGIT = 10.0
Surrogate = Literal["logistic", "sigmoid"]
LOSSES: tuple[Surrogate, ...] = ("logistic", "sigmoid")
Case = dict[str, Any]


def grouped() -> dict[str, Case]:
    """Arrays are named ``<case>_<array>``; the cases of the final network are numbered."""
    found: dict[str, Case] = {}
    for name, values in reference_arrays("pul-cpbf").items():
        case, _, array = name.partition("_")
        if case == "p2":
            number, _, array = array.partition("_")
            case = f"p2_{number}"
        if name != "meta":
            found.setdefault(case, {})[array] = values
    return found


GROUPS = grouped()
RISKS, FINAL = ([name for name in GROUPS if name.startswith(kind)] for kind in ("w", "p2_"))


def tensor(value: Any) -> Tensor:
    return torch.from_numpy(np.atleast_1d(np.asarray(value)))


def close(ours: Any, theirs: Any, tolerance: float = TOLERANCE) -> None:
    assert ours is not None
    ours = ours.detach().numpy() if isinstance(ours, Tensor) else ours
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


# -------------------------------------------------------------------- the fence


def test_weights_and_the_boundaries_where_they_put_it() -> None:
    case = GROUPS["beta"]
    for i, alpha in enumerate(case["alpha"]):
        for j, r in enumerate(case["r"]):
            for k, prior in enumerate(case["pi"]):
                beta = weight_of_u(alpha, r, prior)
                close(beta, case["table"][i, j, k])
                close(beta * (1 - r) * prior / ((1 - beta) * r), case["boundary"][i, j, k])
                close(case["boundary"][i, j, k], alpha)


def arguments(case: Case) -> tuple[Tensor, int, float, float, float]:
    """Logits, rows of P, boundary, labeled share, prior."""
    z, n_p = tensor(case["logit"]).requires_grad_(), int(case["n_p"])
    return z, n_p, float(case["alpha"]), n_p / len(case["logit"]), float(case["pi"])


@pytest.mark.parametrize("surrogate", LOSSES)
@pytest.mark.parametrize("name", RISKS)
def test_the_risk_of_a_weak_classifier(name: str, surrogate: Surrogate) -> None:
    case = GROUPS[name]
    z, n_p, alpha, r, prior = arguments(case)
    close(weight_of_u(alpha, r, prior), case["beta"])
    clamped = z.clamp(-LARGEST_LOGIT, LARGEST_LOGIT)
    risk = fence_risk(clamped[:n_p], clamped[n_p:], alpha, r, prior, surrogate)
    close(risk, case[f"{surrogate}_loss"], SINGLE)
    close(torch.autograd.grad(risk, z)[0], case[f"{surrogate}_grad"], SINGLE)


@pytest.mark.parametrize("surrogate", LOSSES)
@pytest.mark.parametrize("name", RISKS)
def test_pu_benchs_risk_is_another_one(name: str, surrogate: Surrogate) -> None:
    """The positive term counts five times, beta is cut, entropy and the distance of the mean to the prior are added."""
    case = GROUPS[name]
    z, n_p, alpha, r, prior = arguments(case)
    loss, clamped = SURROGATES[surrogate], z.clamp(-LARGEST_LOGIT, LARGEST_LOGIT)
    beta = min(max(weight_of_u(alpha, r, prior), 0.05), 0.99)
    theirs = 5 * (1 - beta) * r * loss(clamped[:n_p]).mean() + beta * (1 - r) * loss(-clamped[n_p:]).mean()
    theirs = theirs + 0.1 * binary_entropy(clamped[n_p:]).mean() + 0.1 * (clamped.sigmoid().mean() - prior).square()
    close(theirs, case[f"{surrogate}_loss_pubench"], SINGLE)
    close(torch.autograd.grad(theirs, z)[0], case[f"{surrogate}_grad_pubench"], SINGLE)
    ours = fence_risk(clamped[:n_p], clamped[n_p:], alpha, r, prior, surrogate)
    assert not np.isclose(ours.detach(), case[f"{surrogate}_loss_pubench"])


def test_labels_are_drawn_below_the_first_boundary_that_a_row_is_not_above() -> None:
    case = GROUPS["fence"]
    alphas, votes = case["alpha"].tolist(), tensor(case["sign"]) > 0
    close(boundaries(len(alphas)), alphas)
    ends = [0.0, *alphas, 1.0]
    close([low for low, _ in pairwise(ends)], case["low"])
    close([high for _, high in pairwise(ends)], case["high"])
    interval = case["interval_first_crossing"]
    draws = tensor(case["uniform"][interval, np.arange(len(interval))])
    labels = fence_labels(votes, alphas, draws)
    close(labels, case["label_first_crossing"])
    np.testing.assert_array_equal(np.searchsorted(alphas, labels.numpy(), side="right"), interval)
    assert ((labels >= 0) & (labels <= 1)).all()


def test_inconsistent_rows_cross_more_than_once_and_their_sum_is_no_probability() -> None:
    """An interval is active where the classifier below votes positive and the one above negative."""
    case = GROUPS["fence"]
    votes = np.pad(case["sign"] > 0, ((1, 1), (0, 0)))
    votes[0] = True
    active = votes[:-1] & ~votes[1:]
    np.testing.assert_array_equal(active, case["active"].astype(bool))
    np.testing.assert_array_equal(active.argmax(axis=0), case["interval_first_crossing"])
    drawn = case["low"][:, None] + (case["high"] - case["low"])[:, None] * case["uniform"]
    close((active * drawn).sum(axis=0), case["sum"])
    consistent = active.sum(axis=0) == 1
    close(case["sum"][consistent], case["label_first_crossing"][consistent])
    assert case["sum"][~consistent].max() > 1


def test_the_trends_that_pu_bench_puts_in_place_of_the_fence_are_inverted() -> None:
    """Its labels are 1 up to the natural break, where trends are those of negatives."""
    case = GROUPS["trend"]
    rise = np.diff(case["scores"], axis=0)
    value = np.log1p(rise + rise**2 / 2).mean(axis=0)
    close(value, case["value"])
    ascending = np.sort(value)
    costs = [sum(part.var() * len(part) for part in np.split(ascending, [k])) for k in range(1, len(ascending))]
    close(ascending[int(np.argmin(costs))], case["break"])
    np.testing.assert_array_equal(case["value"] <= case["break"], case["pubench_label"].astype(bool))


# -------------------------------------------------------------------- the final network


@pytest.mark.parametrize("name", FINAL)
def test_losses_and_gradients_of_the_final_network(name: str) -> None:
    case = GROUPS[name]
    p, weak, strong = (tensor(case[f"logit_{which}"]).requires_grad_() for which in ("p_weak", "u_weak", "u_strong"))
    trust, temperature, threshold = (float(case[which]) for which in ("lambda", "temperature", "threshold"))
    q = opinion(weak, temperature)
    close(q, case["sharpened"])
    np.testing.assert_array_equal(q > 0.5, case["hard"].astype(bool))
    labels = tensor(case["stage1_label"])
    close(trust * (q > 0.5).double() + (1 - trust) * labels, case["target"])
    losses = final_losses(p, weak, strong, labels, trust, temperature, threshold)
    for loss, array in ((losses.positive, "l"), (losses.weak, "u_weak"), (losses.strong, "u_strong")):
        close(loss, case[f"loss_{array}"])
    total = losses.positive + float(case["lambda_u"]) * (losses.weak + losses.strong)
    total.backward()
    close(total, case["total"])
    for logits, array in ((p, "p"), (weak, "u_weak"), (strong, "u_strong")):
        close(logits.grad, case[f"grad_{array}"])
    np.testing.assert_array_equal(strong.grad != 0, case["mask"].astype(bool))
    close(losses.entropy, binary_entropy(weak).mean().detach())


def test_pu_bench_anneals_over_epochs_that_count_from_1() -> None:
    case = GROUPS["sched"]
    epochs = len(case["epoch"])
    close((case["epoch"] / epochs) ** 0.8, case["lambda_pubench"])
    close([ramps.linear(e, epochs, 0.6, 0.9) for e in case["epoch"]], case["threshold_pubench"])
    close([ramps.linear(e, epochs, 1.5, 0.5) for e in case["epoch"]], case["T_pubench"])


def test_every_array_is_of_a_kind_that_is_tested() -> None:
    assert all((RISKS, FINAL))
    assert set(GROUPS) == {*RISKS, *FINAL, "beta", "fence", "trend", "sched"}
    kinds = {f"{s}_{what}{whose}" for s in LOSSES for what in ("loss", "grad") for whose in ("", "_pubench")}
    assert all(set(GROUPS[name]) == {"logit", "n_p", "pi", "alpha", "beta", *kinds} for name in RISKS)
    assert set(GROUPS["beta"]) == {"alpha", "r", "pi", "table", "boundary"}
    fence = {"alpha", "sign", "uniform", "active", "low", "high", "sum"}
    assert set(GROUPS["fence"]) == {*fence, "label_first_crossing", "interval_first_crossing"}
    assert set(GROUPS["trend"]) == {"scores", "value", "break", "pubench_label"}
    inputs = {"logit_p_weak", "logit_u_weak", "logit_u_strong", "stage1_label"}
    options = {"lambda", "temperature", "threshold", "lambda_u"}
    targets = {"sharpened", "hard", "mask", "target", "total"}
    terms = {"loss_l", "loss_u_weak", "loss_u_strong", "grad_p", "grad_u_weak", "grad_u_strong"}
    assert all(set(GROUPS[name]) == inputs | options | targets | terms for name in FINAL)
