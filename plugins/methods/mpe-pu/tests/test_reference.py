"""Best bin estimation, ranking, losses and their alternation against numbers of the official code."""

from __future__ import annotations

import numpy as np
from pubench_mpe_pu.method import cvir_loss, discriminator_threshold, provisional_negatives
from pubench_testkit.testing import Case, Vectors, joined
from torch import Tensor
from torch.nn import functional as F

from pubench_formulas.bbe import best_bin

#: Unread: a true share, numbers of the rows of a batch, a batch that is skipped, and weights that it has not.
VECTORS = Vectors("mpe-pu", tolerance=1e-10, unread="true_alpha|u_index|keep|step_none_kept|weighted_.*")


def logit(outputs: Tensor) -> Tensor:
    """Of two outputs of the official code, the first is the positive class."""
    return outputs[:, 0] - outputs[:, 1]


@VECTORS.cases(having="p_probs")
def test_the_best_bin_and_all_others(case: Case) -> None:
    found = best_bin(case["p_probs"], case["u_probs"], delta=case.number("delta"), gamma=case.number("gamma"))
    case.expect(estimate=found.share, argmin=found.best)
    case.expect(candidate_index=found.position, candidate_estimate=found.estimate)
    if found.best < 0:
        assert case["lower"] == case["upper"] == found.share == 0  # the official code puts a 0 in their place
    else:
        case.expect(lower=found.estimate - found.width, upper=found.estimate + found.width)


@VECTORS.cases(having="n_removed")
def test_the_rows_with_the_highest_scores_are_ignored(case: Case) -> None:
    case.expect(z_u=logit(case.tensor("outputs_u")))
    kept = provisional_negatives(case.tensor("z_u"), case.number("alpha")).numpy()
    ignored_negatives = case["y_u_is_negative"][~kept]
    mean = ignored_negatives.mean() if len(ignored_negatives) else np.nan
    case.expect(keep=kept, n_removed=(~kept).sum(), frac_negative_rejected=mean)


def check_loss(case: Case, z_p: Tensor, z_u: Tensor) -> Tensor:
    """The loss is that of the vectors, and so are the two means in it, each over its rows."""
    loss = cvir_loss(*joined(z_p, z_u))
    case.expect(loss_p=F.softplus(-z_p).mean(), loss_u=F.softplus(z_u).mean(), loss=loss)
    return loss


@VECTORS.cases("warm_.*")
def test_a_step_of_the_warm_up(case: Case) -> None:
    p, u = case.leaves("outputs_p", "outputs_u")
    case.expect(z_p=logit(p), z_u=logit(u))
    loss = check_loss(case, logit(p), logit(u))
    case.expect_gradients(loss, grad_outputs_p=p, grad_outputs_u=u)


@VECTORS.cases(having="kept_in_batch")
def test_a_step_on_what_is_kept(case: Case) -> None:
    kept = case.tensor("kept_in_batch")
    p, u = case.leaves("outputs_p", "outputs_u")
    case.expect(z_p=logit(p), z_u=logit(u))
    case.expect_gradients(check_loss(case, logit(p), logit(u)[kept]), grad_outputs_p=p, grad_outputs_u=u)
    z_p, z_u = case.leaves("z_p", "z_u")
    case.expect_gradients(check_loss(case, z_p, z_u[kept]), grad_z_p=z_p, grad_z_u=z_u)


@VECTORS.cases("tedn_chain")
def test_estimates_and_rankings_alternate(case: Case) -> None:
    turns = sorted(name.removeprefix("alpha_hat_") for name in case.arrays if name.startswith("alpha_hat_"))
    assert len(turns) > 1
    for turn in turns:
        share = best_bin(case[f"val_p_probs_{turn}"], case[f"val_u_probs_{turn}"]).share
        kept = provisional_negatives(case.tensor(f"z_u_train_{turn}"), share)
        case.expect(**{f"alpha_hat_{turn}": share, f"keep_{turn}": kept})


@VECTORS.cases("pvu_threshold")
def test_the_threshold_of_the_discriminator(case: Case) -> None:
    case.expect(threshold=[discriminator_threshold(a, b) for a, b in zip(case["alpha"], case["beta"], strict=True)])
