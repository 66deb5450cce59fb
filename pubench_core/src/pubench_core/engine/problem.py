"""One PU problem, ready to train on: features on the device, a split, and the truth that only the evaluator holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..data.dataset import IntArray, PNDataset
from ..data.generator import Part, Split, first_places
from ..data.labeled import Column, as_plain
from ..data.preprocess import Preprocessing
from ..metric import Knowledge
from ..records.files import Arrays
from ..records.scores import knowledge_of
from ..results import DataFacts, Estimate, PartFacts, PriorFacts
from ..specs import Scheme, is_one_sample, unlabeled_prior
from ..training.views import Features, PUData, PUPart
from .open import OpenedData

Truth = npt.NDArray[np.int8]


@dataclass(frozen=True, kw_only=True)
class Draw:
    """Draw of a plan's seed from opened data: the split, and the truth that only the evaluator holds.

    ``truth_*``: 0/1 labels of the rows of the split's parts, in order; None where the truth is not known.

    ``prior_true`` is |P| / n of the pool (of its unlabeled rows, where those alone are a draw from the population and
    the labels are given); None without truth. ``prior`` is what the method is given; None where it needs none.
    ``uncalibrated``: a method of the two-sample setting gets U as it is on purpose, and is to believe that π is its
    share of positives.
    """

    opened: OpenedData
    split: Split
    scheme: Scheme
    calibrated: bool
    uncalibrated: bool
    prior_true: float | None
    prior: float | None = None
    estimate: Estimate | None = None
    truth_train: Truth | None
    truth_validation: Truth | None
    truth_test: Truth | None

    @property
    def data(self) -> PNDataset:
        """The arrays as read."""
        return self.opened.data

    @property
    def unlabeled_prior(self) -> float | None:
        """Share of positives in U that the method is to believe: what π implies, or π where U stands for the pool."""
        train, left, whole = self.split.train, self.split.checked[1], self.calibrated or self.uncalibrated
        return share_to_believe(self.prior, self.scheme, train.n_labeled, len(train.rows), left, whole)

    def known(self) -> Arrays:
        """Rows and labels of the scored rows, in the order of their scores, by their names in ``scores.npz``."""
        known = {
            "test_rows": self.split.test_rows if self.truth_test is not None else None,
            "test_labels": self.truth_test,
            "validation_rows": self.split.validation.rows,
            "validation_labeled": self.split.validation.labeled,
            "validation_labels": self.truth_validation,
            "unlabeled_rows": self.unlabeled_rows,
        }
        return {name: values for name, values in known.items() if values is not None}

    def knowledge(self) -> Knowledge:
        """Knowledge of the validation rows, for metrics."""
        joint = self.split.validation is self.split.train
        return knowledge_of(self.known(), self.facts(), self.scheme, joint=joint)["validation"]

    @property
    def unlabeled_rows(self) -> IntArray | None:
        """Rows of a user's own table that carry no label, in its order; None for data sets.

        Known negatives are among them, except in a joint record, where no fold held them out.
        """
        if self.opened.columns is None or self.data.labeled is None:
            return None
        rows = np.flatnonzero(~self.data.labeled)
        return rows[np.isin(rows, self.data.rows)] if self.split.validation is self.split.train else rows

    def facts(self) -> DataFacts:
        """Counts and priors for the record."""
        train, validation, estimate = self.split.train, self.split.validation, self.estimate
        unlabeled = train.unlabeled(self.scheme)
        hidden = self.truth_train[unlabeled] if self.truth_train is not None else None
        if estimate is not None and hidden is not None and len(hidden):
            estimate = estimate.model_copy(update={"true_share": float(hidden.mean())})
        test = self.truth_test
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
            test=PartFacts(rows=len(self.split.test_rows), **_classes(test)) if test is not None else None,
            prior=PriorFacts(
                given=self.prior,
                given_unlabeled=self.unlabeled_prior,
                true=self.prior_true,
                estimate=estimate,
            ),
            calibrated=self.calibrated,
            negatives=len(self.split.negatives),
            checked=self.split.checked,
            digest=self.opened.digest,
            encoding=tuple(as_plain(self.opened.columns)) if self.opened.columns is not None else None,
            notes=self.opened.notes,
        )


@dataclass(frozen=True, kw_only=True)
class Problem(Draw):
    """A draw to train on.

    ``features``: rows of the training pool, known negatives, the validation part, each in the split's random order, not
    that of a file, which is often sorted by class; ``features_test``: the test rows in the split's order.
    """

    seed: int
    features: Features
    features_test: Features
    preprocessing: Preprocessing = field(default_factory=Preprocessing)

    @property
    def device(self) -> torch.device:
        """The device that the features are on."""
        return self.features.device

    def part(self, name: str) -> tuple[Features, Tensor, Truth | None]:
        """Features, positions in them and truth of ``train`` (each instance once), ``validation`` or ``test``."""
        n_train, n_validation = len(self.split.train.rows), len(self.split.validation.rows)
        before = n_train + len(self.split.negatives)
        if name == "train":
            return self.features, torch.arange(n_train, device=self.device), self.truth_train
        if name == "validation":
            rows = torch.arange(before, before + n_validation, device=self.device)
            return self.features, rows, self.truth_validation
        return self.features_test, torch.arange(len(self.features_test), device=self.device), self.truth_test

    def view(self, granted: frozenset[str]) -> PUData:
        """View of a method; its table is LP ‖ U ‖ N. Groups are numbered in the part's random order."""
        rows = np.concatenate([self.split.train.rows, self.split.negatives])
        instance, labeled, truth = self._table(self.split.train, 0, self.truth_train)
        v_instance, v_labeled, _ = self._table(self.split.validation, len(rows), None)
        weights, groups = self.data.weights if self.split.weights is None else self.split.weights, self.data.groups
        groups = None if groups is None else first_places(groups[rows])
        if weights is not None:
            weights = weights[rows]
            weights = None if (weights == weights[0]).all() else weights[instance.cpu().numpy()]
        if weights is not None and self.split.weights is not None:  # U may have checked positives, too
            weights[int(labeled.sum()) : len(weights) - len(self.split.negatives)] = 1
        return PUData(
            self.features,
            instance,
            labeled,
            self.scheme,
            validation=PUPart(self.features, v_instance, v_labeled, self.scheme),
            granted=granted,
            prior=self.prior,
            unlabeled_prior=self.unlabeled_prior,
            truth=truth if "truth" in granted else None,
            categories=tuple(_categories(self.opened.columns or ())),
            weight=None if weights is None else torch.from_numpy(weights).to(self.device),
            group=None if groups is None else torch.from_numpy(groups[instance.cpu().numpy()]).to(self.device),
            n_negative=len(self.split.negatives),
        )

    def _table(self, part: Part, start: int, truth: Truth | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """(position in features, labeled, truth) of LP ‖ U; under calibration U is U ∪ P (Wang et al., Algorithm 1).

        ``start``: where the rows of the part start in ``features``; known negatives follow those of the training part.
        """
        p = np.flatnonzero(part.labeled)
        u = np.arange(len(part.rows)) if self.calibrated else part.unlabeled(self.scheme)
        n_negative = 0 if start else len(self.split.negatives)
        positions = np.concatenate([p, u, len(part.rows) + np.arange(n_negative)])
        truth = None if truth is None else np.pad(truth, (0, n_negative))
        labeled = torch.zeros(len(positions), dtype=torch.bool)
        labeled[: len(p)] = True
        return (
            torch.from_numpy(start + positions).to(self.device),
            labeled.to(self.device),
            torch.from_numpy(truth[positions].astype(np.float32)).to(self.device) if truth is not None else None,
        )


def share_to_believe(prior: float | None, scheme: Scheme, labeled: int, n: int, left: int, whole: bool) -> float | None:
    """Share of positives in U that π implies, of ``n`` rows with so many labels; π where U stands for the pool.

    ``whole``: whether it does under one-sample data too: calibrated, or on purpose not. ``left``: negatives of the pool
    that were checked and are not among the ``n`` rows, which hold all of its positives.
    """
    if prior is None:
        return None
    prior *= (n + left) / n
    return prior if whole or not is_one_sample(scheme) else unlabeled_prior(prior, labeled, n)


def _categories(columns: Sequence[Column]) -> Iterator[tuple[int, int]]:
    """(first, stop) of the features of each categorical column."""
    stop = 0
    for column in columns:
        start, stop = stop, stop + len(column.features)
        if column.kind == "category":
            yield start, stop


def _classes(truth: Truth | None) -> dict[str, int]:
    if truth is None:
        return {}
    return {"positive": int(truth.sum()), "negative": int(len(truth) - truth.sum())}
