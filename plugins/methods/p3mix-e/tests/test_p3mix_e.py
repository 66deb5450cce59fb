"""P3Mix-E in the engine: stages, the teacher, refusals, and inputs at the edge of what is possible."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from pubench_p3mix_e.method import P3MixE
from pubench_testkit.testing import MethodFacts, Trainer, fit_small
from torch import nn

from pubench_core.errors import RequestError
from pubench_formulas import averaging

trained = Trainer("p3mix-e", short=("epochs=3", "warm_up=1"), sets=("backbone.key=mlp-wang", "steps_per_epoch=3"))


class TestFacts(MethodFacts):
    trained = trained
    learns = (("method.preset=quick steps_per_epoch=15 mechanism.c=0.3", 0.85),)
    defaults = "pubench"
    stages = (
        ("epochs=2 warm_up=5", ["mixup"] * 2),
        ("epochs=2 warm_up=0", ["heuristic mixup"] * 2),
        # 2 passes of 71 batches over the 1,149 rows of U
        (
            "epochs=16 warm_up=2 counted_in=passes steps_per_epoch=10 batch_size=16",
            ["mixup"] * 14 + ["heuristic mixup"] * 2,
        ),
    )
    options = (
        "mix_layer=0",
        "weight_early=0",
        "weight_entropy=1",
        "confidence=0.51",
        "teacher_decay=0",
        "pool_size=1",
    )
    presets_in = ("epochs=4",)


def test_the_warm_up_is_never_cut_short_and_patience_counts_from_its_end() -> None:
    result = trained("epochs=30", "warm_up=6", "patience=2", "selection.criterion=pauc", "selection.criteria=[pauc]")
    stages = [event.stage for event in result.epochs]
    assert stages[:6] == ["mixup"] * 6
    heuristic = stages[6:]
    assert 2 <= len(heuristic) <= 24
    assert set(heuristic) == {"heuristic mixup"}


def test_a_layer_that_the_network_lacks_is_refused() -> None:
    with pytest.raises(RequestError, match="mix_layer 3: this backbone has stages 0 to 2; -1 mixes inputs"):
        trained("mix_layer=3", "backbone.key=mlp")


# -------------------------------------------------------------------- the teacher, by hand

Update = tuple[nn.Module, nn.Module, float]


def fitted(monkeypatch: pytest.MonkeyPatch, buffers: str | None = None) -> tuple[nn.Module, list[Update]]:
    """The network after 3 epochs of 4 steps; teacher and student after every update. ``buffers`` instead of what the
    method says.
    """
    seen: list[Update] = []
    update = averaging.update

    def noted(teacher: nn.Module, student: nn.Module, decay: float, **options: Any) -> None:
        update(teacher, student, decay, **(options if buffers is None else {"buffers": buffers}))
        assert all(module.training for module in teacher.modules())
        seen.append((copy.deepcopy(teacher), copy.deepcopy(student), decay))

    with monkeypatch.context() as patch:
        patch.setattr(averaging, "update", noted)
        method, _ = fit_small(P3MixE, epochs=3, steps_per_epoch=4, batch_size=8, warm_up=1)
    return method.net, seen


def different(one: nn.Module, other: nn.Module) -> set[str]:
    states = one.state_dict(), other.state_dict()
    return {name for name in states[0] if not torch.equal(states[0][name], states[1][name])}


def test_the_teacher_is_the_even_average_of_the_parameters_of_all_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    _, seen = fitted(monkeypatch)
    assert [decay for *_, decay in seen] == pytest.approx([0, 1 / 2, 2 / 3])
    for count, (teacher, _, _) in enumerate(seen, start=1):
        for name, value in teacher.named_parameters():
            mean = torch.stack([dict(student.named_parameters())[name] for _, student, _ in seen[:count]]).mean(dim=0)
            torch.testing.assert_close(value, mean, atol=1e-6, rtol=0)


def test_batch_norm_statistics_are_not_averaged_and_teachers_never_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net, seen = fitted(monkeypatch)
    teacher, student, _ = seen[0]
    assert different(teacher, student) == {"stages.0.1.running_mean", "stages.0.1.running_var"}
    with_copies, _ = fitted(monkeypatch, buffers="copy")
    assert different(net, with_copies) == set()


def test_the_students_batch_norm_sees_one_batch_per_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are scored for their partners as well, which must leave no trace."""
    net, _ = fitted(monkeypatch)
    assert int(net.state_dict()["stages.0.1.num_batches_tracked"]) == 12
