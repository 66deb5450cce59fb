"""Dist-PU's losses, stages and schedules against numbers of the official code."""

from __future__ import annotations

import torch
from pubench_dist_pu.method import (
    LAST_RATE,
    Config,
    DistPU,
    clipped,
    distribution_risk,
    entropy_weight,
    soft_histogram,
    stored_targets,
)
from pubench_testkit.testing import Case, Vectors, joined, linear

from pubench_core.training.batches import Batch
from pubench_formulas import ramps
from pubench_formulas.entropy import binary_entropy
from pubench_formulas.losses import masked_mean
from pubench_formulas.mixing import mix

VECTORS = Vectors("dist-pu", tolerance=1e-9, double=True)
#: The vectors clip logits to [-10, 10]; every other number of theirs is an array.
CLIP = 10.0


@VECTORS.cases("risk_.*")
def test_the_risk_and_its_gradient(case: Case) -> None:
    p, u = case.leaves("logits_p", "logits_u")
    bins = int(case["num_bins"]) if "num_bins" in case else 1
    risk = distribution_risk(*joined(p, u), case.number("prior"), bins)
    case.expect(loss=risk)
    case.expect_gradients(risk, grad_logits_p=p, grad_logits_u=u)


@VECTORS.cases("risk_(?!bins).*")
def test_one_bin_compares_means(case: Case) -> None:
    logits, labeled = joined(*case.tensors("logits_p", "logits_u"))
    prior = case.number("prior")
    of_p, of_u = (masked_mean(torch.sigmoid(logits), mask) for mask in (labeled, ~labeled))
    case.expect(term_p=(1 - of_p) * labeled.any(), term_u=(of_u - prior).abs() * (~labeled).any())
    case.close(distribution_risk(logits, labeled, prior), case["term_p"] + case["term_u"] / prior / 2)


@VECTORS.cases("risk_bins.*")
def test_the_soft_histograms(case: Case) -> None:
    logits, labeled = joined(*case.tensors("logits_p", "logits_u"))
    of_p, of_u = (soft_histogram(torch.sigmoid(logits), mask, int(case["num_bins"])) for mask in (labeled, ~labeled))
    case.expect(hist_p=of_p, hist_u=of_u)
    case.close([of_p.sum(), of_u.sum()], 1)


@VECTORS.cases("warmup_.*")
def test_the_warm_up_clips_in_its_entropy_only(case: Case) -> None:
    p, u = case.leaves("logits_p", "logits_u")
    logits, labeled = joined(p, u)
    risk = distribution_risk(logits, labeled, case.number("prior"))
    uncertainty = masked_mean(binary_entropy(clipped(logits, CLIP)), ~labeled)
    loss = risk + case.number("co_mu") * uncertainty
    case.expect(risk=risk, entropy_u=uncertainty, loss=loss)
    case.expect_gradients(loss, grad_logits_p=p, grad_logits_u=u)


@VECTORS.cases("mixup_step_.*")
def test_a_step_of_the_second_stage(case: Case) -> None:
    weight_mixed_entropy, weight_mixup = case.number("co_mix_entropy"), case.number("co_mixup")
    method = DistPU(Config(weight_mixed_entropy=weight_mixed_entropy, weight_mixup=weight_mixup, clip=CLIP))
    method.net = net = linear(*case.tensors("weight", "bias"))  # type: ignore[assignment]
    x, labeled, row, store, order = case.tensors("x", "pu_label", "index", "pseudo_before", "perm")
    batch, coefficient = Batch(x, labeled == 1, row), case.number("lam")
    case.expect(x_mix=mix(x, x[order], coefficient), target=stored_targets(store, batch.labeled, row))

    entropy_now = case.number("co_entropy")
    losses, logits = method._losses(batch, store, case.number("prior"), order, coefficient, entropy_now)
    loss = torch.stack(list(losses.values())).sum()
    case.expect(risk=losses["risk"], entropy_u=masked_mean(binary_entropy(logits), ~batch.labeled), loss=loss)
    case.close(losses["entropy"], entropy_now * case["entropy_u"])
    case.close(losses["mixed entropy"], weight_mixed_entropy * case["entropy_mix"])
    case.close(losses["mixup"], weight_mixup * case["mixup_loss"])
    case.expect_gradients(loss, grad_weight=net[0].weight, grad_bias=net[0].bias)
    store[row] = torch.sigmoid(logits.detach())
    case.expect(pseudo_after=store)


@VECTORS.cases("co_entropy_schedule")
def test_the_weight_of_the_entropy_grows_along_a_quarter_cosine(case: Case) -> None:
    epochs, largest = int(case["pu_epochs"]), case.number("co_entropy_max")
    case.expect(values=[entropy_weight(largest, epoch, epochs) for epoch in range(epochs)])


@VECTORS.cases("lr_schedule")
def test_the_learning_rate_falls_along_half_a_cosine(case: Case) -> None:
    epochs, first = int(case["pu_epochs"]), float(case["values"][0])
    rates = [ramps.cosine(epoch, epochs, 1, LAST_RATE) for epoch in range(epochs)]
    case.close(rates, case["values"] / first)
