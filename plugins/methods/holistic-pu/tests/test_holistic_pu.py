"""Holistic-PU in the engine: its stages, views and pseudo-labels, presets, and inputs at the edge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pubench_holistic_pu import method as holistic
from pubench_holistic_pu.method import (
    Config,
    HolisticPU,
    pseudo_labels,
)
from pubench_testkit.testing import (
    MethodFacts,
    Trainer,
    ViewsAsked,
    fit_small,
    watch,
)
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from pubench.method import PUData, Run
from pubench_formulas.augmentation import weak_view

trained = Trainer(
    "holistic-pu",
    short=(
        "trend_epochs=3",
        "trend_steps=6",
        "epochs=3",
        "steps_per_epoch=6",
    ),
)


# -------------------------------------------------------------------- natural breaks


@pytest.mark.parametrize("value", [-0.3, 0.0, 0.3])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_equal_trends_make_all_rows_negative(value: float, n: int) -> None:
    assert not pseudo_labels(torch.full((n,), value), "constant").any()


def test_a_break_stays_where_too_few_ordinary_trends_are_left() -> None:
    """One row is below 0.2 / 9: it has no break of its own."""
    labels = pseudo_labels(torch.tensor([0.0, 0.1, 0.11, 0.5, 0.51]), "constant")
    np.testing.assert_array_equal(labels, [False, False, False, True, True])


def test_the_three_sigma_rule_leaves_out_what_is_far_from_the_mean() -> None:
    trends = torch.cat([torch.linspace(0.01, 0.02, 50), torch.tensor([5.0])])
    assert pseudo_labels(trends, "three-sigma").sum() == 26
    np.testing.assert_array_equal(pseudo_labels(trends, "constant"), pseudo_labels(trends, "three-sigma"))
    moderate = torch.tensor([0.0, 0.001, 0.1, 0.101])
    assert pseudo_labels(moderate, "three-sigma").sum() == 2
    assert pseudo_labels(moderate, "constant").sum() == 3


# -------------------------------------------------------------------- the two stages

#: Of a training on a small table, all of it in the test's hands.
SMALL: dict[str, Any] = {"trend_epochs": 3, "trend_steps": 4, "epochs": 4, "steps_per_epoch": 5, "batch_size": 8}


def fitted(**options: Any) -> tuple[HolisticPU, PUData]:
    return fit_small(HolisticPU, **{**SMALL, **options})


def test_pseudo_labels_of_unlabeled_rows_are_those_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the order of the batches, each row brings the label that its own trend gave it."""
    rows = watch(monkeypatch, Run, "_batch", lambda run, of: of)
    used = watch(monkeypatch, holistic, "pseudo_label_losses", lambda p, weak, strong, pseudo, *_: (rows[-1], pseudo))
    drawn = watch(monkeypatch, holistic, "pseudo_labels")
    _, data = fitted()
    (labels,) = (call.result for call in drawn)
    assert labels.shape == (data.n_unlabeled,)
    assert 0 < labels.sum() < data.n_unlabeled
    for of, pseudo in used:
        assert not data.labeled[of].any()
        np.testing.assert_array_equal(pseudo, labels[of - 10])


def test_trends_are_of_the_average_network_after_each_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watch(monkeypatch, holistic, "trend", lambda history: history)
    _, data = fitted()
    assert seen[0].shape == (3, data.n_unlabeled)
    assert ((seen[0] > 0) & (seen[0] < 1)).all()
    assert not torch.equal(seen[0][0], seen[0][1])


@pytest.mark.parametrize("decay", [0.0, 0.5, 1.0])
def test_the_average_starts_from_the_initial_parameters(monkeypatch: pytest.MonkeyPatch, decay: float) -> None:
    teachers: list[nn.Module] = []
    students: list[list[Tensor]] = []

    class Noted(AveragedModel):
        def update_parameters(self, model: nn.Module) -> None:
            super().update_parameters(model)
            teachers[:] = [self]
            students.append([parameter.detach().clone() for parameter in model.parameters()])

    monkeypatch.setattr(holistic, "AveragedModel", Noted)
    fitted(teacher_decay=decay)
    assert len(students) == 1 + 12
    expected = students[0]
    for student in students[1:]:
        expected = [decay * slow + (1 - decay) * fast for slow, fast in zip(expected, student, strict=True)]
    for ours, theirs in zip(teachers[0].parameters(), expected, strict=True):
        torch.testing.assert_close(ours.detach(), theirs, rtol=1e-5, atol=1e-6)


def test_pseudo_labels_count_from_nothing_upwards_by_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = watch(monkeypatch, holistic, "pseudo_label_losses", lambda *args: args[4])
    fitted()
    np.testing.assert_allclose(shares, np.repeat((np.arange(4) / 4) ** 0.8, 5))
    shares.clear()
    fitted(growth=0)
    assert shares == [1.0] * 20


def rates(monkeypatch: pytest.MonkeyPatch, **options: Any) -> list[float]:
    """Factor of the learning rate in each step of a short training."""
    found = watch(
        monkeypatch, Run, "step", lambda run, loss, optimizer, **_: optimizer.param_groups[0]["lr"] / Config().lr
    )
    fitted(**options)
    return found


def test_each_stage_has_a_schedule_of_its_own_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first: 25/15 of its steps, as officially. A second stage of 2 steps once set its rate to 0 after 3."""
    found = rates(monkeypatch, epochs=1, steps_per_epoch=2)
    np.testing.assert_allclose(found[:12], np.cos(7 * np.pi / 16 * np.arange(12) / (12 * 25 / 15)))
    np.testing.assert_allclose(found[12:], np.cos(7 * np.pi / 16 * np.arange(2) / 2))


def test_the_rate_of_the_first_stage_may_rise_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    for schedule in (1, 25 / 15):
        rising = rates(monkeypatch, trend_warm_up=1, trend_schedule=schedule)[:12]
        np.testing.assert_allclose(rising, np.arange(12) / 12)
    falling = np.cos(7 * np.pi / 16 * np.arange(9) / (12 * 25 / 15 - 3))
    np.testing.assert_allclose(rates(monkeypatch, trend_warm_up=0.25)[:12], [0, 1 / 3, 2 / 3, *falling])


def test_only_weights_decay(monkeypatch: pytest.MonkeyPatch) -> None:
    made = watch(monkeypatch, Run, "optimizer")
    method, _ = fitted()
    assert len(made) == 2
    (_, (weights, rest)), options, _ = made[1]
    assert options == {"nesterov": True}
    assert rest["weight_decay"] == 0
    assert {id(p) for p in weights["params"]} == {id(method.net.stages[0][0].weight), id(method.net.head.weight)}
    assert len(weights["params"]) + len(rest["params"]) == len(list(method.net.parameters()))


def test_batch_norm_sees_one_batch_per_step_and_teachers_none_of_their_own() -> None:
    method, _ = fitted()
    assert int(method.net.state_dict()["stages.0.1.num_batches_tracked"]) == 20


def test_both_stages_pass_over_u_where_no_steps_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = watch(monkeypatch, Run, "paired_batches", lambda *_, steps, **more: steps)
    fitted(trend_steps=None, steps_per_epoch=None, batch_size=12)
    assert steps == [4] * 7  # 40 rows of U
    steps.clear()
    fitted(trend_steps=None)
    assert steps == [5] * 7


def views_of(x: Tensor, **options: Any) -> list[tuple[str, dict[str, Any]]]:
    """Which views a batch of these rows gets, and with what."""
    run = ViewsAsked()
    views = HolisticPU(Config(**options))._views(x, x, run)  # type: ignore[arg-type]
    assert sum(view is not None for view in views) == (4 if run.asked else 2)
    return run.asked


def test_each_loss_gets_the_views_of_its_own_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    class Marking:
        """Adds 1 to a weak view and 10 to a strong one."""

        def augment(self, view: object, rows: Tensor, **what: Any) -> Tensor:
            return rows + (1 if view is weak_view else 10)

    p, u = torch.full((2, 5), 100.0), torch.full((2, 5), 200.0)
    views = HolisticPU(Config())._views(p, u, Marking())  # type: ignore[arg-type]
    assert {name: float(view[0, 0]) for name, view in views._asdict().items()} == {
        "p": 101,
        "u": 201,
        "u_strong": 210,
        "p_strong": 110,
    }
    passed = watch(monkeypatch, HolisticPU, "_logits")
    seen = watch(monkeypatch, holistic, "trend_loss", lambda of_p, of_u, _: [*of_p, of_u])
    fitted()
    for (_, _, z), of_loss in zip(passed, seen, strict=False):  # the second stage has other losses
        assert all(one is other for one, other in zip((z.p, z.p_strong, z.u), of_loss, strict=True))


def test_views_are_those_of_the_card() -> None:
    image, vector = torch.zeros(2, 1, 8, 8), torch.zeros(2, 5)
    official = {"operations": "randaugment", "probability": 0.5, "magnitude": 0.9, "cutout": 0.5, "fill": 0.5}
    assert views_of(image) == [("weak_view", {})] * 2 + [("strong_view", official)] * 2
    unmirrored = [("weak_view", {"flip": False})] * 2 + [("strong_view", {"flip": False, **official})] * 2
    assert views_of(image, flip=False) == unmirrored
    half = [("autocontrast", {}), ("equalize", {"flip": False, "pad": 0})]
    one = {"number": 1, "probability": 0.5, "cutout": 0}
    gray = [("strong_view", {**moved, "operations": name, **one}) for name, moved in half for _ in range(2)]
    assert views_of(image, operations="gray") == [("weak_view", {})] * 2 + gray
    assert all(what["pad"] == 0 for _, what in views_of(image, operations="mri"))
    noisy = {"noise": 0.05, "drop": 0.05, "sign": 0.05}
    assert views_of(vector) == [("weak_view", {"noise": 0.01})] * 2 + [("strong_view", noisy)] * 2
    assert views_of(vector, augment=False) == []


# -------------------------------------------------------------------- presets, edges


class TestFacts(MethodFacts):
    trained = trained
    learns = (("method.preset=quick mechanism.c=0.3", 0.75),)
    options = (
        *("smoothing=0", "teacher_decay=0.5", "growth=0", "threshold=0.51", "augment=false", "trend_epochs=2"),
        *("trend_steps=3", "trend_schedule=1", "trend_warm_up=0.5", "steps_per_epoch=8"),
    )
    stages = (
        ("", ["trends"] * 3 + ["pseudo-labels"] * 3),
        ("trend_epochs=null trend_total=7 trend_steps=4", ["trends"] * 2 + ["pseudo-labels"] * 3),  # two at least
        ("trend_epochs=null trend_total=40 trend_steps=4", ["trends"] * 10 + ["pseudo-labels"] * 3),
    )
    unselected = "trends"
    defaults = "official"
    compared_in = ("teacher_decay=0.9",)
    presets_in = ("trend_epochs=2", "trend_steps=2", "epochs=2", "steps_per_epoch=2")
