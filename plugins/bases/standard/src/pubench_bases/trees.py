"""Decision trees as arrays: what scikit-learn's trees learn, saved and scored without scikit-learn's own format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from pubench_core.errors import PluginError

Array = npt.NDArray[Any]
Function = TypeVar("Function", bound=Callable[..., Any])

#: Values of sparse rows that are gathered at a time.
_GATHERED = 1 << 22
#: Of a node: ``feature`` is -1 at leaves; ``value`` is a leaf's value, elsewhere a threshold: rows at or below it go to
#: the next node, others to ``right``. ``gaps_left``: whether missing values go to the next node. ``subset``: row of
#: ``subsets`` with the categories that go to the next node, -1 for a numeric split.
FIELDS = {"feature": np.int32, "value": np.float32, "right": np.int32, "gaps_left": np.bool_, "subset": np.int32}


def kernel(function: Function) -> Function:
    """Compiled on the first call, kept on disk, outside the interpreter lock, in plain IEEE arithmetic."""
    return cast(Function, numba.njit(cache=True, nogil=True, fastmath=False)(function))


@kernel
def add_leaves(
    x: Array,
    roots: Array,
    feature: Array,
    value: Array,
    right: Array,
    gaps_left: Array,
    subset: Array,
    subsets: Array,
    out: Array,
) -> None:
    """Adds the value of each row's leaf in every tree to ``out``, tree by tree."""
    for root in roots:
        for i in range(len(x)):
            node = root
            while feature[node] >= 0:
                v = x[i, feature[node]]
                if np.isnan(v):
                    left = gaps_left[node]
                elif len(subset) > 0 and subset[node] >= 0:
                    code = np.int64(v)
                    left = (subsets[subset[node], code >> 5] >> (code & 31)) & 1 == 1
                else:
                    left = v <= value[node]
                node = node + 1 if left else right[node]
            out[i] += value[node]


class Trees:
    """Trees one after another in arrays of :data:`FIELDS`; tree t begins at ``offsets[t]``.

    ``subset`` and ``subsets`` (m, 8) uint32 are empty if no split is on a category. ``d``: number of features.
    """

    def __init__(self, trees: Sequence[Mapping[str, Array]], d: int) -> None:
        sizes = [len(tree["feature"]) for tree in trees]
        self.d = d
        self.offsets = np.cumsum([0, *sizes])
        nodes: dict[str, Array] = {name: np.concatenate([tree[name] for tree in trees]) for name in FIELDS}
        nodes["right"] = nodes["right"] + np.repeat(self.offsets[:-1], sizes)
        found = [tree["subsets"] for tree in trees]
        counts = np.cumsum([0, *map(len, found)])
        nodes["subset"] = np.where(nodes["subset"] < 0, -1, nodes["subset"] + np.repeat(counts[:-1], sizes))
        self.subsets = np.concatenate(found)
        if not len(self.subsets):
            nodes["subset"] = nodes["subset"][:0]
        self.nodes: dict[str, Array] = {name: nodes[name].astype(kind) for name, kind in FIELDS.items()}
        self.gain: Array = np.concatenate([tree["gain"] for tree in trees]).astype(np.float32)

    def importances(self) -> Array:
        """(d,) share of each feature in what the splits of a tree gain, mean over the trees; zeros if not known."""
        tree = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        gains = np.bincount(tree, self.gain)[tree]
        share = np.divide(self.gain, gains, out=np.zeros(len(gains)), where=gains > 0)
        inner = self.nodes["feature"] >= 0
        return np.bincount(self.nodes["feature"][inner], share[inner], self.d) / len(self)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def sums(self, x: Array) -> Array:
        """(n,) float64: for each row of ``x`` (n, d) float32, dense or sparse, the sum of its leaves' values."""
        if x.shape[1] != self.d:  # compiled code looks at no bounds
            raise ValueError(f"rows have {x.shape[1]} features; the trees were grown on {self.d}")
        out, n = np.zeros(x.shape[0]), self.nodes
        feature, used = n["feature"], np.unique(n["feature"][n["feature"] >= 0])
        if issparse(x):  # a tree looks at few of many features, which are gathered for some rows at a time
            feature = np.where(feature >= 0, np.searchsorted(used, feature), -1).astype(np.int32)
        step = max(1, _GATHERED // max(1, len(used))) if issparse(x) else max(1, x.shape[0])
        for start in range(0, x.shape[0], step):
            block: Any = x[start : start + step]
            if issparse(x):
                block = block[:, used].toarray()
            fields = feature, n["value"], n["right"], n["gaps_left"], n["subset"]
            values = np.ascontiguousarray(block, np.float32)
            add_leaves(values, self.offsets[:-1], *fields, self.subsets, out[start : start + step])
        return out

    def state_dict(self) -> dict[str, Any]:
        """Plain arrays and the number of features."""
        return {**self.nodes, "gain": self.gain, "offsets": self.offsets, "subsets": self.subsets, "d": self.d}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes what :meth:`state_dict` gave. Raises ValueError for arrays that are no trees.

        A child comes after its parent and lies in the same tree, and a feature is one of d: compiled code that walks a
        tree ends, and reads nothing but the trees and the row.
        """
        gain = np.zeros(len(state["feature"]), np.float32) if "feature" in state else None
        state = {"gain": gain, **state}  # older models do not have it
        kinds: dict[str, Any] = {**FIELDS, "gain": np.float32, "offsets": np.int64, "subsets": np.uint32}
        if set(state) != {*kinds, "d"}:
            raise ValueError(f"trees have {', '.join(kinds)} and d; got {', '.join(sorted(state))}")
        for name, kind in kinds.items():
            if state[name].dtype != kind or state[name].ndim != (2 if name == "subsets" else 1):
                raise ValueError(f"{name} of trees is {state[name].dtype} {state[name].shape}")
        nodes, offsets, subsets, d = {n: state[n] for n in FIELDS}, state["offsets"], state["subsets"], int(state["d"])
        n = len(nodes["feature"])
        self.gain = state["gain"]
        if (
            len(self.gain) != n
            or any(len(nodes[name]) != n for name in FIELDS if name != "subset")
            or len(nodes["subset"]) not in (0, n)
        ):
            raise ValueError("the fields of the trees' nodes differ in length")
        if len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != n or (np.diff(offsets) < 1).any():
            raise ValueError("offsets do not cut the nodes into trees")
        inner, index = nodes["feature"] >= 0, np.arange(n)
        ends = np.repeat(offsets[1:], np.diff(offsets))
        if (inner & ((nodes["right"] <= index) | (nodes["right"] >= ends) | (index + 1 >= ends))).any():
            raise ValueError("a child in the trees is no later node of its tree")
        if (nodes["feature"] >= d).any():
            raise ValueError(f"a node splits on a feature beyond the {d} of the trees")
        if subsets.shape[1:] != (8,) or (nodes["subset"] >= len(subsets)).any():
            raise ValueError("a node names a set of categories that is not there")
        self.nodes, self.offsets, self.subsets, self.d = nodes, offsets, subsets, d


def rounded_down(threshold: Array) -> Array:
    """The largest 32-bit number at or below each threshold, which decides alike for 32-bit features."""
    rounded = np.asarray(threshold).astype(np.float32)
    return np.where(rounded > threshold, np.nextafter(rounded, np.float32(-np.inf)), rounded)


def stump(feature: int, threshold: float, below: float, above: float) -> dict[str, Array]:
    """Nodes of a tree of one split: the values of rows at or below a threshold, and above it."""
    leaf = np.array([False, True, True])
    values = np.array([0, below, above])
    return _nodes(
        leaf, np.full(3, feature), np.full(3, threshold), values, np.ones(3), np.array([2, 0, 0]), np.zeros(3, bool)
    )


def of_decision_tree(fitted: Any) -> dict[str, Array]:
    """Nodes of scikit-learn's DecisionTreeClassifier of two classes; a leaf's value is the share of class 1."""
    tree = fitted.tree_
    leaf = tree.children_left < 0
    share = tree.value[:, 0, -1] / tree.value[:, 0].sum(axis=1)
    return _nodes(
        leaf,
        tree.feature,
        tree.threshold,
        share,
        tree.children_left,
        tree.children_right,
        tree.missing_go_to_left.astype(bool),
        _gain(tree),
    )


def of_regression_tree(fitted: Any) -> dict[str, Array]:
    """Nodes of scikit-learn's DecisionTreeRegressor; a leaf's value is its prediction."""
    tree = fitted.tree_
    leaf = tree.children_left < 0
    gaps_left = tree.missing_go_to_left.astype(bool)
    children = tree.children_left, tree.children_right
    return _nodes(leaf, tree.feature, tree.threshold, tree.value[:, 0, 0], *children, gaps_left, _gain(tree))


def of_histogram_boosting(fitted: Any) -> tuple[list[dict[str, Array]], float]:
    """Trees of scikit-learn's HistGradientBoostingClassifier of two classes, and what their sum starts from.

    Raises PluginError if this version of scikit-learn keeps them otherwise.
    """
    try:
        trees = []
        for (predictor,) in fitted._predictors:
            n = predictor.nodes
            leaf = n["is_leaf"].astype(bool)
            nodes = _nodes(
                leaf,
                n["feature_idx"],
                n["num_threshold"],
                n["value"],
                n["left"].astype(np.int64),
                n["right"].astype(np.int64),
                n["missing_go_to_left"].astype(bool),
                n["gain"],
            )
            categorical = n["is_categorical"].astype(bool) & ~leaf
            nodes["subset"] = np.where(categorical, n["bitset_idx"].astype(np.int64), -1)
            nodes["subsets"] = np.asarray(predictor.raw_left_cat_bitsets, np.uint32).reshape(-1, 8)
            trees.append(nodes)
        return trees, float(fitted._baseline_prediction.ravel()[0])
    except (AttributeError, KeyError, ValueError) as error:
        import sklearn

        raise PluginError(
            f"scikit-learn {sklearn.__version__} keeps its boosted trees in a form that pubench-bases cannot read "
            f"({error}); 1.5 to 1.9 are known to work"
        ) from error


def _gain(tree: Any) -> Array:
    """(nodes,) by how much each split of a tree of scikit-learn lowers the impurity, times the weight of its rows."""
    impurity = tree.impurity * tree.weighted_n_node_samples
    return np.asarray(impurity - impurity[tree.children_left] - impurity[tree.children_right])


def _nodes(
    leaf: Array,
    feature: Array,
    threshold: Array,
    value: Array,
    left: Array,
    right: Array,
    gaps_left: Array,
    gain: Array | None = None,
) -> dict[str, Array]:
    if (left[~leaf] != np.flatnonzero(~leaf) + 1).any():
        raise ValueError("the left child of a node is not the next node")
    return {
        "feature": np.where(leaf, -1, feature),
        "value": np.where(leaf, value, rounded_down(threshold)),
        "right": np.where(leaf, 0, right),
        "gaps_left": gaps_left & ~leaf,
        "subset": np.full(len(leaf), -1),
        "gain": np.where(leaf, 0, 0 if gain is None else np.maximum(gain, 0)),
        "subsets": np.empty((0, 8), np.uint32),
    }
