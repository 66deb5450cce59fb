"""Scores of rows of which some are labeled positive: what :func:`pubench.evaluate` and an audit start from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
from pubench_datasets_tables.frames import labels_of, refuse_other_rows

from pubench_core.errors import RequestError, shown
from pubench_core.metric import Knowledge, Scored
from pubench_core.specs import Scheme, is_one_sample

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LabeledScores(Scored):
    """Core's scores of rows of which some are labeled positive; its knowledge has P, U, scheme, purity and truth."""

    @classmethod
    def made(
        cls,
        scores: FloatArray,
        labeled: BoolArray,
        truth: BoolArray | None = None,
        scheme: Scheme = "one-sample",
        purity: float = 1.0,
    ) -> LabeledScores:
        """``scores``: (n,) finite; ``labeled``, ``truth``: (n,) True for positives; ``purity``: β of the labeled rows.

        U is every row in case-control (labeled positives stay in U), the unlabeled rows otherwise.
        """
        known = Knowledge(
            truth=None if truth is None else truth.astype(np.int8),
            labeled=np.flatnonzero(labeled),
            unlabeled=np.arange(len(scores)) if scheme == "case-control" else np.flatnonzero(~labeled),
            scheme=scheme,
            positive_purity=purity,
        )
        return cls.of(scores, known)

    @cached_property
    def labeled(self) -> BoolArray:
        """(n,) True for labeled positives."""
        found = np.zeros(len(self.scores), dtype=bool)
        found[self.knowledge.labeled] = True
        return found

    @property
    def unlabeled(self) -> IntArray:
        """Positions of U."""
        return np.asarray(self.knowledge.unlabeled)

    @property
    def truth(self) -> BoolArray | None:
        """(n,) True for positives; None if it is not known."""
        return None if self.knowledge.truth is None else self.knowledge.truth == 1

    @property
    def scheme(self) -> Scheme:
        """How labeled and unlabeled rows were drawn."""
        return self.knowledge.scheme or "one-sample"

    @property
    def purity(self) -> float:
        """β, the share of true positives among the labeled rows."""
        return self.knowledge.positive_purity

    @property
    def population(self) -> IntArray:
        """Positions of the rows that are a draw from the population."""
        return self.unlabeled if self.scheme == "two-sample" else np.arange(len(self.scores))

    @property
    def n_labeled(self) -> int:
        """N_l."""
        return len(self.of_labeled)

    @cached_property
    def of_labeled(self) -> FloatArray:
        """(N_l,) scores of the labeled rows."""
        return self.scores[self.knowledge.labeled]

    @cached_property
    def of_unlabeled(self) -> FloatArray:
        """(n_U,) scores of U."""
        return self.scores[self.unlabeled]

    def knowing(self, scores: FloatArray | None = None, **more: Any) -> LabeledScores:
        """The same rows with more knowledge, or with the scores of another model."""
        return self.of(self.scores if scores is None else scores, replace(self.knowledge, **more))

    def share_in_u(self, prior: float) -> float:
        """α, the share of positives in U, of the prior π of the population.

        Where labeled and unlabeled rows together are the draw from the population, (π n - β N_l) / n_U; else π itself.
        """
        if not is_one_sample(self.scheme):
            return prior
        n, labeled = len(self.scores), self.n_labeled
        return (prior * n - self.purity * labeled) / (n - labeled)

    def prior_of(self, share: float) -> float:
        """π of the population, of the share α of positives in U."""
        if not is_one_sample(self.scheme):
            return share
        return (self.purity * self.n_labeled + share * (len(self.scores) - self.n_labeled)) / len(self.scores)


def scored_rows(
    scores: Any,
    labeled: Any,
    *,
    truth: Any = None,
    scheme: str = "one-sample",
    purity: float = 1.0,
    pos_label: Any = None,
) -> LabeledScores:
    """Checked arrays. Raises RequestError, whose ``field`` is the argument that is wrong."""
    values = _numbers(scores, "scores")
    refuse_other_rows(scores, labeled, ("scores", "labeled"))
    refuse_other_rows(scores, truth, ("scores", "truth"))
    of_label = _two_valued(labeled, "labeled", len(values), pos_label)
    of_truth = None if truth is None else _two_valued(truth, "truth", len(values), pos_label)
    if scheme not in get_args(Scheme):
        raise RequestError(
            f"scheme must be one of {', '.join(get_args(Scheme))}, got {shown(scheme)}", field="scheme", value=scheme
        )
    if isinstance(purity, bool) or not isinstance(purity, (int, float, np.number)) or not 0 < purity <= 1:
        raise RequestError(
            f"purity must be in (0, 1], the share of true positives among the labeled rows, got {shown(purity)}",
            field="purity",
            value=purity,
        )
    return LabeledScores.made(values, of_label, of_truth, scheme, float(purity))  # type: ignore[arg-type]


def _numbers(given: Any, name: str) -> FloatArray:
    try:
        values = np.asarray(given, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise RequestError(f"{name}: expected numbers, one per row ({error})", field=name) from error
    if values.ndim != 1 or not len(values):
        raise RequestError(f"{name} must be one number per row, got shape {values.shape}", field=name)
    if not (finite := np.isfinite(values)).all():
        row = int(np.flatnonzero(~finite)[0])
        raise RequestError(
            f"{name}: row {row} (counted from 0) is {values[row]}, and {int((~finite).sum())} rows in all are not "
            "finite; leave them out or give them a score",
            field=name,
        )
    return values


def _two_valued(given: Any, name: str, n: int, pos_label: Any) -> BoolArray:
    """(n,) True where positive, as :class:`pubench.PUClassifier` reads labels; every row needs a true one."""
    from pubench_models.model_selection import read_labels

    values, missing = labels_of(given)
    if values.shape != (n,):
        raise RequestError(f"{name}: expected {n} values, one per score; given shape {values.shape}", field=name)
    if missing.any() and name == "truth":
        row = int(np.flatnonzero(missing)[0])
        raise RequestError(f"{name}: row {row} (counted from 0) has no value", field=name)
    try:
        return read_labels(given, pos_label)[0]
    except ValueError as error:
        raise RequestError(f"{name}: {str(error).removeprefix('y ')}", field=name) from error
