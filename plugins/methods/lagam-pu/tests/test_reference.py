"""LaGAM's losses and meta step against numbers of the executed official code, which differentiates through the step."""

from __future__ import annotations

import numpy as np
import torch
from pubench_lagam_pu.disambiguation import better_labels, clean_outer, columns, inner_gradient, meta_gradient
from pubench_lagam_pu.method import balanced_bce, contrast, learning_rate
from pubench_testkit.testing import Case, Vectors

from pubench_formulas import ramps
from pubench_formulas.mixing import mix

VECTORS = Vectors("lagam-pu", tolerance=1e-9, case="[^_]+")
#: We add 1e-8 to the mass of a class, for batches without it.
MASSIVE = 1e-7


@VECTORS.cases("bce.*", suffix=("", "_ent"))
def test_the_balanced_loss(case: Case, suffix: str) -> None:
    """If a class has no mass, theirs is nan."""
    (logits,), labels = case.leaves("logit"), case.tensor("label")
    loss = balanced_bce(logits[:, 0], labels, 0.1 if suffix else 0.0)
    if f"loss{suffix}" in case:
        case.expect(MASSIVE, **{f"loss{suffix}": loss})
        case.expect_gradients(loss, MASSIVE, **{f"grad{suffix}": logits})
    else:
        assert labels.sum(dim=0).min() == 0
        assert np.isnan(case[f"loss_official{suffix}"])
        case.expect(**{f"loss_eps{suffix}": loss})


@VECTORS.cases("cont.*", kind=("inst", "clus", "clus_cut", "clus_cut_knn"))
def test_the_contrastive_loss(case: Case, kind: str) -> None:
    q, k = case.leaves("q", "k")
    cluster, above = case.tensor("cluster"), case.tensor("logit")[:, 0] > 0.5
    group = None if kind == "inst" else 2 * cluster + above if "cut" in kind else cluster
    near = int(case["knn"]) if "knn" in kind else 0
    loss = contrast(q, k, case.number("tau"), group, near)
    case.expect(**{f"{kind}_loss": loss})
    case.expect_gradients(loss, **{f"{kind}_grad_q": q, f"{kind}_grad_k": k})


@VECTORS.cases("meta.*")
def test_the_meta_step_in_closed_form(case: Case) -> None:
    x, held = (torch.relu(rows @ case.tensor("fc_w").T + case.tensor("fc_b")) for rows in case.tensors("x", "x_val"))
    weight, bias, rate = case.tensor("cls_w")[0], case.tensor("cls_b"), case.number("meta_lr")
    soft, positive = case.tensor("pos_label"), case.tensor("y_val") == 1
    labels, z = columns(soft), x @ weight + bias
    step = inner_gradient(x, z, labels)
    virtual = weight - rate * step
    after = held @ virtual + bias
    outer = balanced_bce(after, columns(positive.double()))
    case.expect(MASSIVE, inner_loss=balanced_bce(z, labels), inner_grad_w=step[None], outer_loss=outer)
    case.expect(w_virtual=virtual[None])
    gradient = meta_gradient(x, z, labels, clean_outer(held, after, positive), rate)
    np.testing.assert_allclose(gradient, case["grad_eps"], rtol=1e-6, atol=1e-11)
    found = better_labels(gradient, soft == 1)
    case.expect(detected=found, updated_label=mix(soft, found, case.number("rho")))


@VECTORS.cases("mix", tolerance=MASSIVE)
def test_mixed_labels_have_one_loss(case: Case) -> None:
    (logits,), soft, share = case.leaves("logit"), case.tensor("label"), case.number("lambda")
    z, other = logits[:, 0], soft[case.tensor("perm")]
    loss = balanced_bce(z, columns(mix(soft, other, share)))
    of_pubench = mix(balanced_bce(z, columns(soft)), balanced_bce(z, columns(other)), share)
    case.expect(loss_official=loss, loss_pubench=of_pubench)
    case.expect_gradients(loss, grad_official=logits)


@VECTORS.cases("sched")
def test_schedules(case: Case) -> None:
    epochs = case["epoch"].tolist()
    case.expect(
        lr=[learning_rate(epoch, 400, 1e-3, "steps") for epoch in epochs],
        lr_cosine=[learning_rate(epoch, 400, 1e-3, "cosine") for epoch in epochs],
        rho=[ramps.linear(epoch, 400, 0.95, 0.80) for epoch in epochs],
    )
    assert {learning_rate(epoch, 400, 1e-3, "none") for epoch in epochs} == {1e-3}
