"""PULDA's losses, running means, steps and batches against numbers of the official code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from pubench_backbones.networks import mlp_wang
from pubench_pulda.method import (
    PULDA,
    Average,
    Averages,
    Config,
    alignment_loss,
    distance,
    mixup_loss,
    stored_targets,
    two_way_loss,
    two_way_sigmoid,
)
from pubench_testkit.testing import reference_arrays, reference_cases
from torch import Tensor, nn
from torch.nn import functional as F

from pubench_core.training.run import Run
from pubench_core.training.views import Features, PUData, PUPart
from pubench_formulas.losses import masked_mean
from pubench_formulas.mixing import mix

pytestmark = pytest.mark.reference

TOLERANCE = 1e-9
#: The vectors clip logits of the second stage to [-10, 10].
CLIP = 10.0
CASES = dict(reference_cases("pulda"))
Case = dict[str, Any]
PLAIN = [name for name in CASES if name.startswith("plain_")]
SEQUENCES = [name for name in CASES if name.startswith("ema_")]
STEPS = [name for name in CASES if name.startswith("mixup_step_")]


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    """The vectors are float64; so is everything that is made on the way."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def close(ours: Tensor | None, theirs: Any) -> None:
    assert ours is not None
    np.testing.assert_allclose(ours.detach().numpy(), theirs, rtol=TOLERANCE, atol=TOLERANCE)


def leaves(case: Case, call: str = "") -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Logits of P, of U, of both in one batch, and who is labeled."""
    p, u = (torch.from_numpy(case[f"logits_{side}{call}"]).requires_grad_() for side in "pu")
    logits = torch.cat([p, u])
    return p, u, logits, torch.arange(len(logits)) < len(p)


def check_plain(case: Case, averages: Averages, smoothing: float, margin_smoothing: float) -> None:
    """The losses of one batch after such a past are those without running means."""
    prior, sharpness, margin = (float(case[name]) for name in ("prior", "tmpr", "margin"))
    p, u, logits, labeled = leaves(case)
    aligned, _ = alignment_loss(logits, labeled, prior, averages.score_u, sharpness=sharpness, smoothing=smoothing)
    two_way, _ = two_way_loss(logits, labeled, prior, averages[1:], margin=margin, smoothing=margin_smoothing)
    close(aligned, case["align_loss"])
    close(two_way, case["two_way_loss"])
    close(aligned + two_way, case["loss"])
    (aligned + two_way).backward()
    close(p.grad, case["grad_logits_p"])
    close(u.grad, case["grad_logits_u"])


@pytest.mark.parametrize("name", PLAIN)
def test_a_first_batch_is_not_smoothed(name: str) -> None:
    check_plain(CASES[name], Averages.unknown(), 0.85, 0.5)


@pytest.mark.parametrize("name", [name for name in PLAIN if "_no_" not in name])
def test_where_nothing_of_the_past_is_kept_no_batch_of_both_kinds_is_smoothed(name: str) -> None:
    seen = Average(torch.tensor(0.3), torch.tensor(True))
    check_plain(CASES[name], Averages(seen, seen, seen), 0, 0)


@pytest.mark.parametrize("name", PLAIN)
def test_the_parts_of_the_losses(name: str) -> None:
    case = CASES[name]
    _, _, logits, labeled = leaves(case)
    probability = torch.sigmoid(logits)
    prior, margin = float(case["prior"]), float(case["margin"])
    close(masked_mean(1 - probability, labeled), case["R_L"])
    on_u = distance(masked_mean(probability, ~labeled), prior, float(case["tmpr"])) * (~labeled).any()
    close(on_u, case["R_U"])
    close(2 * prior * masked_mean(1 - probability, labeled) + on_u, case["align_loss"])
    p_plus = masked_mean(two_way_sigmoid(logits, margin), labeled)
    p_minus, u_minus = (masked_mean(two_way_sigmoid(-logits, margin), mask) for mask in (labeled, ~labeled))
    close(p_plus, case["C_P_plus"])
    close(p_minus, case["C_P_minus"])
    close(u_minus, case["C_U_minus"])
    close(prior * p_plus + distance(u_minus, prior * p_minus, 1.0), case["two_way_loss"])


@pytest.mark.parametrize("name", SEQUENCES)
def test_running_means_over_calls(name: str) -> None:
    case = CASES[name]
    averages, prior = Averages.unknown(), float(case["prior"])
    on_u = {"sharpness": float(case["tmpr"]), "smoothing": float(case["alpha_U"])}
    apart = {"margin": float(case["margin"]), "smoothing": float(case["alpha_CN"])}
    for call in range(int(case["n_calls"])):
        p, u, logits, labeled = leaves(case, f"_{call}")
        aligned, score_u = alignment_loss(logits, labeled, prior, averages.score_u, **on_u)
        two_way, negative = two_way_loss(logits, labeled, prior, averages[1:], **apart)
        averages = Averages(score_u, *negative)
        close(aligned, case[f"align_loss_{call}"])
        close(two_way, case[f"two_way_loss_{call}"])
        (aligned + two_way).backward()
        close(p.grad, case[f"grad_logits_p_{call}"])
        close(u.grad, case[f"grad_logits_u_{call}"])
        for average, array in zip(averages, ("ema_u", "ema_c_p_minus", "ema_c_u_minus"), strict=True):
            expected = case[f"{array}_{call}"]
            assert bool(average.known) == bool(np.isfinite(expected))
            assert not average.value.requires_grad
            if average.known:
                close(average.value, expected)


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
    method, net = PULDA(Config()), Linear(case["weight"], case["bias"])
    x, labeled, row, order = (torch.from_numpy(case[array]) for array in ("x", "pu_label", "index", "perm"))
    labeled, coefficient, store = labeled == 1, float(case["lam"]), torch.from_numpy(case["pseudo_before"])
    mixed_x, targets = mix(x, x[order], coefficient), stored_targets(store, labeled, row)
    close(mixed_x, case["x_mix"])
    close(targets, case["target"])
    mixed, logits = (net(rows).clamp(-CLIP, CLIP) for rows in (mixed_x, x))
    losses, _ = method._aligned(logits, labeled, float(case["prior"]), Averages.unknown())
    on_mixed = mixup_loss(mixed, targets, order, coefficient)
    close(losses["alignment"], case["align_loss"])
    close(losses["two-way"], case["two_way_loss"])
    close(on_mixed, case["mixup_loss"])
    loss = losses["alignment"] + losses["two-way"] + float(case["co_mixup"]) * on_mixed
    close(loss, case["loss"])
    loss.backward()
    close(net.weight.grad, case["grad_weight"])
    close(net.bias.grad, case["grad_bias"])
    store[row] = torch.sigmoid(logits.detach())
    close(store, case["pseudo_after"])


def run_of(n_p: int, n_u: int, p_size: int, u_size: int) -> Run[Config]:
    """A run over a table of n_p labeled and n_u unlabeled rows."""
    part = (Features(torch.zeros(n_p + n_u, 1)), torch.arange(n_p + n_u), torch.arange(n_p + n_u) < n_p, "case-control")
    return Run(
        config=Config(p_batch_size=p_size, batch_size=u_size),
        data=PUData(*part, validation=PUPart(*part), granted=frozenset(), prior=0.5, truth=None),
        seed=2,
        device=torch.device("cpu"),
        threads=1,
        build=lambda outputs: mlp_wang((1,), outputs),
    )


@pytest.mark.parametrize("row", reference_arrays("pulda")["sampler__table"].tolist(), ids=str)
def test_one_epoch_has_as_many_batches_as_whole_ones_fit_into_u(row: list[int]) -> None:
    n_p, n_u, p_size, u_size, batches, length = row
    run = run_of(n_p, n_u, p_size, u_size)
    found = list(PULDA(run.config)._batches(run))
    assert batches == length
    assert len(found) == max(1, batches)  # the official sampler has none where U is smaller than a batch: no training
    for batch in found:
        assert (batch.labeled.sum(), (~batch.labeled).sum()) == (p_size, u_size)
        assert batch.labeled[:p_size].all()
    if batches:
        unlabeled = torch.cat([batch.row[p_size:] for batch in found])
        assert len(unlabeled.unique()) == len(unlabeled) == batches * u_size


def test_every_array_is_used() -> None:
    used = {*PLAIN, *SEQUENCES, *STEPS, "sampler"}
    assert set(CASES) == used
    assert {name.partition("__")[0] for name in reference_arrays("pulda")} == used | {"meta"}
