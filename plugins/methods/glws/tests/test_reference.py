"""GLWS's posteriors, exact and as released, and its loss against numbers of the official code and an enumeration."""

from __future__ import annotations

from pubench_glws.method import Posterior, glws_loss, posteriors
from pubench_testkit.testing import Case, Vectors
from torch import Tensor

from pubench_formulas.counts import count_log_probabilities

VECTORS = Vectors("glws", tolerance=1e-9, case="[^_]+")
KINDS: tuple[Posterior, ...] = ("exact", "released")


def logit(outputs: Tensor) -> Tensor:
    """The one logit that each pair of outputs means."""
    return outputs[:, 1] - outputs[:, 0]


@VECTORS.cases(kind=KINDS)
def test_the_posterior_of_a_row_given_the_number_of_positives(case: Case, kind: Posterior) -> None:
    z_u = logit(case.tensor("logits_u"))
    case.expect(**{f"posterior_{kind}": posteriors(z_u, int(case["k"]), kind)})


@VECTORS.cases()
def test_the_probability_of_the_count_and_its_released_counterpart(case: Case) -> None:
    k, law = int(case["k"]), count_log_probabilities(logit(case.tensor("logits_u")))
    # Its automaton ends in one state per number up to k: the share of the last is a conditional probability.
    released = (law[k] - law[: k + 1].logsumexp(0)).exp()
    case.expect(prob_count_k=law[k].exp(), sup_pred_released=released)


@VECTORS.cases(kind=KINDS)
def test_the_loss_and_its_gradients(case: Case, kind: Posterior) -> None:
    p, u = case.leaves("logits_p", "logits_u")
    loss = glws_loss(logit(p), logit(u), posteriors(logit(u), int(case["k"]), kind))
    case.expect(**{f"loss_{kind}": loss})
    case.expect_gradients(loss, **{f"grad_u_{kind}": u}, grad_p_exact=p)  # the posterior is no part of the loss of P
