"""Robust-PU's pacing, weights and risks against numbers of the executed official code, and PU-Bench's variants, which
are recomputed here from the same parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
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
from pubench_testkit.testing import reference_arrays
from torch import Tensor
from torch.nn import functional as F

from pubench_formulas.losses import SURROGATES, masked_mean
from pubench_formulas.risks import pu_risk

pytestmark = pytest.mark.reference

TOLERANCE = 1e-10
#: The official schedules and weights hold thresholds in float32 in places.
SINGLE = 1e-6
Case = dict[str, Any]


def grouped() -> dict[str, Case]:
    """Arrays are named ``<case>_<array>``."""
    found: dict[str, Case] = {}
    for name, values in reference_arrays("robust-pu").items():
        case, _, array = name.partition("_")
        if name != "meta":
            found.setdefault(case, {})[array or case] = values
    return found


GROUPS = grouped()
EPISODES, RISKS = ([name for name in GROUPS if name[:-1] == kind] for kind in ("c", "nnpu"))
PACINGS = range(len(GROUPS["sched"]["type"]))


def tensor(value: Any) -> Tensor:
    return torch.from_numpy(np.atleast_1d(np.asarray(value)))


def close(ours: Any, theirs: Any, tolerance: float = TOLERANCE) -> None:
    assert ours is not None
    ours = ours.detach().numpy() if isinstance(ours, Tensor) else ours
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("number", PACINGS)
def test_thresholds_of_the_episodes(number: int) -> None:
    """Past the end of convex pacing, the official sine falls again and ours stays."""
    case = {name: values[number] for name, values in GROUPS["sched"].items()}
    pacing, start, end, grow = str(case["type"]), float(case["init"]), float(case["max"]), int(case["grow"])
    calls = np.arange(len(case["values"]))
    ours = np.array([threshold_after(k, pacing, start, end, grow) for k in calls])  # type: ignore[arg-type]
    assert (ours > 0).all()
    within = calls <= grow if pacing == "convex" else np.full(len(calls), True)
    close(ours[within], case["values"][within])
    close(ours[~within], end)
    close(start + (end - start) * np.sin(np.pi * calls[~within] / (2 * grow)), case["values"][~within])


@pytest.mark.parametrize("number", PACINGS)
def test_pu_benchs_pacing_is_another_one_but_for_the_rising_line(number: int) -> None:
    """It has squares, square roots, powers of 2 for convex, concave, exp; const is at the end from the start on."""
    case = {name: values[number] for name, values in GROUPS["sched"].items()}
    pacing, start, end, grow = str(case["type"]), float(case["init"]), float(case["max"]), int(case["grow"])
    k = np.minimum(np.arange(len(case["values"])), grow) / grow
    shares = {"linear": k, "convex": k**2, "concave": np.sqrt(k), "exp": 2**k - 1, "const": k * 0 + 1}
    rises = start < end
    close(start + (end - start) * shares[pacing] if rises else k * 0 + end, case["values_pubench"])
    ours = [threshold_after(i, pacing, start, end, grow) for i in range(len(k))]  # type: ignore[arg-type]
    assert np.allclose(ours, case["values_pubench"]) == (pacing == "linear" and rises)


@pytest.mark.parametrize("kind", WEIGHTINGS)
def test_weights_fall_with_hardness(kind: str) -> None:
    case = GROUPS["spl"]
    hardness = tensor(case["x"])
    for threshold, theirs in zip(case["thresholds"], case[kind], strict=True):
        ours = WEIGHTINGS[kind](hardness, float(threshold))  # type: ignore[index]
        close(ours, theirs, SINGLE)
        assert 0 <= ours.min() <= ours.max() <= 1 + 1e-12
        assert (ours.diff() <= 1e-12).all()


def arguments(case: Case) -> tuple[Tensor, Tensor, dict[str, Any]]:
    """Logits, who is labeled, thresholds and temperatures."""
    return (
        tensor(case["logit"]).requires_grad_(),
        tensor(case["label"]) == 1,
        {which + "s": tuple(float(case[f"{name}_{side}"]) for side in "pn") for which, name in NAMES.items()},
    )


NAMES = {"threshold": "thresh", "temperature": "temper"}


@pytest.mark.parametrize("name", EPISODES)
def test_hardness_and_weights_of_an_episode(name: str) -> None:
    case = GROUPS[name]
    z, labeled, options = arguments(case)
    of_p, of_u = options["temperatures"]
    close(HARDNESS["logistic"](-z / of_p), case["hardness_pos"])
    close(HARDNESS["logistic"](z / of_u), case["hardness_neg"])
    for kind in ("sigmoid", "crps", "brier"):
        close(HARDNESS[kind](z / of_u), case[f"hardness_neg_{kind}"])
    close(row_weights(z, labeled, **options), case["weight"], SINGLE)
    close(row_weights(z, labeled, **options, weighting="linear"), case["weight_pubench_linear"], SINGLE)


@pytest.mark.parametrize("name", EPISODES)
def test_the_loss_is_a_mean_over_rows(name: str) -> None:
    case = GROUPS[name]
    z, labeled, _ = arguments(case)
    weights = tensor(case["weight"])
    loss = weighted_cross_entropy(z, labeled, weights)
    close(loss, case["bce_stable"])
    close(torch.autograd.grad(loss, z)[0], case["bce_grad"])
    through_probabilities = F.binary_cross_entropy(torch.sigmoid(z), labeled.double(), weight=weights)
    close(through_probabilities, case["bce_official"])
    usual = z.abs() < 30
    theirs = F.binary_cross_entropy(torch.sigmoid(z[usual]), labeled[usual].double(), weight=weights[usual])
    close(weighted_cross_entropy(z[usual], labeled[usual], weights[usual]), theirs.detach())
    close(loss * len(z) / (weights.sum() + 1e-6), case["bce_pubench"])


@pytest.mark.parametrize("name", EPISODES)
def test_the_focal_alternative_is_another_weight(name: str) -> None:
    """Weights times 1 - p of the row's own label, through probabilities: nan where one of them is exactly 0 or 1."""
    case = GROUPS[name]
    z, labeled, _ = arguments(case)
    weights = tensor(case["weight"])
    own = torch.sigmoid(torch.where(labeled, z, -z)).detach()
    ours = weighted_cross_entropy(z, labeled, weights * (1 - own))
    assert ours.isfinite()
    if np.isnan(case["focal"]):
        assert ((torch.sigmoid(z) == 0) | (torch.sigmoid(z) == 1)).any()
    else:
        close(ours, case["focal"], 1e-7)


@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize("name", RISKS)
def test_the_risk_of_the_pre_training(name: str, surrogate: Any) -> None:
    case = GROUPS[name]
    z, labeled, prior = tensor(case["logit"]).requires_grad_(), tensor(case["label"]) == 1, float(case["pi"])
    theirs = {array.removeprefix(f"{surrogate}_"): values for array, values in case.items()}
    loss = SURROGATES[surrogate]
    positive = prior * masked_mean(loss(z), labeled)
    negative = masked_mean(loss(-z), ~labeled) - prior * masked_mean(loss(-z), labeled)
    close(positive, theirs["Rp"])
    close(negative, theirs["Rn"])
    close(pu_risk(z, labeled, prior, surrogate=surrogate).value, theirs["upu"])
    risk = nnpu_risk(z, labeled, prior, surrogate)
    close(risk.objective, theirs["loss"])
    close(risk.value, theirs["Rp"] + max(theirs["Rn"], 0))
    close(torch.autograd.grad(risk.objective, z)[0], theirs["grad"])


def test_weights_move_row_by_row() -> None:
    case = GROUPS["phi"]
    first, second, momentum = tensor(case["w1"]), tensor(case["w2"]), float(case["phi"])
    close(moved(None, first, momentum), case["w1"])
    close(moved(moved(None, first, momentum), second, momentum), case["result"])


def test_every_array_is_of_a_kind_that_is_tested() -> None:
    assert EPISODES
    assert RISKS
    assert set(GROUPS) == {*EPISODES, *RISKS, "sched", "spl", "phi"}
    assert set(GROUPS["spl"]) == {"x", "thresholds", *WEIGHTINGS}
    assert any(GROUPS[name]["sigmoid_Rn"] < 0 for name in RISKS)
