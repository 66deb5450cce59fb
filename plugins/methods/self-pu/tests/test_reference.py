"""Self-PU's losses, choices and weights against numbers of the executed official code, and of a second implementation
of its virtual step, which differentiates through the step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pubench_self_pu.calibration import calibrated_weights, meta_loss, movements, weight_slopes
from pubench_self_pu.method import (
    clean_count,
    clean_loss,
    consistency_weight,
    gated,
    interleaved,
    most_decided,
    squared_distance,
    weighted_nnpu,
)
from pubench_testkit.testing import reference_arrays
from torch import Tensor, nn

from pubench_formulas.entropy import binary_entropy
from pubench_formulas.risks import pu_risk

pytestmark = pytest.mark.reference

TOLERANCE = 1e-9
#: The official code adds 1e-10 inside its logarithms.
FLOORED = 1e-7
Case = dict[str, Any]


def grouped() -> dict[str, Case]:
    """Arrays are named ``<case>_<array>``."""
    found: dict[str, Case] = {}
    for name, values in reference_arrays("self-pu").items():
        case, separator, array = name.partition("_")
        if separator:
            found.setdefault(case, {})[array] = values
    return found


GROUPS = grouped()
RISKS, CHOICES, STEPS = ([name for name in GROUPS if name[:-1] == kind] for kind in ("nn", "sel", "meta"))


def tensor(value: Any) -> Tensor:
    return torch.from_numpy(np.atleast_1d(np.asarray(value)))


def close(ours: Any, theirs: Any, tolerance: float = TOLERANCE) -> None:
    assert ours is not None
    ours = ours.detach().numpy() if isinstance(ours, Tensor) else ours
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", RISKS)
def test_the_risk_without_weights(name: str) -> None:
    case = GROUPS[name]
    z, labeled, prior = tensor(case["logit"]).requires_grad_(), tensor(case["label"]) == 1, float(case["pi"])
    risk = weighted_nnpu(z, labeled, prior)
    close(risk.objective, case["loss"])
    close(risk.value, case["report"])
    close(torch.autograd.grad(risk.objective, z)[0], case["grad"])
    close(case["Rp"], prior * torch.sigmoid(-z[labeled]).sum().detach() / max(int(labeled.sum()), 1))
    close(case["Rp"] + case["Rn"], pu_risk(z, labeled, prior).value.detach())
    core = pu_risk(z, labeled, prior, correction="ascent")
    close(core.objective, case["loss"])
    close(core.value, case["report"])


@pytest.mark.parametrize("name", RISKS)
def test_the_risk_with_weights(name: str) -> None:
    case = GROUPS[name]
    z, labeled, prior = tensor(case["logit"]).requires_grad_(), tensor(case["label"]) == 1, float(case["pi"])
    weights = tensor(case["weight"])
    risk = weighted_nnpu(z, labeled, prior, weights)
    close(risk.objective, case["wloss"])
    close(torch.autograd.grad(risk.objective, z)[0], case["wgrad"])
    if case["wRn"] < 0:
        close(-risk.objective, case["wRn"])
    else:
        of_p = prior * (weights * torch.sigmoid(-z))[labeled].sum() / max(int(labeled.sum()), 1)
        close(risk.objective - of_p, case["wRn"])


def test_clean_rows() -> None:
    """Their cross-entropy is at most 23 per row, because of the floor; ours grows on."""
    case = GROUPS["clean"]
    z = tensor(case["logit"]).requires_grad_()
    positive = tensor(case["pseudo"]) == 1
    entropy = clean_loss(z, positive, "entropy")
    close(entropy, case["entropy"], FLOORED)
    close(torch.autograd.grad(entropy, z)[0], case["entropy_grad"], FLOORED)
    usual = z.abs() < 15
    assert 0 < int(usual.sum()) < len(z)
    floored = -(torch.sigmoid(torch.where(positive, z, -z)) + 1e-10).log()
    close(floored.mean(), case["ce"], FLOORED)
    ours = clean_loss(z[usual], positive[usual], "pseudo-labels")
    close(ours, floored[usual].mean().detach(), 1e-4)
    close(torch.autograd.grad(ours * usual.sum() / len(z), z)[0][usual], case["ce_grad"][usual], 1e-4)
    assert clean_loss(z, positive, "pseudo-labels") > float(case["ce"])


def test_the_distance_to_the_teacher_is_that_of_probabilities() -> None:
    """The official one is that of a softmax over a single column, and so 0."""
    case = GROUPS["cons"]
    student, teacher = tensor(case["student"]), tensor(case["teacher"])
    close(squared_distance(student, teacher), case["two_column"])
    single = student[:, None].softmax(dim=1) - teacher[:, None].softmax(dim=1)
    close(single.square().mean(), case["official_single_logit"])


def test_the_ramp_of_its_weight() -> None:
    case = GROUPS["ramp"]
    epochs = case["epoch"].tolist()
    close([consistency_weight(epoch, 0.3, 30, 400) for epoch in epochs], case["weight"])
    close([consistency_weight(epoch, 0.3, 0, 20) for epoch in epochs], case["weight_pubench"])


def test_the_other_student_counts_where_it_is_near_by_the_pu_loss() -> None:
    case = GROUPS["mut"]
    distance = squared_distance(tensor(case["z1"]), tensor(case["z2"]))
    close(distance, case["aux"])
    for loss, accepted in zip(tensor(case["pu_loss"]), case["accept"], strict=True):
        close(gated(distance, loss, 0.1), accepted * case["aux"])


def test_the_teachers_decay_is_that_of_an_even_average() -> None:
    case = GROUPS["ema"]
    close([min(1 - 1 / (passes + 1), 0.999) for passes in case["step"].tolist()], case["alpha"])


@pytest.mark.parametrize("name", CHOICES)
def test_the_choice_of_clean_rows(name: str) -> None:
    """Official for k = 0: all of U; the arrays of that case hold it, and next to them what is right."""
    case = GROUPS[name]
    unlabeled = np.flatnonzero(case["pu_label"] != 1)
    scores = tensor(case["score"])[unlabeled]
    progress = min(int(case["epoch"]) / 100, 1) if case["increasing"] else 1.0
    k = clean_count(len(unlabeled), progress, float(case["top"]))
    assert k == case["k"]
    low, high = (unlabeled[side.numpy()] for side in most_decided(scores, k))
    if k == 0:
        assert len(low) == len(high) == len(case["clean_recommended"]) == 0
        np.testing.assert_array_equal(case["clean"], unlabeled)
        np.testing.assert_array_equal(case["pseudo_pos"], unlabeled)
        np.testing.assert_array_equal(case["noisy"], np.flatnonzero(case["pu_label"] == 1))
        return
    clean = np.concatenate([low, high])
    noisy = np.setdiff1d(np.arange(len(case["score"])), clean)
    # Rows may tie, and their scores are compared then.
    for ours, array in ((clean, "clean"), (high, "pseudo_pos"), (noisy, "noisy")):
        if len(np.unique(case["score"])) == len(case["score"]):
            np.testing.assert_array_equal(np.sort(ours), np.sort(case[array]))
        np.testing.assert_array_equal(np.sort(case["score"][ours]), np.sort(case["score"][case[array]]))


def test_the_order_of_noisy_rows() -> None:
    case = GROUPS["samp"]
    stream = interleaved(tensor(case["pid"]), tensor(case["uid"]))
    np.testing.assert_array_equal(stream, case["sequence"])
    np.testing.assert_array_equal(np.flatnonzero(np.isin(stream, case["pid"])) % int(case["ratio"]), 0)
    assert len(stream) == len(case["pid"]) * case["ratio"]


def network(case: Case) -> nn.Module:
    """tanh(x W1 + b1) w2 + b2."""
    d, hidden = case["W1"].shape
    first, last = nn.Linear(d, hidden), nn.Linear(hidden, 1)
    net = nn.Sequential(first, nn.Tanh(), last, nn.Flatten(0)).double()
    with torch.no_grad():
        for parameter, array in ((first.weight, case["W1"].T), (first.bias, case["b1"]), (last.weight, case["w2"])):
            parameter.copy_(tensor(array).view(parameter.shape))
        last.bias.fill_(float(case["b2"]))
    return net


@pytest.mark.parametrize("sign", ["official", "paper_sign"])
@pytest.mark.parametrize("name", STEPS)
def test_weights_from_the_virtual_step(name: str, sign: str) -> None:
    """Derivatives along the meta gradient are those through the step; both official branches have one result."""
    case = GROUPS[name]
    net, x, meta = network(case), tensor(case["X"]), tensor(case["Xv"])
    labeled, prior = tensor(case["Y"]) == 1, float(case["pi"])
    z = net(x)
    close(z, case["logit"])
    close(meta_loss(net(meta)), case["meta_loss"])
    moved = movements(net, z, meta)
    slopes = weight_slopes(
        z.detach(), labeled, moved, prior, rate=1e-3, entropy_sign=-1.0 if sign == "official" else 1.0
    )
    np.testing.assert_allclose(slopes, case[f"grad_eps_{sign}"], rtol=1e-7, atol=1e-15)
    for limit, budget in (("n16", len(x) / 16), ("inf", float("inf"))):
        weights = calibrated_weights(slopes, labeled, budget)
        for branch in ("branch1", "branch2"):
            close(weights, case[f"w_{sign}_{branch}_budget_{limit}"], FLOORED)
    if sign == "official":
        weights = calibrated_weights(slopes, labeled, len(x) / 16)
        pu = weighted_nnpu(z, labeled, prior, weights[:, 0]).objective
        entropy = (weights[:, 1] * binary_entropy(z)).mean()
        close(pu, case["final_pu"])
        close(entropy, case["final_entropy"])
        close(pu + entropy, case["final_total"])


def test_every_array_is_of_a_kind_that_is_tested() -> None:
    assert all((RISKS, CHOICES, STEPS))
    assert set(GROUPS) == {*RISKS, *CHOICES, *STEPS, "clean", "cons", "ramp", "mut", "ema", "samp"}
    assert {bool(GROUPS[name]["Rn"] < 0) for name in RISKS} == {True, False}
