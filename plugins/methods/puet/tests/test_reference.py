"""Risks, cuts, whole trees, votes and leaf scores against numbers of the official code."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
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
from pubench_testkit.testing import Case, Vectors

TOLERANCE = 1e-9
#: Unread: weights that counts stand for, and a second score of leaves.
VECTORS = Vectors("puet", tolerance=TOLERANCE, case="[^_]+", unread="W[pn]|clipped")


def estimators(case: Case) -> list[tuple[str, str]]:
    """(risk, loss) of every array ``impurity_<risk>_<loss>``."""
    found = [(m[1], m[2]) for k in case.arrays if (m := re.fullmatch(r"impurity_(\w+)_(\w+)", k))]
    assert found, "no impurity of any risk and loss"
    return found


def risk_of(n_p: Any, n_u: Any, prior: Any, name: str, loss: str) -> Risk:
    assert name.lower() in ("nnpu", "upu")
    assert loss in ("quadratic", "logistic")
    return Risk(int(n_p), int(n_u), float(prior), name.lower() == "nnpu", loss == "logistic")


@VECTORS.cases("node")
def test_risk_posterior_and_label_of_nodes(case: Case) -> None:
    counts = list(zip(case["k_p"].tolist(), case["k_u"].tolist(), strict=True))
    sizes = list(zip(case["n_p"], case["n_u"], case["pi"], strict=True))
    for risk_name, loss in estimators(case):
        risks = [risk_of(n_p, n_u, prior, risk_name, loss) for n_p, n_u, prior in sizes]
        nodes = [(*of_node, risk) for of_node, risk in zip(counts, risks, strict=True)]
        shares = [posterior(*node) for node in nodes]
        expected = case[f"impurity_{risk_name}_{loss}"]
        case.expect(vstar=shares, prediction=[node_label(v) for v in shares])
        case.close([node_risk(*node) for node in nodes], expected)
        pure = [is_pure(*node) for node in nodes]
        positives = np.array([k_p for k_p, _ in counts])
        none_left = (expected == -np.inf) | ((positives == 0) & (expected <= TOLERANCE))
        np.testing.assert_array_equal(pure, expected <= TOLERANCE if risks[0].non_negative else none_left)


def node_of(case: Case) -> tuple[np.ndarray, np.ndarray, int]:
    """Columns (d, n) with the positives first, the rows of the node, and how many of these are positives."""
    positive = case["y"] == 1
    order = np.r_[np.flatnonzero(positive), np.flatnonzero(~positive)]
    inside = case["node_mask"][order]
    rows = np.flatnonzero(inside).astype(np.int32)
    return np.ascontiguousarray(case["X"][order].T), rows, int((inside & positive[order]).sum())


@VECTORS.cases("split.*")
def test_the_range_of_thresholds(case: Case) -> None:
    columns, rows, _ = node_of(case)
    values = np.empty(len(rows), columns.dtype)
    found = []
    for column in columns:
        found.append(cut_range(*gather(column, rows, values)))
        np.testing.assert_array_equal(values, column[rows])
    case.expect(cut_low=[low for low, _ in found], cut_high=[high for _, high in found])


@VECTORS.cases("split.*")
def test_candidate_cuts_and_the_best_of_them(case: Case) -> None:
    columns, rows, k_p = node_of(case)
    n_p, n = int((case["y"] == 1).sum()), len(case["y"])
    cuts = list(zip(case["cand_feature"], case["cand_threshold"].tolist(), strict=True))
    for risk_name, loss in estimators(case):
        risk = risk_of(n_p, n - n_p, case["pi"], risk_name, loss)
        scores = [try_cut(columns[feature][rows], k_p, threshold, risk)[2] for feature, threshold in cuts]
        of_node = node_risk(k_p, len(rows) - k_p, risk)
        case.expect(**{f"impurity_{risk_name}_{loss}": scores, f"parent_{risk_name}_{loss}": of_node})
        best = int(case[f"argmin_{risk_name}_{loss}"])
        assert scores[best] <= min(scores) + TOLERANCE
        assert all(score > scores[best] - TOLERANCE for score in scores[:best])


class Replay:
    """A stored tree grown again: the kernels of ``grow``, at the stored features and thresholds."""

    def __init__(self, a: Case) -> None:
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


@VECTORS.cases("tree.*")
def test_counts_and_depths_of_a_tree(case: Case) -> None:
    replay = Replay(case)
    counts, depths = np.full((2, len(replay.tree)), -1), np.full(len(replay.tree), -1)
    for node, depth, rows in replay.nodes():
        counts[:, node], depths[node] = replay.counts(rows), depth
    case.expect(k_p=counts[0], k_u=counts[1], depth=depths, max_depth=depths.max())
    case.expect(n_leaves=(replay.tree["feature"] < 0).sum())


@VECTORS.cases("tree.*")
def test_risk_reductions_thresholds_and_importances_of_a_tree(case: Case) -> None:
    replay = Replay(case)
    for node, _, rows in replay.nodes():
        feature = int(replay.tree["feature"][node])
        if feature >= 0:
            k_p, k_u = replay.counts(rows)
            threshold = float(replay.tree["threshold"][node])
            low, high = cut_range(*gather(replay.columns[feature], rows, np.empty(len(rows))))
            assert low - TOLERANCE <= threshold <= high + TOLERANCE
            children = try_cut(replay.columns[feature][rows], k_p, threshold, replay.risk)[2]
            replay.tree["reduction"][node] = node_risk(k_p, k_u, replay.risk) - children
    forest = Forest([replay.tree], len(replay.columns))
    case.expect(risk_reduction=replay.tree["reduction"], importance=forest.importances)


@VECTORS.cases("tree.*")
def test_a_tree_is_cut_exactly_in_nodes_that_no_rule_stops(case: Case) -> None:
    replay = Replay(case)
    for node, depth, rows in replay.nodes():
        stops = (
            is_pure(*replay.counts(rows), replay.risk)
            or depth >= replay.max_depth
            or len(rows) < replay.min_samples_split
            or bool((np.ptp(replay.columns[:, rows], axis=1) == 0).all())
        )
        assert stops == (replay.tree["feature"][node] < 0)


@VECTORS.cases("tree.*")
def test_leaf_labels_and_predictions_of_a_tree(case: Case) -> None:
    replay, stored = Replay(case), case["leaf_label"]
    for node, _, rows in replay.nodes():
        if replay.tree["feature"][node] >= 0:
            assert stored[node] == 0
        else:
            label = node_label(posterior(*replay.counts(rows), replay.risk))
            assert label in (0, stored[node])  # 0: the official code drew the label
            replay.tree["label"][node] = label or stored[node]
    leaves = leaves_of(replay.tree, np.ascontiguousarray(case["Xq"]))
    case.expect(pred=replay.tree["label"][leaves])


def leaf(label: int, v: float) -> np.ndarray:
    """A tree of one leaf."""
    tree = np.zeros(1, NODE)
    tree["feature"], tree["label"], tree["posterior"] = -1, label, v
    return tree


@VECTORS.cases("vote")
def test_most_trees_decide_and_a_tie_is_negative(case: Case) -> None:
    matrix, shares = case["matrix"], case["fraction_positive"]
    trees = len(matrix)
    for votes, prediction, share in zip(matrix.T, case["prediction"], shares, strict=True):
        for sure in (0.0, 1.0):  # however sure the trees are
            forest = Forest([leaf(vote, 0.5 + 0.5 * vote * sure) for vote in votes], 1)
            positive, mean = forest.votes(np.zeros((1, 1), np.float32))
            case.close(positive / trees, share)
            assert np.where(vote_score(positive, mean, trees) > 0, 1, -1) == prediction


@VECTORS.cases("score")
def test_the_posterior_of_a_leaf_is_capped_at_one(case: Case) -> None:
    means = [Forest([leaf(1, v)], 1).votes(np.zeros((1, 1), np.float32))[1] for v in case["vstar"]]
    case.expect(recommended=np.concatenate(means))
