"""From a plan to a problem: data opened, split, labeled, preprocessed, and the prior that the method is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ..data.dataset import DataRoot, IntArray, PNDataset, binarize
from ..data.generator import Split, generate, given_split
from ..data.posterior import auxiliary_logit
from ..data.preprocess import Preprocessing
from ..data.roots import data_root
from ..data.store import open_dataset
from ..data.user_table import UserTable
from ..errors import RequestError
from ..request.plan import MechanismChoice, Plan
from ..results import Estimate
from ..specs import RunSpec, is_one_sample, unlabeled_prior
from ..training.views import Features
from .priors import given_prior
from .problem import OpenedData, Problem, Truth


def open_data(plan: Plan, root: DataRoot) -> OpenedData:
    """The arrays of a plan as a binary problem. Raises RequestError for files that are missing or damaged."""
    table, spec = plan.data.table, plan.spec
    if table is not None:
        for note in table.notes:
            root.say(note)
        return OpenedData(_dataset_of(spec, table), columns=table.columns, notes=table.notes)
    assert plan.data.source is not None
    opened = open_dataset(plan.data.source, root, preprocess=spec.data.preprocess)
    data = binarize(plan.data.info, opened.data, spec.data.positive, spec.data.negative)
    if data.dropped:
        root.say(f"{data.key}: {data.dropped} rows of classes in neither list are left out")
    return OpenedData(data, opened.digest)


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

    Raises RequestError for missing files, a c that labels nobody, or a prior that contradicts the counts.
    """
    spec, root = plan.spec, root or data_root(plan.spec.execution)
    opened = opened or open_data(plan, root)
    data, device = opened.data, device or torch.device("cpu")
    split, preprocessing = _split(plan, data, root.cache / "posterior")
    train_x = preprocessing.apply(data.x)
    truth = data.y[split.train.rows] if data.y is not None else None
    prior_true = _true_prior(spec, split, truth)
    prior, estimate = _prior(plan, split, train_x, prior_true)
    features = features_test = Features(torch.from_numpy(train_x).to(device))
    if data.x_test is not None:
        features_test = Features(torch.from_numpy(preprocessing.apply(data.x_test)).to(device))
    y_test = data.y if data.x_test is None else data.y_test
    return Problem(
        opened=opened,
        split=split,
        scheme=spec.data.scheme,
        seed=spec.seed,
        calibrated=is_one_sample(spec.data.scheme) and spec.method.calibrate == "on",
        prior_true=prior_true,
        prior=prior,
        estimate=estimate,
        features=features,
        features_test=features_test,
        truth_train=truth,
        truth_validation=data.y[split.validation.rows] if data.y is not None else None,
        truth_test=y_test[split.test_rows] if y_test is not None else None,
        preprocessing=preprocessing,
    )


# -------------------------------------------------------------------- priors


def _prior(plan: Plan, split: Split, x: npt.NDArray[Any], true: float | None) -> tuple[float, Estimate | None]:
    """The prior that the method is given. RequestError where a method that reads it is given one below the labels."""
    spec, train = plan.spec, split.train
    found = given_prior(
        spec.prior,
        true,
        estimator=plan.estimator,
        samples=lambda: (x[train.rows[train.labeled]], x[train.rows[train.unlabeled(spec.data.scheme)]]),
        one_sample=is_one_sample(spec.data.scheme),
        seed=spec.seed,
    )
    if "prior" in plan.method.requires:
        _refuse_contradiction(spec, found[0], split)
    return found


def _true_prior(spec: RunSpec, split: Split, truth: Truth | None) -> float | None:
    if truth is None:
        return None
    population = truth[split.train.unlabeled("two-sample")] if spec.data.scheme == "two-sample" else truth
    return int(population.sum()) / len(population)


def _refuse_contradiction(spec: RunSpec, prior: float, split: Split) -> None:
    """RequestError where more rows are labeled than the prior allows to be positive."""
    n, n_labeled = len(split.train.rows), split.train.n_labeled
    if is_one_sample(spec.data.scheme) and unlabeled_prior(prior, n_labeled, n) <= 0:
        raise RequestError(
            f"prior {prior:g} contradicts the labels: {n_labeled} of {n} rows are labeled positives, so it must be "
            f"above {n_labeled / n:.4g}",
            field="prior",
            value=prior,
        )


# -------------------------------------------------------------------- data and labels


def _dataset_of(spec: RunSpec, table: UserTable) -> PNDataset:
    """A user's table as a binary problem."""
    return PNDataset(
        key=spec.data.key,
        modality="tabular",
        x=table.x,
        y=table.truth,
        rows=np.arange(len(table.x)),
        x_test=table.x_test,
        y_test=table.truth_test,
        rows_test=np.arange(len(table.x_test)) if table.x_test is not None else None,
        mean=None,
        std=None,
        labeled=table.labeled,
    )


def _split(plan: Plan, data: PNDataset, cache: Path) -> tuple[Split, Preprocessing]:
    """The labeled split, and the preprocessing fitted on its training pool."""
    spec = plan.spec
    if plan.mechanism is not None:
        return _simulated(plan.mechanism, spec, data, cache)
    split = given_split(
        data,
        scheme=spec.data.scheme,
        validation_fraction=spec.validation.fraction,
        test_fraction=spec.data.test_fraction,
        seed=spec.seed,
    )
    return split, Preprocessing.fit(data.x, split.train.rows, spec.data.preprocess)


def _simulated(choice: MechanismChoice, spec: RunSpec, data: PNDataset, cache: Path) -> tuple[Split, Preprocessing]:
    """A split that a mechanism labels; it sees the preprocessed features of the pool."""
    assert data.y is not None
    assert spec.mechanism.c is not None
    y = data.y
    fitted: list[tuple[Preprocessing, npt.NDArray[Any]]] = []  # both parts are labeled on the same pool

    def choose(pool: IntArray, positives: IntArray, n: int, rng: np.random.Generator) -> IntArray:
        if not fitted:
            preprocessing = Preprocessing.fit(data.x, pool, spec.data.preprocess)
            fitted.append((preprocessing, preprocessing.apply(data.x)))
        x = fitted[0][1]
        logit = auxiliary_logit(x, y, pool, positives, cache) if choice.info.needs_posterior else None
        return choice.mechanism.choose(x[positives], logit, n, rng)

    split = generate(
        data,
        scheme=spec.data.scheme,
        choose=choose,
        c=spec.mechanism.c,
        validation_fraction=spec.validation.fraction,
        test_fraction=spec.data.test_fraction,
        seed=spec.seed,
    )
    return split, fitted[0][0]
