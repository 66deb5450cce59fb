"""The measures that need no recovery, as functions of a view: PULP, Lee & Liu, pseudo-F, P' against U'.

A run's record keeps values, and the intervals that cost nothing: of areas by the normal approximation, of shares above
a threshold by redrawing two counts. For a report (``view.thorough``) all are resampled, and curves are in the details.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pubench_core.errors import Undefined
from pubench_core.metric import MetricValue, MetricView

from .hypergeometric import FloatArray
from .operating import Averages, averages, f1, lee_liu, mutual_information, phi, pseudo_f
from .pulp import Ranking, pulp
from .recovered import auc, pu_average_precision, pu_points
from .resampling import MOST_ROWS, RESAMPLES, interval_of, pulp_interval, redrawn_counts, redrawn_pu
from .views import POINTS, Scores, clipped, normal_interval

#: Moving windows of the Boyce index, and their width as a share of the range of the scores (Hirzel et al. 2006).
WINDOWS, WIDTH = 101, 0.1

# -------------------------------------------------------------------- PULP, Lee & Liu, pseudo-F, Boyce


def pulp_metric(view: MetricView) -> MetricValue:
    """PULP of P' among all rows of P' ∪ U', each counted once."""
    items = _Items.of(view)
    found = pulp(items.scores, items.labeled)
    if not found.defined:
        raise Undefined("every row is labeled: there is nothing to rank them above")
    details: dict[str, Any] = {}
    warnings = items.warnings
    if found.tied:
        for ties in ("stable", "optimistic", "pessimistic"):
            details[ties] = pulp(items.scores, items.labeled, ties).value
        details["tied"] = found.tied
        if details["optimistic"] - details["pessimistic"] > 0.01:
            warnings.append(
                f"{found.tied} rows share their score with rows of the other kind; a random order is assumed"
            )
    if found.approximated:
        details["approximated"] = found.approximated
        warnings.append("within large groups of equal scores, terms are interpolated (error below 1e-9)")
    interval = None
    if view.thorough:
        rows = np.unique(np.round(np.linspace(0, len(items.scores), POINTS)).astype(np.int64))
        details["curve"] = {"share": rows / len(items.scores), "probability": found.terms[rows]}
        if len(items.scores) <= MOST_ROWS:
            interval = pulp_interval(found.value, items.scores[items.labeled], items.scores[~items.labeled])
            details["interval_by"] = f"{RESAMPLES} resamples"
        else:
            warnings.append(f"no interval: {len(items.scores)} rows, and at most {MOST_ROWS} are resampled")
    return MetricValue(found.value, interval, tuple(warnings), details)


def lee_liu_metric(view: MetricView) -> MetricValue:
    """r²/Pr[f = 1] at the threshold, over all rows of P' ∪ U'."""
    items = _Items.of(view)
    n, t = len(items.scores), items.t

    def value(b: Any, k: Any) -> FloatArray:
        return lee_liu(n, t, b, k)

    mean = averages(Ranking.of(items.scores, items.labeled).hits).lee_liu if view.thorough else None
    return items.at_threshold(view, value, {"mean_over_thresholds": mean})


def pseudo_f_metric(view: MetricView) -> MetricValue:
    """2 r/(Pr[f = 1] + Pr[y = 1]) at the threshold, over all rows of P' ∪ U', with the prior that was given.

    Its source takes t/N for the prior; that value is in the details as ``labeled_share``.
    """
    items = _Items.of(view)
    n, t = len(items.scores), items.t
    prior = items.prior(view)

    def value(b: Any, k: Any) -> FloatArray:
        return pseudo_f(n, t, b, k, prior)

    b, k = items.counts(view)
    mean = averages(Ranking.of(items.scores, items.labeled).hits, prior).pseudo_f if view.thorough else None
    as_published = float(pseudo_f(n, t, np.array([b]), np.array([k]))[0])
    return items.at_threshold(
        view, value, {"prior": prior, "labeled_share": as_published, "mean_over_thresholds": mean}
    )


def boyce(view: MetricView) -> MetricValue:
    """Continuous Boyce index: Spearman's correlation of windows of the score and P/E in them, from -1 to 1.

    P: share of P' in a window, E: of all rows of P' ∪ U'. Windows without a row are left out, and successive ones with
    the same ratio count once. Raises Undefined for equal scores, or the same ratio everywhere.
    """
    items = _Items.of(view)
    low, high = float(items.scores.min()), float(items.scores.max())
    starts = np.linspace(low, high - WIDTH * (high - low), WINDOWS)
    ends = np.append(starts[:-1] + WIDTH * (high - low), high)

    def inside(scores: FloatArray) -> FloatArray:
        ordered = np.sort(scores)
        counts = np.searchsorted(ordered, ends, "right") - np.searchsorted(ordered, starts, "left")
        return np.asarray(counts / len(scores))

    expected, found = inside(items.scores), inside(items.scores[items.labeled])
    ratio = found[expected > 0] / expected[expected > 0]
    ratio = ratio[np.append(True, np.diff(ratio) != 0)]
    if low == high or len(ratio) < 2:
        raise Undefined("the labeled rows have the same share of every window of the score")
    rank = sum(np.searchsorted(np.sort(ratio), ratio, side) for side in ("left", "right"))
    value = float(np.corrcoef(rank, np.arange(len(ratio)))[0, 1])
    return MetricValue(value, None, tuple(items.warnings), {"windows": int((expected > 0).sum())})


def pu_f1(view: MetricView) -> MetricValue:
    """F1 with every unlabeled row taken as negative, as PULP's authors compare it."""
    return _against_labels(view, lambda n, t, b, k: f1(t, b, k), lambda mean: mean.f1)


def pu_correlation(view: MetricView) -> MetricValue:
    """Pearson's correlation of decision and label; 0 if one of them is constant."""
    return _against_labels(view, phi, lambda mean: mean.phi)


def pu_mutual_information(view: MetricView) -> MetricValue:
    """Mutual information of decision and label, in nats."""
    return _against_labels(view, mutual_information, lambda mean: mean.mutual_information)


def _against_labels(
    view: MetricView, formula: Callable[[int, int, Any, Any], FloatArray], mean: Callable[[Averages], float]
) -> MetricValue:
    items = _Items.of(view)
    averaged = mean(averages(Ranking.of(items.scores, items.labeled).hits)) if view.thorough else None
    return items.at_threshold(
        view, lambda b, k: formula(len(items.scores), items.t, b, k), {"mean_over_thresholds": averaged}
    )


@dataclass(frozen=True)
class _Items:
    """All rows of P' ∪ U', each once: (N,) scores and whether each is labeled. ``rows``: their positions."""

    scores: FloatArray
    labeled: Any
    rows: Any
    warnings: list[str]

    @classmethod
    def of(cls, view: MetricView) -> _Items:
        """Raises Undefined as :class:`Scores` does."""
        warnings = Scores.of(view).warnings
        is_labeled, there = np.zeros((2, len(view.scores)), dtype=bool)
        is_labeled[view.labeled] = there[view.labeled] = there[view.unlabeled] = True
        rows = np.flatnonzero(there)
        return cls(view.scores[rows], is_labeled[rows], rows, warnings)

    @property
    def t(self) -> int:
        """How many are labeled."""
        return int(self.labeled.sum())

    def prior(self, view: MetricView) -> float:
        """Share of positives among these items."""
        alone = len(self.rows) - self.t  # unlabeled rows that are not P' once more
        if alone < len(view.unlabeled):
            return view.unlabeled_prior
        return (view.unlabeled_prior * alone + view.positive_purity * self.t) / len(self.rows)

    def counts(self, view: MetricView) -> tuple[int, int]:
        """(items decided positive, labeled ones among them)."""
        decided = view.decisions[self.rows]
        return int(decided.sum()), int((decided & self.labeled).sum())

    def at_threshold(
        self, view: MetricView, value: Callable[[Any, Any], FloatArray], details: Mapping[str, Any]
    ) -> MetricValue:
        """A criterion of the two counts, with its interval."""
        (b, k), n, t = self.counts(view), len(self.rows), self.t
        k_redrawn = redrawn_counts(t, k, n - t, 0)
        b_redrawn = k_redrawn + redrawn_counts(n - t, b - k, t, 1)
        counts = {"threshold": view.threshold, "decided": b, "labeled_decided": k} if view.thorough else {}
        found = {**counts, **details}
        return MetricValue(
            float(value(np.array([b]), np.array([k]))[0]),
            interval_of(value(b_redrawn, k_redrawn)),
            tuple(self.warnings),
            {name: entry for name, entry in found.items() if entry is not None},
        )


# -------------------------------------------------------------------- labeled against unlabeled


def pu_auc(view: MetricView) -> MetricValue:
    """AUC of P' against U'. Below the AUC against true labels, and in the same order, under SCAR."""
    scores = Scores.of(view)
    value, warnings = auc(scores.labeled, scores.unlabeled), scores.warnings
    details: dict[str, Any] = {}
    interval: tuple[float, float] | None
    if scores.resampled(view):
        interval = interval_of(redrawn_pu(*scores.as_bytes)[0])
        details["interval_by"] = f"{RESAMPLES} resamples"
    else:
        interval, details["interval_by"] = normal_interval(value, scores), "normal approximation"
    return MetricValue(value, clipped(interval) if interval is not None else None, tuple(warnings), details)


def pu_ap(view: MetricView) -> MetricValue:
    """Average precision of P' against U'; it depends on the share of labeled rows."""
    scores = Scores.of(view)
    n_labeled, n = len(scores.labeled), len(scores.unlabeled)
    value = pu_average_precision(pu_points(scores.labeled, scores.unlabeled), n_labeled, n)
    details: dict[str, Any] = {"labeled_share": n_labeled / (n_labeled + n)}
    interval = None
    if scores.resampled(view):
        interval = interval_of(redrawn_pu(*scores.as_bytes)[1])
        details["interval_by"] = f"{RESAMPLES} resamples"
    return MetricValue(value, interval, (*scores.warnings, *scores.lacks_interval(view)), details)
