"""Reliable negatives are negative, spies are judged by models that did not see them, iterations stop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pubench_testkit.testing import fit, pu_table, watch
from pubench_two_step.method import Config, TwoStep, far, rocchio, without_positive_features

from pubench_core.errors import RequestError
from pubench_core.training.run import Run
from pubench_core.training.views import PUData

Array = np.ndarray


def table(n_p: int = 100, n_u: int = 400, shift: float = 3.0, seed: int = 0) -> tuple[PUData, Array]:
    """LP ‖ U, a third of U positive; and the truth of U."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n_u) < 1 / 3
    x = rng.normal(size=(n_p + n_u, 4)).astype(np.float32)
    x[:n_p, :2] += shift
    x[n_p:][truth, :2] += shift
    return pu_table(x, n_p, prior=0.4, unlabeled_prior=1 / 3), truth


def trained(data: PUData, **config: Any) -> tuple[TwoStep, Run[Any], int]:
    """The method, its run, and how many turns its epochs had."""
    with pytest.MonkeyPatch.context() as patch:
        epochs = watch(patch, Run, "epochs")
        method, run = fit(TwoStep, data, **{"base": "logistic", **config})
    return method, run, sum(len(call.result) for call in epochs)


@pytest.mark.parametrize(("step_one", "iterate"), [("spy", "em"), ("rocchio", "none"), ("knn", "until-stable")])
def test_two_step_separates_two_gaussians(step_one: str, iterate: str) -> None:
    data, truth = table()
    method, _, turns = trained(data, step_one=step_one, iterate=iterate)
    decided = method.decision_function(data.take(data.unlabeled_rows)).numpy() > 0
    assert (decided == truth).mean() > 0.93
    assert turns == 1 if iterate == "none" else 1 <= turns <= 10


@pytest.mark.parametrize("step_one", ["spy", "rocchio", "knn"])
def test_reliable_negatives_are_negative(step_one: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data, truth = table()
    found = watch(monkeypatch, TwoStep, "_reliable")
    trained(data, step_one=step_one)
    reliable = found[0].result[1][data.n_labeled :]
    assert reliable.sum() > 30
    assert truth[reliable].mean() < 0.06


def test_a_spy_is_never_scored_by_a_model_that_had_it_as_negative() -> None:
    """Full-grown trees give a row that they had as negative the score 0; noise tells them nothing else."""
    data, _ = table(shift=0.0)
    grown = {"min_samples_leaf": 1, "max_features": "all", "n_estimators": 50}
    method, _, _ = trained(data, base="trees", base_config=grown)
    everything = data.x.numpy()
    assert method.watched_scores.min() > 0
    assert method.model.probability(everything[data.n_labeled :]).min() < 0.05


def test_spies_are_whole_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    data, _ = table()
    data.group = torch.arange(500) // 4
    found = watch(monkeypatch, TwoStep, "_reliable")
    trained(data)
    watched = found[0].result[0]
    groups = set(data.group[watched].tolist())
    assert len(groups) == 4  # 15 % of 25
    assert sorted(watched) == [row for row in range(100) if row // 4 in groups]


@pytest.mark.parametrize("iterate", ["none", "em", "until-stable"])
def test_labeled_rows_of_next_to_no_weight_hardly_count(iterate: str) -> None:
    data, truth = table()
    weight = torch.ones(len(data), dtype=torch.float64)
    data.x[:60] = data.x[100:][torch.from_numpy(~truth)][:60]  # wrong labels
    accuracies = []
    for data.weight in (None, weight.index_fill(0, torch.arange(60), 1e-6)):
        method, _, _ = trained(data, iterate=iterate)
        decided = method.decision_function(data.x[100:]).numpy() > 0
        accuracies.append((decided == truth).mean())
    assert accuracies[1] > max(0.95, accuracies[0])


@pytest.mark.parametrize(("step_one", "takes"), [("spy", True), ("rocchio", False), ("knn", False), ("1-dnf", False)])
def test_only_spies_have_weights(step_one: str, takes: bool) -> None:
    assert TwoStep.takes_weights(Config(step_one=step_one)) == takes


def test_few_spies_and_no_reliable_negative_are_reported() -> None:
    data, _ = table(n_p=20)
    _, run, _ = trained(data, noise=0.0, spies=0.1)
    assert run.warnings[0].startswith("2 spies place the bound")
    data = pu_table(torch.ones(120, 4), 20)
    assert "no row of U is a reliable negative" in " ".join(trained(data)[1].warnings)


def test_an_iteration_that_loses_spies_keeps_the_first_classifier() -> None:
    data, _ = table(shift=0.8)
    method, run, turns = trained(data, iterate="until-stable", noise=0.4)
    if turns > 2:  # the turn after the last one is begun
        assert "the first is kept" in run.warnings[-1]
    first, _, _ = trained(data, iterate="none", noise=0.4)
    x = data.x
    np.testing.assert_array_equal(method.decision_function(x), first.decision_function(x))


def test_rules_of_step_one_without_a_classifier() -> None:
    positive = np.array([[3.0, 0.1, 0.0], [2.0, 0.0, 0.1]])
    unlabeled = np.array([[2.0, 0.1, 0.1], [0.1, 2.0, 0.0], [0.0, 1.0, 2.0]])
    np.testing.assert_array_equal(rocchio(positive, unlabeled), [False, True, True])
    np.testing.assert_array_equal(far(np.r_[positive, positive + 0.1], unlabeled, 1, 0.0), [False, True, True])
    counts = np.array([[2.0, 0, 0], [1.0, 0, 1]]), np.array([[1.0, 1, 0], [0, 1, 0], [0, 2.0, 0]])
    np.testing.assert_array_equal(without_positive_features(*counts), [False, True, True])


def test_one_dnf_needs_counts() -> None:
    data, _ = table()
    with pytest.raises(RequestError, match="some are below 0"):
        TwoStep(Config(step_one="1-dnf")).check(data)
