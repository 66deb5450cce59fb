"""P3Mix-E against numbers of an independent implementation and of an executed update step of Wang et al."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pubench_p3mix_e.method import (
    Partners,
    decay_after,
    heuristic_partners,
    marginal_rows,
    mixup_losses,
    most_uncertain,
)
from pubench_testkit.testing import reference_arrays
from torch import Tensor, nn

from pubench.method import Backbone
from pubench_formulas import averaging
from pubench_formulas.entropy import binary_entropy
from pubench_formulas.mixing import forward_mixed, mix

pytestmark = pytest.mark.reference
TOLERANCE = 1e-10
Case = dict[str, Any]


def grouped() -> dict[str, Case]:
    """Arrays are named ``<case>_<array>``."""
    found: dict[str, Case] = {}
    for name, values in reference_arrays("p3mix-e").items():
        case, separator, array = name.partition("_")
        if separator:
            found.setdefault(case, {})[array] = values
    return found


GROUPS = grouped()
POOLS, BATCHES, STEPS = ([name for name in GROUPS if name.startswith(kind)] for kind in ("pool", "c", "x"))


def tensor(value: Any) -> Tensor:
    return torch.from_numpy(np.atleast_1d(np.asarray(value)))


def close(ours: Any, theirs: Any, tolerance: float = TOLERANCE) -> None:
    assert ours is not None
    ours = ours.detach().numpy() if isinstance(ours, Tensor) else ours
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def both(positive: Tensor) -> np.ndarray:
    """(B, 2) columns of the negative and the positive class."""
    return torch.stack([1 - positive, positive], dim=1).numpy()


def batch_of(case: Case) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs, which rows are labeled, probabilities (those of P rows are never used)."""
    n_p = int(case["n_P"])
    labeled = torch.arange(len(case["x"])) < n_p
    probability = torch.cat([torch.full((n_p,), 0.5, dtype=torch.float64), tensor(case["score_U"])])
    return tensor(case["x"]), labeled, probability


def partners_of(case: Case, early: Tensor, pool: Tensor) -> Partners:
    """By the draws of the case: of rows for all, of the pool for U."""
    x, labeled, probability = batch_of(case)
    drawn = torch.cat([tensor(case["idx1"]), tensor(case["idx2"])]).long()
    from_pool = torch.cat([torch.zeros_like(x[labeled]), pool[tensor(case["hidx"]).long()]])
    marginal = marginal_rows(labeled, probability, float(case["gamma"]))
    return heuristic_partners(x, labeled.double(), early, marginal, drawn, from_pool)


@pytest.mark.parametrize("name", POOLS)
def test_the_pool_is_the_positives_of_highest_entropy(name: str) -> None:
    case = GROUPS[name]
    logits = tensor(case["logit"])
    close(binary_entropy(logits), case["entropy"])
    chosen = most_uncertain(logits, int(case["k"]))
    # Entropies are compared, because rows +z and -z tie up to rounding.
    close(binary_entropy(logits)[chosen], case["entropy"][case["index"]])
    if len(np.unique(case["entropy"].round(12))) == len(logits):
        np.testing.assert_array_equal(chosen, case["index"])


@pytest.mark.parametrize("name", BATCHES)
def test_partners_and_mixtures(name: str) -> None:
    case = GROUPS[name]
    x, labeled, probability = batch_of(case)
    targets, early = labeled.double(), tensor(case["teacher_prob"])
    coefficient = max(float(case["lambda_raw"]), 1 - float(case["lambda_raw"]))
    close(coefficient, case["lambda"])
    np.testing.assert_array_equal(both(targets), case["targets"])
    marginal = marginal_rows(labeled, probability, float(case["gamma"]))
    np.testing.assert_array_equal(marginal[~labeled], case["marginal"].astype(bool))
    assert not marginal[labeled].any()
    own = ~tensor(case["partner_is_pool"]).bool()
    partner = tensor(case["partner"]).long()
    if len(case["pool_x"]):
        partners = partners_of(case, early, tensor(case["pool_x"]))
        np.testing.assert_array_equal(marginal, ~own)
        np.testing.assert_array_equal(partners.x[marginal], tensor(case["pool_x"])[partner[marginal]])
    else:
        order = tensor(case["perm"]).long()
        partners = Partners(x[order], targets[order], early[order])
        np.testing.assert_array_equal(order, partner)
    np.testing.assert_array_equal(partners.x[own], x[partner[own]])
    close(mix(x, partners.x, coefficient), case["mixed_x"])
    close(both(mix(targets, partners.target, coefficient)), case["mixed_targets"])
    close(both(mix(early, partners.early, coefficient)), case["mixed_elr"])


@pytest.mark.parametrize("weights", [("pubench", 1.0, 0.01, 0.5), ("wang", 1.0, 0.5, 5.0)], ids=lambda w: w[0])
@pytest.mark.parametrize("name", BATCHES)
def test_losses_and_gradients(name: str, weights: tuple[str, float, float, float]) -> None:
    case = GROUPS[name]
    which, weight_u, weight_h, weight_e = weights
    _, labeled, _ = batch_of(case)
    logits = tensor(case["logit_mixed"]).requires_grad_()
    losses = mixup_losses(logits, tensor(case["mixed_targets"][:, 1]), tensor(case["mixed_elr"][:, 1]), labeled)
    for loss, array in zip(losses, ("loss_P", "loss_U", "loss_ent", "loss_elr"), strict=True):
        close(loss, case[array])
    total = losses.positive + weight_u * losses.unlabeled + weight_h * losses.entropy + weight_e * losses.early
    total.backward()
    close(total, case[f"loss_{which}"])
    close(logits.grad, case[f"grad_{which}"])


@pytest.mark.parametrize("name", STEPS)
def test_a_whole_step_of_wang_et_al(name: str) -> None:
    case = GROUPS[name]
    x, labeled, _ = batch_of(case)
    direction, of_teacher = (tensor(case[w][:, 1] - case[w][:, 0]) for w in ("W", "Wt"))
    close(torch.sigmoid(x @ direction)[~labeled], case["score_U"], 1e-6)
    everyone, coefficient = tensor(case["P_all"]), float(case["lambda"])
    pool = most_uncertain(everyone @ direction, len(case["pool_index"]))
    np.testing.assert_array_equal(pool, case["pool_index"])
    early = torch.sigmoid(x @ of_teacher)
    partners = partners_of(case, early, everyone[pool])
    mixed_x = mix(x, partners.x, coefficient)
    targets = mix(labeled.double(), partners.target, coefficient)
    remembered = mix(early, partners.early, coefficient)
    close(mixed_x, case["mixed_x"])
    close(both(targets), case["mixed_targets"])
    close(both(remembered), case["mixed_elr"], 1e-6)
    losses = mixup_losses(mixed_x @ direction, targets, remembered, labeled)
    total = losses.positive + losses.unlabeled + 0.5 * losses.entropy + 5 * losses.early
    close(total, case["loss"], 1e-6)


def test_the_decay_is_that_of_an_even_average_until_it_is_the_largest() -> None:
    """PU-Bench's paper code counts from 1: its epoch is our next one."""
    case = GROUPS["ema"]
    epochs = case["epoch"].tolist()
    close([decay_after(epoch, 0.997) for epoch in epochs], case["alpha"])
    close([decay_after(epoch + 1, 0.997) for epoch in epochs], case["alpha_pubench"])
    weight = nn.Parameter(torch.zeros(1))
    teacher, student = nn.ParameterList([weight]), nn.ParameterList([nn.Parameter(torch.zeros(1))])
    for epoch in range(9):
        with torch.no_grad():
            student[0].fill_(epoch)
        averaging.update(teacher, student, decay_after(epoch, 0.997), buffers="leave")
        assert weight.item() == pytest.approx(np.mean(range(epoch + 1)), abs=1e-5)


def test_hidden_layers_are_really_mixed() -> None:
    case = GROUPS["layer"]
    wa, wb, wo = (tensor(case[name]) for name in ("Wa", "Wb", "wo"))
    xa, xb, coefficient = tensor(case["xa"]), tensor(case["xb"]), float(case["lambda"])
    linear = [nn.Linear(*w.shape, bias=False, dtype=torch.float64) for w in (wa, wb)]
    net = Backbone([nn.Sequential(layer, nn.ReLU()) for layer in linear], nn.Identity(), wo.numel(), 1).double()
    with torch.no_grad():
        for layer, w in zip(linear, (wa, wb), strict=True):
            layer.weight.copy_(w.T)
        net.head.weight.copy_(wo[None])
        net.head.bias.zero_()
        for layer, array in ((-1, "mix_input"), (0, "mix_0"), (1, "mix_1")):
            logits = forward_mixed(net, xa, xb, coefficient, layer)
            close(logits, case[array])
            assert not np.allclose(logits, case["no_mix"])
        close(net(xa), case["no_mix"])


def test_every_array_is_of_a_kind_that_is_tested() -> None:
    assert all((POOLS, BATCHES, STEPS))
    assert set(GROUPS) == {*POOLS, *BATCHES, *STEPS, "ema", "layer"}
