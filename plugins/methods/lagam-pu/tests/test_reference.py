"""LaGAM's losses and meta step against numbers of the executed official code, which differentiates through the step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pubench_lagam_pu.disambiguation import (
    better_labels,
    clean_outer,
    columns,
    inner_gradient,
    meta_gradient,
)
from pubench_lagam_pu.method import balanced_bce, contrast, learning_rate
from pubench_testkit.testing import reference_arrays
from torch import Tensor

from pubench_formulas import ramps
from pubench_formulas.mixing import mix

pytestmark = pytest.mark.reference

TOLERANCE = 1e-9
#: We add 1e-8 to the mass of a class, so that a batch without it has a loss.
MASSIVE = 1e-7
Case = dict[str, Any]


def grouped() -> dict[str, Case]:
    """Arrays are named ``<case>_<array>``."""
    found: dict[str, Case] = {}
    for name, values in reference_arrays("lagam-pu").items():
        case, separator, array = name.partition("_")
        if separator:
            found.setdefault(case, {})[array] = values
    return found


GROUPS = grouped()
LOSSES, CONTRASTS, STEPS = ([name for name in GROUPS if name[:-1] == kind] for kind in ("bce", "cont", "meta"))


def tensor(value: Any) -> Tensor:
    return torch.from_numpy(np.atleast_1d(np.asarray(value)))


def close(ours: Any, theirs: Any, tolerance: float = TOLERANCE) -> None:
    assert ours is not None
    ours = ours.detach().numpy() if isinstance(ours, Tensor) else ours
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("entropy", "suffix"), [(0.0, ""), (0.1, "_ent")])
@pytest.mark.parametrize("name", LOSSES)
def test_the_balanced_loss(name: str, entropy: float, suffix: str) -> None:
    """Where a class has no mass, theirs is nan."""
    case = GROUPS[name]
    z, labels = tensor(case["logit"])[:, 0].requires_grad_(), tensor(case["label"])
    loss = balanced_bce(z, labels, entropy)
    if f"loss{suffix}" in case:
        close(loss, case[f"loss{suffix}"], MASSIVE)
        close(torch.autograd.grad(loss, z)[0], case[f"grad{suffix}"][:, 0], MASSIVE)
    else:
        assert labels.sum(dim=0).min() == 0
        assert np.isnan(case[f"loss_official{suffix}"])
        close(loss, case[f"loss_eps{suffix}"])


@pytest.mark.parametrize("kind", ["inst", "clus", "clus_cut", "clus_cut_knn"])
@pytest.mark.parametrize("name", CONTRASTS)
def test_the_contrastive_loss(name: str, kind: str) -> None:
    case = GROUPS[name]
    q, k = (tensor(case[array]).requires_grad_() for array in ("q", "k"))
    cluster, above = tensor(case["cluster"]), tensor(case["logit"])[:, 0] > 0.5
    group = None if kind == "inst" else 2 * cluster + above if "cut" in kind else cluster
    near = int(case["knn"]) if "knn" in kind else 0
    loss = contrast(q, k, float(case["tau"]), group, near)
    close(loss, case[f"{kind}_loss"])
    for gradient, array in zip(torch.autograd.grad(loss, (q, k)), ("q", "k"), strict=True):
        close(gradient, case[f"{kind}_grad_{array}"])


@pytest.mark.parametrize("name", STEPS)
def test_the_meta_step_in_closed_form(name: str) -> None:
    case = GROUPS[name]
    x, held = (
        torch.relu(tensor(case[array]) @ tensor(case["fc_w"]).T + tensor(case["fc_b"])) for array in ("x", "x_val")
    )
    weight, bias, rate = tensor(case["cls_w"])[0], tensor(case["cls_b"]), float(case["meta_lr"])
    soft, positive = tensor(case["pos_label"]), tensor(case["y_val"]) == 1
    labels, z = columns(soft), x @ weight + bias
    close(balanced_bce(z, labels), case["inner_loss"], MASSIVE)
    step = inner_gradient(x, z, labels)
    close(step, case["inner_grad_w"][0], MASSIVE)
    virtual = weight - rate * step
    close(virtual, case["w_virtual"][0])
    after = held @ virtual + bias
    close(balanced_bce(after, columns(positive.double())), case["outer_loss"], MASSIVE)
    gradient = meta_gradient(x, z, labels, clean_outer(held, after, positive), rate)
    np.testing.assert_allclose(gradient, case["grad_eps"], rtol=1e-6, atol=1e-11)
    found = better_labels(gradient, soft == 1)
    np.testing.assert_array_equal(found, case["detected"])
    close(mix(soft, found, float(case["rho"])), case["updated_label"])


def test_mixed_labels_have_one_loss() -> None:
    case = GROUPS["mix"]
    z, soft, share = tensor(case["logit"])[:, 0].requires_grad_(), tensor(case["label"]), float(case["lambda"])
    other = soft[tensor(case["perm"])]
    loss = balanced_bce(z, columns(mix(soft, other, share)))
    close(loss, case["loss_official"], MASSIVE)
    close(torch.autograd.grad(loss, z)[0], case["grad_official"][:, 0], MASSIVE)
    of_pubench = mix(balanced_bce(z, columns(soft)), balanced_bce(z, columns(other)), share)
    close(of_pubench, case["loss_pubench"], MASSIVE)


def test_schedules() -> None:
    case = GROUPS["sched"]
    epochs = case["epoch"].tolist()
    close([learning_rate(epoch, 400, 1e-3, "steps") for epoch in epochs], case["lr"])
    close([learning_rate(epoch, 400, 1e-3, "cosine") for epoch in epochs], case["lr_cosine"])
    close([ramps.linear(epoch, 400, 0.95, 0.80) for epoch in epochs], case["rho"])
    assert {learning_rate(epoch, 400, 1e-3, "none") for epoch in epochs} == {1e-3}


def test_every_array_is_of_a_kind_that_is_tested() -> None:
    assert all((LOSSES, CONTRASTS, STEPS))
    assert set(GROUPS) == {*LOSSES, *CONTRASTS, *STEPS, "mix", "sched"}
