"""From a plan to a problem: data opened, split, labeled, preprocessed, and the prior that the method is given."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ..data.dataset import DataRoot, IntArray, PNDataset, data_root
from ..data.generator import Noise, Part, Split, cut, generate, given_split
from ..data.preprocess import Preprocessing
from ..data.sampling import draw
from ..data.sparse import SparseRows
from ..errors import RequestError
from ..isolation import isolated
from ..randomness import stream, torch_seed
from ..specs import RunSpec, is_one_sample
from ..specs.run import TEST
from ..training.views import features_of
from .open import OpenedData, open_data
from .plan import MechanismChoice, Plan
from .priors import prior_of, true_prior
from .problem import Draw, Problem


def build_problem(
    plan: Plan,
    device: torch.device | None = None,
    *,
    opened: OpenedData | None = None,
    root: DataRoot | None = None,
) -> Problem:
    """Splits and labels the data of a plan.

    ``device``: the CPU by default. ``opened``: the data, where they were opened already. ``root``: where data lie; by
    default what the plan's spec and the environment say.

    Raises RequestError for missing files, a number of labels or rows that the data cannot give,
    or a prior that contradicts the counts.
    """
    spec, root = plan.spec, root or data_root(plan.spec.execution)
    opened = opened or open_data(plan, root)
    data, device = opened.data, device or torch.device("cpu")
    method, config = plan.method.implementation, plan.method.config
    if data.weights is not None and not method.takes_weights(config):
        weights = data.weights[data.rows]
        if (weights != weights[0]).any():
            raise RequestError(
                f"{plan.method.info.key} takes no weights of rows, except 0 for one that is absent; take a method "
                "that does, or leave them out",
                field="data.own.weights",
            )
    draw, preprocessing = drawn(plan, opened, root)
    split = draw.split
    # A copy in the split's random order: what a method holds has neither the order of the file nor the test rows.
    pool = data.x[np.concatenate([split.train.rows, split.negatives, split.validation.rows])]
    takes_gaps, keep_sparse = method.takes_gaps(config), method.takes_sparse(config)
    filled = preprocessing.apply(pool, in_place=not takes_gaps)  # estimators of the prior take no gaps
    preprocessing = replace(preprocessing, fill=None) if takes_gaps else preprocessing
    pool = preprocessing.apply(pool) if takes_gaps else filled
    test = data.x if data.x_test is None else data.x_test
    if len(test) != len(split.test_rows) or not np.array_equal(split.test_rows, np.arange(len(test))):
        test = test[split.test_rows]  # a copy, which all rows in their order do not need
    test = preprocessing.apply(test)
    known = draw.prior_true
    if spec.prior == TEST and draw.truth_test is not None:
        known = float(draw.truth_test.mean())
    prior, estimate = prior_of(plan, split, filled, known, plan.backbone.builder(data), root.cache, data.groups)
    return Problem(
        **{**vars(draw), "prior": prior, "estimate": estimate},
        seed=spec.seed,
        features=features_of(pool, device, keep_sparse=keep_sparse),
        features_test=features_of(test, device, keep_sparse=keep_sparse),
        preprocessing=preprocessing,
    )


def calibration_of(plan: Plan) -> tuple[bool, bool]:
    """Whether U is U ∪ P, and whether a method of the two-sample setting gets U as it is on purpose; neither under data
    that are not one-sample.
    """
    one_sample, how = is_one_sample(plan.spec.data.scheme), plan.spec.method.calibrate
    return one_sample and how == "on", one_sample and how == "off" and plan.method.info.setting == "two-sample"


def drawn(plan: Plan, opened: OpenedData, root: DataRoot) -> tuple[Draw, Preprocessing]:
    """Draw of a plan's seed, and what is fitted on its pool.

    Raises RequestError for a number of labels or rows that the data cannot give.
    """
    data, (calibrated, uncalibrated) = opened.data, calibration_of(plan)
    split, preprocessing = _split(plan, data, root.cache / "posterior")
    if plan.spec.checked.rows:
        split = _checked(plan.spec, data, split, preprocessing)
        root.say("{} of the rows that were checked are positive, {} negative".format(*split.checked))
        if split.weights is not None and not plan.method.implementation.takes_weights(plan.method.config):
            root.say(f"{plan.method.info.key} takes no weights: each checked row counts as one, whatever the design")
            split = replace(split, weights=None)
    negatives = np.concatenate([split.negatives, stream(plan.spec.seed, "negatives").permutation(data.negatives)])
    if data.groups is not None:  # none of a group that is held out
        held_out = [split.validation.rows, *([split.test_rows] if data.x_test is None else [])]
        negatives = negatives[~np.isin(data.groups[negatives], data.groups[np.concatenate(held_out)])]
    if len(negatives) and not plan.method.info.learns_from_negatives:
        root.say(f"{plan.method.info.key} learns from no known negatives: {len(negatives)} are left out")
        negatives = negatives[:0]
    split = replace(split, negatives=negatives)
    y, y_test = data.y, data.y if data.x_test is None else data.y_test
    truth = y[split.train.rows] if y is not None else None
    draw = Draw(
        opened=opened,
        split=split,
        scheme=plan.spec.data.scheme,
        calibrated=calibrated,
        uncalibrated=uncalibrated,
        prior_true=true_prior(plan.spec, split, truth),
        truth_train=truth,
        truth_validation=y[split.validation.rows] if y is not None else None,
        truth_test=y_test[split.test_rows] if y_test is not None else None,
    )
    return draw, preprocessing


# -------------------------------------------------------------------- data and labels


def _split(plan: Plan, data: PNDataset, cache: Path) -> tuple[Split, Preprocessing]:
    """The labeled split, and the preprocessing fitted on its training pool.

    Under cross-fitting, everything is labeled as if there was no validation part, and a fold is cut from that.
    """
    spec, folds, fold = plan.spec, plan.spec.validation.folds, plan.spec.validation.fold
    if plan.mechanism is not None:
        split, fitted = _simulated(plan.mechanism, spec, data, cache)
    else:
        split = given_split(data, scheme=spec.data.scheme, **sizes_of(spec))
        fitted = Preprocessing.fit(data.x, split.train.rows, spec.data.preprocess)
    if folds is None or fold == 0:
        return split, fitted
    if fold is None:  # every row is trained on, and held out in turn
        return Split(split.train, split.train, split.test_rows), fitted
    equal = None if plan.data.table is None else _instances(data.x[split.train.rows])
    groups = None if data.groups is None else data.groups[split.train.rows]
    split = cut(split, folds, fold, spec.seed, equal, groups)
    return split, Preprocessing.fit(data.x, split.train.rows, spec.data.preprocess)


def _checked(spec: RunSpec, data: PNDataset, split: Split, preprocessing: Preprocessing) -> Split:
    """The split with the true labels of rows of U of its training part: positives are labeled, negatives leave U."""
    train, wanted = split.train, spec.checked
    assert data.y is not None
    rng = stream(spec.seed, "checked")
    weights: npt.NDArray[np.float64] | None = None
    order = rng.permutation(np.flatnonzero(~train.labeled))
    if wanted.rows >= len(order):
        raise RequestError(f"checked.rows must be below {len(order)}, the rows of U to train on, got {wanted.rows}")
    if wanted.by != "random":
        score = _against_unlabeled(preprocessing.apply(data.x[train.rows]), train.labeled)[order]
        order = order[np.argsort(np.abs(score) if wanted.by == "uncertain" else -score, kind="stable")]
        if wanted.by == "sheet":
            order, stands_for = as_on_a_sheet(order, int((score > 0).sum()), wanted.rows, rng)
            weights = np.ones(len(data.x))
            weights[train.rows[order]] = stands_for / stands_for.mean()
    known, positive = np.zeros(len(train.rows), bool), data.y[train.rows] == 1
    known[order[: wanted.rows]] = True
    left, negatives = Part(train.rows, train.labeled | (known & positive)).parted(known & ~positive)
    found = left.n_labeled - train.n_labeled, len(negatives.rows)
    return replace(split, train=left, negatives=negatives.rows, checked=found, weights=weights)


def as_on_a_sheet(order: IntArray, above: int, n: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """``n`` rows, half of them of the first ``above``, as an audit draws them, and how many rows each stands for.

    A side is cut into as many even parts as it has draws: a row is drawn with probability 1 / size of its part.
    """
    half = max(min(above, round(n / 2)), n - (len(order) - above))
    sides = (order[:above], half), (order[above:], n - half)
    parts = [part for side, k in sides if k for part in np.array_split(side, k)]
    return np.array([rng.choice(part) for part in parts]), np.array([len(part) for part in parts])


def _against_unlabeled(x: npt.NDArray[Any], labeled: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """(n,) ridge regression of 1 for labeled rows and -1 for others on their features; both weigh the same."""
    x = np.column_stack([x.reshape(len(x), -1), np.ones(len(x))]).astype(np.float64)
    weight = np.where(labeled, 1 / labeled.sum(), 1 / (~labeled).sum())
    gram = (x.T * weight) @ x + 1e-3 * np.eye(x.shape[1])
    return np.asarray(x @ np.linalg.solve(gram, x.T @ np.where(labeled, weight, -weight)))


def _instances(x: npt.NDArray[Any] | SparseRows) -> IntArray:
    """(n,) numbers that equal rows share. A user's table may have a labeled row a second time, unlabeled."""
    if isinstance(x, SparseRows):
        ends = zip(x.starts[:-1], x.starts[1:], strict=True)
        rows = [x.columns[a:b].tobytes() + x.values[a:b].tobytes() for a, b in ends]
    else:
        rows = [row.tobytes() for row in x]
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(row, len(numbers)) for row in rows])


def _simulated(choice: MechanismChoice, spec: RunSpec, data: PNDataset, cache: Path) -> tuple[Split, Preprocessing]:
    """A split that a mechanism labels; it sees the preprocessed features of the pool."""
    assert data.y is not None
    y = data.y
    fitted: list[Preprocessing] = []  # both parts are labeled on the same pool
    part = itertools.count()  # the training part, then the validation part

    def choose(pool: IntArray, rows: IntArray, n: int, rng: np.random.Generator) -> IntArray:
        if not fitted:
            fitted.append(Preprocessing.fit(data.x, pool, spec.data.preprocess))
        logit, preprocess = None, spec.data.preprocess
        if choice.info.needs_posterior:
            x = fitted[0].apply(data.x)
            with isolated(torch_seed(spec.seed, "posterior"), torch.device("cpu")):
                logit = choice.mechanism.posterior_logit(x, y, pool, rows, cache, preprocess=preprocess)
        x_pos = fitted[0].apply(data.x[rows])
        with isolated(torch_seed(spec.seed, "mechanism", next(part)), torch.device("cpu")):  # whatever it draws from
            if spec.mechanism.c is None:
                return choice.mechanism.choose(x_pos, logit, n, rng)
            return choice.mechanism.label(x_pos, logit, spec.mechanism.c, n, rng)

    def mislabel(pool: IntArray, rows: IntArray, n: int, rng: np.random.Generator) -> IntArray:
        fit = Preprocessing.fit(data.x, pool, spec.data.preprocess)
        return choice.mechanism.mislabel(fit.apply(data.x[rows]), n, rng)

    sizes, purity = sizes_of(spec), choice.mechanism.purity
    noise = Noise(purity, mislabel) if purity < 1 else None
    if spec.mechanism.positive_rate is not None:
        if noise is not None:
            raise RequestError(
                f"mechanism {choice.info.key} labels negatives: data.scheme must be case-control or "
                f"single-training-set, got {spec.data.scheme}",
                field="data.scheme",
                value=spec.data.scheme,
            )
        split = draw(
            data,
            scheme=spec.data.scheme,
            choose=choose,
            positive_rate=spec.mechanism.positive_rate,
            total=spec.data.total,
            **sizes,
        )
        # labels are chosen before the validation part is carved from P and U, which the pool does not have
        return split, Preprocessing.fit(data.x, split.train.rows, spec.data.preprocess)
    assert spec.mechanism.c is not None
    counted = choice.mechanism.counted
    split = generate(
        data, scheme=spec.data.scheme, choose=choose, c=spec.mechanism.c, noise=noise, counted=counted, **sizes
    )
    return split, fitted[0]


def sizes_of(spec: RunSpec) -> dict[str, Any]:
    """Fields deciding how many rows a part of a split gets; under cross-fitting the folds are its validation parts."""
    fraction = 0.0 if spec.validation.folds is not None else spec.validation.fraction
    return {"validation_fraction": fraction, "test_fraction": spec.data.test_fraction, "seed": spec.seed}
