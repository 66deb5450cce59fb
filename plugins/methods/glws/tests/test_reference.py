"""GLWS's posteriors, exact and as released, and its loss against numbers of the official code and an enumeration."""

from __future__ import annotations

import numpy as np
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


def test_the_cases_distinguish_the_posteriors() -> None:
    """They agree if no row or all rows are positive; otherwise the released ones are off and do not sum to k."""
    for case in VECTORS.select():
        exact, released, k = case["posterior_exact"], case["posterior_released"], int(case["k"])
        case.close(exact.sum(), k)
        if k in (0, len(exact)):
            case.close(released, exact)
        else:
            assert not np.allclose(released, exact, rtol=0, atol=1e-6)
            assert abs(released.sum() - k) > 1e-6
    assert {int(case["k"]) in (0, len(case["logits_u"])) for case in VECTORS.select()} == {True, False}


def test_every_array_is_read() -> None:
    VECTORS.assert_every_array_is_read()
