"""LaGAM in the engine: who judges labels, what accumulates, presets, and inputs at the edge of the possible."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from pubench_lagam_pu import method as lagam
from pubench_lagam_pu.disambiguation import (
    columns,
    inner_gradient,
    meta_gradient,
    pu_outer,
)
from pubench_lagam_pu.method import Config, LaGAM, balanced_bce
from pubench_testkit.testing import MethodFacts, Trainer, ViewsAsked, watch, watch_state
from torch import Tensor

from pubench.method import Run
from pubench_core.errors import RequestError
from pubench_formulas.losses import sigmoid_loss

trained = Trainer(
    "lagam-pu",
    short=("epochs=3", "clusters=5", "restarts=2", "iterations=3", "steps_per_epoch=5"),
)


# -------------------------------------------------------------------- who judges labels


def blobs(n: int, share: float) -> tuple[Tensor, Tensor]:
    """Rows with 8 features around two centers, and which are positive."""
    generator = torch.Generator().manual_seed(4)
    positive = torch.arange(n) < share * n
    center = 0.7 * torch.where(positive, 1.0, -1.0)[:, None]
    return (center + torch.randn(n, 8, generator=generator, dtype=torch.float64)), positive


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_the_gradient_from_p_and_u_points_like_that_from_true_labels(share: float) -> None:
    """Where U is made of rows of P and of negatives in their shares, without any prior."""
    x, positive = blobs(2000, share)
    z = x.sum(dim=1) / 3 + 0.2
    p, u = x[positive], x
    rows, in_p = torch.cat([p, u]), torch.arange(len(p) + len(u)) < len(p)
    ours = pu_outer(rows, torch.cat([z[positive], z]), in_p)
    theirs = pu_outer(x, z, positive)  # negatives in place of U
    torch.testing.assert_close(ours, (1 - share) * theirs, rtol=1e-9, atol=1e-12)


def test_the_meta_gradient_is_that_through_the_step() -> None:
    x, positive = blobs(40, 0.4)
    held, of_p = blobs(30, 0.5)
    weight, bias, rate = torch.linspace(-1, 1, 8, dtype=torch.float64), 0.1, 0.3
    soft = torch.where(positive, 0.9, 0.2).double()
    shift = torch.zeros(40, 2, dtype=torch.float64, requires_grad=True)
    moving = weight.clone().requires_grad_()
    inner = balanced_bce(x @ moving + bias, columns(soft) + shift)
    (step,) = torch.autograd.grad(inner, moving, create_graph=True)
    after = held @ (moving - rate * step) + bias
    loss = sigmoid_loss(after[of_p]).mean() + sigmoid_loss(-after[~of_p]).mean()
    z = x @ weight + bias
    torch.testing.assert_close(inner_gradient(x, z, columns(soft)), step.detach(), rtol=1e-6, atol=1e-9)
    ours = meta_gradient(x, z, columns(soft), pu_outer(held, after.detach(), of_p), rate)
    torch.testing.assert_close(ours, torch.autograd.grad(loss, shift)[0], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("scheme", ["case-control", "single-training-set"])
def test_held_out_instances_are_trained_on_in_no_copy(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    held_out = watch(monkeypatch, LaGAM, "_hold_out")
    data = trained.shortly(f"data.scheme={scheme}").evaluator.problem.view(frozenset())
    rows, (p, u) = held_out[0].result
    assert data.labeled[p].all()
    assert not data.labeled[u].any()
    assert len(p) == int(0.2 * data.n_labeled)
    assert not torch.isin(data.instance[rows], data.instance[torch.cat([p, u])]).any()
    assert not torch.isin(data.instance[u], data.instance[data.labeled_rows]).any()
    assert len(torch.cat([data.instance[rows], data.instance[torch.cat([p, u])]]).unique()) == len(
        data.instance.unique()
    )


def test_lagam_with_true_labels_is_an_oracle() -> None:
    assert LaGAM.requires(Config()) == frozenset()
    assert LaGAM.requires(Config(oracle_support=True)) == {"truth"}
    result = trained.shortly("oracle_support=true")
    assert np.isfinite(result.scores["last"]["test"]).all()
    assert not np.array_equal(result.scores["last"]["test"], trained.last())


def test_a_single_labeled_positive_is_refused() -> None:
    with pytest.raises(RequestError, match="needs 2 of them, given 1"):
        trained.last("mechanism.c=0.002")


def test_a_single_unlabeled_row_that_is_no_copy_is_refused() -> None:
    """One is held out, and none would be left."""
    labeled = torch.tensor([True] * 4 + [False] * 5)
    instance = torch.tensor([0, 1, 2, 3, 0, 1, 2, 3, 4])
    data = SimpleNamespace(n_labeled=4, labeled_rows=torch.nonzero(labeled).flatten(), instance=instance)
    with pytest.raises(RequestError, match="needs 2 that are no copies of labeled ones, given 1"):
        LaGAM(Config()).check(data)  # type: ignore[arg-type]
    data.instance = torch.arange(9)
    LaGAM(Config()).check(data)  # type: ignore[arg-type]


def test_labels_accumulate_and_those_of_p_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """After n epochs of labels, a row's is at most what n steps towards 1 give, and above what one gives."""
    seen = watch(monkeypatch, LaGAM, "_better", lambda *args: (args[3].clone(), args[4]))
    trained.shortly("epochs=6", "warm_up=0", "steps_per_epoch=null", "batch_size=128")
    assert all((label[labeled] == 1).all() for label, labeled in seen)
    of_u = torch.stack([label[~labeled].max() for label, labeled in seen])
    per_epoch = of_u.view(6, -1).max(dim=1).values
    assert per_epoch[0] == 0
    assert (per_epoch.diff() > 0).all()
    assert 0.2 < per_epoch[-1] < 1


def test_neither_the_batch_norm_of_the_held_out_rows_nor_a_gradient_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    left_alone = watch_state(monkeypatch, LaGAM, "_better", lambda method, *_: method.net)
    better = watch(monkeypatch, LaGAM, "_better")
    trained.shortly("warm_up=0", "epochs=1")
    assert left_alone == [True] * 5
    assert not any(call.result.requires_grad for call in better)


def test_clusters_are_found_after_the_warm_up_only(monkeypatch: pytest.MonkeyPatch) -> None:
    clustered = watch(monkeypatch, lagam, "k_means", lambda points, *_, **__: points.clone())
    groups = watch(monkeypatch, lagam, "contrast", lambda *args: args[3] is not None)
    held_out = watch(monkeypatch, LaGAM, "_hold_out")
    trained.shortly()
    rows, _ = held_out[0].result
    assert [tuple(points.shape) for points in clustered] == [(len(rows), 128)] * 2
    for points in clustered:
        torch.testing.assert_close(points.norm(dim=1), torch.ones(len(points)))
    assert groups == [False] * groups.count(False) + [True] * 10


def views_of(x: Tensor, **options: Any) -> list[tuple[str, dict[str, Any]]]:
    """Which views a batch of these rows gets, and with what."""
    run = ViewsAsked()
    LaGAM(Config(**options))._views(SimpleNamespace(x=x), run)  # type: ignore[arg-type]
    return run.asked


def test_views_are_those_of_the_card_and_digits_are_not_mirrored() -> None:
    changes = {"operations": "randaugment", "number": 3, "cutout": (0, 0.5), "fill": 0.5}
    weak = {"padding": "zeros"}
    assert views_of(torch.zeros(2, 1, 8, 8)) == [("weak_view", weak), ("strong_view", {**weak, **changes})]
    assert trained.preset("pubench", "mnist")["flip"] is False
    still = {**weak, "flip": False}
    assert views_of(torch.zeros(2, 1, 8, 8), flip=False) == [
        ("weak_view", still),
        ("strong_view", {**still, **changes}),
    ]
    assert views_of(torch.zeros(2, 5)) == [("weak_view", {}), ("strong_view", {})]


def test_a_step_gets_the_labels_the_groups_and_the_mixed_rows_of_its_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two epochs of warm-up of eight, neighbors after the second: what reaches every loss, epoch by epoch."""
    kept = watch(monkeypatch, lagam.ramps, "linear", lambda step, *_: step)
    mixed = watch(monkeypatch, lagam, "mix", lambda one, other, share: (one, other, share))
    lost = watch(monkeypatch, lagam, "balanced_bce", lambda z, target, *_: (z.detach(), target))
    contrasted = watch(monkeypatch, lagam, "contrast", lambda q, k, temperature, group, near: (kept[-1], group, near))
    drawn = property(lambda run: SimpleNamespace(beta=lambda a, b: 0.3), lambda run, given: None)
    monkeypatch.setattr(Run, "numpy_rng", drawn, raising=False)
    sizes = ("epochs=8", "warm_up=0.25", "neighbors_from=0.25", "batch_size=16", "steps_per_epoch=12")
    trained.shortly(*sizes)
    assert kept == list(range(8))
    assert {share for _, _, share in mixed} == {0.7}
    of_labels, of_mixed, rows, targets = lost[::2], lost[1::2], mixed[::2], mixed[1::2]
    assert len(contrasted) == len(of_labels) == len(of_mixed) == len(rows) == len(targets)
    for (z, target), (_, blended), (_, _, _), (label, other, share), (epoch, group, near) in zip(
        of_labels, of_mixed, rows, targets, contrasted, strict=True
    ):
        torch.testing.assert_close(target, columns(label))
        torch.testing.assert_close(blended, columns(share * label + (1 - share) * other))
        assert (group is None) == (epoch < 2)
        assert (near > 0) == (epoch > 2)
        if group is None:
            assert label.sum() > 0
        else:
            assert torch.equal(group % 2 == 1, z > 0.5)
    assert not all(torch.equal(label, other) for label, other, _ in targets)
    warm = [epoch for epoch, _, _ in contrasted if epoch < 2]
    assert 0 < len(warm) < 2 * 12  # some batches of 16 have no labeled row


# -------------------------------------------------------------------- presets, edges


class TestFacts(MethodFacts):
    trained = trained
    learns = (("method.preset=quick epochs=4 mechanism.c=0.3", 0.8),)
    by = "pa"
    options = (
        *("schedule=cosine", "schedule=steps", "warm_up=0.7", "held_out_labeled=0.5", "held_out=0.2", "keep_end=0.1"),
        *("clusters=9", "restarts=1", "iterations=1", "points_per_cluster=10", "temperature=0.5", "neighbors=3"),
        *("neighbors_from=1", "mixup_alpha=1", "weight_mixed=0", "weight_entropy=0.1"),
    )
    defaults = "pubench"
    compared_in = ("lr=5e-3",)
    extremes = ("clusters=100000", "warm_up=1")
