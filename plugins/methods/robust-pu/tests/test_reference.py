"""Robust-PU's pacing, weights and risks against numbers of the executed official code, and PU-Bench's variants, which
are recomputed here from the same parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from pubench_robust_pu.method import (
    HARDNESS,
    WEIGHTINGS,
    moved,
    nnpu_risk,
    row_weights,
    threshold_after,
    weighted_cross_entropy,
)
from pubench_testkit.testing import Case, Vectors
from torch import Tensor
from torch.nn import functional as F

from pubench_formulas.losses import SURROGATES, masked_mean
from pubench_formulas.risks import pu_risk

#: Unread: the pacing of PU-Bench, which is another one.
VECTORS = Vectors("robust-pu", tolerance=1e-10, case="[^_]+", unread="values_pubench")
#: The official schedules and weights hold thresholds in float32 in places.
SINGLE = 1e-6
PACINGS = range(len(VECTORS.arrays["sched"]["type"]))


def pacing_of(case: Case, number: int) -> tuple[Any, float, float, int]:
    """Kind, first and last threshold, and episodes until the last."""
    options = (case[name][number] for name in ("type", "init", "max", "grow"))
    pacing, start, end, grow = options
    return str(pacing), float(start), float(end), int(grow)


@VECTORS.cases("sched", number=PACINGS)
def test_thresholds_of_the_episodes(case: Case, number: int) -> None:
    """Past the end of convex pacing, the official sine falls again and ours stays."""
    pacing, start, end, grow = pacing_of(case, number)
    theirs = case["values"][number]
    calls = np.arange(len(theirs))
    ours = np.array([threshold_after(k, pacing, start, end, grow) for k in calls])
    assert (ours > 0).all()
    within = calls <= grow if pacing == "convex" else np.full(len(calls), True)
    case.close(ours[within], theirs[within])
    case.close(ours[~within], end)
    case.close(start + (end - start) * np.sin(np.pi * calls[~within] / (2 * grow)), theirs[~within])


@VECTORS.cases("spl", tolerance=SINGLE, kind=tuple(WEIGHTINGS))
def test_weights_fall_with_hardness(case: Case, kind: Any) -> None:
    ours = torch.stack([WEIGHTINGS[kind](case.tensor("x"), float(threshold)) for threshold in case["thresholds"]])
    case.expect(**{kind: ours})
    assert 0 <= ours.min() <= ours.max() <= 1 + 1e-12
    assert (ours.diff() <= 1e-12).all()


def rows_of(case: Case) -> tuple[Tensor, Tensor]:
    """Logits and the mask of labeled rows."""
    (z,) = case.leaves("logit")
    return z, case.tensor("label") == 1


@VECTORS.cases("c.")
def test_hardness_and_weights_of_an_episode(case: Case) -> None:
    z, labeled = rows_of(case)
    thresholds, temperatures = (tuple(case.number(f"{name}_{side}") for side in "pn") for name in ("thresh", "temper"))
    of_p, of_u = temperatures
    case.expect(hardness_pos=HARDNESS["logistic"](-z / of_p), hardness_neg=HARDNESS["logistic"](z / of_u))
    case.expect(**{f"hardness_neg_{kind}": HARDNESS[kind](z / of_u) for kind in ("sigmoid", "crps", "brier")})
    options: Any = {"thresholds": thresholds, "temperatures": temperatures}
    of_pubench = row_weights(z, labeled, **options, weighting="linear")
    case.expect(SINGLE, weight=row_weights(z, labeled, **options), weight_pubench_linear=of_pubench)


@VECTORS.cases("c.")
def test_the_loss_is_a_mean_over_rows(case: Case) -> None:
    (z, labeled), weights = rows_of(case), case.tensor("weight")
    loss = weighted_cross_entropy(z, labeled, weights)
    through_probabilities = F.binary_cross_entropy(torch.sigmoid(z), labeled.double(), weight=weights)
    of_pubench = loss * len(z) / (weights.sum() + 1e-6)
    case.expect(bce_stable=loss, bce_official=through_probabilities, bce_pubench=of_pubench)
    case.expect_gradients(loss, bce_grad=z)
    usual = z.abs() < 30
    theirs = F.binary_cross_entropy(torch.sigmoid(z[usual]), labeled[usual].double(), weight=weights[usual])
    case.close(weighted_cross_entropy(z[usual], labeled[usual], weights[usual]), theirs)


@VECTORS.cases("c.")
def test_the_focal_alternative_is_another_weight(case: Case) -> None:
    """Weights times 1 - p of the row's own label, through probabilities: nan if one of them is exactly 0 or 1."""
    (z, labeled), weights = rows_of(case), case.tensor("weight")
    own = torch.sigmoid(torch.where(labeled, z, -z)).detach()
    ours = weighted_cross_entropy(z, labeled, weights * (1 - own))
    assert ours.isfinite()
    if np.isnan(case["focal"]):
        assert ((torch.sigmoid(z) == 0) | (torch.sigmoid(z) == 1)).any()
    else:
        case.expect(1e-7, focal=ours)


@VECTORS.cases("nnpu.", surrogate=tuple(SURROGATES))
def test_the_risk_of_the_pre_training(case: Case, surrogate: Any) -> None:
    (z, labeled), prior, loss = rows_of(case), case.number("pi"), SURROGATES[surrogate]
    positive = prior * masked_mean(loss(z), labeled)
    negative = masked_mean(loss(-z), ~labeled) - prior * masked_mean(loss(-z), labeled)
    risk, plain = nnpu_risk(z, labeled, prior, surrogate), pu_risk(z, labeled, prior, surrogate=surrogate)
    ours = {"Rp": positive, "Rn": negative, "upu": plain.value, "loss": risk.objective}
    case.expect(**{f"{surrogate}_{name}": value for name, value in ours.items()})
    case.close(risk.value, positive + negative.clamp(min=0))
    case.expect_gradients(risk.objective, **{f"{surrogate}_grad": z})


@VECTORS.cases("phi")
def test_weights_move_row_by_row(case: Case) -> None:
    (first, second), momentum = case.tensors("w1", "w2"), case.number("phi")
    case.expect(w1=moved(None, first, momentum), result=moved(moved(None, first, momentum), second, momentum))
