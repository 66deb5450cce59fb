"""The recovered measures as functions of a view: areas, and rates at the threshold."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from pubench_core.errors import Undefined
from pubench_core.metric import MetricValue, MetricView

from .hypergeometric import FloatArray
from .recovered import (
    Curve,
    Mixture,
    auc,
    average_precision,
    direct_auc,
    fpr_of,
    indirect_curve,
    precision_of,
    pu_points,
    recall_of,
)
from .resampling import ENDS, RESAMPLES, Sample, auc_of, interval_of, redrawn_counts
from .views import POINTS, Interval, Mixtures, Scores, clipped, covering, normal_interval


def recovered_auc(view: MetricView) -> MetricValue:
    """The AUC against true labels: the direct value, clipped to [0, 1]; the indirect one is in the details."""
    scores, mixtures = Scores.of(view), Mixtures.of(view)
    auc_pu = auc(scores.labeled, scores.unlabeled)
    points = pu_points(scores.labeled, scores.unlabeled)
    curve = indirect_curve(points, mixtures.given)
    raw = direct_auc(auc_pu, mixtures.given)
    warnings = [*scores.warnings, *mixtures.warnings]
    if not 0 <= raw <= 1:
        warnings.append(
            f"infeasible: the recovered AUC is {raw:.3f}; labeled positives are no random draw of all positives (not "
            "SCAR), prior or purity is wrong, or rows are few"
        )
    warnings += _of_curve(curve)
    direct: Interval | None
    details: dict[str, Any] = {
        "direct": raw,
        "indirect": curve.auc,
        "infeasible": not 0 <= raw <= 1,
        "removed": curve.removed,
        "points": curve.of,
        "pu_auc": auc_pu,
        **mixtures.details,
    }
    if scores.resampled(view):
        redrawn = _redrawn(*scores.as_bytes, tuple(mixtures))
        direct = redrawn.direct
        details |= {"indirect_interval": redrawn.indirect, "band": redrawn.band}
        details["interval_by"] = f"{RESAMPLES} resamples"
    else:
        pu = normal_interval(auc_pu, scores)
        direct = None
        if pu is not None:
            direct = covering([(direct_auc(pu[0], mixture), direct_auc(pu[1], mixture)) for mixture in mixtures])
            details["interval_by"] = "normal approximation"
    if direct is not None:
        details["direct_interval"] = direct
    if view.thorough:
        details["curve"] = _thinned(fpr=curve.fpr, recall=curve.recall)
        details["raw_curve"] = _thinned(fpr=points.eta, recall=points.gamma)
    if view.prior_interval is not None:
        details["sensitivity"] = _sensitivity(view, auc_pu)
    interval = clipped(direct) if direct is not None else None
    return MetricValue(min(max(raw, 0.0), 1.0), interval, tuple(warnings), details)


def recovered_ap(view: MetricView) -> MetricValue:
    """Average precision against true labels, of the recovered curve, for the population of U'."""
    scores, mixtures = Scores.of(view), Mixtures.of(view)
    points = pu_points(scores.labeled, scores.unlabeled)
    curve = indirect_curve(points, mixtures.given)
    precision = curve.precision(mixtures.given.alpha)
    value = average_precision(curve.recall, precision)
    details: dict[str, Any] = {
        "step": value.step,
        "trapezoid": value.trapezoid,
        "removed": curve.removed,
        "points": curve.of,
    }
    interval = None
    if scores.resampled(view):
        redrawn = _redrawn(*scores.as_bytes, tuple(mixtures)).average_precision
        interval = covering([redrawn, (value.step, value.step)])  # an infeasible curve loses points
        details["interval_by"] = f"{RESAMPLES} resamples"
    if view.thorough:
        known = ~np.isnan(precision)
        details["curve"] = _thinned(recall=curve.recall[known], precision=precision[known])
    warnings = (*scores.warnings, *mixtures.warnings, *_of_curve(curve), *scores.lacks_interval(view))
    return MetricValue(value.step, interval, warnings, details)


class _Redrawn(NamedTuple):
    """Intervals over resampling and over the mixtures. ``band``: of the recall at each false positive rate."""

    direct: Interval
    indirect: Interval
    average_precision: Interval
    band: dict[str, FloatArray]


@lru_cache(maxsize=2)
def _redrawn(labeled: bytes, unlabeled: bytes, mixtures: tuple[Mixture, ...]) -> _Redrawn:
    """``labeled``, ``unlabeled``: (n1,) and (n,) scores as bytes. Curves for two measures from one pass."""
    grid, points_of = np.linspace(0, 1, POINTS // 2 + 1), Sample.of(np.frombuffer(labeled), np.frombuffer(unlabeled))
    areas = np.empty((RESAMPLES, 3, len(mixtures)))
    recalls = np.empty((len(mixtures), RESAMPLES, len(grid)))
    for r, points in enumerate(points_of.redrawn_points()):
        auc_pu = auc_of(points)
        for m, mixture in enumerate(mixtures):
            curve = indirect_curve(points, mixture)
            precision = curve.precision(mixture.alpha)
            areas[r, :, m] = direct_auc(auc_pu, mixture), curve.auc, average_precision(curve.recall, precision).step
            recalls[m, r] = np.interp(grid, curve.fpr, curve.recall)
    low, high = np.quantile(recalls, ENDS, axis=1)  # (mixtures, grid) each
    band = {"fpr": grid, "low": low.min(axis=0), "high": high.max(axis=0)}
    intervals = [covering([interval_of(column) for column in areas[:, kind].T]) for kind in range(3)]
    return _Redrawn(intervals[0], intervals[1], intervals[2], band)


def _of_curve(curve: Curve) -> list[str]:
    if curve.empty:
        return ["no point of the recovered curve lies in [0, 1]: its diagonal says nothing"]
    if curve.removed > curve.of / 10:
        return [f"{curve.removed} of {curve.of} points of the recovered curve lay outside [0, 1] and were removed"]
    return []


def _sensitivity(view: MetricView, auc_pu: float) -> list[dict[str, float]]:
    """The direct AUC over the prior's interval, as far as the prior is below the purity."""
    assert view.prior_interval is not None
    assert view.unlabeled_prior_interval is not None
    priors = np.linspace(*view.prior_interval, 11)
    shares = np.linspace(*view.unlabeled_prior_interval, 11)
    beta = view.positive_purity
    return [
        {"prior": float(prior), "auc": direct_auc(auc_pu, Mixture(float(share), beta))}
        for prior, share in zip(priors, shares, strict=True)
        if share < beta
    ]


def _thinned(**columns: FloatArray) -> dict[str, FloatArray]:
    """At most POINTS points of a curve, evenly along its length, its ends among them."""
    steps = np.sum([np.abs(np.diff(values)) for values in columns.values()], axis=0)
    length = np.append(0.0, np.cumsum(steps))
    if len(length) <= POINTS:
        return columns
    rows = np.unique(np.append(np.searchsorted(length, np.linspace(0, length[-1], POINTS - 1)), len(length) - 1))
    return {name: values[rows] for name, values in columns.items()}


# -------------------------------------------------------------------- recovered at the threshold


def recovered_recall(view: MetricView) -> MetricValue:
    """γ at the threshold."""
    return _at_threshold(view, recall_of)


def recovered_fpr(view: MetricView) -> MetricValue:
    """η at the threshold."""
    return _at_threshold(view, fpr_of)


def recovered_precision(view: MetricView) -> MetricValue:
    """α γ/η_pu at the threshold, for the population of U'."""
    return _at_threshold(view, _precision)


def _precision(gamma_pu: Any, eta_pu: Any, mixture: Mixture) -> FloatArray:
    """Equation 3; redrawn samples without a row above the threshold have no precision (NaN)."""
    gamma_pu, eta_pu = np.asarray(gamma_pu, dtype=np.float64), np.asarray(eta_pu, dtype=np.float64)
    known = np.where(eta_pu > 0, eta_pu, np.nan)
    return precision_of(gamma_pu, known, mixture)


def _at_threshold(view: MetricView, of: Callable[[Any, Any, Mixture], Any]) -> MetricValue:
    """A rate at the threshold from the shares of P' and of U' above it."""
    scores, mixtures = Scores.of(view), Mixtures.of(view)
    n_labeled, n = len(scores.labeled), len(scores.unlabeled)
    found, taken = (int(view.decisions[rows].sum()) for rows in (view.labeled, view.unlabeled))
    raw = float(of(found / n_labeled, taken / n, mixtures.given))
    if math.isnan(raw):
        raise Undefined("no unlabeled row is above the threshold")
    gamma_pu = redrawn_counts(n_labeled, found, n, 0) / n_labeled
    eta_pu = redrawn_counts(n, taken, n_labeled, 1) / n
    drawn = [np.asarray(of(gamma_pu, eta_pu, mixture)) for mixture in mixtures]
    interval = covering([interval_of(values[~np.isnan(values)]) for values in drawn])
    warnings = [*scores.warnings, *mixtures.warnings]
    if not -1e-9 <= raw <= 1 + 1e-9:
        warnings.append(f"infeasible: the recovered value is {raw:.3f}, outside [0, 1]")
    if found in (0, n_labeled):
        which = "every" if found else "no"
        warnings.append(f"{which} labeled positive is above the threshold: resampling cannot move that share")
    details: dict[str, Any] = {}
    if view.thorough or not 0 <= raw <= 1:
        details |= {"raw": raw, "raw_interval": interval}
    if view.thorough:
        details |= {"labeled_above": found / n_labeled, "unlabeled_above": taken / n, **mixtures.details}
        details["threshold"] = view.threshold
    return MetricValue(min(max(raw, 0.0), 1.0), clipped(interval), tuple(warnings), details)
