"""What must hold for every forest: determinism, correct counts, the rules of growth, and the meaning of the score."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pubench_puet.method import PUET, vote_score
from pubench_puet.trees import Limits, Risk, grow, is_pure, node_label, node_risk, posterior
from pubench_testkit.testing import fit, pu_table
from scipy import stats

Array = np.ndarray
NO_LIMIT = 10**9
ESTIMATORS = list(product((True, False), (False, True)))


def limits(**values: int) -> Limits:
    free = {"max_depth": NO_LIMIT, "min_samples_split": 2, "max_features": NO_LIMIT, "max_candidates": 1}
    return Limits(**(free | values))


def blobs(n_p: int, n_u: int, d: int = 6, shift: float = 1.5, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """P, U (half positive), balanced test rows and their labels (1 or -1): two Gaussians, apart in two features."""
    rng = np.random.default_rng(seed)

    def rows(n: int, sign: int) -> Array:
        x = rng.normal(size=(n, d)).astype(np.float32)
        x[:, :2] += sign * shift / 2
        return x

    unlabeled = np.r_[rows(n_u // 2, 1), rows(n_u - n_u // 2, -1)]
    return rows(n_p, 1), rng.permutation(unlabeled), np.r_[rows(1000, 1), rows(1000, -1)], np.repeat([1, -1], 1000)


def fitted(
    positive: Array, unlabeled: Array, prior: float = 0.5, seed: int = 0, threads: int = 1, **config: Any
) -> PUET:
    """The method, trained on the table P ‖ U by the engine's calls alone."""
    data = pu_table(np.r_[positive, unlabeled], len(positive), "case-control", prior=prior)
    return fit(PUET, data, seed=seed, threads=threads, **config)[0]


def scores(method: PUET, x: Array) -> Array:
    return method.decision_function(torch.from_numpy(x.astype(np.float32))).numpy()


def check(tree: Array, columns: Array, risk: Risk, limit: Limits) -> None:
    """Every statement about a tree that can be verified from its table."""
    positive = np.arange(columns.shape[1]) < risk.n_p
    pending = [(0, 0, np.ones(columns.shape[1], bool))]
    seen = 0
    while pending:
        index, depth, inside = pending.pop()
        node, seen = tree[index], seen + 1
        k_p, k_u = int((inside & positive).sum()), int((inside & ~positive).sum())
        assert (node["k_p"], node["k_u"], node["depth"]) == (k_p, k_u, depth)
        assert k_p + k_u > 0
        assert node["posterior"] == posterior(k_p, k_u, risk)
        stops = (
            is_pure(k_p, k_u, risk)
            or depth >= limit.max_depth
            or k_p + k_u < limit.min_samples_split
            or all(len(np.unique(column[inside])) == 1 for column in columns)
        )
        assert stops == (node["feature"] < 0)
        if stops:
            assert node["label"] in ((-1, 1) if node["posterior"] == 0.5 else (node_label(node["posterior"]),))
            assert node["reduction"] == 0
            continue
        assert node["label"] == 0
        column = columns[node["feature"]]
        distinct = np.unique(column[inside]).astype(float)
        assert len(distinct) > 1
        low, high = distinct[0] + 0.4 * (distinct[1] - distinct[0]), distinct[-2] + 0.6 * (distinct[-1] - distinct[-2])
        assert low <= node["threshold"] <= high
        left = inside & (column <= node["threshold"])
        right = inside & ~left
        below = sum(
            node_risk(int((part & positive).sum()), int((part & ~positive).sum()), risk) for part in (left, right)
        )
        assert node["reduction"] == node_risk(k_p, k_u, risk) - below
        pending += [(int(node["left"]), depth + 1, left), (int(node["right"]), depth + 1, right)]
    assert seen == len(tree)


# ---------------------------------------------------------------- determinism


def test_one_seed_gives_one_forest_for_any_number_of_threads() -> None:
    positive, unlabeled, test, _ = blobs(60, 240)
    one, two, five = (fitted(positive, unlabeled, threads=n, n_estimators=20) for n in (1, 2, 5))
    for other in (two, five):
        for name, values in one.forest.state_dict().items():
            np.testing.assert_array_equal(values, other.forest.state_dict()[name])
        np.testing.assert_array_equal(scores(one, test), scores(other, test))


# ---------------------------------------------------------------- every tree is what it says


@given(
    seed=st.integers(0, 2**32),
    n_p=st.integers(1, 12),
    n_u=st.integers(1, 40),
    d=st.integers(1, 5),
    levels=st.integers(1, 6),
    prior=st.one_of(st.sampled_from([1e-12, 0.25, 0.5, 1 - 1e-12]), st.floats(0.01, 0.99)),
    estimator=st.sampled_from(ESTIMATORS),
    max_depth=st.sampled_from([0, 1, 3, NO_LIMIT]),
    min_samples_split=st.sampled_from([2, 3, 8]),
)
@settings(deadline=None, max_examples=150)
def test_any_small_table_of_ties_and_duplicates_gives_a_correct_tree(
    seed: int,
    n_p: int,
    n_u: int,
    d: int,
    levels: int,
    prior: float,
    estimator: tuple[bool, bool],
    max_depth: int,
    min_samples_split: int,
) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.integers(levels, size=(d, n_p + n_u)).astype(np.float32)
    limit = limits(max_depth=max_depth, min_samples_split=min_samples_split, max_features=2)
    risk = Risk(n_p, n_u, prior, *estimator)
    check(grow(columns, risk, limit, rng), columns, risk, limit)


# ---------------------------------------------------------------- how cuts are drawn and chosen


def roots(columns: Array, risk: Risk, limit: Limits, seeds: int) -> Array:
    """The root of one tree per seed."""
    return np.stack([grow(columns, risk, limit, np.random.default_rng(s))[0] for s in range(seeds)])


def test_features_are_drawn_uniformly_among_those_that_are_not_constant() -> None:
    columns = np.random.default_rng(0).normal(size=(9, 50)).astype(np.float32)
    constant = [0, 3, 4, 8]
    columns[constant] = 7
    features = roots(columns, Risk(10, 40, 0.4, True, False), limits(max_depth=1, max_features=1), 2000)["feature"]
    counts = np.bincount(features, minlength=9)
    assert not counts[constant].any()
    assert stats.chisquare(np.delete(counts, constant)).pvalue > 1e-4


def test_thresholds_are_uniform_in_their_range() -> None:
    columns = np.array([[0, 1, 0, 1, 0]], np.float32)
    binary = roots(columns, Risk(2, 3, 0.5, True, False), limits(max_depth=1), 1000)["threshold"]
    assert stats.kstest(binary, "uniform", (0.4, 0.2)).pvalue > 1e-4
    columns = np.array([[0, 3, 1, 10, 8]], np.float32)
    several = roots(columns, Risk(2, 3, 0.5, True, False), limits(max_depth=1), 1000)["threshold"]
    assert stats.kstest(several, "uniform", (0.4, 9.2 - 0.4)).pvalue > 1e-4


@pytest.mark.parametrize(("non_negative", "logistic"), ESTIMATORS)
def test_the_best_candidate_wins(non_negative: bool, logistic: bool) -> None:
    rng = np.random.default_rng(0)
    columns = rng.integers(4, size=(5, 60)).astype(np.float32)
    risk, positive = Risk(20, 40, 0.45, non_negative, logistic), np.arange(60) < 20
    exhaustive = min(
        sum(node_risk(int((positive & side).sum()), int((~positive & side).sum()), risk) for side in (below, ~below))
        for column, cut in product(columns, (0, 1, 2))
        for below in [column <= cut]
    )
    root = roots(columns, risk, limits(max_depth=1, max_candidates=200), 1)[0]
    assert root["reduction"] == node_risk(20, 40, risk) - exhaustive


def test_the_first_of_equal_candidates_wins() -> None:
    columns = np.tile(np.array([0, 1, 1, 0, 1, 0, 1, 0], np.float32), (6, 1))
    for seed in range(30):
        tree = grow(columns, Risk(3, 5, 0.5, True, False), limits(max_depth=1), np.random.default_rng(seed))
        assert tree["feature"][0] == int(np.random.default_rng(seed).random() * 6)


SMALLEST = np.float32(1e-45)
LARGEST = np.finfo(np.float32).max


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (np.float32(0), SMALLEST),
        (-SMALLEST, np.float32(0)),
        (np.float32(1), np.nextafter(np.float32(1), np.float32(2))),
        (np.nextafter(LARGEST, np.float32(0)), LARGEST),
        (-LARGEST, LARGEST),
        (np.float32(-np.inf), np.float32(np.inf)),
    ],
)
def test_no_child_is_empty_between_any_two_values(low: Any, high: Any) -> None:
    columns = np.array([[low, high, low, high]])
    assert columns.dtype == low.dtype
    for seed in range(50):
        tree = grow(columns, Risk(2, 2, 0.5, True, False), limits(), np.random.default_rng(seed))
        assert len(tree) == 3
        np.testing.assert_array_equal(tree["k_p"] + tree["k_u"], [4, 2, 2])


# ---------------------------------------------------------------- limits


def test_depth_has_no_limit_of_its_own() -> None:
    powers = 2.0 ** np.arange(-149, 128)  # a uniform threshold cuts off a few at most
    columns = np.c_[np.zeros(10), np.kron(np.eye(10), powers)].astype(np.float32)
    risk = Risk(1, columns.shape[1] - 1, 1e-4, True, False)
    tree = grow(columns, risk, limits(max_features=1), np.random.default_rng(0))
    assert tree["depth"].max() > 1000
    check(tree, columns, risk, limits())


# ---------------------------------------------------------------- degenerate tables


@pytest.mark.parametrize(("prior", "label"), [(0.3, -1), (0.7, 1)])
def test_a_table_without_any_difference_is_one_leaf_of_the_prior(prior: float, label: int) -> None:
    forest = fitted(np.ones((5, 3)), np.ones((9, 3)), prior).forest
    assert len(forest.nodes) == len(forest)
    assert (forest.nodes["label"] == label).all()
    np.testing.assert_allclose(forest.nodes["posterior"], prior, rtol=1e-15)


def test_a_posterior_of_one_half_draws_a_label_with_equal_odds() -> None:
    labels = fitted(np.ones((5, 3)), np.ones((9, 3)), 0.5, n_estimators=2000).forest.nodes["label"]
    assert set(labels) == {-1, 1}
    assert stats.binomtest(int((labels > 0).sum()), 2000).pvalue > 1e-4


# ---------------------------------------------------------------- what comes out


def test_an_easy_problem_is_learned_and_worse_without_the_correction() -> None:
    positive, unlabeled, test, truth = blobs(300, 1200, shift=3)  # the best possible is 0.983
    corrected, unbiased = (
        ((scores(fitted(positive, unlabeled, risk=risk, n_estimators=20), test) > 0) == (truth > 0)).mean()
        for risk in ("nnpu", "upu")
    )
    assert corrected > 0.96
    assert corrected > unbiased


SETTINGS: tuple[dict[str, Any], ...] = (
    *({"max_depth": 3}, {"min_samples_split": 51}, {"max_features": 1}, {"max_candidates": 5}),
    *({"risk": "upu"}, {"loss": "logistic"}),
)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_a_setting_decides_how_trees_grow(setting: dict[str, Any]) -> None:
    positive, unlabeled, *_ = blobs(100, 400)
    plain, other = (fitted(positive, unlabeled, n_estimators=5, **given).forest.nodes for given in ({}, setting))
    assert len(plain) != len(other) or (plain["threshold"] != other["threshold"]).any()
    if "max_depth" in setting:
        assert other["depth"].max() == 3
    if "min_samples_split" in setting:
        size = other["k_p"] + other["k_u"]
        assert size[other["feature"] >= 0].min() >= 51 > size.min()


@given(trees=st.integers(1, 200), data=st.data())
def test_the_score_is_positive_for_a_majority_and_ranks_by_votes(trees: int, data: st.DataObject) -> None:
    n = 20
    votes = np.array(data.draw(st.lists(st.integers(0, trees), min_size=n, max_size=n)))
    mean = np.array(data.draw(st.lists(st.floats(0, 1), min_size=n, max_size=n)))
    score = vote_score(votes, mean, trees)
    # of a tree that says +1, v is above 1/2, or 1/2 and the label was drawn
    possible = mean >= 0.5 * votes / trees
    np.testing.assert_array_equal((score > 0)[possible], (2 * votes > trees)[possible])
    order = np.lexsort((mean, votes))
    assert (np.diff(score[order]) >= 0).all()
    assert (np.diff(score[order])[np.diff(votes[order]) > 0] > 0).all()
