"""Extremely randomized trees that minimize the PU risk: compiled kernels, and the forest made of them.

A node holds ``k_p`` labeled positives and ``k_u`` unlabeled rows of the ``n_p`` and ``n_u`` of the whole training
set; W_P = π k_p / n_p and W_U = k_u / n_u are their masses, and v = W_P / W_U is the node's posterior. Tables of
features are feature-major, (d, n), with the labeled positives in front: a node is then a slice of row numbers whose
first ``k_p`` are positives, and because a cut keeps their order, its children are such slices too. Counting needs no
labels, and the work per node is its size times the number of candidates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compiled on the first call, kept on disk, outside the interpreter lock, in plain IEEE arithmetic."""
    return cast(Function, numba.njit(cache=True, nogil=True, fastmath=False)(function))


class Risk(NamedTuple):
    """Risk that a tree minimizes. ``non_negative``: nnPU rather than uPU; ``logistic``: rather than quadratic loss."""

    n_p: int
    n_u: int
    prior: float
    non_negative: bool
    logistic: bool


class Limits(NamedTuple):
    """How far and how freely a tree grows. A node of fewer than ``min_samples_split`` rows is a leaf."""

    max_depth: int
    min_samples_split: int
    max_features: int
    max_candidates: int


#: A tree is an array of these, the root first.
NODE = np.dtype(
    [
        ("feature", np.int32),  # -1 at leaves
        ("left", np.int32),  # rows with x <= threshold go there
        ("threshold", np.float64),  # wider than the features: between any two values of theirs lie many thresholds
        ("right", np.int32),
        ("depth", np.int32),  # 0 at the root
        ("k_p", np.int32),
        ("k_u", np.int32),
        ("reduction", np.float64),  # risk of the node minus risk of its children; 0 at leaves
        ("posterior", np.float64),  # v, infinite where nothing is unlabeled
        ("label", np.int8),  # +1 or -1 at leaves, 0 elsewhere
    ],
    align=True,
)


class Cut(NamedTuple):
    """The best split of a node. ``feature`` is -1 where every feature is constant."""

    feature: int
    threshold: float
    left_p: int
    left_u: int
    risk: float
    n_constant: int


# ---------------------------------------------------------------- the risk of a node


@kernel
def posterior(k_p: int, k_u: int, risk: Risk) -> float:
    """v = W_P / W_U in [0, inf], from integer counts: exactly 1 where the masses are equal."""
    if k_u == 0:
        return np.inf
    return risk.prior * (k_p * risk.n_u) / (risk.n_p * k_u)


@kernel
def node_label(v: float) -> int:
    """The sign of v - 1/2; 0 means that the label is drawn, -1 and +1 with probability 1/2."""
    if v > 0.5:
        return 1
    if v < 0.5:
        return -1
    return 0


@kernel
def node_risk(k_p: int, k_u: int, risk: Risk) -> float:
    """Estimated risk of the best constant score in a node, weighted by its mass; uPU's may be negative or -inf.

    Quadratic loss (1 - v y)^2: 4 W_U v (1 - v). Logistic loss: W_U H(v), H the binary entropy in nats. Beyond v = 1,
    where W_P exceeds W_U, nnPU's is 0.
    """
    v = posterior(k_p, k_u, risk)
    w_u = k_u / risk.n_u
    if risk.non_negative and v > 1:
        return 0.0
    if risk.logistic:
        if v > 1:
            return -np.inf
        if v in (0, 1):
            return 0.0
        return -w_u * (v * math.log(v) + (1 - v) * math.log1p(-v))
    if k_u == 0:
        return -np.inf
    return 4 * w_u * v * (1 - v)


@kernel
def is_pure(k_p: int, k_u: int, risk: Risk) -> bool:
    """Whether no split could lower the risk of a node, decided on integer counts and not on a rounded risk.

    No positive mass: risk 0. nnPU: W_P >= W_U, risk 0. uPU: the risk is -inf already, which for the logistic loss is
    W_P > W_U and for the quadratic loss W_U = 0.
    """
    p, u = risk.prior * (k_p * risk.n_u), risk.n_p * k_u
    if p <= 0:
        return True
    if risk.non_negative:
        return p >= u
    return p > u if risk.logistic else k_u == 0


# ---------------------------------------------------------------- one cut


@kernel
def gather(column: Array, rows: Array, values: Array) -> tuple[float, float, float, float]:
    """Copies ``column[rows]`` into ``values``; their two smallest and two largest distinct ones: u_1, u_2, u_m-1, u_m.

    Of a constant u_1 = u_m, and u_2 and u_m-1 mean nothing.
    """
    lowest = highest = column[rows[0]]
    second_lowest, second_highest = np.inf, -np.inf
    for i in range(len(rows)):
        value = column[rows[i]]
        values[i] = value
        if value < lowest:
            second_lowest, lowest = lowest, value
        elif lowest < value < second_lowest:
            second_lowest = value
        if value > highest:
            second_highest, highest = highest, value
        elif highest > value > second_highest:
            second_highest = value
    return lowest, second_lowest, second_highest, highest


@kernel
def cut_range(u_1: float, u_2: float, u_m1: float, u_m: float) -> tuple[float, float]:
    """[u_1 + 0.4 (u_2 - u_1), u_m-1 + 0.6 (u_m - u_m-1)]: where thresholds are drawn."""
    return u_1 + 0.4 * (u_2 - u_1), u_m1 + 0.6 * (u_m - u_m1)


@kernel
def draw_threshold(u_1: float, u_2: float, u_m1: float, u_m: float, rng: np.random.Generator) -> float:
    """Uniform in :func:`cut_range`, and in any arithmetic u_1 <= threshold < u_m: no child is empty."""
    low, high = cut_range(u_1, u_2, u_m1, u_m)
    threshold = low + (high - low) * rng.random()
    if not threshold >= u_1:  # infinite features make it not-a-number
        return u_1
    return threshold if threshold < u_m else u_m1


@kernel
def count_left(values: Array, threshold: float) -> int:
    """How many values are at or below the threshold."""
    n = 0
    for i in range(len(values)):
        n += values[i] <= threshold
    return n


@kernel
def try_cut(values: Array, k_p: int, threshold: float, risk: Risk) -> tuple[int, int, float]:
    """Positives and unlabeled rows that go left, and the summed risk of both children.

    ``values`` of one feature, the node's ``k_p`` positives first.
    """
    left_p, left_u = count_left(values[:k_p], threshold), count_left(values[k_p:], threshold)
    right_p, right_u = k_p - left_p, len(values) - k_p - left_u
    return left_p, left_u, node_risk(left_p, left_u, risk) + node_risk(right_p, right_u, risk)


@kernel
def partition(column: Array, rows: Array, threshold: float, spare: Array) -> int:
    """Reorders ``rows`` so that those going left come first, in their order; how many they are."""
    n_left = n_right = 0
    for i in range(len(rows)):
        row = rows[i]
        goes_left = column[row] <= threshold
        rows[n_left] = row  # both are written, one counts: no branch to mispredict
        spare[n_right] = row
        n_left += goes_left
        n_right += not goes_left
    rows[n_left:] = spare[:n_right]
    return n_left


@kernel
def best_cut(
    columns: Array,
    rows: Array,
    k_p: int,
    features: Array,
    n_constant: int,
    risk: Risk,
    limits: Limits,
    values: Array,
    rng: np.random.Generator,
) -> Cut:
    """The candidate with the smallest summed risk of its children, the first one among equals.

    Features are drawn without replacement from the first unknown one on, and constant ones are passed over, which is a
    uniform draw among those that are not constant. ``features`` is a permutation of all of them, whose first
    ``n_constant`` are known to be constant here; drawing extends this part by what is found to be constant, and
    changes nothing in front of it.
    """
    d = len(features)
    best_feature, best_threshold, best_p, best_u, best_risk = -1, 0.0, 0, 0, np.inf
    drawn, position = 0, n_constant
    while drawn < limits.max_features and position < d:
        other = position + int(rng.random() * (d - position))
        features[position], features[other] = features[other], features[position]
        feature = int(features[position])
        u_1, u_2, u_m1, u_m = gather(columns[feature], rows, values)
        if u_1 < u_m:
            drawn += 1
            for _ in range(limits.max_candidates):
                threshold = draw_threshold(u_1, u_2, u_m1, u_m, rng)
                left_p, left_u, children = try_cut(values[: len(rows)], k_p, threshold, risk)
                if children < best_risk:
                    best_feature, best_threshold, best_p, best_u = feature, threshold, left_p, left_u
                    best_risk = children
        else:
            features[position], features[n_constant] = features[n_constant], features[position]
            n_constant += 1
        position += 1
    return Cut(best_feature, best_threshold, best_p, best_u, best_risk, n_constant)


# ---------------------------------------------------------------- one tree


@kernel
def longer(array: Array) -> Array:
    """A copy with twice the length."""
    copy = np.empty((2 * len(array), *array.shape[1:]), array.dtype)
    copy[: len(array)] = array
    return copy


@kernel
def set_leaf(node: Any, depth: int, k_p: int, k_u: int, risk: Risk) -> None:
    """Writes a node that has no children yet; its label is 0 where it is still to be drawn."""
    v = posterior(k_p, k_u, risk)
    node.feature = node.left = node.right = -1
    node.threshold = node.reduction = 0.0
    node.depth, node.k_p, node.k_u = depth, k_p, k_u
    node.posterior, node.label = v, node_label(v)


@kernel
def grow(columns: Array, risk: Risk, limits: Limits, rng: np.random.Generator) -> Array:
    """One tree on all rows of ``columns`` (d, n), the ``risk.n_p`` labeled positives first; an array of ``NODE``.

    Depth first with an explicit stack, so that depth is limited by ``limits`` alone. What is known to be constant in
    a node stays in front of ``features`` while its descendants are grown (see :func:`best_cut`), hence one array and
    one number per node on the stack.
    """
    d, n = columns.shape
    rows, features = np.arange(n, dtype=np.int32), np.arange(d)
    spare, values = np.empty(n, np.int32), np.empty(n, columns.dtype)
    nodes, n_nodes = np.empty(64, NODE), 1
    stack, height = np.empty((64, 4), np.int64), 1
    set_leaf(nodes[0], 0, risk.n_p, risk.n_u, risk)
    stack[0] = 0, 0, n, 0
    while height:
        height -= 1
        index, start, stop, n_constant = stack[height]
        depth, k_p, k_u = nodes[index].depth, nodes[index].k_p, nodes[index].k_u
        cut = Cut(-1, 0.0, 0, 0, 0.0, n_constant)
        if not (is_pure(k_p, k_u, risk) or depth >= limits.max_depth or stop - start < limits.min_samples_split):
            cut = best_cut(columns, rows[start:stop], k_p, features, n_constant, risk, limits, values, rng)
        if cut.feature < 0:
            if nodes[index].label == 0:
                nodes[index].label = 1 if rng.random() < 0.5 else -1
            continue
        if n_nodes + 2 > len(nodes):
            nodes = longer(nodes)
        if height + 2 > len(stack):
            stack = longer(stack)
        node, left, right = nodes[index], n_nodes, n_nodes + 1
        node.feature, node.threshold, node.left, node.right = cut.feature, cut.threshold, left, right
        node.reduction, node.label = node_risk(k_p, k_u, risk) - cut.risk, 0
        set_leaf(nodes[left], depth + 1, cut.left_p, cut.left_u, risk)
        set_leaf(nodes[right], depth + 1, k_p - cut.left_p, k_u - cut.left_u, risk)
        middle = start + partition(columns[cut.feature], rows[start:stop], cut.threshold, spare)
        stack[height] = right, middle, stop, cut.n_constant
        stack[height + 1] = left, start, middle, cut.n_constant
        n_nodes += 2
        height += 2
    return nodes[:n_nodes].copy()


@kernel
def leaves_of(tree: Array, x: Array) -> Array:
    """(n,) the leaf of ``tree`` that each row of ``x`` (n, d) falls into."""
    out = np.empty(len(x), np.int32)
    for i in range(len(x)):
        index = 0
        while tree[index].feature >= 0:
            node = tree[index]
            index = node.left if x[i, node.feature] <= node.threshold else node.right
        out[i] = index
    return out


# ---------------------------------------------------------------- the forest


class Forest:
    """Trees one after another in one array of ``NODE``; tree t is ``nodes[offsets[t] : offsets[t + 1]]``.

    ``importances``: (d,) mean over the trees of the summed risk reductions of the splits on a feature, not normalized;
    infinite where a uPU risk fell to -inf.
    """

    def __init__(self, trees: Sequence[Array], d: int) -> None:
        self.nodes = np.concatenate(trees)
        self.offsets = np.cumsum([0, *(len(tree) for tree in trees)])
        inner = self.nodes[self.nodes["feature"] >= 0]
        self.importances = np.bincount(inner["feature"], inner["reduction"], minlength=d) / len(trees)

    @classmethod
    def grow(cls, columns: Array, risk: Risk, limits: Limits, seeds: Array, threads: int = 1) -> Forest:
        """One tree per seed, the same ones however many threads share the work."""

        def tree(seed: int) -> Array:
            return grow(columns, risk, limits, np.random.default_rng(seed))

        with ThreadPoolExecutor(threads) as pool:
            return cls(list(pool.map(tree, seeds)), len(columns))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def trees(self) -> list[Array]:
        """Each tree's nodes."""
        return np.split(self.nodes, self.offsets[1:-1])

    def votes(self, x: Array) -> tuple[Array, Array]:
        """For each row of ``x`` (n, d): the number of trees that say +1, and the mean of min(v, 1) over the trees."""
        if x.shape[1] != len(self.importances):  # compiled code looks at no bounds
            raise ValueError(f"rows of {x.shape[1]} features; the forest was grown on {len(self.importances)}")
        positive, total = np.zeros(len(x), np.int64), np.zeros(len(x))
        for tree in self.trees:
            leaf = tree[leaves_of(tree, x)]
            positive += leaf["label"] > 0
            total += np.minimum(leaf["posterior"], 1)
        return positive, total / len(self)

    def state_dict(self) -> dict[str, Array]:
        """Plain arrays: one per field of a node, the offsets and the importances."""
        fields = {name: np.ascontiguousarray(self.nodes[name]) for name in NODE.names or ()}
        return {**fields, "offsets": self.offsets, "importances": self.importances}

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """The forest that :meth:`state_dict` described. Raises ValueError for what describes none.

        A child comes after its parent and lies in the same tree, and a feature is one of d: compiled code that walks a
        tree ends, and reads nothing but the forest and the row.
        """
        names = (*(NODE.names or ()), "offsets", "importances")
        if absent := sorted(set(names) ^ set(state)):
            raise ValueError(f"a forest has {', '.join(names)} and nothing else; {absent[0]} is absent or too much")
        kinds = {**{name: NODE[name] for name in NODE.names or ()}, "offsets": np.int64, "importances": np.float64}
        for name in names:
            if state[name].ndim != 1 or state[name].dtype != kinds[name]:
                raise ValueError(f"{name} of a forest is {state[name].dtype} {state[name].shape}")
        nodes = np.empty(len(state["feature"]), NODE)
        for name in NODE.names or ():
            if len(state[name]) != len(nodes):
                raise ValueError(f"a forest has {len(nodes)} features of nodes and {len(state[name])} of {name}")
            nodes[name] = state[name]
        offsets, importances = state["offsets"], state["importances"]
        ends = len(offsets) > 1 and offsets[0] == 0 and offsets[-1] == len(nodes)
        if not ends or (offsets < 0).any() or (offsets > len(nodes)).any() or (np.diff(offsets) < 1).any():
            raise ValueError("offsets of a forest do not cut its nodes into trees")
        sizes = np.diff(offsets)
        index, size = np.arange(len(nodes)) - np.repeat(offsets[:-1], sizes), np.repeat(sizes, sizes)
        inner = nodes["feature"] >= 0
        for side in ("left", "right"):
            child = nodes[side]
            if (inner & ((child <= index) | (child >= size))).any():
                raise ValueError(f"a {side} child of a forest is no later node of its tree")
        if (nodes["feature"] >= len(importances)).any():
            raise ValueError(f"a node of a forest splits on a feature beyond its {len(importances)}")
        self.nodes, self.offsets, self.importances = nodes, offsets, importances


def warm_up() -> None:
    """Compiles every kernel, or loads it from the cache, by growing a tree on four rows and scoring them."""
    columns = np.array([[0.0, 1.0, 2.0, 3.0]], np.float32)
    limits = Limits(max_depth=2, min_samples_split=2, max_features=1, max_candidates=1)
    Forest.grow(columns, Risk(2, 2, 0.5, True, False), limits, np.zeros(1, np.int64)).votes(columns.T.copy())
