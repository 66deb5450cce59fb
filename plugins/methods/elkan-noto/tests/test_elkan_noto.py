"""Closed forms of the scaling under both schemes, the known faults of public versions, and honest estimates."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pubench_elkan_noto.method import (
    ElkanNoto,
    calibrated,
    calibration,
    label_frequency,
    population_posterior,
    unlabeled_posterior,
)
from pubench_testkit.testing import fit, pu_table

from pubench_core.specs import Scheme
from pubench_core.training.views import PUData

Array = np.ndarray
#: A discrete x: p(x) and p(y = 1 | x); positives are certain at the last value.
MASS, POSTERIOR = np.array([0.3, 0.3, 0.2, 0.2]), np.array([0.0, 0.2, 0.7, 1.0])
PRIOR = float(MASS @ POSTERIOR)


@pytest.mark.parametrize("c", [0.05, 0.3, 0.9])
def test_scaling_is_exact_if_p_and_u_are_one_draw(c: float) -> None:
    """A share c of the positives is labeled and leaves U: p(s=1|x) = c p(y=1|x)."""
    g = c * POSTERIOR
    np.testing.assert_allclose(population_posterior(g, c, population=False), POSTERIOR, atol=1e-12)
    hidden = (1 - c) * POSTERIOR / (1 - c * POSTERIOR)  # of the positives of a value, those that stay in U
    np.testing.assert_allclose(unlabeled_posterior(g, c), hidden, atol=1e-12)


@pytest.mark.parametrize("n_p", [10.0, 1000.0])
def test_scaling_is_exact_if_u_is_a_draw_of_the_population(n_p: float) -> None:
    n_u, of_positives = 500.0, MASS * POSTERIOR / PRIOR
    g = n_p * of_positives / (n_p * of_positives + n_u * MASS)
    c = n_p / (n_p + PRIOR * n_u)
    np.testing.assert_allclose(population_posterior(g, c, population=True), POSTERIOR, atol=1e-12)
    assert g.max() == pytest.approx(c)  # e3 needs no prior, where some x is certain


def test_estimators_of_the_label_frequency() -> None:
    g, labeled = np.array([0.2, 0.4, 0.1, 0.3]), np.array([True, True, False, False])
    once, twice = np.ones(4), np.array([2.0, 1, 1, 1])  # the first row once, or as if it were there twice
    found = [label_frequency(g, labeled, kind, once) for kind in ("e1", "e2", "e3")]
    assert found == pytest.approx([0.3, 0.6, 0.4])
    found = [label_frequency(g, labeled, kind, twice) for kind in ("e1", "e2", "e3")]
    assert found == pytest.approx([0.8 / 3, 0.8 / 1.2, 0.4])


@given(st.floats(0, 1), st.floats(1e-6, 1))
def test_no_probability_divides_by_zero(g: float, c: float) -> None:
    found = unlabeled_posterior(np.array([g]), c)
    assert (np.minimum(found, 1) <= 1).all()
    assert not np.isnan(found).any()
    assert unlabeled_posterior(np.array([1.0]), 0.5)[0] == np.inf


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
def test_calibration_recovers_the_probability_of_a_label(kind: Any) -> None:
    rng = np.random.default_rng(0)
    score = rng.random(20_000)
    truth = score**2 / (score**2 + (1 - score) ** 2)  # twice the log-odds of the score
    labeled = (rng.random(20_000) < truth).astype(int)
    found = calibrated(score, kind, calibration(score, labeled, kind, np.ones(20_000)))
    assert np.abs(found - truth).mean() < 0.02
    odds = truth / (1 - truth) * 3  # labeled rows weigh three times as much
    found = calibrated(score, kind, calibration(score, labeled, kind, 1.0 + 2 * labeled))
    assert np.abs(found - odds / (1 + odds)).mean() < 0.02


# ---------------------------------------------------------------- trained


def gaussians(scheme: Scheme, prior: float | None = 0.5, *, c: float = 0.3, n: int = 2000) -> tuple[PUData, Array]:
    """PU data of which positives have mean 2 and others 0, and the pool's features. Bayes cuts at 1."""
    rng = np.random.default_rng(0)
    truth = rng.random(n) < 0.5
    x = (rng.normal(size=(n, 1)) + 2 * truth[:, None]).astype(np.float32)
    labeled = truth & (rng.random(n) < c)
    x, copied = x[np.argsort(~labeled, kind="stable")], scheme == "case-control"
    share = None if prior is None else float((truth if copied else truth[~labeled]).mean())
    return pu_table(x, int(labeled.sum()), scheme, copied=copied, prior=prior, unlabeled_prior=share), x


def trained(data: PUData, warned: list[str] | None = None, **config: Any) -> ElkanNoto:
    method, run = fit(ElkanNoto, data, **{"base": "logistic", **config})
    if warned is not None:
        warned += run.warnings
    return method


def cut(method: ElkanNoto) -> float:
    grid = torch.linspace(-4, 6, 2001)[:, None]
    return float(grid[method.decision_function(grid) > 0].min())


@pytest.mark.parametrize(("scheme", "form"), [("case-control", "scaling"), ("single-training-set", "weighting")])
def test_its_posterior_of_one_half_is_near_the_best_cut_without_a_prior(scheme: Scheme, form: str) -> None:
    data, _ = gaussians(scheme, None)
    near = 0.5 if form == "scaling" else 0.8  # labeled rows next to U make positives more frequent than they are
    assert cut(trained(data, form=form, base_config={"inverse_penalty": 1.0})) == pytest.approx(1.0, abs=near)
    assert cut(trained(data, threshold="half", base_config={"inverse_penalty": 1.0})) > 1.5


def test_the_label_frequency_is_that_of_rows_that_no_model_saw() -> None:
    """e1 on training rows of full-grown trees would be 1."""
    data, _ = gaussians("case-control", None)
    method = trained(data, base="trees", base_config={"min_samples_leaf": 1, "n_estimators": 10}, frequency="e1")
    assert method.c < 0.5


@pytest.mark.parametrize(("scheme", "form"), [("case-control", "weighting"), ("single-training-set", "scaling")])
def test_labeled_rows_of_next_to_no_weight_hardly_count(scheme: Scheme, form: str) -> None:
    """The labeled rows whose value is the lowest are made wrong ones, far on the other side."""
    data, x = gaussians(scheme, None)
    right = cut(trained(data, form=form))
    moved = data.instance[:40]
    x[moved] = -3
    data, _ = data, data.__dict__.pop("x", None)
    data.weight = torch.ones(len(data), dtype=torch.float64)
    data.weight[torch.isin(data.instance, moved)] = 1e-6
    assert cut(trained(data, form=form)) == pytest.approx(right, abs=0.25)


def test_posteriors_above_1_are_clipped_and_counted() -> None:
    data, x = gaussians("single-training-set")
    warned: list[str] = []
    method = trained(data, warned, frequency="e2")  # far too low where many rows are unlabeled
    method.c = method.c / 3
    posterior = method.auxiliary_scores(torch.from_numpy(x))["posterior"].numpy()
    assert posterior.min() >= 0
    assert posterior.max() == 1
    method._report_above_1(np.r_[np.zeros(94), np.full(6, 1.5)], cast(Any, SimpleNamespace(warn=warned.append)))
    assert (
        "6 % of the unlabeled rows have a posterior above 1, clipped there, and 33.3 % of its sum is lost" in warned[-1]
    )


def test_sure_positives_that_scatter_around_1_are_no_reason_to_warn() -> None:
    """Half of them lie above 1 under SCAR; labels of one half of the class alone double its posterior."""
    data, _ = gaussians("single-training-set")
    warned: list[str] = []
    method, run = trained(data, warned), cast(Any, SimpleNamespace(warn=warned.append))
    noise = np.random.default_rng(0).normal(1, 0.15, size=400)
    method._report_above_1(np.r_[np.zeros(600), noise], run)
    assert not [text for text in warned if "above 1" in text]
    method._report_above_1(np.r_[np.zeros(600), 2 * noise[:200], np.full(200, 0.1)], run)
    assert "above 1" in warned[-1]
