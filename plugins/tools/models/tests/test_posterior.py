"""Probabilities mean what they say on data with SCAR labels and the right prior."""

from __future__ import annotations

import numpy as np
import pytest
from pubench_models.posterior import PosteriorCurve
from sklearn.base import clone
from sklearn.utils.validation import NotFittedError

import pubench

pytestmark = [pytest.mark.filterwarnings("ignore::pubench.PubenchWarning"), pytest.mark.usefixtures("one_thread")]
PRIOR = 0.4


def drawn(n, seed):
    """(n, 2) rows of two overlapping classes, and which are positive."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < PRIOR
    return rng.normal(size=(n, 2)) + np.where(y, 0.8, -0.8)[:, None] * [1, 0.5], y


def labeled_sample(scheme, n=12_000):
    x, y = drawn(n, seed=0)
    if scheme == "one-sample":
        return x, y & (np.random.default_rng(1).random(n) < 0.5)
    more, positive = drawn(n, seed=2)
    p = more[positive][: n // 5]
    return np.concatenate([p, x]), np.arange(len(p) + n) < len(p)


def unreliability(probability, y):
    """Largest difference of mean probability and share of positives, over tenths of the rows by probability."""
    return max(abs(probability[k].mean() - y[k].mean()) for k in np.array_split(np.argsort(probability), 10))


@pytest.mark.parametrize("scheme", ["one-sample", "two-sample"])
@pytest.mark.parametrize(
    ("method", "config"),
    [
        ("naive", {"base": "logistic"}),
        ("pu-bagging", {"n_estimators": 40, "base_config": {"min_samples_leaf": 20}}),
        ("nnpu", {"epochs": 2}),
    ],
)
def test_of_rows_with_probability_p_a_share_p_is_positive(scheme, method, config):
    x, labeled = labeled_sample(scheme)
    model = pubench.PUClassifier(method, prior=PRIOR, scheme=scheme, validation=0.5, **config).fit(x, labeled)
    new, truth = drawn(20_000, seed=3)
    found = model.predict_proba(new)
    assert unreliability(found[:, 1], truth) < 0.05
    np.testing.assert_allclose(found.sum(axis=1), 1)
    order = np.argsort(model.decision_function(new), kind="stable")
    assert (np.diff(found[order, 1]) >= 0).all()


def test_with_folds_all_rows_calibrate():
    x, labeled = labeled_sample("one-sample", 10_000)
    model = pubench.PUClassifier("naive", base="logistic", prior=PRIOR, cv=3).fit(x, labeled)
    new, truth = drawn(20_000, seed=3)
    assert unreliability(model.predict_proba(new)[:, 1], truth) < 0.05


def test_the_scale_of_scores_is_no_matter():
    x, labeled = labeled_sample("one-sample", 2_000)
    s = x @ [1, 0.5]
    one = PosteriorCurve.fit(s, labeled, PRIOR, one_sample=True)(s)
    other = PosteriorCurve.fit(np.exp(s) - 3, labeled, PRIOR, one_sample=True)(np.exp(s) - 3)
    np.testing.assert_allclose(one, other, atol=0.01)


def test_without_a_prior_or_held_out_labels_there_are_none_and_the_reason_is_said():
    x, labeled = labeled_sample("one-sample", 400)
    without = pubench.PUClassifier("naive", base="logistic")
    assert not hasattr(without, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        without.fit(x, labeled).predict_proba(x)
    with pytest.raises(NotFittedError):
        clone(without).set_params(prior=PRIOR).predict_proba(x)
    heavy = clone(without).set_params(prior=PRIOR).fit(x, labeled, sample_weight=np.arange(400) + 1)
    assert not hasattr(heavy, "predict_proba")
    few = clone(without).set_params(prior=PRIOR, validation=0.05).fit(x, labeled)
    with pytest.raises(AttributeError) as raised:
        few.predict_proba(x)
    assert "needs 10 held-out labeled rows" in str(raised.value.__cause__)
