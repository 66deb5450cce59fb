"""Performance against true labels, recovered from labeled and unlabeled scores (Jain, White & Radivojac, AAAI 2017).

X1: n1 labeled items, a share β of them truly positive; X: n unlabeled items, a share α of them positive, α < β <= 1.
Under SCAR, scores of X1 and X are mixtures of those of positives and of negatives: with the recall γ and the false
positive rate η of a threshold, γ_pu = β γ + (1 - β) η of X1 and η_pu = α γ + (1 - α) η of X lie above it. Two
equations, two unknowns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Number = TypeVar("Number", float, FloatArray)

#: What rounding can move a rate out of [0, 1].
_ROUNDING = 1e-9


class Mixture(NamedTuple):
    """``alpha``: share of positives among unlabeled rows, in [0, 1); ``beta``: among labeled ones, in (alpha, 1]."""

    alpha: float
    beta: float = 1.0

    @property
    def gap(self) -> float:
        """β - α, what all divide by."""
        return self.beta - self.alpha


# -------------------------------------------------------------------- single numbers


def recall_of(gamma_pu: Number, eta_pu: Number, mixture: Mixture) -> Number:
    """γ from what lies above a threshold, Equation 1. Not limited to [0, 1]."""
    return ((1 - mixture.alpha) * gamma_pu - (1 - mixture.beta) * eta_pu) / mixture.gap


def fpr_of(gamma_pu: Number, eta_pu: Number, mixture: Mixture) -> Number:
    """η from what lies above a threshold, Equation 2. Not limited to [0, 1]."""
    return (mixture.beta * eta_pu - mixture.alpha * gamma_pu) / mixture.gap


def precision_of(gamma_pu: Number, eta_pu: Number, mixture: Mixture) -> Number:
    """α γ/η_pu, Equation 3; ``eta_pu`` above 0. Not limited to [0, 1]."""
    return mixture.alpha * recall_of(gamma_pu, eta_pu, mixture) / eta_pu


def direct_auc(auc_pu: Number, mixture: Mixture) -> Number:
    """The AUC behind the AUC of labeled against unlabeled, Equation 4. Outside [0, 1], α, β or SCAR do not hold."""
    return (auc_pu - (1 - mixture.gap) / 2) / mixture.gap


def auc(positive: FloatArray, other: FloatArray) -> float:
    """Share of pairs in the right order, ties counted half. (n1,), (n,), neither empty."""
    other = np.sort(other)
    below = np.searchsorted(other, positive, "left").sum()
    not_above = np.searchsorted(other, positive, "right").sum()
    return float((below + not_above) / (2 * len(positive) * len(other)))


def auc_error(positive: FloatArray, other: FloatArray) -> float:
    """Standard error of :func:`auc` by its structural components (DeLong, DeLong & Clarke-Pearson 1988).

    NaN with fewer than two items on a side.
    """
    parts = []
    for one, rest in ((positive, np.sort(other)), (other, np.sort(positive))):
        if len(one) < 2:
            return math.nan
        places = np.searchsorted(rest, one, "left") + np.searchsorted(rest, one, "right")
        parts.append(float(np.var(places / (2 * len(rest)), ddof=1)) / len(one))
    return math.sqrt(sum(parts))


# -------------------------------------------------------------------- curves


class Points(NamedTuple):
    """One point per threshold, from the highest down: (k,) shares of unlabeled and of labeled items at or above it."""

    eta: FloatArray
    gamma: FloatArray


def pu_points(labeled: FloatArray, unlabeled: FloatArray) -> Points:
    """The ROC of labeled against unlabeled items: (0, 0), then a point per distinct score. (n1,), (n,), not empty."""
    values = np.concatenate([labeled, unlabeled])
    order = np.argsort(-values, kind="stable")
    ranked, from_labeled = values[order], order < len(labeled)
    last = np.append(ranked[1:] != ranked[:-1], True)
    found = np.cumsum(from_labeled)[last]
    taken = np.flatnonzero(last) + 1
    # One minus the share below a threshold: whether two recovered rates count as equal is a matter of the last digit,
    # and the reference vectors have it this way.
    eta = 1 - (len(unlabeled) - (taken - found)) / len(unlabeled)
    return Points(np.append(0.0, eta), np.append(0.0, 1 - (len(labeled) - found) / len(labeled)))


def true_points(points: Points, mixture: Mixture) -> Points:
    """Equations 1 and 2 for each point; noise may put them outside [0, 1]."""
    return Points(fpr_of(points.gamma, points.eta, mixture), recall_of(points.gamma, points.eta, mixture))


@dataclass(frozen=True)
class Curve:
    """A recovered ROC from (0, 0) to (1, 1), (k,) each, both non-decreasing.

    ``removed`` of the ``of`` points lay outside [0, 1]; ``empty``: all of them but the corners did.
    """

    fpr: FloatArray
    recall: FloatArray
    removed: int
    of: int
    empty: bool

    @property
    def auc(self) -> float:
        """Area by trapezoids."""
        return _area(self.fpr, self.recall)

    def precision(self, alpha: float) -> FloatArray:
        """(k,) α γ/(α γ + (1 - α) η), NaN at (0, 0)."""
        positive, negative = alpha * self.recall, (1 - alpha) * self.fpr
        total = positive + negative
        found: FloatArray = np.divide(positive, total, out=np.full(len(total), np.nan), where=total > 0)
        return found


def indirect_curve(points: Points, mixture: Mixture) -> Curve:
    """The recovered ROC: true rates of each point, those outside [0, 1] removed, sorted, recall made non-decreasing."""
    eta, gamma = (_snapped(rates) for rates in true_points(points, mixture))
    inside = (eta >= 0) & (eta <= 1) & (gamma >= 0) & (gamma <= 1)
    eta, gamma = eta[inside], gamma[inside]
    # Without impure labels, gamma does not decrease along the points, and a stable sort leaves it so among equal eta.
    order = np.argsort(eta, kind="stable") if mixture.beta == 1 else np.lexsort((gamma, eta))
    eta, gamma = eta[order], np.maximum.accumulate(gamma[order])
    corner = ((eta == 0) & (gamma == 0)) | ((eta == 1) & (gamma == 1))
    return Curve(
        fpr=np.concatenate([[0.0], eta, [1.0]]),
        recall=np.concatenate([[0.0], gamma, [1.0]]),
        removed=int(len(inside) - inside.sum()),
        of=len(inside),
        empty=bool(corner.all()),
    )


class AveragePrecision(NamedTuple):
    """``step``: sum of recall steps times precision; ``trapezoid``: lines between points, which is optimistic."""

    step: float
    trapezoid: float


def average_precision(recall: FloatArray, precision: FloatArray) -> AveragePrecision:
    """Area under precision over a non-decreasing recall; points without a precision (NaN) are left out. (k,) each."""
    known = ~np.isnan(precision)
    recall, precision = recall[known], precision[known]
    if not len(recall):
        return AveragePrecision(0.0, 0.0)
    step = float(np.sum(np.diff(recall, prepend=0.0) * precision))
    return AveragePrecision(step, _area(np.append(0.0, recall), np.append(precision[0], precision)))


def pu_average_precision(points: Points, n_labeled: int, n_unlabeled: int) -> float:
    """Average precision of labeled against unlabeled items; it depends on the share of labeled ones."""
    found, taken = points.gamma * n_labeled, points.gamma * n_labeled + points.eta * n_unlabeled
    precision = np.divide(found, taken, out=np.full(len(taken), np.nan), where=taken > 0)
    return average_precision(points.gamma, precision).step


def _area(x: FloatArray, y: FloatArray) -> float:
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1])) / 2)


def _snapped(rates: FloatArray) -> FloatArray:
    """Rates that rounding has moved out of [0, 1] moved back: else exact corners would go."""
    rates = np.where((rates < 0) & (rates >= -_ROUNDING), 0.0, rates)
    return np.where((rates > 1) & (rates <= 1 + _ROUNDING), 1.0, rates)
