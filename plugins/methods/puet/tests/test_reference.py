"""Risks, cuts, whole trees, votes and leaf scores against numbers of the official code."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pubench_puet.method import vote_score
from pubench_puet.trees import (
    NODE,
    Forest,
    Risk,
    cut_range,
    gather,
    is_pure,
    leaves_of,
    node_label,
    node_risk,
    partition,
    posterior,
    try_cut,
)
from pubench_testkit.testing import Arrays, reference_arrays

pytestmark = pytest.mark.reference
TOLERANCE = 1e-9


def case(name: str) -> Arrays:
    """The arrays ``<name>_<array>``, by <array>."""
    found = {k.removeprefix(f"{name}_"): v for k, v in reference_arrays("puet").items() if k.startswith(f"{name}_")}
    assert found, f"puet.npz has no arrays {name}_..."
    return found


def cases(kind: str) -> list[str]:
    """Names of the cases of a kind: the kind, and a number where there are several."""
    names = sorted({m[0] for k in reference_arrays("puet") if (m := re.match(rf"{kind}\d*(?=_)", k))})
    assert names, f"puet.npz has no case of kind {kind}"
    return names


def estimators(arrays: Arrays) -> list[tuple[str, str]]:
    """(risk, loss) of every array ``impurity_<risk>_<loss>``."""
    found = [(m[1], m[2]) for k in arrays if (m := re.fullmatch(r"impurity_(\w+)_(\w+)", k))]
    assert found, "no impurity of any risk and loss"
    return found


def risk_of(n_p: Any, n_u: Any, prior: Any, name: str, loss: str) -> Risk:
    assert name.lower() in ("nnpu", "upu")
    assert loss in ("quadratic", "logistic")
    return Risk(int(n_p), int(n_u), float(prior), name.lower() == "nnpu", loss == "logistic")


@pytest.mark.parametrize("name", cases("node"))
def test_risk_posterior_and_label_of_nodes(name: str) -> None:
    a = case(name)
    for risk_name, loss in estimators(a):
        for i in range(len(a["k_p"])):
            risk = risk_of(a["n_p"][i], a["n_u"][i], a["pi"][i], risk_name, loss)
            k_p, k_u = int(a["k_p"][i]), int(a["k_u"][i])
            v = posterior(k_p, k_u, risk)
            np.testing.assert_allclose(v, a["vstar"][i], rtol=TOLERANCE, atol=TOLERANCE)
            assert node_label(v) == a["prediction"][i]
            expected = a[f"impurity_{risk_name}_{loss}"][i]
            np.testing.assert_allclose(node_risk(k_p, k_u, risk), expected, rtol=TOLERANCE, atol=TOLERANCE)
            if risk.non_negative:
                assert is_pure(k_p, k_u, risk) == (expected <= TOLERANCE)
            else:
                assert is_pure(k_p, k_u, risk) == (expected == -np.inf or (k_p == 0 and expected <= TOLERANCE))


def node_of(a: Arrays) -> tuple[np.ndarray, np.ndarray, int]:
    """Columns (d, n) with the positives first, the rows of the node, and how many of these are positives."""
    positive = a["y"] == 1
    order = np.r_[np.flatnonzero(positive), np.flatnonzero(~positive)]
    inside = a["node_mask"][order]
    rows = np.flatnonzero(inside).astype(np.int32)
    return np.ascontiguousarray(a["X"][order].T), rows, int((inside & positive[order]).sum())


@pytest.mark.parametrize("name", cases("split"))
def test_the_range_of_thresholds(name: str) -> None:
    a = case(name)
    columns, rows, _ = node_of(a)
    assert len(columns) == len(a["cut_low"]) == len(a["cut_high"])
    for column, low, high in zip(columns, a["cut_low"], a["cut_high"], strict=True):
        values = np.empty(len(rows), columns.dtype)
        np.testing.assert_allclose(cut_range(*gather(column, rows, values)), (low, high), rtol=0, atol=TOLERANCE)
        np.testing.assert_array_equal(values, column[rows])


@pytest.mark.parametrize("name", cases("split"))
def test_candidate_cuts_and_the_best_of_them(name: str) -> None:
    a = case(name)
    columns, rows, k_p = node_of(a)
    n_p = int((a["y"] == 1).sum())
    for risk_name, loss in estimators(a):
        risk = risk_of(n_p, len(a["y"]) - n_p, a["pi"], risk_name, loss)
        scores = [
            try_cut(columns[feature][rows], k_p, float(threshold), risk)[2]
            for feature, threshold in zip(a["cand_feature"], a["cand_threshold"], strict=True)
        ]
        np.testing.assert_allclose(scores, a[f"impurity_{risk_name}_{loss}"], rtol=TOLERANCE, atol=TOLERANCE)
        parent = node_risk(k_p, len(rows) - k_p, risk)
        np.testing.assert_allclose(parent, a[f"parent_{risk_name}_{loss}"], rtol=TOLERANCE, atol=TOLERANCE)
        best = int(a[f"argmin_{risk_name}_{loss}"])
        assert scores[best] <= min(scores) + TOLERANCE
        assert all(score > scores[best] - TOLERANCE for score in scores[:best])


class Replay:
    """A stored tree grown again: the kernels of ``grow``, at the stored features and thresholds."""

    def __init__(self, a: Arrays) -> None:
        risk_name, loss, max_depth, min_samples_leaf, _ = (str(word) for word in a["config"])
        self.a = a
        self.columns = np.ascontiguousarray(np.r_[a["P"], a["U"]].T)
        self.risk = risk_of(len(a["P"]), len(a["U"]), a["pi"], risk_name, loss)
        self.max_depth = math.inf if max_depth == "None" else int(max_depth)
        self.min_samples_split = int(min_samples_leaf) + 1  # of the official code: a node of at most so many is not cut
        self.tree = np.zeros(len(a["feature"]), NODE)
        self.tree["feature"], self.tree["left"], self.tree["right"] = a["feature"], a["left"], a["right"]
        self.tree["threshold"] = np.nan_to_num(a["threshold"])

    def nodes(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """(node, depth, its rows) over the whole tree."""
        pending = [(0, 0, np.arange(self.columns.shape[1], dtype=np.int32))]
        while pending:
            node, depth, rows = pending.pop()
            yield node, depth, rows.copy()
            feature = int(self.tree["feature"][node])
            if feature >= 0:
                threshold = float(self.tree["threshold"][node])
                n_left = partition(self.columns[feature], rows, threshold, np.empty_like(rows))
                for child, part in (("left", rows[:n_left]), ("right", rows[n_left:])):
                    pending.append((int(self.tree[child][node]), depth + 1, part.copy()))

    def counts(self, rows: np.ndarray) -> tuple[int, int]:
        k_p = int((rows < self.risk.n_p).sum())
        assert (rows[:k_p] < self.risk.n_p).all(), "positives come first in every node"
        return k_p, len(rows) - k_p


@pytest.fixture(params=cases("tree"))
def replay(request: pytest.FixtureRequest) -> Replay:
    return Replay(case(request.param))


def test_counts_and_depths_of_a_tree(replay: Replay) -> None:
    a, seen = replay.a, set()
    for node, depth, rows in replay.nodes():
        assert replay.counts(rows) == (a["k_p"][node], a["k_u"][node])
        assert depth == a["depth"][node]
        seen.add(node)
    assert seen == set(range(len(a["feature"])))
    assert (a["feature"] < 0).sum() == a["n_leaves"]
    assert a["depth"].max() == a["max_depth"]


def test_risk_reductions_and_importances_of_a_tree(replay: Replay) -> None:
    for node, _, rows in replay.nodes():
        feature, expected = int(replay.tree["feature"][node]), replay.a["risk_reduction"][node]
        if feature >= 0:
            k_p, k_u = replay.counts(rows)
            threshold = float(replay.tree["threshold"][node])
            children = try_cut(replay.columns[feature][rows], k_p, threshold, replay.risk)[2]
            replay.tree["reduction"][node] = node_risk(k_p, k_u, replay.risk) - children
        np.testing.assert_allclose(replay.tree["reduction"][node], expected, rtol=TOLERANCE, atol=TOLERANCE)
    forest = Forest([replay.tree], len(replay.columns))
    np.testing.assert_allclose(forest.importances, replay.a["importance"], rtol=TOLERANCE, atol=TOLERANCE)


def test_every_threshold_of_a_tree_lies_in_its_range(replay: Replay) -> None:
    for node, _, rows in replay.nodes():
        feature = int(replay.tree["feature"][node])
        if feature >= 0:
            low, high = cut_range(*gather(replay.columns[feature], rows, np.empty(len(rows))))
            assert low - TOLERANCE <= replay.tree["threshold"][node] <= high + TOLERANCE


def test_a_tree_is_cut_exactly_where_no_rule_stops_it(replay: Replay) -> None:
    for node, depth, rows in replay.nodes():
        stops = (
            is_pure(*replay.counts(rows), replay.risk)
            or depth >= replay.max_depth
            or len(rows) < replay.min_samples_split
            or bool((np.ptp(replay.columns[:, rows], axis=1) == 0).all())
        )
        assert stops == (replay.tree["feature"][node] < 0)


def test_leaf_labels_and_predictions_of_a_tree(replay: Replay) -> None:
    stored = replay.a["leaf_label"]
    for node, _, rows in replay.nodes():
        if replay.tree["feature"][node] >= 0:
            assert stored[node] == 0
        else:
            label = node_label(posterior(*replay.counts(rows), replay.risk))
            assert label in (0, stored[node])  # 0: the official code drew the label
            replay.tree["label"][node] = label or stored[node]
    leaves = leaves_of(replay.tree, np.ascontiguousarray(replay.a["Xq"]))
    np.testing.assert_array_equal(replay.tree["label"][leaves], replay.a["pred"])


def leaf(label: int, v: float) -> np.ndarray:
    """A tree of one leaf."""
    tree = np.zeros(1, NODE)
    tree["feature"], tree["label"], tree["posterior"] = -1, label, v
    return tree


@pytest.mark.parametrize("name", cases("vote"))
def test_most_trees_decide_and_a_tie_is_negative(name: str) -> None:
    a = case(name)
    trees = len(a["matrix"])
    for votes, prediction, share in zip(a["matrix"].T, a["prediction"], a["fraction_positive"], strict=True):
        for sure in (0.0, 1.0):  # however sure the trees are
            forest = Forest([leaf(vote, 0.5 + 0.5 * vote * sure) for vote in votes], 1)
            positive, mean = forest.votes(np.zeros((1, 1), np.float32))
            np.testing.assert_allclose(positive / trees, share, rtol=0, atol=TOLERANCE)
            assert np.where(vote_score(positive, mean, trees) > 0, 1, -1) == prediction


@pytest.mark.parametrize("name", cases("score"))
def test_the_posterior_of_a_leaf_is_capped_at_one(name: str) -> None:
    a = case(name)
    for v, expected in zip(a["vstar"], a["recommended"], strict=True):
        _, mean = Forest([leaf(1, v)], 1).votes(np.zeros((1, 1), np.float32))
        np.testing.assert_allclose(mean, [expected], rtol=0, atol=TOLERANCE)
