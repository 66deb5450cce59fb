"""LBE-PU's posteriors and losses against an independent implementation, PU-Bench's variants and an executed class of
Wang et al., whose floors and sums are recomputed here from the same parts.
"""

from __future__ import annotations

import numpy as np
import torch
from pubench_lbe_pu.method import balancing_weights, cross_entropy, label_weights, posterior, smallest
from pubench_testkit.testing import Case, Vectors, joined
from torch import Tensor

VECTORS = Vectors("lbe-pu", tolerance=1e-9, case="[^_]+", double=True)
#: PU-Bench adds 1e-8 to the sum of the weights of a batch.
PUBENCH_TOLERANCE = 1e-8


def parts(case: Case) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Logits of the classifier and of the propensity, who is labeled, and the posterior of the vectors."""
    z, r = case.leaves("logit_clf", "logit_eta")
    return z, r, case.tensor("s") == 1, case.tensor("posterior")


@VECTORS.cases("c.*")
def test_the_posterior_is_exact_for_saturated_logits(case: Case) -> None:
    z, r, labeled, _ = parts(case)
    q = posterior(z, r, labeled)
    case.expect(posterior=q)
    assert (q[labeled] == 1).all()


@VECTORS.cases("c.*", code=("pubench", "wang"))
def test_posteriors_of_other_codes_differ_from_ours_by_their_floor_only(case: Case, code: str) -> None:
    floor = {"pubench": 1e-8, "wang": 1e-10}[code]
    z, r, labeled, _ = parts(case)
    p, eta = torch.sigmoid(z), torch.sigmoid(r)
    positive = p * torch.where(labeled, eta, 1 - eta)
    total = positive + (1 - p) * ~labeled
    case.expect(**{f"posterior_{code}": positive / (total + floor)})
    usual = total > 1e6 * floor  # the floor decides in other rows
    case.close(posterior(z, r, labeled)[usual], case.tensor(f"posterior_{code}")[usual], 1e-6)


@VECTORS.cases("c.*")
def test_the_classifiers_loss(case: Case) -> None:
    z, _, _, q = parts(case)
    losses = cross_entropy(z, q)
    case.expect(clf_ce=losses, clf_loss_mean=losses.mean())
    case.expect_gradients(losses.mean(), clf_grad=z)


@VECTORS.cases("c.*")
def test_the_authors_floor_in_the_loss_matters_for_saturated_rows_only(case: Case) -> None:
    z, _, _, q = parts(case)
    p = torch.sigmoid(z)
    floored = -(q * torch.log(p + 1e-5) + (1 - q) * torch.log(1 - p + 1e-5))
    case.expect(clf_ce_eps1e5=floored)
    usual = z.abs() < 5
    case.close(cross_entropy(z, q)[usual], floored[usual], 2e-3)


@VECTORS.cases("c.*")
def test_the_rows_of_smallest_loss(case: Case) -> None:
    z, _, _, q = parts(case)
    losses = cross_entropy(z, q).detach()
    kept = smallest(losses, 0.8)  # keep80
    case.expect(keep80_count=len(kept), keep80_index=kept)
    # The vectors give this mean in the floored form, which differs from ours in saturated rows.
    means = (float(case.tensor("clf_ce_eps1e5")[kept].mean()), float(losses[kept].mean()))
    assert min(abs(mean - case.number("keep80_loss")) for mean in means) < case.tolerance


@VECTORS.cases("c.*")
def test_the_propensitys_loss(case: Case) -> None:
    _, r, labeled, q = parts(case)
    nll, eta = cross_entropy(r, labeled.double()), torch.sigmoid(r)
    loss = (q * nll).mean()
    floored = -(q * torch.log(torch.where(labeled, eta, 1 - eta) + 1e-5)).mean()
    case.expect(eta_nll=nll, eta_loss=loss, pubench_eta_loss=loss, eta_loss_eps1e5=floored)
    case.expect_gradients(loss, eta_grad=r)


@VECTORS.cases("c.*")
def test_the_loss_of_the_pre_training(case: Case) -> None:
    z, _, labeled, _ = parts(case)
    rho = float(labeled.double().mean())
    loss = (label_weights(labeled, rho) * cross_entropy(z, labeled.double())).mean()
    case.expect(rho=rho, pretrain_loss=loss)
    case.expect_gradients(loss, pretrain_grad=z)


@VECTORS.cases("c.*", tolerance=PUBENCH_TOLERANCE)
def test_class_balance_is_that_of_pu_bench(case: Case) -> None:
    z, r, labeled, q = parts(case)
    weights, labels = balancing_weights(labeled), labeled.double()
    case.close(weights.mean(), 1, 1e-9)
    loss = (weights * cross_entropy(z, q)).mean()
    case.expect(pubench_clf_loss=loss, pubench_pretrain_clf=(weights * cross_entropy(z, labels)).mean())
    case.expect_gradients(loss, pubench_clf_grad=z)
    case.expect(1e-9, pubench_pretrain_eta=cross_entropy(r, labels).mean())


@VECTORS.cases("wang.*", tolerance=1e-6)
def test_an_executed_step_of_wang_et_al(case: Case) -> None:
    """Its E-step is ours; its M-step sums, and leaves the posterior out of the propensity's loss, which we do not."""
    x, labeled = joined(*case.tensors("xp", "xu"))
    z_frozen, r_frozen, z, r = (x @ (w[:, 1] - w[:, 0]) for w in case.tensors("W_frozen", "We_frozen", "W", "We"))
    q = posterior(z_frozen, r_frozen, labeled)
    case.close(torch.stack([1 - q, q], dim=1), np.concatenate([case["post_p"], case["post_u"]]))
    nll, losses = cross_entropy(r, labeled.double()), cross_entropy(z, q)
    case.expect(loss=losses.sum() + nll.sum())
    assert not np.isclose(float(losses.sum() + (q * nll).sum()), case["loss"])
