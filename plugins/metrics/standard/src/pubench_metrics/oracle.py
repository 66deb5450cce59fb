"""Oracle measures of (n,) scores and decisions against (n,) true labels in {0, 1}.

Undefined cases: precision, recall, F1 and MCC are 0 where their denominator is; AUC, average precision, AUC-PRG,
correlation and balanced accuracy raise Undefined where a class that they need is absent.
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

    Every distinct score adds its negatives times the positives above it and half of those next to it: the area of a
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


def auc_prg(view: MetricView) -> float:
    """Area under the precision-recall-gain curve for recall gains in [0, 1] (Flach and Kull, NeurIPS 2015, section 4).

    Precision gain is 1 - n_P FP / (n_N TP), recall gain 1 - n_P FN / (n_N TP). Both are linear in 1 / TP between two
    thresholds, so the curve is a polygon. It starts at the recall of chance, TP = n_P^2 / n, where recall gain is 0.
    """
    n_positive, n_negative = _both_classes(view)
    taken, found = (np.concatenate([[0], counted]) for counted in view.curve)
    start = n_positive**2 / (n_positive + n_negative)
    k = int(np.argmax(found > start))
    share = (start - found[k - 1]) / (found[k] - found[k - 1])
    false = taken - found
    tp = np.concatenate([[start], found[k:]])
    fp = np.concatenate([[false[k - 1] + share * (false[k] - false[k - 1])], false[k:]])
    odds = n_positive / n_negative
    return float(np.trapezoid(1 - odds * fp / tp, 1 - odds * (n_positive - tp) / tp))


def correlation(view: MetricView) -> float:
    """Pearson correlation of the scores with the 0/1 labels (point-biserial); not invariant to the scores' scale.

    Elith et al., Ecography 29, 2006, measure presence-only models by it (COR). Raises Undefined for equal scores.
    """
    _both_classes(view)
    if np.ptp(view.scores) == 0:
        raise Undefined("all scores are equal")
    return float(np.corrcoef(view.scores, view.truth)[0, 1])


def _both_classes(view: MetricView) -> tuple[int, int]:
    c = counts(view)
    n_positive, n_negative = c.tp + c.fn, c.fp + c.tn
    if not n_positive or not n_negative:
        raise Undefined(f"only one class is present ({n_positive} positive, {n_negative} negative rows)")
    return n_positive, n_negative
