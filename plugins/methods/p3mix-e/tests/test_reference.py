"""P3Mix-E against numbers of an independent implementation and of an executed update step of Wang et al."""

from __future__ import annotations

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
from pubench_testkit.testing import Case, Vectors
from torch import Tensor, nn

from pubench.method import Backbone
from pubench_formulas import averaging
from pubench_formulas.entropy import binary_entropy
from pubench_formulas.mixing import forward_mixed, mix

#: Unread: draws that a case does not use.
VECTORS = Vectors("p3mix-e", tolerance=1e-10, case="[^_]+", unread="perm|hidx|idx[12]")


def both(positive: Tensor) -> Tensor:
    """(B, 2) columns of the negative and the positive class."""
    return torch.stack([1 - positive, positive], dim=1)


def batch_of(case: Case) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs, which rows are labeled, probabilities (those of P rows are never used)."""
    n_p, x = int(case["n_P"]), case.tensor("x")
    probability = torch.cat([torch.full((n_p,), 0.5, dtype=torch.float64), case.tensor("score_U")])
    return x, torch.arange(len(x)) < n_p, probability


def partners_of(case: Case, early: Tensor, pool: Tensor) -> Partners:
    """Partners by the draws of the case: of rows for all, of the pool for U."""
    x, labeled, probability = batch_of(case)
    drawn = torch.cat(case.tensors("idx1", "idx2")).long()
    from_pool = torch.cat([torch.zeros_like(x[labeled]), pool[case.tensor("hidx").long()]])
    marginal = marginal_rows(labeled, probability, case.number("gamma"))
    return heuristic_partners(x, labeled.double(), early, marginal, drawn, from_pool)


@VECTORS.cases("pool.*")
def test_the_pool_is_the_positives_of_highest_entropy(case: Case) -> None:
    logits = case.tensor("logit")
    entropy, chosen = binary_entropy(logits), most_uncertain(logits, int(case["k"]))
    case.expect(entropy=entropy)
    # Entropies are compared, because rows +z and -z tie up to rounding.
    case.close(entropy[chosen], case["entropy"][case["index"]])
    if len(np.unique(case["entropy"].round(12))) == len(logits):
        case.expect(index=chosen)


@VECTORS.cases("c.*")
def test_partners_and_mixtures(case: Case) -> None:
    x, labeled, probability = batch_of(case)
    targets, early = labeled.double(), case.tensor("teacher_prob")
    coefficient = max(case.number("lambda_raw"), 1 - case.number("lambda_raw"))
    marginal = marginal_rows(labeled, probability, case.number("gamma"))
    case.expect(**{"lambda": coefficient}, targets=both(targets), marginal=marginal[~labeled])
    assert not marginal[labeled].any()
    own, partner = ~case.tensor("partner_is_pool").bool(), case.tensor("partner").long()
    if len(case["pool_x"]):
        pool = case.tensor("pool_x")
        partners = partners_of(case, early, pool)
        case.expect(partner_is_pool=marginal)
        case.close(partners.x[marginal], pool[partner[marginal]])
    else:
        order = case.tensor("perm").long()
        partners = Partners(x[order], targets[order], early[order])
        case.expect(partner=order)
    case.close(partners.x[own], x[partner[own]])
    case.expect(
        mixed_x=mix(x, partners.x, coefficient),
        mixed_targets=both(mix(targets, partners.target, coefficient)),
        mixed_elr=both(mix(early, partners.early, coefficient)),
    )


@VECTORS.cases("c.*", weights=(("pubench", 1.0, 0.01, 0.5), ("wang", 1.0, 0.5, 5.0)))
def test_losses_and_gradients(case: Case, weights: tuple[str, float, float, float]) -> None:
    which, weight_u, weight_h, weight_e = weights
    _, labeled, _ = batch_of(case)
    (logits,) = case.leaves("logit_mixed")
    losses = mixup_losses(logits, case.tensor("mixed_targets")[:, 1], case.tensor("mixed_elr")[:, 1], labeled)
    total = losses.positive + weight_u * losses.unlabeled + weight_h * losses.entropy + weight_e * losses.early
    case.expect(loss_P=losses.positive, loss_U=losses.unlabeled, loss_ent=losses.entropy, loss_elr=losses.early)
    case.expect(**{f"loss_{which}": total})
    case.expect_gradients(total, **{f"grad_{which}": logits})


@VECTORS.cases("x.*")
def test_a_whole_step_of_wang_et_al(case: Case) -> None:
    x, labeled, _ = batch_of(case)
    direction, of_teacher = (w[:, 1] - w[:, 0] for w in case.tensors("W", "Wt"))
    everyone, coefficient = case.tensor("P_all"), case.number("lambda")
    case.expect(1e-6, score_U=torch.sigmoid(x @ direction)[~labeled])
    pool = most_uncertain(everyone @ direction, len(case["pool_index"]))
    case.expect(pool_index=pool)
    early = torch.sigmoid(x @ of_teacher)
    partners = partners_of(case, early, everyone[pool])
    mixed_x = mix(x, partners.x, coefficient)
    targets = mix(labeled.double(), partners.target, coefficient)
    remembered = mix(early, partners.early, coefficient)
    case.expect(mixed_x=mixed_x, mixed_targets=both(targets))
    losses = mixup_losses(mixed_x @ direction, targets, remembered, labeled)
    total = losses.positive + losses.unlabeled + 0.5 * losses.entropy + 5 * losses.early
    case.expect(1e-6, mixed_elr=both(remembered), loss=total)


@VECTORS.cases("ema")
def test_the_decay_is_that_of_an_even_average_until_it_is_the_largest(case: Case) -> None:
    """PU-Bench's paper code counts from 1: its epoch is our next one."""
    epochs = case["epoch"].tolist()
    case.expect(
        alpha=[decay_after(epoch, 0.997) for epoch in epochs],
        alpha_pubench=[decay_after(epoch + 1, 0.997) for epoch in epochs],
    )
    weight = nn.Parameter(torch.zeros(1))
    teacher, student = nn.ParameterList([weight]), nn.ParameterList([nn.Parameter(torch.zeros(1))])
    for epoch in range(9):
        with torch.no_grad():
            student[0].fill_(epoch)
        averaging.update(teacher, student, decay_after(epoch, 0.997), buffers="leave")
        assert weight.item() == pytest.approx(np.mean(range(epoch + 1)), abs=1e-5)


@VECTORS.cases("layer")
def test_hidden_layers_are_really_mixed(case: Case) -> None:
    wa, wb, wo, xa, xb = case.tensors("Wa", "Wb", "wo", "xa", "xb")
    layers = [nn.Linear(*w.shape, bias=False, dtype=torch.float64) for w in (wa, wb)]
    net = Backbone([nn.Sequential(layer, nn.ReLU()) for layer in layers], nn.Identity(), wo.numel(), 1).double()
    with torch.no_grad():
        for layer, w in zip(layers, (wa, wb), strict=True):
            layer.weight.copy_(w.T)
        net.head.weight.copy_(wo[None])
        net.head.bias.zero_()
    case.expect(no_mix=net(xa))
    for place, array in ((-1, "mix_input"), (0, "mix_0"), (1, "mix_1")):
        logits = forward_mixed(net, xa, xb, case.number("lambda"), place)
        case.expect(**{array: logits})
        assert not np.allclose(logits.detach(), case["no_mix"])
