"""SAR-EM and PGlin on simulated biased labels: propensities are recovered, columns are obeyed, models come back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pubench_sar_pu.method import Config, Constant, SarEM
from pubench_sar_pu.pglin import PGlin
from pubench_sar_pu.weighted import Learner, pool
from pubench_testkit.testing import fit, pu_table
from scipy import stats
from scipy.special import expit

from pubench_core.errors import RequestError
from pubench_core.specs import Scheme
from pubench_core.training.views import PUData

Array = np.ndarray


PLAIN = {"base": "unscaled-logistic", "base_config": {"solver": "liblinear"}}
PUBLISHED = {**PLAIN, "propensity": PLAIN, "scores": "in-sample", "rounds": 60}


def biased(n: int = 1500, scheme: Scheme = "single-training-set") -> tuple[PUData, Array, Array]:
    """(problem, features, true propensity): the class is in column 0, who is labeled in column 1."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2)).astype(np.float32)
    truth = rng.random(n) < expit(4 * x[:, 0])
    propensity = expit(2 * x[:, 1])
    labeled = truth & (rng.random(n) < propensity)
    order = np.r_[np.flatnonzero(labeled), np.flatnonzero(~labeled)]
    data = pu_table(x[order], int(labeled.sum()), scheme, copied=scheme == "case-control")
    return data, x[order], propensity[order]


def scores(method: Any, x: Array) -> Array:
    return np.asarray(method.decision_function(torch.from_numpy(x)))


@pytest.mark.parametrize("scheme", ["single-training-set", "case-control"])
def test_the_propensity_is_recovered_from_its_own_column(scheme: Scheme) -> None:
    data, x, true = biased(scheme=scheme)
    method, _ = fit(SarEM, data, propensity_columns=(1,), **PUBLISHED)
    found = np.asarray(method.auxiliary_scores(torch.from_numpy(x))["propensity"])
    assert np.abs(found - true).mean() < 0.05


def test_without_a_propensity_model_the_bias_stays_in_the_scores() -> None:
    """Column 1 says nothing of the class. The last fit of the published code brings a part of the bias back."""
    data, x, _ = biased()
    naive = scores(fit(PGlin, data, scores="in-sample", **PLAIN)[0], x)
    corrected = scores(fit(SarEM, data, propensity_columns=(1,), reweighted=False, **PUBLISHED)[0], x)
    assert stats.spearmanr(naive, x[:, 1]).statistic > 0.3
    assert abs(stats.spearmanr(corrected, x[:, 1]).statistic) < 0.1


def test_a_constant_propensity_is_the_labeled_share_of_the_positives() -> None:
    labeled, q = np.array([1.0, 1, 0, 0]), np.array([1.0, 1, 1, 0])
    assert Constant(official=False).scores(labeled * q, (1 - labeled) * q)[0] == pytest.approx(2 / 3)
    assert Constant(official=True).scores(labeled * q, (1 - labeled) * q)[0] == pytest.approx(2 / 4)


def test_the_pool_of_case_control_is_u_with_its_labels() -> None:
    x = np.arange(12, dtype=np.float32).reshape(6, 2)
    data = pu_table(x, 2, "case-control", copied=True)
    rows, features, labeled = pool(data)
    np.testing.assert_array_equal(rows, np.arange(2, 8))
    np.testing.assert_array_equal(features, x)
    assert labeled.tolist() == [True, True, False, False, False, False]


def test_rows_of_negative_weight_drop_out() -> None:
    class Base:
        def fit(self, x: Array, y: Array, weight: Array, seed: int, categories: Any) -> tuple[Array, Array]:
            return y, weight

    learner: Any = Learner(Base(), np.zeros((3, 1)), np.zeros(1, np.int64))  # type: ignore[arg-type]
    y, weight = learner.model(np.array([2.0, 0, 0.5]), np.array([-1.0, 1, 0.5]))
    assert y.tolist() == [1, 1, 0, 0]
    assert weight.tolist() == [2, 0.5, 1, 0.5]


def test_a_column_that_is_not_there_is_refused() -> None:
    data, _, _ = biased(200)
    with pytest.raises(RequestError, match="propensity_columns must be in 0 to 1, got 2"):
        SarEM(Config(propensity_columns=(2,))).check(data)


def test_few_labels_are_enough_for_scores_in_sample_only() -> None:
    rng = np.random.default_rng(0)
    data = pu_table(rng.normal(size=(60, 3)).astype(np.float32), 3)
    with pytest.raises(RequestError, match="at least 10"):
        PGlin(PGlin.Config()).check(data)
    PGlin(PGlin.Config(scores="in-sample")).check(data)


@pytest.mark.parametrize("columns", ["none", "all", (0,)])
def test_a_saved_model_has_its_propensity(columns: Any) -> None:
    data, x, _ = biased(400)
    method, _ = fit(SarEM, data, base="logistic", propensity_columns=columns, rounds=2, folds=2)
    e = np.asarray(method.auxiliary_scores(torch.from_numpy(x))["propensity"])
    assert ((e > 0) & (e < 1)).all()
    assert (np.ptp(e) == 0) == (columns == "none")
