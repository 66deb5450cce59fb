"""Dist-PU's losses, stages and schedules against numbers of the official code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from pubench_dist_pu.method import (
    LAST_RATE,
    Config,
    DistPU,
    clipped,
    distribution_risk,
    entropy_weight,
    mixup_loss,
    soft_histogram,
    stored_targets,
)
from pubench_testkit.testing import reference_arrays, reference_cases
from torch import Tensor, nn
from torch.nn import functional as F

from pubench_core.training.batches import Batch
from pubench_formulas import ramps
from pubench_formulas.entropy import binary_entropy
from pubench_formulas.losses import masked_mean
from pubench_formulas.mixing import mix

pytestmark = pytest.mark.reference

TOLERANCE = 1e-9
#: The vectors clip logits to [-10, 10]; every other number of theirs is an array.
CLIP = 10.0
CASES = dict(reference_cases("dist-pu"))
Case = dict[str, Any]
RISKS = [name for name in CASES if name.startswith("risk_")]
BINS = [name for name in RISKS if name.startswith("risk_bins")]
WARM_UPS = [name for name in CASES if name.startswith("warmup_")]
STEPS = [name for name in CASES if name.startswith("mixup_step_")]


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    """The vectors are float64; so is everything that is made on the way."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def close(ours: Tensor | float | None, theirs: Any) -> None:
    assert ours is not None
    value = ours.detach().numpy() if isinstance(ours, Tensor) else ours
    np.testing.assert_allclose(value, theirs, rtol=TOLERANCE, atol=TOLERANCE)


def leaves(case: Case) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Logits of P, of U, of both in one batch, and who is labeled."""
    p, u = (torch.from_numpy(case[f"logits_{side}"]).requires_grad_() for side in "pu")
    logits = torch.cat([p, u])
    return p, u, logits, torch.arange(len(logits)) < len(p)


def backward(loss: Tensor, p: Tensor, u: Tensor, case: Case) -> None:
    loss.backward()
    close(p.grad, case["grad_logits_p"])
    close(u.grad, case["grad_logits_u"])


@pytest.mark.parametrize("name", RISKS)
def test_the_risk_and_its_gradient(name: str) -> None:
    case = CASES[name]
    p, u, logits, labeled = leaves(case)
    risk = distribution_risk(logits, labeled, float(case["prior"]), int(case.get("num_bins", 1)))
    close(risk, case["loss"])
    backward(risk, p, u, case)


@pytest.mark.parametrize("name", sorted(set(RISKS) - set(BINS)))
def test_one_bin_compares_means(name: str) -> None:
    case = CASES[name]
    _, _, logits, labeled = leaves(case)
    means = {side: masked_mean(torch.sigmoid(logits), mask) for side, mask in (("p", labeled), ("u", ~labeled))}
    close((1 - means["p"]) * labeled.any(), case["term_p"])
    close((means["u"] - float(case["prior"])).abs() * (~labeled).any(), case["term_u"])
    close(distribution_risk(logits, labeled, float(case["prior"])), case["term_p"] + case["term_u"] / case["prior"] / 2)


@pytest.mark.parametrize("name", BINS)
def test_the_soft_histograms(name: str) -> None:
    case = CASES[name]
    _, _, logits, labeled = leaves(case)
    for side, mask in (("p", labeled), ("u", ~labeled)):
        histogram = soft_histogram(torch.sigmoid(logits), mask, int(case["num_bins"]))
        close(histogram, case[f"hist_{side}"])
        close(histogram.sum(), 1)


@pytest.mark.parametrize("name", WARM_UPS)
def test_the_warm_up_clips_in_its_entropy_only(name: str) -> None:
    case = CASES[name]
    p, u, logits, labeled = leaves(case)
    risk = distribution_risk(logits, labeled, float(case["prior"]))
    uncertainty = masked_mean(binary_entropy(clipped(logits, CLIP)), ~labeled)
    close(risk, case["risk"])
    close(uncertainty, case["entropy_u"])
    loss = risk + float(case["co_mu"]) * uncertainty
    close(loss, case["loss"])
    backward(loss, p, u, case)


class Linear(nn.Module):
    """x -> w x + b."""

    def __init__(self, weight: Any, bias: Any) -> None:
        super().__init__()
        self.weight, self.bias = (nn.Parameter(torch.from_numpy(values.copy())) for values in (weight, bias))

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)[:, 0]


@pytest.mark.parametrize("name", STEPS)
def test_a_step_of_the_second_stage(name: str) -> None:
    case = CASES[name]
    weight_mixed_entropy, weight_mixup = float(case["co_mix_entropy"]), float(case["co_mixup"])
    method = DistPU(Config(weight_mixed_entropy=weight_mixed_entropy, weight_mixup=weight_mixup, clip=CLIP))
    method.net = net = Linear(case["weight"], case["bias"])  # type: ignore[assignment]
    batch = Batch(*(torch.from_numpy(case[array]) for array in ("x", "pu_label", "index")))
    batch = batch._replace(labeled=batch.labeled == 1)
    store, order, coefficient = torch.from_numpy(case["pseudo_before"]), torch.from_numpy(case["perm"]), case["lam"]
    close(mix(batch.x, batch.x[order], float(coefficient)), case["x_mix"])
    close(stored_targets(store, batch.labeled, batch.row), case["target"])

    losses, logits = method._losses(
        batch, store, float(case["prior"]), order, float(coefficient), float(case["co_entropy"])
    )
    close(losses["risk"], case["risk"])
    close(losses["entropy"], case["co_entropy"] * case["entropy_u"])
    close(masked_mean(binary_entropy(logits), ~batch.labeled), case["entropy_u"])
    close(losses["mixed entropy"], weight_mixed_entropy * case["entropy_mix"])
    close(losses["mixup"], weight_mixup * case["mixup_loss"])
    loss = torch.stack(list(losses.values())).sum()
    close(loss, case["loss"])
    loss.backward()
    close(net.weight.grad, case["grad_weight"])
    close(net.bias.grad, case["grad_bias"])
    store[batch.row] = torch.sigmoid(logits.detach())
    close(store, case["pseudo_after"])


@pytest.mark.parametrize("name", STEPS)
def test_mixing_targets_is_mixing_cross_entropies(name: str) -> None:
    case = CASES[name]
    targets, order, g = torch.from_numpy(case["target"]), torch.from_numpy(case["perm"]), float(case["lam"])
    logits = torch.linspace(-3, 3, len(targets))
    two = [F.binary_cross_entropy(torch.sigmoid(logits), t) for t in (targets, targets[order])]
    close(mixup_loss(logits, targets, order, g), g * two[0].item() + (1 - g) * two[1].item())


def test_the_weight_of_the_entropy_grows_along_a_quarter_cosine() -> None:
    case = CASES["co_entropy_schedule"]
    epochs, largest = int(case["pu_epochs"]), float(case["co_entropy_max"])
    weights = [entropy_weight(largest, epoch, epochs) for epoch in range(epochs)]
    np.testing.assert_allclose(weights, case["values"], rtol=TOLERANCE, atol=TOLERANCE)


def test_the_learning_rate_falls_along_half_a_cosine() -> None:
    case = CASES["lr_schedule"]
    epochs, first = int(case["pu_epochs"]), float(case["values"][0])
    rates = [first * ramps.cosine(epoch, epochs, 1, LAST_RATE) for epoch in range(epochs)]
    np.testing.assert_allclose(rates, case["values"], rtol=TOLERANCE)


def test_every_array_is_used() -> None:
    used = {*RISKS, *WARM_UPS, *STEPS, "co_entropy_schedule", "lr_schedule"}
    assert set(CASES) == used
    assert {name.partition("__")[0] for name in reference_arrays("dist-pu")} == used | {"meta"}
