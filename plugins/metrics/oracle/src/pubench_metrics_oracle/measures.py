"""Oracle measures of (n,) scores and decisions against (n,) true labels in {0, 1}.

Undefined cases: precision, recall, F1 and MCC are 0 where their denominator is; AUC, average precision and balanced
accuracy raise Undefined where a class that they need is absent.
"""

from __future__ import annotations

import math

import numpy as np

from pubench_core.errors import Undefined
from pubench_core.metric import Counts, MetricView


def counts(view: MetricView) -> Counts:
    """Raises Undefined on an empty part."""
    if not len(view.truth):
        raise Undefined("there is no row to measure")
    return view.counts


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else 0.0


def accuracy(view: MetricView) -> float:
    """(TP + TN) / n."""
    c = counts(view)
    return (c.tp + c.tn) / sum(c)


def precision(view: MetricView) -> float:
    """TP / (TP + FP)."""
    c = counts(view)
    return _ratio(c.tp, c.tp + c.fp)


def recall(view: MetricView) -> float:
    """TP / (TP + FN)."""
    c = counts(view)
    return _ratio(c.tp, c.tp + c.fn)


def f1(view: MetricView) -> float:
    """2 TP / (2 TP + FP + FN), of the positive class."""
    c = counts(view)
    return _ratio(2 * c.tp, 2 * c.tp + c.fp + c.fn)


def macro_f1(view: MetricView) -> float:
    """Mean of the F1 of class 1 and of class 0; the label set is always {0, 1}."""
    c = counts(view)
    return (f1(view) + _ratio(2 * c.tn, 2 * c.tn + c.fp + c.fn)) / 2


def balanced_accuracy(view: MetricView) -> float:
    """(TPR + TNR) / 2."""
    c = counts(view)
    _both_classes(view)
    return (c.tp / (c.tp + c.fn) + c.tn / (c.tn + c.fp)) / 2


def mcc(view: MetricView) -> float:
    """(TP TN - FP FN) / sqrt((TP+FP)(TP+FN)(TN+FP)(TN+FN)), in exact integers up to the root."""
    c = counts(view)
    margins = (c.tp + c.fp) * (c.tp + c.fn) * (c.tn + c.fp) * (c.tn + c.fn)
    return _ratio(c.tp * c.tn - c.fp * c.fn, math.sqrt(margins))


def auc(view: MetricView) -> float:
    """Mann-Whitney statistic: P(score of a positive > score of a negative) + half the ties.

    Every distinct score adds its negatives times the positives above it and half of those beside it: the area of a
    trapezoid under the curve, in exact integers up to the division.
    """
    n_positive, n_negative = _both_classes(view)
    taken, found = view.curve
    beside, negatives = np.diff(found, prepend=0), np.diff(taken - found, prepend=0)
    return int((negatives * (2 * found - beside)).sum()) / (2 * n_positive * n_negative)


def average_precision(view: MetricView) -> float:
    """Sum over distinct thresholds, descending, of (R_k - R_{k-1}) P_k."""
    c = counts(view)
    if not c.tp + c.fn:
        raise Undefined("there is no positive row")
    taken, found = view.curve
    return float((np.diff(found, prepend=0) / (c.tp + c.fn) * (found / taken)).sum())


def _both_classes(view: MetricView) -> tuple[int, int]:
    c = counts(view)
    n_positive, n_negative = c.tp + c.fn, c.fp + c.tn
    if not n_positive or not n_negative:
        raise Undefined(f"only one class is present ({n_positive} positive, {n_negative} negative rows)")
    return n_positive, n_negative
