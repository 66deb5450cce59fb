"""Entropy, mixing, ramps, averages and counts against values worked out by hand or by enumeration."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from pubench_core.backbone import Backbone
from pubench_core.errors import RunFailed
from pubench_formulas import averaging, ramps
from pubench_formulas.averaging import Buffers
from pubench_formulas.counts import count_log_probabilities, expected_count, posterior_given_count
from pubench_formulas.entropy import binary_entropy
from pubench_formulas.mixing import forward_mixed, mix
from pubench_formulas.pnu import pnu_risk
from pubench_formulas.risks import Correction, pu_risk

# -------------------------------------------------------------------- entropy


@pytest.mark.parametrize(
    ("probability", "entropy"),
    [
        (0.5, math.log(2)),
        (0.75, math.log(4) - 0.75 * math.log(3)),
        (0.25, math.log(4) - 0.75 * math.log(3)),
        (0.9, math.log(10) - 0.9 * math.log(9)),
    ],
)
def test_the_entropy_of_a_probability(probability: float, entropy: float) -> None:
    logit = torch.tensor(math.log(probability / (1 - probability)), dtype=torch.float64)
    assert float(binary_entropy(logit)) == pytest.approx(entropy, abs=1e-14)


def test_saturated_logits_have_no_entropy_and_every_gradient_is_finite() -> None:
    logits = torch.tensor([-1e30, -1e4, -200.0, 0.0, 200.0, 1e4, 1e30], requires_grad=True)
    entropy = binary_entropy(logits)
    assert entropy.tolist() == pytest.approx([0, 0, 0, math.log(2), 0, 0, 0], abs=1e-7)
    entropy.sum().backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


# -------------------------------------------------------------------- mixing


def test_the_coefficient_is_the_share_of_the_row_itself() -> None:
    assert mix(torch.tensor([1.0, 4.0]), torch.tensor([5.0, 0.0]), 0.75).tolist() == [2.0, 3.0]
    per_row = torch.tensor([[1.0], [0.0], [0.5]])
    rows, partners = torch.tensor([[2.0, 4.0]] * 3), torch.tensor([[0.0, 8.0]] * 3)
    assert mix(rows, partners, per_row).tolist() == [[2.0, 4.0], [0.0, 8.0], [1.0, 6.0]]


def two_relus() -> Backbone:
    """relu(relu(x) - 1 / 4), of one feature."""

    class Shifted(nn.Module):
        def __init__(self, by: float) -> None:
            super().__init__()
            self.by = by

        def forward(self, x: Tensor) -> Tensor:
            return torch.relu(x - self.by)

    net = Backbone([Shifted(0.0), Shifted(0.25)], nn.Identity(), 1, 1)
    nn.init.ones_(net.head.weight)
    nn.init.zeros_(net.head.bias)
    return net


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (-1, 0.25),  # 3/4 of 1 and 1/4 of -1 are 1/2, and 1/2 - 1/4
        (0, 0.5),  # 3/4 of 1 and 1/4 of 0 are 3/4, and 3/4 - 1/4
        (1, 0.5625),  # 3/4 of 3/4 and 1/4 of 0
    ],
)
def test_rows_are_mixed_where_the_layer_says(layer: int, expected: float) -> None:
    found = forward_mixed(two_relus(), torch.tensor([[1.0]]), torch.tensor([[-1.0]]), 0.75, layer)
    assert found.tolist() == [expected]


# -------------------------------------------------------------------- the PNU risk


@pytest.mark.parametrize("correction", ["none", "ascent", "clamp"])
@pytest.mark.parametrize("eta", [-1.0, -0.25, 0.0, 0.5, 1.0])
def test_the_pnu_risk_is_a_mean_of_that_of_p_and_n_and_that_with_u(eta: float, correction: Correction) -> None:
    """π is .25 and the loss sigmoid, so that R_PN is (l(2) + 3 l(1)) / 4 with scores of 2 of P and -1 of N."""
    pu = partial(pu_risk, correction=correction)
    scores, labeled, negative = torch.tensor([2.0, -3.0]), torch.tensor([True, False]), torch.tensor([-1.0])
    found = pnu_risk(scores, labeled, negative, 0.25, eta, "sigmoid", pu)
    supervised = (torch.sigmoid(torch.tensor(-2.0)) + 3 * torch.sigmoid(torch.tensor(-1.0))) / 4
    with_u = pu(scores, labeled, 0.25) if eta > 0 else pu(torch.tensor([1.0, 3.0]), labeled, 0.75)
    for value, part in zip(found, with_u, strict=True):
        assert float(value) == pytest.approx(float((1 - abs(eta)) * supervised + abs(eta) * part))


# -------------------------------------------------------------------- ramps


@pytest.mark.parametrize(
    ("step", "linear", "cosine"),
    [
        (0, 1.0, 1.0),
        (2, 2.0, 3.0 - 2 * math.sqrt(0.5)),  # 5 - 4 (1 + cos 45°) / 2
        (4, 3.0, 3.0),
        (8, 5.0, 5.0),
        (16, 5.0, 1.0),  # twice the steps: the line stays, the cosine is back
    ],
)
def test_ramps_from_one_to_five_in_eight_steps(step: int, linear: float, cosine: float) -> None:
    assert ramps.linear(step, 8, 1.0, 5.0) == pytest.approx(linear)
    assert ramps.cosine(step, 8, 1.0, 5.0) == pytest.approx(cosine)


def test_a_linear_ramp_may_fall_and_waits_for_its_start() -> None:
    assert [ramps.linear(step, 4, 2.0, 0.0) for step in (-3, 0, 1, 3, 4, 9)] == [2.0, 2.0, 1.5, 0.5, 0.0, 0.0]


@pytest.mark.usefixtures("no_compiler")
def test_the_cosine_is_torchs_annealing_also_past_its_length() -> None:
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.5)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4, eta_min=0.1)
    for epoch in range(9):
        assert ramps.cosine(epoch, 4, 0.5, 0.1) == pytest.approx(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()


# -------------------------------------------------------------------- averages and best states


def normalized(value: float, mean: float, batches: int) -> nn.Sequential:
    """A linear layer of one weight, and a batch norm that has seen so many batches of such a mean."""
    net = nn.Sequential(nn.Linear(1, 1, bias=False), nn.BatchNorm1d(1, affine=False))
    nn.init.constant_(net[0].weight, value)
    net[1].running_mean.fill_(mean)
    net[1].num_batches_tracked.fill_(batches)
    return net


@pytest.mark.parametrize(("buffers", "mean", "batches"), [("average", 1.0, 7), ("copy", 4.0, 7), ("leave", 0.0, 2)])
def test_parameters_are_averaged_and_buffers_as_one_says(buffers: Buffers, mean: float, batches: int) -> None:
    teacher, student = normalized(1.0, 0.0, 2), normalized(3.0, 4.0, 7)
    averaging.update(teacher, student, 0.75, buffers=buffers)
    assert teacher[0].weight.item() == 1.5
    assert teacher[1].running_mean.item() == mean
    assert teacher[1].num_batches_tracked.item() == batches
    averaging.update(teacher, student, 0.75, buffers=buffers)
    assert teacher[0].weight.item() == 1.875
    assert (student[0].weight.item(), student[1].running_mean.item()) == (3.0, 4.0)


def test_the_best_state_is_the_first_of_the_highest_value() -> None:
    first, second = normalized(0.0, 0.0, 0), normalized(0.0, 0.0, 0)
    best, kept = averaging.Best(first, second), []
    for step, value in enumerate([1.0, 3.0, 2.0, math.nan, 3.0]):
        for module in (first, second):
            nn.init.constant_(module[0].weight, step)
            module[1].running_mean.fill_(step)
        kept.append(best.offer(value))
    assert kept == [True, True, False, False, False]
    best.restore()
    for module in (first, second):
        assert (module[0].weight.item(), module[1].running_mean.item()) == (1.0, 1.0)


def test_what_was_never_offered_cannot_be_put_back() -> None:
    best = averaging.Best(nn.Linear(1, 1))
    assert not best.offer(math.nan)
    with pytest.raises(RunFailed, match="no state was kept"):
        best.restore()


# -------------------------------------------------------------------- counts

Z = st.lists(st.floats(-6, 6), min_size=1, max_size=12)


def enumerated(logits: list[float]) -> tuple[list[float], list[list[float]]]:
    """P(C = k), and P(y_i = 1 and C = k) by k and i: all 2^n outcomes."""
    p = [1 / (1 + math.exp(-z)) for z in logits]
    law = [0.0] * (len(p) + 1)
    joint = [[0.0] * len(p) for _ in law]
    for outcome in itertools.product((0, 1), repeat=len(p)):
        chance = math.prod(q if y else 1 - q for q, y in zip(p, outcome, strict=True))
        law[sum(outcome)] += chance
        for i, y in enumerate(outcome):
            joint[sum(outcome)][i] += y * chance
    return law, joint


@settings(deadline=None, max_examples=30)
@given(logits=Z)
def test_the_law_and_the_posteriors_are_those_of_an_enumeration(logits: list[float]) -> None:
    law, joint = enumerated(logits)
    z = torch.tensor(logits, dtype=torch.float64)
    assert count_log_probabilities(z).exp().tolist() == pytest.approx(law, rel=1e-9)
    for k, together in enumerate(joint):
        expected = [chance / law[k] for chance in together]
        assert posterior_given_count(z, k).tolist() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [5.0, 100.0, 700.0])
def test_saturated_rows_have_finite_posteriors_that_sum_to_the_count(size: float, dtype: torch.dtype) -> None:
    z = (size * torch.linspace(-1, 1, 64, dtype=dtype)).requires_grad_()
    law = count_log_probabilities(z)
    assert law.dtype == dtype
    assert law.isfinite().all()
    assert float(law.detach().double().exp().sum()) == pytest.approx(1, abs=1e-5)
    for k in (0, 1, 30, 63, 64):
        (gradient,) = torch.autograd.grad(law[k], z, retain_graph=True)
        assert gradient.isfinite().all()
        posterior = posterior_given_count(z, k)
        assert posterior.dtype == dtype
        assert not posterior.requires_grad
        assert float(posterior.double().sum()) == pytest.approx(k, abs=1e-4)
        assert (posterior >= 0).all()
        assert (posterior <= 1 + 1e-6).all()


@pytest.mark.parametrize("n", [13, 64, 128, 200])
def test_the_law_of_many_rows_is_that_of_the_recursion_row_by_row(n: int) -> None:
    z = 3 * torch.randn(n, dtype=torch.float64, generator=torch.Generator().manual_seed(n))
    law = np.ones(1)
    for p in torch.sigmoid(z).tolist():
        law = np.convolve(law, (1 - p, p))
    np.testing.assert_allclose(count_log_probabilities(z).exp(), law, rtol=1e-9, atol=1e-300)
    for k in (1, n // 3, n):
        others = np.exp(count_log_probabilities(z[1:]).numpy())  # a row's posterior, from the law of the others
        expected = torch.sigmoid(z[0]).item() * others[k - 1] / law[k]
        assert posterior_given_count(z, k)[0].item() == pytest.approx(expected, rel=1e-9)


def test_a_share_of_the_rows_is_read_as_the_decimal_that_it_shows() -> None:
    assert expected_count(100, 0.29, "floor") == 29  # 100 x 0.29 is 28.999999999999996 in floating point
    assert (expected_count(10, 0.49), expected_count(10, 0.49, "floor")) == (5, 4)
    assert (expected_count(5, 0.5), expected_count(7, 0.5)) == (2, 4)  # halves: the even number
    assert [expected_count(8, share) for share in (0, 1)] == [0, 8]


def test_no_row_has_one_count_and_more_positives_than_rows_are_refused() -> None:
    assert count_log_probabilities(torch.empty(0)).tolist() == [0]
    for count in (-1, 4):
        with pytest.raises(ValueError, match=f"{count} of 3 rows cannot be positive"):
            posterior_given_count(torch.zeros(3), count)
