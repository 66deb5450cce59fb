"""One PU problem, ready to train on: features on the device, a split, and the truth that only the evaluator holds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..data.dataset import DataRoot, IntArray, PNDataset, binarise
from ..data.generator import Part, Split, generate
from ..data.store import open_dataset
from ..data.views import Features, PUData, PUPart, is_one_sample, unlabeled_prior
from ..errors import PluginError, RequestError
from ..info import DatasetInfo, MechanismInfo, MethodInfo
from ..mechanism import Mechanism
from ..posterior import auxiliary_logit
from ..registry import Registry, load
from ..specs import DataSpec, RunSpec, Scheme
from .priors import told_prior

Truth = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Problem:
    """``truth_*``: 0/1 labels of the rows of the split's parts, in order. ``prior_true`` is |P| / n of the pool."""

    data: PNDataset
    split: Split
    scheme: Scheme
    seed: int
    calibrated: bool
    prior_true: float
    prior: float
    features: Features
    features_test: Features
    truth_train: Truth
    truth_validation: Truth
    truth_test: Truth

    @property
    def device(self) -> torch.device:
        """Where the features live."""
        return self.features.values.device

    def rows(self, index: npt.NDArray[np.int64]) -> Tensor:
        """Row numbers on the device."""
        return torch.from_numpy(index).to(self.device)

    def part(self, name: str) -> tuple[Features, Tensor, Truth]:
        """Features, rows and truth of the training pool (each instance once) or of the test part."""
        if name == "train":
            return self.features, self.rows(self.split.train.rows), self.truth_train
        return self.features_test, self.rows(self.split.test_rows), self.truth_test

    def view(self, granted: frozenset[str]) -> PUData:
        """What a method may see; its table is LP ‖ U."""
        instance, labeled, truth = self._table(self.split.train, self.truth_train)
        v_instance, v_labeled, _ = self._table(self.split.validation, self.truth_validation)
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

    def _table(self, part: Part, truth: Truth) -> tuple[Tensor, Tensor, Tensor]:
        """(row in features, labelled, truth) of LP ‖ U; under calibration U is U ∪ P (Wang et al., Algorithm 1)."""
        p = np.flatnonzero(part.labeled)
        u = np.arange(len(part.rows)) if self.calibrated else part.unlabeled(self.scheme)
        positions = np.concatenate([p, u])
        labeled = torch.zeros(len(positions), dtype=torch.bool)
        labeled[: len(p)] = True
        return (
            self.rows(part.rows[positions]),
            labeled.to(self.device),
            torch.from_numpy(truth[positions].astype(np.float32)).to(self.device),
        )

    def facts(self) -> dict[str, Any]:
        """Counts and priors for the record."""
        train, validation = self.split.train, self.split.validation
        positives = int(self.truth_train.sum())
        unlabeled = self.truth_train[train.unlabeled(self.scheme)]
        return {
            "modality": self.data.modality,
            "shape": list(self.data.shape),
            "dropped": self.data.dropped,
            "train": {
                "positive": positives,
                "negative": len(train.rows) - positives,
                "labeled": train.n_labeled,
                "unlabeled_positive": int(unlabeled.sum()),
                "unlabeled_negative": int(len(unlabeled) - unlabeled.sum()),
            },
            "validation": {
                "positive": int(self.truth_validation.sum()),
                "negative": int(len(validation.rows) - self.truth_validation.sum()),
                "labeled": validation.n_labeled,
            },
            "test": {
                "positive": int(self.truth_test.sum()),
                "negative": int(len(self.truth_test) - self.truth_test.sum()),
            },
            "prior": {"true": self.prior_true, "told": self.prior},
            "calibrated": self.calibrated,
        }


def build_problem(
    spec: RunSpec, registry: Registry, root: DataRoot, device: torch.device, granted: frozenset[str]
) -> Problem:
    """Loads, binarises, splits and labels the data of a spec.

    Raises RequestError for missing files, a c that labels nobody, or a prior that contradicts the counts.
    """
    info = registry.find(DatasetInfo, spec.data.key)
    opened = open_dataset(info, root, preprocess=spec.data.preprocess)
    data = binarise(info, opened.data, spec.data.positive, spec.data.negative)
    split, train_x = _split(spec, registry, data, root.cache / "posterior")

    truth = data.y[split.train.rows]
    positives, n, n_labeled = int(truth.sum()), len(truth), split.train.n_labeled
    prior_true = positives / n
    method = registry.find(MethodInfo, spec.method.key)
    calibrate = spec.method.calibrate
    calibrated = is_one_sample(spec.data.scheme) and (
        calibrate == "on" or (calibrate == "auto" and method.setting == "two-sample")
    )
    prior = told_prior(
        spec.prior,
        prior_true,
        registry=registry,
        positive=train_x[split.train.rows[split.train.labeled]],
        unlabeled=train_x[split.train.rows[split.train.unlabeled(spec.data.scheme)]],
        one_sample=is_one_sample(spec.data.scheme),
        seed=spec.seed,
    )
    if "prior" in granted and is_one_sample(spec.data.scheme) and unlabeled_prior(prior, n_labeled, n) <= 0:
        raise RequestError(
            f"prior {prior:g} contradicts the labels: {n_labeled} of {n} rows are labelled positives, so it must be "
            f"above {n_labeled / n:.4g}"
        )
    features = features_test = Features(torch.from_numpy(train_x).to(device))
    if data.x_test is not None:
        test_x = _preprocessed(data.x_test, data.x, split.train.rows, spec.data)
        features_test = Features(torch.from_numpy(test_x).to(device))
    y_test = data.y if data.y_test is None else data.y_test
    return Problem(
        data=data,
        split=split,
        scheme=spec.data.scheme,
        seed=spec.seed,
        calibrated=calibrated,
        prior_true=prior_true,
        prior=prior,
        features=features,
        features_test=features_test,
        truth_train=truth,
        truth_validation=data.y[split.validation.rows],
        truth_test=y_test[split.test_rows],
    )


def _split(spec: RunSpec, registry: Registry, data: PNDataset, cache: Path) -> tuple[Split, npt.NDArray[Any]]:
    """The labelled split, and the features as preprocessed for its training pool."""
    info = registry.find(MechanismInfo, spec.mechanism.key)
    mechanism = load(info)(spec.mechanism.variant)
    if not isinstance(mechanism, Mechanism):
        raise PluginError(f"mechanism '{info.key}': {info.load} is not a pubench_core.mechanism.Mechanism")

    prepared: list[npt.NDArray[Any]] = []  # both parts are labelled on the same pool, the training part always

    def choose(pool: IntArray, positives: IntArray, n: int, rng: np.random.Generator) -> IntArray:
        if not prepared:
            prepared.append(_preprocessed(data.x, data.x, pool, spec.data))
        x = prepared[0]
        logit = auxiliary_logit(x, data.y, pool, positives, cache) if info.needs_posterior else None
        return mechanism.choose(x[positives], logit, n, rng)

    split = generate(
        data,
        scheme=spec.data.scheme,
        choose=choose,
        c=spec.mechanism.c,
        validation_fraction=spec.validation.fraction,
        test_fraction=spec.data.test_fraction,
        seed=spec.seed,
    )
    return split, prepared[0]


def _preprocessed(
    x: npt.NDArray[Any], train: npt.NDArray[Any], pool: npt.NDArray[np.int64], spec: DataSpec
) -> npt.NDArray[Any]:
    """``standardise``: by mean and standard deviation of the training pool. Row-wise preprocessing is in the copy."""
    if spec.preprocess != "standardise":
        return x
    values = x.astype(np.float32) / np.float32(255 if x.dtype == np.uint8 else 1)
    reference = train[pool].astype(np.float64) / (255 if train.dtype == np.uint8 else 1)
    mean, deviation = reference.mean(axis=0), reference.std(axis=0)
    deviation[deviation == 0] = 1.0
    return np.asarray((values - mean) / deviation, dtype=np.float32)
