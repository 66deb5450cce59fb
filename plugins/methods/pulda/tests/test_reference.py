"""PULDA's losses, running means, steps and batches against numbers of the official code."""

from __future__ import annotations

import numpy as np
import torch
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
from pubench_testkit.testing import Case, Vectors, joined, linear, pu_table, run_on

from pubench_formulas.losses import masked_mean
from pubench_formulas.mixing import mix

VECTORS = Vectors("pulda", tolerance=1e-9, double=True)
#: The vectors clip logits of the second stage to [-10, 10].
CLIP = 10.0


def check_plain(case: Case, averages: Averages, smoothing: float, margin_smoothing: float) -> None:
    """The losses of one batch after such a past are those without running means."""
    prior, sharpness, margin = (case.number(name) for name in ("prior", "tmpr", "margin"))
    p, u = case.leaves("logits_p", "logits_u")
    batch = joined(p, u)
    aligned, _ = alignment_loss(*batch, prior, averages.score_u, sharpness=sharpness, smoothing=smoothing)
    two_way, _ = two_way_loss(*batch, prior, averages[1:], margin=margin, smoothing=margin_smoothing)
    case.expect(align_loss=aligned, two_way_loss=two_way, loss=aligned + two_way)
    case.expect_gradients(aligned + two_way, grad_logits_p=p, grad_logits_u=u)


@VECTORS.cases("plain_.*")
def test_a_first_batch_is_not_smoothed(case: Case) -> None:
    check_plain(case, Averages.unknown(), 0.85, 0.5)


@VECTORS.cases("plain_(?!no_).*")
def test_no_batch_of_both_kinds_is_smoothed_if_nothing_of_the_past_is_kept(case: Case) -> None:
    seen = Average(torch.tensor(0.3), torch.tensor(True))
    check_plain(case, Averages(seen, seen, seen), 0, 0)


@VECTORS.cases("plain_.*")
def test_the_parts_of_the_losses(case: Case) -> None:
    logits, labeled = joined(*case.tensors("logits_p", "logits_u"))
    probability = torch.sigmoid(logits)
    prior, margin = case.number("prior"), case.number("margin")
    on_p = masked_mean(1 - probability, labeled)
    on_u = distance(masked_mean(probability, ~labeled), prior, case.number("tmpr")) * (~labeled).any()
    case.expect(R_L=on_p, R_U=on_u, align_loss=2 * prior * on_p + on_u)
    p_plus = masked_mean(two_way_sigmoid(logits, margin), labeled)
    p_minus, u_minus = (masked_mean(two_way_sigmoid(-logits, margin), mask) for mask in (labeled, ~labeled))
    case.expect(C_P_plus=p_plus, C_P_minus=p_minus, C_U_minus=u_minus)
    case.expect(two_way_loss=prior * p_plus + distance(u_minus, prior * p_minus, 1.0))


@VECTORS.cases("ema_.*")
def test_running_means_over_calls(case: Case) -> None:
    averages, prior = Averages.unknown(), case.number("prior")
    on_u = {"sharpness": case.number("tmpr"), "smoothing": case.number("alpha_U")}
    apart = {"margin": case.number("margin"), "smoothing": case.number("alpha_CN")}
    for call in range(int(case["n_calls"])):
        p, u = case.leaves(f"logits_p_{call}", f"logits_u_{call}")
        aligned, score_u = alignment_loss(*joined(p, u), prior, averages.score_u, **on_u)
        two_way, negative = two_way_loss(*joined(p, u), prior, averages[1:], **apart)
        averages = Averages(score_u, *negative)
        case.expect(**{f"align_loss_{call}": aligned, f"two_way_loss_{call}": two_way})
        case.expect_gradients(aligned + two_way, **{f"grad_logits_p_{call}": p, f"grad_logits_u_{call}": u})
        for average, array in zip(averages, ("ema_u", "ema_c_p_minus", "ema_c_u_minus"), strict=True):
            assert bool(average.known) == bool(np.isfinite(case[f"{array}_{call}"]))
            assert not average.value.requires_grad
            if average.known:
                case.expect(**{f"{array}_{call}": average.value})


@VECTORS.cases("mixup_step_.*")
def test_a_step_of_the_second_stage(case: Case) -> None:
    method, net = PULDA(Config()), linear(*case.tensors("weight", "bias"))
    x, labeled, row, order, store = case.tensors("x", "pu_label", "index", "perm", "pseudo_before")
    labeled, coefficient = labeled == 1, case.number("lam")
    mixed_x, targets = mix(x, x[order], coefficient), stored_targets(store, labeled, row)
    case.expect(x_mix=mixed_x, target=targets)
    mixed, logits = (net(rows).clamp(-CLIP, CLIP) for rows in (mixed_x, x))
    losses, _ = method._aligned(logits, labeled, case.number("prior"), Averages.unknown())
    on_mixed = mixup_loss(mixed, targets, order, coefficient)
    loss = losses["alignment"] + losses["two-way"] + case.number("co_mixup") * on_mixed
    case.expect(align_loss=losses["alignment"], two_way_loss=losses["two-way"], mixup_loss=on_mixed, loss=loss)
    case.expect_gradients(loss, grad_weight=net[0].weight, grad_bias=net[0].bias)
    store[row] = torch.sigmoid(logits.detach())
    case.expect(pseudo_after=store)


@VECTORS.cases("sampler")
def test_one_epoch_has_as_many_batches_as_whole_ones_fit_into_u(case: Case) -> None:
    for n_p, n_u, p_size, u_size, batches, length in case["table"].tolist():
        config = Config(p_batch_size=p_size, batch_size=u_size)
        run = run_on(pu_table(torch.zeros(n_p + n_u, 1), n_p, "case-control", prior=0.5), config)
        found = list(PULDA(config)._batches(run))
        assert batches == length
        # The official sampler has none if U is smaller than a batch: no training.
        assert len(found) == max(1, batches), case["table"]
        for batch in found:
            assert (batch.labeled.sum(), (~batch.labeled).sum()) == (p_size, u_size)
            assert batch.labeled[:p_size].all()
        if batches:
            unlabeled = torch.cat([batch.row[p_size:] for batch in found])
            assert len(unlabeled.unique()) == len(unlabeled) == batches * u_size
