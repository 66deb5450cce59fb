"""Slopes are those of the risk, curvature is positive, rounds lower the risk, stumps are the best ones."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from pubench_pu_boost.method import NONE, Config, Known, PUBoost, best_stump, exponential_weights, logistic_risk
from pubench_testkit.testing import pu_table

from pubench_core.errors import RequestError
from pubench_core.training.run import Run
from pubench_core.training.views import PUData

Array = np.ndarray
PRIOR = 0.4


def risk(score: Array, n_p: int, *, non_negative: bool, known: Known = NONE) -> float:
    """π E_P[l(f)] + [η (E_U[l(-f)] - π E_P[l(-f)]) + (1 - η) (1 - π) E_N[l(-f)]], term by term."""
    p, u, n = score[:n_p], score[n_p : len(score) - known.n], score[len(score) - known.n :]
    of_negatives = np.log1p(np.exp(u)).mean() - PRIOR * np.log1p(np.exp(p)).mean()
    if known.n:
        of_negatives *= known.eta
        of_negatives += (1 - known.eta) * (1 - PRIOR) * np.log1p(np.exp(n)).mean()
    if non_negative:
        of_negatives = max(of_negatives, 0.0)
    return float(PRIOR * np.log1p(np.exp(-p)).mean() + of_negatives)


@pytest.mark.parametrize("non_negative", [True, False])
@pytest.mark.parametrize("shift", [0.0, -4.0])
@pytest.mark.parametrize("known", [NONE, Known(5, 0.3)])
def test_slopes_are_those_of_the_risk_and_curvature_is_positive(non_negative: bool, shift: float, known: Known) -> None:
    rng = np.random.default_rng(0)
    score = rng.normal(size=30)
    score[10:] += shift
    score[:10] -= shift
    found = logistic_risk(score, 10, PRIOR, np.ones(30), non_negative=non_negative, known=known)
    step = 1e-6
    for i in range(30):
        moved = [score + sign * step * (np.arange(30) == i) for sign in (1, -1)]
        up, down = (risk(s, 10, non_negative=non_negative, known=known) for s in moved)
        assert found.slope[i] / (20 - known.n) == pytest.approx((up - down) / (2 * step), abs=1e-6)
    assert (found.curvature >= 0).all()


def test_the_part_of_negatives_is_cut_off_on_the_whole_sample() -> None:
    score = np.r_[np.full(10, 5.0), np.full(20, -5.0)]
    assert (logistic_risk(score, 10, PRIOR, np.ones(30), non_negative=True).slope[10:] == 0).all()
    assert (logistic_risk(score, 10, PRIOR, np.ones(30), non_negative=False).slope[10:] > 0).all()


def test_known_negatives_are_a_second_estimate_of_adapus_risk_of_negatives() -> None:
    score = np.r_[1.0, np.log(3.0), np.log(2.0), 0.0]  # e^-f of P: 1/e, 1/3; e^f of U: 2, of N: 1
    positive, negative = exponential_weights(score, 2, PRIOR, np.ones(4), Known(1, 0.25))
    assert positive.tolist() == pytest.approx([0.2 * np.exp(-1), 0.2 / 3, 0, 0])
    assert negative.tolist() == pytest.approx([-0.05 * np.e, -0.15, 0.5, 0.45])


def test_the_best_stump_is_the_best_of_all() -> None:
    """Compared with every feature, threshold and sign; weights below 0 included."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 6, size=(40, 3)).astype(np.float32)
    positive, negative = rng.random(40), rng.normal(0.4, 0.5, size=40)
    best = -np.inf
    for feature in range(3):
        for threshold in np.unique(x[:, feature])[:-1]:
            h = np.where(x[:, feature] > threshold, 1, -1)
            best = max(best, abs(((positive - negative) * h).sum()))
    feature, threshold, right, wrong = best_stump(x, np.argsort(x, axis=0, kind="stable"), positive, negative)
    h = np.where(x[:, feature] > threshold, 1, -1) * np.sign(right)
    assert ((positive - negative) * h).sum() == pytest.approx(best)
    assert abs(right) - wrong == pytest.approx(best)


def problem(seed: int = 0) -> tuple[PUData, Array]:
    rng = np.random.default_rng(seed)
    truth = rng.random(600) < PRIOR
    x = rng.normal(size=(700, 4)).astype(np.float32)
    x[:100, :2] += 1.5
    x[100:][truth, :2] += 1.5
    return pu_table(x, 100, "case-control", prior=PRIOR), truth


def trained(data: PUData, **config: Any) -> tuple[PUBoost, list[float]]:
    """The method, and its risk after each round."""
    method, risks = PUBoost(Config(**config)), []

    def epochs(n: int, *, patience: int | None) -> Any:
        for _ in range(n):
            yield None
            score = method.decision_function(data.x).numpy()
            risks.append(risk(score, data.n_labeled, non_negative=True))

    run = SimpleNamespace(numpy_rng=np.random.default_rng(0), epochs=epochs)
    method.fit(data, cast(Run[Config], run))
    return method, risks


LEARNERS = ["sklearn", *(["lightgbm"] if importlib.util.find_spec("lightgbm") else [])]


@pytest.mark.parametrize("learner", LEARNERS)
def test_training_ends_where_the_risk_of_negatives_falls_below_0(learner: str) -> None:
    data, _ = problem()
    config = {"learner": learner, "max_depth": 6, "min_samples_leaf": 2, "learning_rate": 0.3}
    assert 1 < len(trained(data, rounds=200, **config)[1]) < 200
    assert len(trained(data, rounds=60, correction="clamp", **config)[1]) == 60


@pytest.mark.parametrize("learner", LEARNERS)
def test_rounds_lower_the_risk_and_separate_two_gaussians(learner: str) -> None:
    data, truth = problem()
    method, risks = trained(data, rounds=20, max_depth=3, learner=learner)
    assert (np.diff(risks[:10]) < 0).all()
    decided = method.decision_function(data.take(data.unlabeled_rows)).numpy() > 0
    assert (decided == truth).mean() > 0.78


def test_adapu_separates_two_gaussians() -> None:
    data, truth = problem()
    method, risks = trained(data, form="adapu", learning_rate=0.3, rounds=50)
    assert 3 < len(risks) < 50  # it ends by itself
    decided = method.decision_function(data.take(data.unlabeled_rows)).numpy() > 0
    assert (decided == truth).mean() > 0.78


@pytest.mark.parametrize("form", ["risk", "adapu"])
def test_a_row_of_weight_2_is_two_rows(form: str) -> None:
    data, _ = problem()
    twice = np.r_[np.arange(700) % 3 == 0]
    rows = np.repeat(np.arange(700), 1 + twice)
    repeated = pu_table(data.x[rows], int((rows < 100).sum()), "case-control", prior=PRIOR)
    data.weight = torch.from_numpy(1.0 + twice)
    settings = {"form": form, "rounds": 5, "l2": 1e-9, "min_samples_leaf": 1}
    weighted, doubled = (trained(one, **settings)[0].decision_function(data.x) for one in (data, repeated))
    torch.testing.assert_close(weighted, doubled, rtol=1e-4, atol=1e-4)


def test_lightgbm_that_is_not_there_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RequestError, match="lightgbm is not installed"):
        PUBoost(Config(learner="lightgbm")).check(problem()[0])
