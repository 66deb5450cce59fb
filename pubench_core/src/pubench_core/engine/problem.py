"""One PU problem, ready to train on: features on the device, a split, and the truth that only the evaluator holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..data.dataset import DataRoot, IntArray, PNDataset, binarize
from ..data.encoding import Column, as_plain
from ..data.generator import Part, Split, generate, given_split
from ..data.posterior import auxiliary_logit
from ..data.preprocess import Preprocessing
from ..data.roots import data_root
from ..data.store import open_dataset
from ..data.user_table import UserTable
from ..errors import RequestError
from ..metric import Knowledge
from ..request.plan import MechanismChoice, Plan
from ..results import DataFacts, Estimate, PartFacts, PriorFacts
from ..specs import RunSpec, Scheme, is_one_sample, unlabeled_prior
from ..training.views import Features, PUData, PUPart
from .priors import given_prior

Truth = npt.NDArray[np.int8]


@dataclass(frozen=True)
class OpenedData:
    """The data of a plan before anything is split. ``digest``: of the arrays; empty for a user's table."""

    data: PNDataset
    digest: str = ""
    columns: tuple[Column, ...] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """``truth_*``: 0/1 labels of the rows of the split's parts, in order; None where the truth is not known.

    ``prior_true`` is |P| / n of the pool (of its unlabeled rows, where those alone are a draw from the population and
    the labels are given); None without truth. ``prior`` is what the method is given.
    """

    opened: OpenedData
    split: Split
    scheme: Scheme
    seed: int
    calibrated: bool
    prior_true: float | None
    prior: float
    estimate: Estimate | None
    features: Features
    features_test: Features
    truth_train: Truth | None
    truth_validation: Truth | None
    truth_test: Truth | None
    preprocessing: Preprocessing = field(default_factory=Preprocessing)

    @property
    def data(self) -> PNDataset:
        """The arrays as read."""
        return self.opened.data

    @property
    def device(self) -> torch.device:
        """The device that the features are on."""
        return self.features.values.device

    def rows(self, index: npt.NDArray[np.int64]) -> Tensor:
        """Row numbers on the device."""
        return torch.from_numpy(index).to(self.device)

    def part(self, name: str) -> tuple[Features, Tensor, Truth | None]:
        """Features, rows and truth of ``train`` (the pool, each instance once), ``validation`` or ``test``."""
        if name == "train":
            return self.features, self.rows(self.split.train.rows), self.truth_train
        if name == "validation":
            return self.features, self.rows(self.split.validation.rows), self.truth_validation
        return self.features_test, self.rows(self.split.test_rows), self.truth_test

    def knowledge(self, name: str) -> Knowledge:
        """What is known of the rows of a part, for metrics."""
        truth = self.part(name)[2]
        if name == "test":
            return Knowledge(truth=truth)
        part = self.split.train if name == "train" else self.split.validation
        return Knowledge(
            truth=truth,
            labeled=np.flatnonzero(part.labeled),
            unlabeled=part.unlabeled(self.scheme),
            prior=self.prior,
            scheme=self.scheme,
        )

    @property
    def unlabeled_rows(self) -> IntArray | None:
        """Rows of a user's own table that carry no label, in its order; None for simulated labels."""
        return None if self.data.labeled is None else np.flatnonzero(~self.data.labeled)

    def view(self, granted: frozenset[str]) -> PUData:
        """What a method may see; its table is LP ‖ U."""
        instance, labeled, truth = self._table(self.split.train, self.truth_train)
        v_instance, v_labeled, _ = self._table(self.split.validation, None)
        return PUData(
            self.features,
            instance,
            labeled,
            self.scheme,
            validation=PUPart(self.features, v_instance, v_labeled, self.scheme),
            granted=granted,
            prior=self.prior,
            truth=truth if "truth" in granted else None,
        )

    def _table(self, part: Part, truth: Truth | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """(row in features, labeled, truth) of LP ‖ U; under calibration U is U ∪ P (Wang et al., Algorithm 1)."""
        p = np.flatnonzero(part.labeled)
        u = np.arange(len(part.rows)) if self.calibrated else part.unlabeled(self.scheme)
        positions = np.concatenate([p, u])
        labeled = torch.zeros(len(positions), dtype=torch.bool)
        labeled[: len(p)] = True
        return (
            self.rows(part.rows[positions]),
            labeled.to(self.device),
            torch.from_numpy(truth[positions].astype(np.float32)).to(self.device) if truth is not None else None,
        )

    def facts(self) -> DataFacts:
        """Counts and priors for the record."""
        train, validation = self.split.train, self.split.validation
        unlabeled = train.unlabeled(self.scheme)
        hidden = self.truth_train[unlabeled] if self.truth_train is not None else None
        return DataFacts(
            modality=self.data.modality,
            shape=self.data.shape,
            dropped=self.data.dropped,
            train=PartFacts(
                rows=len(train.rows),
                labeled=train.n_labeled,
                unlabeled=len(unlabeled),
                **_classes(self.truth_train),
                **{f"unlabeled_{name}": count for name, count in _classes(hidden).items()},
            ),
            validation=PartFacts(
                rows=len(validation.rows), labeled=validation.n_labeled, **_classes(self.truth_validation)
            ),
            test=(
                PartFacts(rows=len(self.split.test_rows), **_classes(self.truth_test))
                if self.truth_test is not None
                else None
            ),
            prior=PriorFacts(given=self.prior, true=self.prior_true, estimate=self.estimate),
            calibrated=self.calibrated,
            digest=self.opened.digest,
            encoding=tuple(as_plain(self.opened.columns)) if self.opened.columns is not None else None,
            notes=self.opened.notes,
        )


def _classes(truth: Truth | None) -> dict[str, int]:
    if truth is None:
        return {}
    return {"positive": int(truth.sum()), "negative": int(len(truth) - truth.sum())}


# -------------------------------------------------------------------- building


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

    Raises RequestError for missing files, a c that labels nobody, a prior that contradicts the counts, or a method that
    needs true labels which a user's table does not have.
    """
    spec, root = plan.spec, root or data_root(plan.spec.execution)
    opened = opened or open_data(plan, root)
    data, device = opened.data, device or torch.device("cpu")
    if "truth" in plan.method.requires and data.y is None:
        raise RequestError(
            f"{spec.method.key} needs true labels and {data.key} has none; data.own.truth_col=COLUMN names them",
            field="data.own.truth_col",
        )
    split, preprocessing = _split(plan, data, root.cache / "posterior")
    train_x = preprocessing.apply(data.x)
    truth = data.y[split.train.rows] if data.y is not None else None
    prior_true = _true_prior(spec, split, truth)
    prior, estimate = given_prior(
        spec.prior,
        prior_true,
        estimator=plan.estimator,
        samples=lambda: (
            train_x[split.train.rows[split.train.labeled]],
            train_x[split.train.rows[split.train.unlabeled(spec.data.scheme)]],
        ),
        one_sample=is_one_sample(spec.data.scheme),
        seed=spec.seed,
    )
    if "prior" in plan.method.requires:
        _refuse_contradiction(spec, prior, split)
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
