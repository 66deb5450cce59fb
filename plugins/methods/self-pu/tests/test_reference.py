"""Self-PU's losses, choices and weights against numbers of the executed official code, and of a second implementation
of its virtual step, which differentiates through the step.
"""

from __future__ import annotations

import numpy as np
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
from pubench_testkit.testing import Case, Vectors
from torch import Tensor, nn

from pubench_formulas.entropy import binary_entropy
from pubench_formulas.risks import pu_risk

#: Unread: two arrays that some cases do not use, and a formula of decays.
VECTORS = Vectors("self-pu", tolerance=1e-9, case="[^_]+", unread="clean_recommended|epoch|ema")
#: The official code adds 1e-10 inside its logarithms.
FLOORED = 1e-7


def rows_of(case: Case) -> tuple[Tensor, Tensor, float]:
    """Logits, the mask of labeled rows, and the prior."""
    (z,) = case.leaves("logit")
    return z, case.tensor("label") == 1, case.number("pi")


@VECTORS.cases("nn.")
def test_the_risk_without_weights(case: Case) -> None:
    z, labeled, prior = rows_of(case)
    positive = prior * torch.sigmoid(-z[labeled]).sum() / max(int(labeled.sum()), 1)
    case.expect(Rp=positive, Rn=pu_risk(z, labeled, prior).value - positive)
    risk = weighted_nnpu(z, labeled, prior)
    case.expect_gradients(risk.objective, grad=z)
    for found in (risk, pu_risk(z, labeled, prior, correction="ascent")):
        case.expect(loss=found.objective, report=found.value)


@VECTORS.cases("nn.")
def test_the_risk_with_weights(case: Case) -> None:
    z, labeled, prior = rows_of(case)
    weights = case.tensor("weight")
    risk = weighted_nnpu(z, labeled, prior, weights)
    case.expect(wloss=risk.objective)
    case.expect_gradients(risk.objective, wgrad=z)
    positive = prior * (weights * torch.sigmoid(-z))[labeled].sum() / max(int(labeled.sum()), 1)
    case.expect(wRn=-risk.objective if case["wRn"] < 0 else risk.objective - positive)


@VECTORS.cases("clean")
def test_clean_rows(case: Case) -> None:
    """Their cross-entropy is at most 23 per row, because of the floor; ours grows on."""
    (z,), positive = case.leaves("logit"), case.tensor("pseudo") == 1
    entropy = clean_loss(z, positive, "entropy")
    floored = -(torch.sigmoid(torch.where(positive, z, -z)) + 1e-10).log()
    case.expect(FLOORED, entropy=entropy, ce=floored.mean())
    case.expect_gradients(entropy, FLOORED, entropy_grad=z)
    usual = z.abs() < 15
    assert 0 < int(usual.sum()) < len(z)
    ours = clean_loss(z[usual], positive[usual], "pseudo-labels")
    case.close(ours, floored[usual].mean(), 1e-4)
    (gradient,) = torch.autograd.grad(ours * usual.sum() / len(z), z)
    case.close(gradient[usual], case.tensor("ce_grad")[usual], 1e-4)
    assert clean_loss(z, positive, "pseudo-labels") > case.number("ce")


@VECTORS.cases("cons")
def test_the_distance_to_the_teacher_is_that_of_probabilities(case: Case) -> None:
    """The official one is that of a softmax over a single column, and so 0."""
    student, teacher = case.tensors("student", "teacher")
    single = student[:, None].softmax(dim=1) - teacher[:, None].softmax(dim=1)
    case.expect(two_column=squared_distance(student, teacher), official_single_logit=single.square().mean())


@VECTORS.cases("ramp")
def test_the_ramp_of_its_weight(case: Case) -> None:
    epochs = case["epoch"].tolist()
    case.expect(
        weight=[consistency_weight(epoch, 0.3, 30, 400) for epoch in epochs],
        weight_pubench=[consistency_weight(epoch, 0.3, 0, 20) for epoch in epochs],
    )


@VECTORS.cases("mut")
def test_the_other_student_counts_if_the_pu_losses_are_near(case: Case) -> None:
    distance = squared_distance(*case.tensors("z1", "z2"))
    case.expect(aux=distance)
    for loss, accepted in zip(case.tensor("pu_loss"), case["accept"], strict=True):
        case.close(gated(distance, loss, 0.1), accepted * case["aux"])


@VECTORS.cases("sel.")
def test_the_choice_of_clean_rows(case: Case) -> None:
    """The official choice for k = 0 is all of U: the arrays hold it, and the correct choice as well."""
    unlabeled, everyone = np.flatnonzero(case["pu_label"] != 1), case["score"]
    progress = min(int(case["epoch"]) / 100, 1) if case["increasing"] else 1.0
    k = clean_count(len(unlabeled), progress, case.number("top"))
    case.expect(k=k)
    low, high = (unlabeled[side.numpy()] for side in most_decided(case.tensor("score")[unlabeled], k))
    if k == 0:
        assert len(low) == len(high) == len(case["clean_recommended"]) == 0
        case.expect(clean=unlabeled, pseudo_pos=unlabeled, noisy=np.flatnonzero(case["pu_label"] == 1))
        return
    clean = np.concatenate([low, high])
    noisy = np.setdiff1d(np.arange(len(everyone)), clean)
    # Rows may tie: then their scores are compared.
    for ours, theirs in ((clean, case["clean"]), (high, case["pseudo_pos"]), (noisy, case["noisy"])):
        if len(np.unique(everyone)) == len(everyone):
            np.testing.assert_array_equal(np.sort(ours), np.sort(theirs))
        np.testing.assert_array_equal(np.sort(everyone[ours]), np.sort(everyone[theirs]))


@VECTORS.cases("samp")
def test_the_order_of_noisy_rows(case: Case) -> None:
    stream = interleaved(*case.tensors("pid", "uid"))
    case.expect(sequence=stream)
    np.testing.assert_array_equal(np.flatnonzero(np.isin(stream, case["pid"])) % int(case["ratio"]), 0)
    assert len(stream) == len(case["pid"]) * case["ratio"]


def network(case: Case) -> nn.Module:
    """tanh(x W1 + b1) w2 + b2."""
    d, hidden = case["W1"].shape
    first, last = nn.Linear(d, hidden), nn.Linear(hidden, 1)
    net = nn.Sequential(first, nn.Tanh(), last, nn.Flatten(0)).double()
    with torch.no_grad():
        for parameter, array in (
            (first.weight, case.tensor("W1").T),
            (first.bias, case.tensor("b1")),
            (last.weight, case.tensor("w2")),
        ):
            parameter.copy_(array.reshape(parameter.shape))
        last.bias.fill_(case.number("b2"))
    return net


@VECTORS.cases("meta.", sign=("official", "paper_sign"))
def test_weights_from_the_virtual_step(case: Case, sign: str) -> None:
    """Derivatives along the meta gradient are those through the step; both official branches have one result."""
    net, x, meta = network(case), *case.tensors("X", "Xv")
    labeled, prior = case.tensor("Y") == 1, case.number("pi")
    z = net(x)
    case.expect(logit=z, meta_loss=meta_loss(net(meta)))
    moved = movements(net, z, meta)
    entropy_sign = -1.0 if sign == "official" else 1.0
    slopes = weight_slopes(z.detach(), labeled, moved, prior, rate=1e-3, entropy_sign=entropy_sign)
    np.testing.assert_allclose(slopes, case[f"grad_eps_{sign}"], rtol=1e-7, atol=1e-15)
    for limit, budget in (("n16", len(x) / 16), ("inf", float("inf"))):
        weights = calibrated_weights(slopes, labeled, budget)
        case.expect(FLOORED, **{f"w_{sign}_{branch}_budget_{limit}": weights for branch in ("branch1", "branch2")})
    if sign == "official":
        weights = calibrated_weights(slopes, labeled, len(x) / 16)
        pu = weighted_nnpu(z, labeled, prior, weights[:, 0]).objective
        entropy = (weights[:, 1] * binary_entropy(z)).mean()
        case.expect(final_pu=pu, final_entropy=entropy, final_total=pu + entropy)
