"""The installed metrics on one table of scores, with intervals, and on the scores of two models side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pubench_core.metric import Knowledge, Measurer, MetricPlugin, Scored
from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import load, registry
from pubench_core.results import Measure, plain_data

from .prior_input import Belief
from .resampling import COMPARED, Resampling, interval_of, resampled
from .scored_rows import ScoredRows

#: Order in which measures are shown; others follow.
_ORDER = (
    "pauc", "recovered-auc", "recovered-ap", "recovered-precision", "recovered-recall", "recovered-fpr", "pa", "pulp",
    "lee-liu", "pseudo-f", "pu-auc", "pu-ap",
)  # fmt: skip
#: Details of measures that are under ``curves`` and ``band``.
_CURVES = frozenset({"curve", "raw_curve", "band"})
#: Points of a raw curve that are kept.
_POINTS = 200


@dataclass(frozen=True)
class Measured:
    """One measure. ``assumes``: what must hold for it to mean what it says; ``oracle``: it reads true labels.

    ``interval_from``: how the interval was made; empty if there is none, or the metric does not say.
    """

    key: str
    name: str
    summary: str
    assumes: tuple[str, ...]
    oracle: bool
    measure: Measure
    interval: tuple[float, float] | None = None
    interval_from: str = ""

    @property
    def value(self) -> float | None:
        """The value; None where it is undefined."""
        return self.measure.value

    @property
    def note(self) -> str:
        """Why there is no value, or what its reader must know."""
        return "; ".join(filter(None, (self.measure.undefined, *self.measure.warnings)))

    def to_dict(self) -> dict[str, Any]:
        """Everything but curves, which the card has once, as JSON holds it."""
        details = {name: value for name, value in self.measure.details.items() if name not in _CURVES}
        return {
            "name": self.name,
            "value": self.value,
            "interval": plain_data(self.interval),
            "interval_from": self.interval_from,
            "undefined": self.measure.undefined,
            "assumes": list(self.assumes),
            "oracle": self.oracle,
            "warnings": list(self.measure.warnings),
            "details": details,
        }

    @property
    def infeasible(self) -> bool:
        """Whether the metric says that its value cannot be: prior, purity or SCAR are wrong, or rows are few."""
        return any(line.startswith("infeasible") for line in self.measure.warnings)


@dataclass(frozen=True)
class PlottedCurve:
    """``x``, ``y``: points of a curve, from left to right."""

    x: tuple[float, ...]
    y: tuple[float, ...]


def installed_metrics() -> dict[str, MetricPlugin]:
    """The installed metrics in the order in which they are shown; a broken one says so where it would be measured.

    Those that take a number, such as the recall at k, are left out: no number is named here.
    """
    found = (info for info in registry().infos(MetricInfo) if not info.parameter)
    infos = sorted(found, key=lambda info: (info.oracle, _place(info.key), info.key))
    return {info.key: MetricPlugin(info, _later(info), "") for info in infos}


def _place(key: str) -> int:
    return _ORDER.index(key) if key in _ORDER else len(_ORDER)


def _later(info: MetricInfo) -> Any:
    """The metric, loaded when it is first applied; a Measurer says why one has no value."""
    loaded: list[Any] = []

    def metric(view: Any) -> Any:
        if not loaded:
            loaded.append(load(info))
        return loaded[0](view)

    return metric


def knowledge_of(rows: ScoredRows, belief: Belief, threshold: float) -> Knowledge:
    return Knowledge(
        truth=None if rows.truth is None else rows.truth.astype(np.int8),
        labeled=np.flatnonzero(rows.labeled),
        unlabeled=rows.unlabeled,
        prior=belief.prior,
        scheme=rows.scheme,
        prior_interval=belief.interval,
        positive_purity=rows.purity,
        threshold=threshold,
        thorough=True,
    )


def measured(
    rows: ScoredRows, known: Knowledge, metrics: Mapping[str, MetricPlugin], drawn: Resampling
) -> dict[str, Measured]:
    """Every metric for which enough is known; those with true labels on the draw from the population."""
    measurer = Measurer(metrics)
    fitting = [key for key, plugin in metrics.items() if plugin.fits(known)]
    scored = Scored.of(rows.scores, known)
    population = slice(None) if rows.scheme != "two-sample" else rows.unlabeled
    oracle = None
    if known.truth is not None:
        oracle = Scored.of(rows.scores[population], Knowledge(truth=known.truth[population], threshold=known.threshold))
    found = {}
    for key in fitting:
        info = metrics[key].info
        if info.needs == {"truth"} and oracle is not None:
            found[key] = measurer.measure(key, oracle)
        else:
            found[key] = measurer.measure(key, scored)
    resampled_ones = {
        key: metrics[key]
        for key in fitting
        if key in COMPARED and found[key].value is not None and found[key].interval is None
    }
    values = resampled([(rows.scores, known)], rows, resampled_ones, drawn if resampled_ones else Resampling(0, 0))
    intervals = {key: interval_of(values[:, 0, k]) for k, key in enumerate(resampled_ones)}
    return {
        key: Measured(
            key=key,
            name=metrics[key].info.name,
            summary=metrics[key].info.summary,
            assumes=tuple(sorted(metrics[key].info.assumes)),
            oracle=metrics[key].info.oracle,
            measure=measure,
            interval=measure.interval or intervals.get(key),
            interval_from=f"bootstrap, {drawn.times} resamples"
            if intervals.get(key)
            else str(measure.details.get("interval_by", "")),
        )
        for key, measure in found.items()
    }


def curves_of(
    rows: ScoredRows, measures: Mapping[str, Measured]
) -> tuple[dict[str, PlottedCurve], dict[str, tuple[float, ...]] | None]:
    """Raw and recovered curves, and the band of the recovered one, from what the measures say."""
    roc = _raw_roc(rows)
    curves = {"raw-roc": roc, "raw-pr": _raw_pr(rows, roc)}
    details = {key: measured.measure.details for key, measured in measures.items()}
    of_auc, of_ap = details.get("recovered-auc", {}), details.get("recovered-ap", {})
    for name, said, x, y in (
        ("recovered-roc", of_auc.get("curve"), "fpr", "recall"),
        ("recovered-pr", of_ap.get("curve"), "recall", "precision"),
        ("pulp", details.get("pulp", {}).get("curve"), "share", "probability"),
    ):
        if said:
            curves[name] = PlottedCurve(tuple(said[x]), tuple(said[y]))
    band = of_auc.get("band")
    return curves, None if not band else {name: tuple(band[name]) for name in ("fpr", "low", "high")}


def _raw_roc(rows: ScoredRows) -> PlottedCurve:
    """Labeled rows against U, as if every unlabeled row were negative."""
    labeled, unlabeled = np.sort(rows.of_labeled), np.sort(rows.of_unlabeled)
    cuts = np.unique(np.concatenate([labeled, unlabeled]))[::-1]
    if len(cuts) > _POINTS:
        cuts = cuts[np.linspace(0, len(cuts) - 1, _POINTS).astype(int)]
    y = 1 - np.searchsorted(labeled, cuts, "left") / len(labeled)
    x = 1 - np.searchsorted(unlabeled, cuts, "left") / len(unlabeled)
    return PlottedCurve((0.0, *x.tolist()), (0.0, *y.tolist()))


def _raw_pr(rows: ScoredRows, roc: PlottedCurve) -> PlottedCurve:
    """Precision and recall as if every unlabeled row were negative: precision depends on how many rows are labeled."""
    found = np.asarray(roc.y) * rows.n_labeled
    taken = found + np.asarray(roc.x) * len(rows.unlabeled)
    known = taken > 0
    return PlottedCurve(tuple(np.asarray(roc.y)[known].tolist()), tuple((found[known] / taken[known]).tolist()))
