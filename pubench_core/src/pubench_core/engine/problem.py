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
from ..data.generator import Part, Split, generate, given_split
from ..data.own import Column, OwnData, as_plain, read_own
from ..data.preprocess import Preprocessing
from ..data.store import open_dataset
from ..data.views import Features, PUData, PUPart, is_one_sample, unlabeled_prior
from ..errors import PluginError, RequestError
from ..info import DatasetInfo, MechanismInfo, MethodInfo
from ..mechanism import Mechanism
from ..posterior import auxiliary_logit
from ..registry import Registry, load
from ..specs import OwnFile, RunSpec, Scheme
from .priors import told_prior

Truth = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Problem:
    """``truth_*``: 0/1 labels of the rows of the split's parts, in order; None where the truth is not known.

    ``prior_true`` is |P| / n of the pool (of its unlabeled rows, where those alone are a draw from the population and
    the labels are given); None without truth. ``digest`` identifies the arrays that were read from files.
    """

    data: PNDataset
    split: Split
    scheme: Scheme
    seed: int
    calibrated: bool
    prior_true: float | None
    prior: float
    features: Features
    features_test: Features
    truth_train: Truth | None
    truth_validation: Truth | None
    truth_test: Truth | None
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    digest: str = ""
    columns: tuple[Column, ...] | None = None
    notes: tuple[str, ...] = ()

    @property
    def device(self) -> torch.device:
        """Where the features live."""
        return self.features.values.device

    def rows(self, index: npt.NDArray[np.int64]) -> Tensor:
        """Row numbers on the device."""
        return torch.from_numpy(index).to(self.device)

    def part(self, name: str) -> tuple[Features, Tensor, Truth | None]:
        """Features, rows and truth of the training pool (each instance once) or of the test part."""
        if name == "train":
            return self.features, self.rows(self.split.train.rows), self.truth_train
        return self.features_test, self.rows(self.split.test_rows), self.truth_test

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

    def facts(self) -> dict[str, Any]:
        """Counts and priors for the record; what needs true labels is absent where there are none."""
        train, validation = self.split.train, self.split.validation
        unlabeled = train.unlabeled(self.scheme)
        counts: dict[str, dict[str, int]] = {
            "train": {"labeled": train.n_labeled, "unlabeled": len(unlabeled)},
            "validation": {"labeled": validation.n_labeled, "rows": len(validation.rows)},
            **({"test": {"rows": len(self.split.test_rows)}} if self.truth_test is not None else {}),
        }
        for part, truth in (
            ("train", self.truth_train),
            ("validation", self.truth_validation),
            ("test", self.truth_test),
        ):
            if truth is not None:
                counts[part] |= {"positive": int(truth.sum()), "negative": int(len(truth) - truth.sum())}
        if self.truth_train is not None:
            hidden = self.truth_train[unlabeled]
            counts["train"] |= {
                "unlabeled_positive": int(hidden.sum()),
                "unlabeled_negative": int(len(hidden) - hidden.sum()),
            }
        return {
            "modality": self.data.modality,
            "shape": list(self.data.shape),
            "dropped": self.data.dropped,
            **counts,
            "prior": {"told": self.prior, **({} if self.prior_true is None else {"true": self.prior_true})},
            "calibrated": self.calibrated,
            **({"digest": self.digest} if self.digest else {}),
            **({"encoding": as_plain(self.columns)} if self.columns is not None else {}),
            **({"notes": list(self.notes)} if self.notes else {}),
        }


def build_problem(
    spec: RunSpec, registry: Registry, root: DataRoot, device: torch.device, granted: frozenset[str]
) -> Problem:
    """Loads, binarizes, splits and labels the data of a spec.

    Raises RequestError for missing files, a c that labels nobody, a prior that contradicts the counts, or a method that
    needs true labels which a user's file does not have.
    """
    if spec.data.own is not None:
        table = read_own(spec.data.own)
        data, columns, notes, digest = _own(spec.data.own, table, root), table.columns, table.notes, ""
        if "truth" in granted and data.y is None:
            raise RequestError(f"{spec.method.key} needs true labels and {data.key} has none (--truth-col COLUMN)")
        split = given_split(
            data,
            scheme=spec.data.scheme,
            validation_fraction=spec.validation.fraction,
            test_fraction=spec.data.test_fraction,
            seed=spec.seed,
        )
        preprocessing = Preprocessing.fit(data.x, split.train.rows, spec.data.preprocess)
    else:
        info, columns, notes = registry.find(DatasetInfo, spec.data.key), None, ()
        opened = open_dataset(info, root, preprocess=spec.data.preprocess)
        data, digest = binarize(info, opened.data, spec.data.positive, spec.data.negative), opened.digest
        if data.dropped:
            root.say(f"{data.key}: {data.dropped} rows of classes in neither list are left out")
        split, preprocessing = _split(spec, registry, data, root.cache / "posterior")
    train_x = preprocessing.apply(data.x)

    truth = data.y[split.train.rows] if data.y is not None else None
    n, n_labeled = len(split.train.rows), split.train.n_labeled
    prior_true = None
    if truth is not None:
        population = truth[split.train.unlabeled("two-sample")] if spec.data.scheme == "two-sample" else truth
        prior_true = int(population.sum()) / len(population)
    method = registry.find(MethodInfo, spec.method.key)
    calibrate = spec.method.calibrate
    calibrated = is_one_sample(spec.data.scheme) and (
        calibrate == "on" or (calibrate == "auto" and method.setting == "two-sample")
    )
    prior = told_prior(
        spec.prior,
        prior_true,
        registry=registry,
        samples=lambda: (
            train_x[split.train.rows[split.train.labeled]],
            train_x[split.train.rows[split.train.unlabeled(spec.data.scheme)]],
        ),
        one_sample=is_one_sample(spec.data.scheme),
        seed=spec.seed,
    )
    if "prior" in granted and is_one_sample(spec.data.scheme) and unlabeled_prior(prior, n_labeled, n) <= 0:
        raise RequestError(
            f"prior {prior:g} contradicts the labels: {n_labeled} of {n} rows are labeled positives, so it must be "
            f"above {n_labeled / n:.4g}"
        )
    features = features_test = Features(torch.from_numpy(train_x).to(device))
    if data.x_test is not None:
        features_test = Features(torch.from_numpy(preprocessing.apply(data.x_test)).to(device))
    y_test = data.y if data.x_test is None else data.y_test
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
        truth_validation=data.y[split.validation.rows] if data.y is not None else None,
        truth_test=y_test[split.test_rows] if y_test is not None else None,
        preprocessing=preprocessing,
        digest=digest,
        columns=columns,
        notes=notes,
    )


def _own(own: OwnFile, table: OwnData, root: DataRoot) -> PNDataset:
    """A user's file as a binary problem; what was read is said."""
    for note in table.notes:
        root.say(note)
    return PNDataset(
        key=own.path.name,
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


def _split(spec: RunSpec, registry: Registry, data: PNDataset, cache: Path) -> tuple[Split, Preprocessing]:
    """The labeled split, and the preprocessing fitted on its training pool."""
    info = registry.find(MechanismInfo, spec.mechanism.key)
    mechanism = load(info)(spec.mechanism.variant)
    if not isinstance(mechanism, Mechanism):
        raise PluginError(f"mechanism '{info.key}': {info.load} is not a pubench_core.mechanism.Mechanism")
    assert data.y is not None
    assert spec.mechanism.c is not None
    y = data.y

    fitted: list[tuple[Preprocessing, npt.NDArray[Any]]] = []  # both parts are labeled on the same pool

    def choose(pool: IntArray, positives: IntArray, n: int, rng: np.random.Generator) -> IntArray:
        if not fitted:
            preprocessing = Preprocessing.fit(data.x, pool, spec.data.preprocess)
            fitted.append((preprocessing, preprocessing.apply(data.x)))
        x = fitted[0][1]
        logit = auxiliary_logit(x, y, pool, positives, cache) if info.needs_posterior else None
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
    return split, fitted[0][0]
