"""P3Mix-C against numbers of an independent implementation and of an executed update step of Wang et al."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pubench_p3mix_c.method import (
    corrected_targets,
    heuristic_partners,
    marginal_rows,
    mixup_losses,
    most_uncertain,
)
from pubench_testkit.testing import reference_arrays
from torch import Tensor, nn

from pubench.method import Backbone
from pubench_formulas.entropy import binary_entropy
from pubench_formulas.mixing import forward_mixed, mix

pytestmark = pytest.mark.reference
TOLERANCE = 1e-10


def cases(letter: str, needed: str) -> list[tuple[str, dict[str, Any]]]:
    """Cases ``<letter><number>_...`` that have the array ``needed``."""
    arrays = reference_arrays("p3mix-c")
    names = sorted(n.removesuffix(f"_{needed}") for n in arrays if n.startswith(letter) and n.endswith(f"_{needed}"))
    assert names, f"no case of kind {letter}"
    return [(n, {k.removeprefix(f"{n}_"): v for k, v in arrays.items() if k.startswith(f"{n}_")}) for n in names]


def tensor(value: Any) -> Tensor:
    return torch.from_numpy(np.atleast_1d(np.asarray(value)))


def batch_of(case: dict[str, Any]) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs, which rows are labeled, probabilities (those of P rows are never used)."""
    n_p = int(case["n_P"])
    labeled = torch.arange(len(case["x"])) < n_p
    probability = torch.cat([torch.full((n_p,), 0.5, dtype=torch.float64), tensor(case["score_U"])])
    return tensor(case["x"]), labeled, probability


@pytest.mark.parametrize(("name", "case"), cases("pool", "index"), ids=lambda v: v if isinstance(v, str) else "")
def test_the_pool_is_the_positives_of_highest_entropy(name: str, case: dict[str, Any]) -> None:
    logits = tensor(case["logit"])
    np.testing.assert_allclose(binary_entropy(logits), case["entropy"], atol=TOLERANCE)
    chosen = most_uncertain(logits, int(case["k"]))
    # Entropies are compared, because rows +z and -z tie up to rounding.
    np.testing.assert_allclose(binary_entropy(logits)[chosen], case["entropy"][case["index"]], atol=TOLERANCE)
    if len(np.unique(case["entropy"].round(12))) == len(logits):
        np.testing.assert_array_equal(chosen, case["index"])


@pytest.mark.parametrize(("name", "case"), cases("c", "marginal"), ids=lambda v: v if isinstance(v, str) else "")
def test_targets_partners_and_mixtures(name: str, case: dict[str, Any]) -> None:
    x, labeled, probability = batch_of(case)
    gamma, coefficient, n_p = float(case["gamma"]), float(case["lambda"]), int(case["n_P"])
    targets = corrected_targets(labeled, probability, gamma)
    marginal = marginal_rows(labeled, probability, gamma)
    np.testing.assert_array_equal(targets, case["targets"][:, 1])
    np.testing.assert_array_equal(marginal[n_p:], case["marginal"].astype(bool))
    assert not marginal[:n_p].any()
    if len(case["pool_x"]):
        drawn = torch.cat([tensor(case["idx1"]), tensor(case["idx2"])]).long()
        from_pool = torch.cat([torch.zeros_like(x[:n_p]), tensor(case["pool_x"])[tensor(case["hidx"]).long()]])
        partners = heuristic_partners(x, targets, marginal, drawn, from_pool)
        np.testing.assert_array_equal(marginal, case["partner_is_pool"].astype(bool))
    else:
        order = tensor(case["perm"]).long()
        partners = (x[order], targets[order])
    np.testing.assert_allclose(mix(x, partners[0], coefficient), case["mixed_x"], atol=TOLERANCE)
    np.testing.assert_allclose(mix(targets, partners[1], coefficient), case["mixed_targets"][:, 1], atol=TOLERANCE)


@pytest.mark.parametrize("weights", [("pubench", 0.5, 0.05), ("wang", 1.0, 0.1)], ids=lambda w: w[0])
@pytest.mark.parametrize(("name", "case"), cases("c", "marginal"), ids=lambda v: v if isinstance(v, str) else "")
def test_losses_and_gradients(name: str, case: dict[str, Any], weights: tuple[str, float, float]) -> None:
    which, weight_u, weight_h = weights
    _, labeled, _ = batch_of(case)
    logits = tensor(case["logit_mixed"]).requires_grad_()
    losses = mixup_losses(logits, tensor(case["mixed_targets"][:, 1]), labeled)
    for loss, array in zip(losses, ("loss_P", "loss_U", "loss_ent"), strict=True):
        np.testing.assert_allclose(loss.item(), case[array], atol=TOLERANCE)
    total = losses.positive + weight_u * losses.unlabeled + weight_h * losses.entropy
    total.backward()
    np.testing.assert_allclose(total.item(), case[f"loss_{which}"], atol=TOLERANCE)
    np.testing.assert_allclose(logits.grad, case[f"grad_{which}"], atol=TOLERANCE)


@pytest.mark.parametrize(("name", "case"), cases("x", "loss"), ids=lambda v: v if isinstance(v, str) else "")
def test_a_whole_step_of_wang_et_al(name: str, case: dict[str, Any]) -> None:
    x, labeled, probability = batch_of(case)
    w, gamma, coefficient, n_p = tensor(case["W"]), float(case["gamma"]), float(case["lambda"]), int(case["n_P"])
    direction = w[:, 1] - w[:, 0]
    np.testing.assert_allclose(torch.sigmoid(x @ direction)[n_p:], case["score_U"], atol=1e-6)
    everyone = tensor(case["P_all"])
    pool = most_uncertain(everyone @ direction, len(case["pool_index"]))
    np.testing.assert_array_equal(pool, case["pool_index"])
    targets = corrected_targets(labeled, probability, gamma)
    marginal = marginal_rows(labeled, probability, gamma)
    drawn = torch.cat([tensor(case["idx1"]), tensor(case["idx2"])]).long()
    from_pool = torch.cat([torch.zeros_like(x[:n_p]), everyone[pool][tensor(case["hidx"]).long()]])
    partners = heuristic_partners(x, targets, marginal, drawn, from_pool)
    mixed_x, mixed_t = mix(x, partners.x, coefficient), mix(targets, partners.target, coefficient)
    np.testing.assert_allclose(mixed_x, case["mixed_x"], atol=TOLERANCE)
    np.testing.assert_allclose(mixed_t, case["mixed_targets"][:, 1], atol=TOLERANCE)
    losses = mixup_losses(mixed_x @ direction, mixed_t, labeled)
    np.testing.assert_allclose(losses.positive + losses.unlabeled + 0.1 * losses.entropy, case["loss"], atol=1e-6)


def test_hidden_layers_are_really_mixed() -> None:
    arrays = reference_arrays("p3mix-c")
    wa, wb, wo = (tensor(arrays[f"layer_{name}"]) for name in ("Wa", "Wb", "wo"))
    xa, xb, coefficient = tensor(arrays["layer_xa"]), tensor(arrays["layer_xb"]), float(arrays["layer_lambda"])
    linear = [nn.Linear(*w.shape, bias=False, dtype=torch.float64) for w in (wa, wb)]
    net = Backbone([nn.Sequential(layer, nn.ReLU()) for layer in linear], nn.Identity(), wo.numel(), 1).double()
    with torch.no_grad():
        for layer, w in zip(linear, (wa, wb), strict=True):
            layer.weight.copy_(w.T)
        net.head.weight.copy_(wo[None])
        net.head.bias.zero_()
        for layer, array in ((-1, "layer_mix_input"), (0, "layer_mix_0"), (1, "layer_mix_1")):
            logits = forward_mixed(net, xa, xb, coefficient, layer)
            np.testing.assert_allclose(logits, arrays[array], atol=TOLERANCE)
            assert not np.allclose(logits, arrays["layer_no_mix"])
