"""Out-of-bag scores see no row that they score; thresholds, sizes of draws, threads, saved models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pubench_naive.method import Naive
from pubench_pu_bagging.method import Config, PUBagging
from pubench_testkit.testing import fit, pu_table
from scipy import stats
from sklearn.metrics import roc_auc_score

from pubench_core.specs import Scheme
from pubench_core.training.views import PUData

Array = np.ndarray
PRIOR = 0.4


def problem(
    positive: Array, unlabeled: Array, scheme: Scheme = "single-training-set", prior: float | None = PRIOR
) -> PUData:
    """LP ‖ U of rows that are all different."""
    return pu_table(np.r_[positive, unlabeled], len(positive), scheme, prior=prior, unlabeled_prior=prior)


def blobs(n_p: int = 60, n_u: int = 400, seed: int = 0) -> tuple[Array, Array, Array]:
    """P, U and the truth of U, a share ``PRIOR`` of it positive: two Gaussians."""
    rng = np.random.default_rng(seed)
    truth = rng.permutation(n_u) < PRIOR * n_u
    move = np.r_[1.2, 1.2, 0, 0, 0]
    return rng.normal(size=(n_p, 5)) + move, rng.normal(size=(n_u, 5)) + truth[:, None] * move, truth


def trained(data: PUData, threads: int = 1, warned: list[str] | None = None, **config: Any) -> PUBagging:
    method, run = fit(PUBagging, data, seed=0, threads=threads, **{"n_estimators": 40, **config})
    if warned is not None:
        warned += run.warnings
    return method


def unlabeled_scores(method: PUBagging, data: PUData) -> Array:
    return method.out_of_bag[data.n_labeled :]


def test_only_classifiers_that_did_not_draw_a_row_score_it() -> None:
    """P and U are one noise: a classifier that saw a row of U as negative knows it, the others cannot."""
    rng = np.random.default_rng(0)
    data = problem(rng.normal(size=(80, 5)), rng.normal(size=(400, 5)))
    method = trained(data, n_estimators=200, bootstrap_positives=True)
    labeled = data.labeled.numpy()
    assert abs(roc_auc_score(labeled, method.out_of_bag) - 0.5) < 0.1
    assert roc_auc_score(labeled, method.model.probability(data.x.numpy())) > 0.9


def test_out_of_bag_scores_rank_u() -> None:
    positive, unlabeled, truth = blobs()
    data = problem(positive, unlabeled)
    assert roc_auc_score(truth, unlabeled_scores(trained(data), data)) > 0.75


def test_draws_of_all_of_u_rank_as_the_naive_classifier_does() -> None:
    positive, unlabeled, truth = blobs(n_p=200)
    data = problem(positive, unlabeled)
    warned: list[str] = []
    bagging = unlabeled_scores(trained(data, warned=warned, n_estimators=100, sample_size=400), data)
    naive, _ = fit(Naive, data, base_config={"n_estimators": 100, "min_samples_leaf": 1})
    assert stats.spearmanr(bagging, naive.out_of_fold[200:]).statistic > 0.9
    assert abs(roc_auc_score(truth, bagging) - roc_auc_score(truth, naive.out_of_fold[200:])) < 0.02
    assert warned == ["a draw of 400 of 400 unlabeled rows leaves few out of bag: 200 are drawn without replacement"]


@pytest.mark.parametrize("share", [0.1, 0.4, 0.7])
def test_the_prior_places_the_threshold_on_scores_out_of_bag(share: float) -> None:
    positive, unlabeled, _ = blobs()
    data = problem(positive, unlabeled, prior=share)
    method = trained(data, n_estimators=100)
    assert abs((unlabeled_scores(method, data) > method.threshold).mean() - share) < 0.02


def test_without_a_prior_or_if_told_so_the_threshold_is_one_half() -> None:
    positive, unlabeled, _ = blobs()
    assert trained(problem(positive, unlabeled), n_estimators=10, threshold="half").threshold == 0.5
    assert trained(problem(positive, unlabeled, prior=None), n_estimators=10).threshold == 0.5


@pytest.mark.parametrize("scheme", ["case-control", "single-training-set"])
def test_a_posterior_of_one_half_splits_two_gaussians_near_their_best_cut(scheme: Scheme) -> None:
    positive, unlabeled, truth = blobs(n_p=300, n_u=1200)
    data = problem(positive, unlabeled, scheme)
    method = trained(data, threshold="posterior", bootstrap_positives=True)
    accuracy = ((unlabeled_scores(method, data) > method.threshold) == truth).mean()
    by_prior = trained(data, bootstrap_positives=True)
    assert accuracy > ((unlabeled_scores(by_prior, data) > by_prior.threshold) == truth).mean() - 0.05
    with pytest.raises(ValueError, match="bootstrap_positives=true"):
        Config(threshold="posterior")


@pytest.mark.parametrize("base", ["trees", "boosting"])
def test_the_number_of_threads_changes_no_bit(base: str) -> None:
    positive, unlabeled, _ = blobs()
    data = problem(positive, unlabeled)
    one, three = (trained(data, n, base=base, n_estimators=9) for n in (1, 3))
    np.testing.assert_array_equal(one.out_of_bag, three.out_of_bag)
    assert one.threshold == three.threshold
    for name, value in one.model.state_dict().items():
        np.testing.assert_array_equal(value, three.model.state_dict()[name])


def test_a_copy_of_a_labeled_positive_in_u_is_out_of_a_bag_with_it() -> None:
    """In case-control U holds the labeled rows: drawn as a positive, such a row has been seen."""
    positive, unlabeled, _ = blobs()
    data = pu_table(np.r_[positive, unlabeled], 60, "case-control", copied=True, prior=PRIOR)
    method = trained(data, bootstrap_positives=True)
    np.testing.assert_array_equal(method.out_of_bag[:60], method.out_of_bag[60:120])


def test_a_row_is_out_of_a_bag_only_with_its_whole_group() -> None:
    """P and U are one noise, and every row of U is there twice: a bag with one of the two knows the other."""
    rng = np.random.default_rng(0)
    unlabeled = np.repeat(rng.normal(size=(200, 5)), 2, axis=0)
    data = problem(rng.normal(size=(80, 5)), unlabeled)
    labeled, settings = data.labeled.numpy(), {"n_estimators": 100, "bootstrap_positives": True}
    assert roc_auc_score(labeled, trained(data, **settings).out_of_bag) > 0.6
    data.group = torch.cat([torch.arange(80), 80 + torch.arange(400) // 2])
    assert abs(roc_auc_score(labeled, trained(data, **settings).out_of_bag) - 0.5) < 0.1
