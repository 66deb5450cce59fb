"""CVIR's ranking and loss against numbers of the official code, and the weighted loss of Wang et al."""

from __future__ import annotations

import numpy as np
from pubench_cvir.method import cvir_loss, n_ignored, provisional_negatives
from pubench_testkit.testing import Case, Vectors, joined
from torch import Tensor
from torch.nn import functional as F

from pubench_formulas.losses import masked_mean

#: Unread: numbers of the rows of a batch, and a batch that is skipped.
VECTORS = Vectors("cvir", tolerance=1e-10, unread="u_index|keep|step_none_kept")


def logit(outputs: Tensor) -> Tensor:
    """Of two outputs of the official code, the first is the positive class."""
    return outputs[:, 0] - outputs[:, 1]


def loss_of(case: Case, z_p: Tensor, z_u: Tensor, weight: float = 0.5) -> Tensor:
    return cvir_loss(*joined(z_p, z_u[case.tensor("kept_in_batch")]), weight)


@VECTORS.cases(having="n_removed")
def test_the_rows_with_the_highest_scores_are_ignored(case: Case) -> None:
    z, share = case.tensor("z_u"), case.number("alpha")
    case.expect(z_u=logit(case.tensor("outputs_u")))
    kept = provisional_negatives(z, share).numpy()
    ignored_negatives = case["y_u_is_negative"][~kept]
    mean = ignored_negatives.mean() if len(ignored_negatives) else np.nan
    case.expect(keep=kept, n_removed=(~kept).sum(), frac_negative_rejected=mean)
    assert n_ignored(len(z), share) == case["n_removed"]


@VECTORS.cases(having="loss")
def test_the_loss_of_one_logit(case: Case) -> None:
    z_p, z_u = case.leaves("z_p", "z_u")
    kept = case.tensor("kept_in_batch")
    of_u = masked_mean(F.softplus(z_u), kept)
    loss = loss_of(case, z_p, z_u)
    case.expect(loss_p=F.softplus(-z_p).mean(), loss_u=of_u, loss=loss)
    case.expect_gradients(loss, grad_z_p=z_p, grad_z_u=z_u)


@VECTORS.cases(having="loss")
def test_the_loss_of_two_outputs(case: Case) -> None:
    p, u = case.leaves("outputs_p", "outputs_u")
    loss = loss_of(case, logit(p), logit(u))
    case.expect(z_p=logit(p), z_u=logit(u), loss=loss)
    case.expect_gradients(loss, grad_outputs_p=p, grad_outputs_u=u)


@VECTORS.cases(having="loss")
def test_the_weights_of_wang_et_al(case: Case) -> None:
    case.expect(weighted_loss=loss_of(case, *case.tensors("z_p", "z_u"), case.number("weighted_prior")))
