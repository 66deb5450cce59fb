"""Self-PU in the engine: stages, candidates, what each student sees, presets, inputs at the edge of the possible."""

from __future__ import annotations

import copy
from itertools import groupby
from typing import Any

import numpy as np
import pytest
import torch
from pubench_self_pu import method as self_pu
from pubench_self_pu.calibration import calibrated_weights
from pubench_self_pu.method import SelfPU, interleaved
from pubench_testkit.testing import LAST, MethodFacts, Trainer, watch
from torch import Tensor, nn

from pubench.method import Run

trained = Trainer(
    "self-pu",
    short=(
        *("epochs=4", "paced_from=1", "paced_until=4", "choose_every=1", "ramp_from=0", "ramp_epochs=2"),
        *("taught_from=2", "batch_size=256"),
    ),
)


def test_teachers_are_there_from_the_start_and_candidates_when_they_teach() -> None:
    result = trained.shortly(*LAST)
    method = result.method
    assert isinstance(method, SelfPU)
    everyone = ["student-0", "student-1", "teacher-0", "teacher-1"]
    assert list(method.candidates()) == everyone
    untaught = trained.shortly(*LAST, "taught_from=9").method
    assert isinstance(untaught, SelfPU)
    assert list(untaught.candidates()) == everyone[:2]
    assert len(untaught.teachers) == 2


def test_clean_rows_are_unlabeled_and_noisy_rows_are_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    clean = watch(monkeypatch, Run, "joint_batches", lambda run, rows, *_: rows)
    noisy = watch(monkeypatch, Run, "batches", lambda run, rows, *_, **__: rows)
    data = trained.shortly(*LAST).evaluator.problem.view(frozenset({"prior"}))
    n = data.n_unlabeled
    assert [len(rows) for rows in clean] == [0, 0, 0, 0, *(2 * int(n * 0.5 * 0.5 * s) for s in (0.1, 0.2))] + [
        2 * int(n * 0.5 * s) for s in (0.1, 0.2)
    ]
    for of_one, of_other in zip(clean, noisy, strict=True):
        assert not data.labeled[of_one].any()
        assert not torch.isin(of_other, of_one).any()
        assert set(data.labeled_rows.tolist()) <= set(of_other.tolist())
        assert len(of_other.unique()) == len(of_other)


def test_teachers_choose_clean_rows_once_they_teach(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are chosen after each of the last three epochs; in the last two there are teachers."""
    judges = watch(monkeypatch, Run, "scores", lambda run, net, *_, **__: net)
    method = trained.shortly(*LAST).method
    assert isinstance(method, SelfPU)
    expected = [*method.students, *method.teachers, *method.teachers]
    assert len(judges) == len(expected)
    assert all(judge is net for judge, net in zip(judges, expected, strict=True))


def test_chosen_rows_are_learned_on_their_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five rows as negatives and twenty as positives: an epoch of each student has so many."""

    def five_and_twenty(method: SelfPU, epoch: int, data: Any, run: Any) -> list[tuple[Tensor, Tensor]]:
        u = data.unlabeled_rows
        return [(u[:5], u[5:25])] * 2

    monkeypatch.setattr(SelfPU, "_chosen", five_and_twenty)
    sides = watch(monkeypatch, self_pu, "clean_loss", lambda z, of, kind: (int((~of).sum()), int(of.sum())))
    trained.shortly(*LAST)
    assert sides == [(5, 20)] * 4  # two students in the last two epochs


def test_a_student_is_compared_with_the_other_and_follows_its_teacher_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inferred = watch(monkeypatch, Run, "inference", lambda run, *modules: modules)
    asked = watch(monkeypatch, self_pu, "consistency_weight", lambda epoch, *_: epoch)
    method = trained.shortly(*LAST).method
    assert isinstance(method, SelfPU)
    compared = [id(module) for modules in inferred for module in modules]
    first, second = (id(student) for student in method.students)
    assert [which for which, _ in groupby(compared)] == [second, first] * 2  # pass by pass, in two epochs
    assert sorted(set(asked)) == [2, 3]


def test_the_rate_is_half_a_cosine_and_teachers_average_up_to_their_decay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    every = watch(monkeypatch, Run, "step", lambda run, loss, optimizer, **_: optimizer.param_groups[0]["lr"])
    updates = watch(monkeypatch, self_pu.averaging, "update", lambda slow, fast, decay, **options: (decay, options))
    trained.shortly(*LAST, "schedule=cosine", "lr=1e-3", "teacher_decay=0.7")
    rates = [rate for rate, _ in groupby(every)]
    np.testing.assert_allclose(rates, 1e-3 * (1 + np.cos(np.pi * np.arange(4) / 4)) / 2)
    assert [decay for decay, _ in updates] == pytest.approx([0, 1 / 2, 2 / 3, 0.7])
    assert all(options == {"buffers": "leave"} for _, options in updates)


def test_weights_are_calibrated_while_rows_are_chosen_on_validation_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Tensor] = []
    move = self_pu.movements

    def noted(net: nn.Module, logits: Tensor, meta: Tensor) -> Tensor:
        before = copy.deepcopy(net.state_dict())
        found = move(net, logits, meta)
        assert all(torch.equal(before[name], value) for name, value in net.state_dict().items())
        seen.append(meta)
        return found

    monkeypatch.setattr(self_pu, "movements", noted)
    data = trained.shortly(*LAST, "paced_until=2", "batch_size=128").evaluator.problem.view(frozenset({"prior"}))
    x = data.validation.take(data.validation.unlabeled_rows)
    per_epoch = 2 * -(-len(interleaved(data.labeled_rows, data.unlabeled_rows)) // 128)
    assert len(seen) == per_epoch  # of one epoch: the second
    for meta in seen[:3]:
        assert meta.shape == (128, *data.shape)
        assert (torch.cdist(meta, x).min(dim=1).values < 1e-3).all()


def test_without_a_validation_part_the_meta_batch_is_of_training_rows() -> None:
    result = trained.shortly(*LAST, "validation.fraction=0")
    assert len(result.evaluator.problem.view(frozenset()).validation) == 0
    assert np.isfinite(result.scores["last"]["test"]).all()


def test_the_budget_of_entropy_is_passed_by_one_row_at_most() -> None:
    slopes = -torch.rand(100, 2, generator=torch.Generator().manual_seed(0))
    weights = calibrated_weights(slopes, torch.arange(100) % 7 == 0, 5.0)
    assert 5 <= float(weights[:, 1].sum()) < 6
    spent = int(torch.nonzero(weights[:, 1]).max())
    assert (weights[spent + 1 :] == torch.tensor([1.0, 0.0])).all()
    assert (calibrated_weights(slopes, torch.zeros(100).bool(), 0.0)[:, 1] == 0).all()


class TestFacts(MethodFacts):
    trained = trained
    learns = (("method.preset=quick mechanism.c=0.3", 0.85),)
    by = "pa"
    options = (
        *("schedule=cosine", "choose_every=3", "ramp_epochs=8", "clean_share_second=0.9", "clean_loss=pseudo-labels"),
        *("calibrate_weights=false", "virtual_entropy=derived", "entropy_budget=0", "taught_from=1"),
        *("weight_consistency=50", "mutual_gate=0", "steps_per_epoch=3"),
    )
    defaults = "pubench"
    compared_in = ("lr=5e-3", "mutual_gate=10")
    presets_in = ("epochs=2", "paced_from=0", "taught_from=1", "steps_per_epoch=3")
