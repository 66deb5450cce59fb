"""P3Mix-C against numbers of an independent implementation and of an executed update step of Wang et al."""

from __future__ import annotations

import numpy as np
import torch
from pubench_p3mix_c.method import (
    corrected_targets,
    heuristic_partners,
    marginal_rows,
    mixup_losses,
    most_uncertain,
)
from pubench_testkit.testing import Case, Vectors
from torch import Tensor

from pubench_formulas.entropy import binary_entropy
from pubench_formulas.mixing import mix

#: Unread: draws that a case does not use, averages of P3Mix-E, and a formula that its vectors have too.
VECTORS = Vectors("p3mix-c", tolerance=1e-10, case="[^_]+", unread="perm|hidx|idx[12]|epoch|alpha.*|layer")


def both(positive: Tensor) -> Tensor:
    """(B, 2) columns of the negative and the positive class."""
    return torch.stack([1 - positive, positive], dim=1)


def batch_of(case: Case) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs, which rows are labeled, probabilities (those of P rows are never used)."""
    n_p, x = int(case["n_P"]), case.tensor("x")
    probability = torch.cat([torch.full((n_p,), 0.5, dtype=torch.float64), case.tensor("score_U")])
    return x, torch.arange(len(x)) < n_p, probability


def drawn_partners(case: Case, pool: Tensor) -> tuple[Tensor, Tensor]:
    """Rows and targets of partners by the draws of the case: of rows for all, of the pool for U."""
    x, labeled, probability = batch_of(case)
    gamma = case.number("gamma")
    targets, marginal = corrected_targets(labeled, probability, gamma), marginal_rows(labeled, probability, gamma)
    rows = torch.cat(case.tensors("idx1", "idx2")).long()
    from_pool = torch.cat([torch.zeros_like(x[labeled]), pool[case.tensor("hidx").long()]])
    return heuristic_partners(x, targets, marginal, rows, from_pool)


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
def test_targets_partners_and_mixtures(case: Case) -> None:
    x, labeled, probability = batch_of(case)
    gamma, coefficient = case.number("gamma"), case.number("lambda")
    targets, marginal = corrected_targets(labeled, probability, gamma), marginal_rows(labeled, probability, gamma)
    case.expect(targets=both(targets), marginal=marginal[~labeled])
    case.close(coefficient, max(case.number("lambda_raw"), 1 - case.number("lambda_raw")))
    assert not marginal[labeled].any()
    own, partner = ~case.tensor("partner_is_pool").bool(), case.tensor("partner").long()
    if len(case["pool_x"]):
        pool = case.tensor("pool_x")
        partners = drawn_partners(case, pool)
        case.expect(partner_is_pool=marginal)
        case.close(partners[0][marginal], pool[partner[marginal]])
    else:
        order = case.tensor("perm").long()
        partners = (x[order], targets[order])
        case.expect(partner=order)
    case.close(partners[0][own], x[partner[own]])
    mixed = mix(targets, partners[1], coefficient)
    case.expect(mixed_x=mix(x, partners[0], coefficient), mixed_targets=both(mixed))


@VECTORS.cases("c.*", weights=(("pubench", 0.5, 0.05), ("wang", 1.0, 0.1)))
def test_losses_and_gradients(case: Case, weights: tuple[str, float, float]) -> None:
    which, weight_u, weight_h = weights
    _, labeled, _ = batch_of(case)
    (logits,) = case.leaves("logit_mixed")
    losses = mixup_losses(logits, case.tensor("mixed_targets")[:, 1], labeled)
    total = losses.positive + weight_u * losses.unlabeled + weight_h * losses.entropy
    case.expect(loss_P=losses.positive, loss_U=losses.unlabeled, loss_ent=losses.entropy, **{f"loss_{which}": total})
    case.expect_gradients(total, **{f"grad_{which}": logits})


@VECTORS.cases("x.*")
def test_a_whole_step_of_wang_et_al(case: Case) -> None:
    x, labeled, probability = batch_of(case)
    w, coefficient, everyone = case.tensor("W"), case.number("lambda"), case.tensor("P_all")
    direction = w[:, 1] - w[:, 0]
    case.expect(1e-6, score_U=torch.sigmoid(x @ direction)[~labeled])
    pool = most_uncertain(everyone @ direction, len(case["pool_index"]))
    case.expect(pool_index=pool)
    partner_x, partner_targets = drawn_partners(case, everyone[pool])
    targets = corrected_targets(labeled, probability, case.number("gamma"))
    mixed_x, mixed = mix(x, partner_x, coefficient), mix(targets, partner_targets, coefficient)
    case.expect(mixed_x=mixed_x, mixed_targets=both(mixed))
    losses = mixup_losses(mixed_x @ direction, mixed, labeled)
    case.expect(1e-6, loss=losses.positive + losses.unlabeled + 0.1 * losses.entropy)
