"""Scores that prior estimators read come from classifiers that saw no row of the instance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pubench_backbones.networks import mlp_wang
from pubench_priors_standard import backbone_scores, bagged_nets
from pubench_priors_standard.backbone_scores import held_out_by_backbone
from pubench_priors_standard.held_out import FOLDS, folds_of_instances, held_out_scores
from sklearn.metrics import roc_auc_score

from pubench_core.backbone import NetworkBuilder
from pubench_core.prior import Samples
from pubench_formulas.bbe import best_bin

Array = np.ndarray[Any, Any]


def case_control(n: int = 1500, d: int = 128, c: float = 0.2, seed: int = 0) -> tuple[Samples, Array]:
    """Two Gaussians six deviations apart, half of U positive, and who is positive. U holds P's instances as well."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(n) < n // 2
    x = rng.normal(size=(n, d)) + np.where(y, 3, -3)[:, None] / np.sqrt(d)
    labeled = np.flatnonzero(y)[: int(c * n / 2)]
    return Samples(x[labeled], x, labeled, np.arange(n)), y


@pytest.fixture(autouse=True)
def few_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bagged_nets, "EPOCHS", 60)
    torch.manual_seed(0)


BOTH = pytest.mark.parametrize(("scorer", "d", "rtol"), [("logistic", 128, 0), ("bagged-nets", 8, 1e-5)])


@BOTH
def test_a_labeled_positive_and_its_copy_in_u_get_one_score(scorer: Any, d: int, rtol: float) -> None:
    """By row, the classifier that scores a copy was trained on the very same features with the label 1."""
    samples, _ = case_control(n=300, d=d)
    positive, unlabeled = held_out_scores(samples, np.random.default_rng(0), scorer)
    np.testing.assert_allclose(positive, unlabeled[samples.positive_instance], rtol=rtol)


def test_bagged_nets_find_the_share_of_a_known_mixture() -> None:
    samples, _ = case_control(d=8)
    scores = held_out_scores(samples, np.random.default_rng(0), "bagged-nets")
    assert best_bin(*scores, inclusive=True).share == pytest.approx(0.5, abs=0.05)


def test_held_out_scores_are_in_the_order_of_the_rows_and_follow_the_generator() -> None:
    samples, _ = case_control(n=200, d=4)
    scores, again, other = (held_out_scores(samples, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert [len(part) for part in scores] == [len(samples.positive), len(samples.unlabeled)]
    assert all(np.array_equal(a, b) for a, b in zip(scores, again, strict=True))
    assert not np.array_equal(scores[1], other[1])


def test_a_bag_has_both_kinds_and_every_instance_is_outside_of_some_bag() -> None:
    is_labeled = np.arange(200) < 15
    bags = bagged_nets.draw_bags(is_labeled, np.random.default_rng(0))
    assert bags.outside.any(0).all()
    assert not ((bags.training > 0) & (bags.validation > 0)).any()
    for part in (bags.training, bags.validation):
        assert (part[:, is_labeled].sum(1) > 0).all()
        assert (part[:, ~is_labeled].sum(1) > 0).all()
    inside = (~bags.outside).mean()
    assert inside == pytest.approx((1 - np.exp(-1)) * (1 - 1 / bagged_nets.NETWORKS), abs=0.03)


class TestFolds:
    def test_an_instance_is_in_one_fold_and_each_kind_is_dealt_evenly(self) -> None:
        unlabeled = np.arange(103)
        positive = np.array([7, 99, 3, 50, 51, 52, 12])
        of_positive, of_unlabeled = folds_of_instances(positive, unlabeled, np.random.default_rng(0))
        np.testing.assert_array_equal(of_positive, of_unlabeled[positive])
        assert sorted(np.bincount(of_positive, minlength=FOLDS)) == [1, 1, 1, 2, 2]
        rest = np.delete(of_unlabeled, positive)
        assert sorted(np.bincount(rest, minlength=FOLDS)) == [19, 19, 19, 19, 20]

    def test_there_are_as_many_folds_as_labeled_instances_at_most(self) -> None:
        of_positive, of_unlabeled = folds_of_instances(np.array([4, 9]), np.arange(20, 40), np.random.default_rng(0))
        assert sorted(of_positive) == [0, 1]
        assert set(of_unlabeled) == {0, 1}


class TestBackbone:
    def test_copies_of_labeled_rows_are_not_trained_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Every row has a fold; a row and its copy have the same one, whichever sample they are in."""
        seen: list[Array] = []

        def watched(rows: Array, labeled: Array, folds: Array, network: object) -> Array:
            seen.append(folds)
            return np.zeros(len(rows))

        monkeypatch.setattr(backbone_scores, "held_out_by_backbone", watched)
        rng = np.random.default_rng(0)
        x = rng.normal(size=(60, 3)).astype(np.float32)
        instances = np.arange(60)
        samples = Samples(x[:20], x, instances[:20], instances)
        build = NetworkBuilder("mlp-wang", mlp_wang, (3,))
        held_out_scores(samples, rng, "backbone", lambda: build(1))
        (folds,) = seen
        assert np.array_equal(folds[:20], folds[20:40])
        assert set(folds) == {0, 1, 2, 3, 4}

    def test_a_backbone_tells_held_out_labeled_rows_from_others(self) -> None:
        rng = np.random.default_rng(0)
        y = np.arange(400) % 4 == 0
        x = (rng.normal(size=(400, 3)) + 2 * y[:, None]).astype(np.float32)
        torch.manual_seed(0)
        scores = held_out_by_backbone(x, y.astype(float), np.arange(400) % 5, lambda: mlp_wang((3,), 1))
        assert roc_auc_score(y, scores) > 0.9
        assert ((scores > 0) & (scores < 1)).all()
