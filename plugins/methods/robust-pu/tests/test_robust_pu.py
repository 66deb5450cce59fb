"""Robust-PU in the engine: its stages, episodes and weights, presets, and inputs at the edge of what is possible."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from pubench_robust_pu import method as robust
from pubench_robust_pu.method import (
    Config,
)
from pubench_testkit.testing import LAST, MethodFacts, Trainer, watch

from pubench.method import Run
from pubench_formulas import averaging

trained = Trainer(
    "robust-pu",
    short=("pre_training=2", "pre_training_lr=1e-3", "epochs=3", "inner_epochs=2"),
)


def test_an_epoch_is_an_episode_with_new_weights_and_a_new_optimizer(monkeypatch: pytest.MonkeyPatch) -> None:
    weighed = watch(monkeypatch, robust, "row_weights")
    optimizers = watch(monkeypatch, Run, "optimizer", lambda *_, **options: options)
    result = trained.shortly("growing_steps=2", "threshold_end=2.1")
    thresholds = [call.options["thresholds"] for call in weighed]
    np.testing.assert_allclose(thresholds, [(0.1, 0.11), (1.1, 1.105), (2.1, 2.1)])
    assert optimizers == [{"lr": 1e-3}, {}, {}, {}]
    data = result.evaluator.problem.view(frozenset({"prior"}))
    assert [len(call.args[0]) for call in weighed] == [len(data)] * 3


def test_the_schedule_reads_nothing_but_the_number_of_the_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watch(monkeypatch, robust, "threshold_after", lambda *args: args)
    trained.shortly()
    assert seen == [(k, "linear", start, 1.0, 10) for k in range(3) for start in (0.1, 0.11)]


def test_weights_are_those_of_the_rows_before_the_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row by row, whatever the order of the batches, and as they are throughout the inner epochs."""
    moved = watch(monkeypatch, robust, "moved")
    rows = watch(monkeypatch, Run, "_batch", lambda run, of: of)
    used = watch(
        monkeypatch,
        robust,
        "weighted_cross_entropy",
        lambda scores, labeled, of_batch: (len(moved) - 1, rows[-1], of_batch),
    )
    trained.shortly()
    weights = [call.result for call in moved]
    assert len(weights) == 3
    for episode, of, of_batch in used:
        torch.testing.assert_close(of_batch, weights[episode][of], rtol=0, atol=0)
    for episode in range(3):
        shown = torch.cat([of for number, of, _ in used if number == episode])
        assert (torch.bincount(shown, minlength=len(weights[0])) == 2).all()  # both inner epochs are whole passes


def test_in_pairs_of_batches_the_means_of_p_and_u_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    expected: list[torch.Tensor] = []
    losses: list[torch.Tensor] = []
    cross_entropy, step = robust.weighted_cross_entropy, Run.step

    def noted(scores: torch.Tensor, labeled: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        assert int(labeled.sum()) == 16
        assert len(labeled) == 32
        each = weights * torch.nn.functional.softplus(torch.where(labeled, -scores, scores))
        expected.append((each[labeled].mean() + each[~labeled].mean()).detach())
        return cross_entropy(scores, labeled, weights)

    def stepped(run: Run[Config], loss: torch.Tensor, *rest: Any, report: Any, **more: Any) -> None:
        if "weight" in report:
            losses.append(loss.detach())
        step(run, loss, *rest, report=report, **more)

    monkeypatch.setattr(robust, "weighted_cross_entropy", noted)
    monkeypatch.setattr(Run, "step", stepped)
    trained.shortly("batching=paired", "batch_size=16", "steps_per_epoch=3", "mechanism.c=0.3")
    assert len(losses) == 3 * 2 * 3  # episodes, passes, steps
    torch.testing.assert_close(torch.stack(losses), torch.stack(expected))


def test_the_pre_trainings_state_is_the_one_of_least_validation_risk(monkeypatch: pytest.MonkeyPatch) -> None:
    restored: list[dict[str, torch.Tensor]] = []
    restore = averaging.Best.restore

    def state_of(best: averaging.Best) -> dict[str, torch.Tensor]:
        return copy.deepcopy(best._modules[0].state_dict())

    def put_back(best: averaging.Best) -> None:
        restore(best)
        restored.append(state_of(best))

    offers = watch(monkeypatch, averaging.Best, "offer", lambda best, value: (value, state_of(best)))
    monkeypatch.setattr(averaging.Best, "restore", put_back)
    trained.shortly("pre_training=8", "pre_training_lr=0.05")
    offered, states = zip(*offers, strict=True)
    chosen = int(np.argmax(offered))
    assert chosen < 7  # else any code that keeps the last state would pass
    assert len(offered) == 8
    for name, value in restored[0].items():
        torch.testing.assert_close(value, states[chosen][name], rtol=0, atol=0)


def test_without_labeled_validation_rows_the_last_state_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(best: averaging.Best, *args: Any) -> None:
        raise AssertionError("a state was judged")

    monkeypatch.setattr(averaging.Best, "offer", never)
    monkeypatch.setattr(averaging.Best, "restore", never)
    result = trained.shortly(*LAST, "mechanism.c=0.002")
    assert result.evaluator.problem.split.validation.n_labeled == 0
    assert np.isfinite(result.scores["last"]["test"]).all()


@pytest.mark.parametrize(("selectable", "stage"), [("false", "self-paced"), ("true", "pre-training")])
def test_epochs_of_the_pre_training_are_candidates_on_request(selectable: str, stage: str) -> None:
    """The episodes' rate of 100 ruins the network."""
    sets = (*trained.short, "pre_training_lr=1e-2", "lr=100", "selection.criterion=oa", "selection.criteria=[oa]")
    result = trained(*sets, f"pre_training_selectable={selectable}")
    state = result.selection.tracks["oa"].chosen
    assert state is not None
    chosen = state.epoch
    assert result.epochs[chosen - 1].stage == stage


# -------------------------------------------------------------------- presets


def test_the_pre_training_correction_matters_below_0() -> None:
    long = ("pre_training=15", "pre_training_lr=3e-2")
    assert not np.allclose(trained.last(*long), trained.last(*long, "correction=clamp"))


def test_pu_benchs_values_are_the_defaults_but_for_patience_and_candidates() -> None:
    assert Config(**trained.preset("pubench")) == Config(patience=None, pre_training_selectable=True)


@pytest.mark.parametrize(
    ("data", "rows", "batch_size"),
    [("cifar10", 20_000, 64), ("imagenette", 6_000, 64), ("usps", 4_000, 128), ("letter", 13_000, 128)],
)
def test_wang_et_als_passes_over_u_are_episodes_of_100_steps(data: str, rows: int, batch_size: int) -> None:
    values = trained.preset("wang", data)
    u = rows * 7 // 10  # r = .3 of the rows are P
    steps = (u - u // 10) // batch_size  # a tenth of U is for validation, an incomplete batch is dropped
    assert values["pre_training_batch_size"] == batch_size
    assert values["pre_training"] * values["steps_per_epoch"] == 2_000
    # 10 growing steps, one every 5 passes
    assert values["growing_steps"] == round(10 * 5 * steps / 100)


# -------------------------------------------------------------------- edges


class TestFacts(MethodFacts):
    trained = trained
    learns = (("method.preset=quick mechanism.c=0.3", 0.85),)
    by = "pa"
    options = (
        *("surrogate=logistic", "batching=paired", "pacing=concave", "hardness=brier", "weighting=cauchy"),
        *("weight_momentum=0.5", "temperature_unlabeled=1", "threshold_positive=0.5", "inner_epochs=3"),
        "steps_per_epoch=2",
    )
    stages = (
        ("", ["pre-training"] * 2 + ["self-paced"] * 3),
        ("pre_training=0 threshold_positive=2 threshold_unlabeled=2", ["self-paced"] * 3),
    )
    unselected = "pre-training"
    compared_in = ("threshold_unlabeled=0.5", "growing_steps=3", "lr=1e-3")
    presets_in = ("pre_training=1", "epochs=2", "inner_epochs=1", "steps_per_epoch=3")
