"""The threshold of the naive classifier: wrong at one half, placed by the prior, or by the posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pubench_bases.fitting import at_share
from pubench_naive.method import Naive
from pubench_testkit.testing import fit, pu_table

from pubench.method import Backbone
from pubench_core.training.views import PUData

Array = np.ndarray


def gaussians(c: float, n: int = 3000) -> tuple[PUData, Array]:
    """A pool of which a share c of the positives is labeled, and the features of U. Positives have mean 2."""
    rng = np.random.default_rng(0)
    truth = rng.random(n) < 0.5
    x = (rng.normal(size=(n, 1)) + 2 * truth[:, None]).astype(np.float32)
    labeled = truth & (rng.random(n) < c)
    order = np.r_[np.flatnonzero(labeled), np.flatnonzero(~labeled)]
    data = pu_table(x[order], int(labeled.sum()), prior=0.5, unlabeled_prior=float(truth[~labeled].mean()))
    return data, x[~labeled]


def trained(data: PUData, **config: Any) -> Naive:
    return fit(Naive, data, base="logistic", **config)[0]


def linear(outputs: int) -> Backbone:
    return Backbone([torch.nn.Identity()], torch.nn.Identity(), 1, outputs)


def cut(method: Naive) -> float:
    """The feature at which the decision changes."""
    grid = torch.linspace(-4, 6, 2001)[:, None]
    return float(grid[method.decision_function(grid) > 0].min())


def test_one_half_is_the_wrong_threshold_and_the_prior_places_it() -> None:
    """Equal variances and classes: positives of the pool are above 1, its middle."""
    data, x = gaussians(c=0.5)
    share = float((trained(data).decision_function(torch.from_numpy(x)) > 0).double().mean())
    assert share == pytest.approx(data.unlabeled_prior, abs=0.02)
    assert cut(trained(data, threshold="posterior")) == pytest.approx(1.0, abs=0.3)
    assert abs(cut(trained(data, threshold="half")) - 1.0) > 0.3


def test_a_network_decides_the_same_share_of_its_unlabeled_rows() -> None:
    data, x = gaussians(c=0.5, n=1000)
    method, run = fit(Naive, data, linear, base="network", base_config={"epochs": 2}, folds=2)
    method.finalize(data, run)
    scores = method.decision_function(torch.from_numpy(x))
    assert float((scores > 0).double().mean()) == pytest.approx(data.unlabeled_prior, abs=0.01)
    assert np.corrcoef(scores.detach(), x[:, 0])[0, 1] > 0.5
    with pytest.raises(ValueError, match="depth"):
        fit(Naive, data, base="network", base_config={"depth": 2})


def test_the_share_above_a_threshold_is_the_nearest_to_the_one_wanted() -> None:
    assert at_share(np.array([0.1, 0.2, 0.3, 0.4]), 0.5) == 0.25
    assert at_share(np.array([0.0, 0.0, 0.0, 1.0]), 0.4) == 0.5
    assert at_share(np.array([0.7, 0.7]), 0.9) == 0.7
