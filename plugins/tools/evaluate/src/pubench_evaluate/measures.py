"""The installed metrics on one table of scores, with intervals by resampling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pubench_core.errors import Undefined
from pubench_core.metric import Knowledge, Measurer, MetricPlugin, Scored, measure
from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import load, registry
from pubench_core.randomness import stream
from pubench_core.results import Measure, plain_data

from .scored_rows import FloatArray, LabeledScores

#: Order in which measures are shown; others follow.
_ORDER = (
    "pauc", "recovered-auc", "recovered-ap", "recovered-precision", "recovered-recall", "recovered-fpr", "pa", "pulp",
    "lee-liu", "pseudo-f", "pu-auc", "pu-ap",
)  # fmt: skip
#: PU-only metrics that are resampled here.
RESAMPLED = ("pauc", "pa", "pulp", "lee-liu", "pseudo-f", "pu-ap")
#: So many rows at most -> resamples, none beyond: one of PULP takes time that grows with the rows.
RESAMPLES = ((2_000, 1000), (20_000, 400), (100_000, 100))
#: Details of measures that are under ``curves`` and ``band``.
_CURVES = frozenset({"curve", "raw_curve", "band"})
#: Points of a raw curve that are kept.
_POINTS = 200


def installed_metrics() -> dict[str, MetricPlugin]:
    """The installed metrics in the order in which they are shown; a broken one says so where it would be measured.

    Those that take a number, such as the recall at k, are left out: no number is named here.
    """
    place = {key: k for k, key in enumerate(_ORDER)}
    found = (info for info in registry().infos(MetricInfo) if not info.parameter)
    infos = sorted(found, key=lambda info: (info.oracle, place.get(info.key, len(place)), info.key))
    return {info.key: MetricPlugin(info, lambda view, info=info: load(info)(view), "") for info in infos}


# -------------------------------------------------------------------- resamples


def resampled(rows: LabeledScores, metrics: Mapping[str, MetricPlugin], times: int, seed: int) -> FloatArray:
    """(times, metrics) values, NaN where one is undefined.

    Rows are drawn with replacement, labeled and others apart, so that both counts stay. Where the prior lies in an
    interval, it is drawn from it uniformly, once per resample.
    """
    found = np.full((times, len(metrics)), np.nan)
    if not metrics:
        return found
    rng, rng_of_prior = stream(seed, "evaluation"), stream(seed, "evaluation prior")
    labeled, others = np.flatnonzero(rows.labeled), np.flatnonzero(~rows.labeled)
    places = np.arange(len(rows.scores))
    in_pick = {
        "labeled": places[: len(labeled)],
        "unlabeled": places if rows.scheme == "case-control" else places[len(labeled) :],
        "prior_interval": None,
        "thorough": False,
    }
    for b in range(times):
        pick = np.concatenate([rng.choice(labeled, len(labeled)), rng.choice(others, len(others))])
        interval = rows.knowledge.prior_interval
        prior = rows.knowledge.prior if interval is None else float(rng_of_prior.uniform(*interval))
        truth = None if rows.knowledge.truth is None else rows.knowledge.truth[pick]
        scored = rows.knowing(rows.scores[pick], truth=truth, prior=prior, **in_pick)
        found[b] = [_value(plugin, scored) for plugin in metrics.values()]
    return found


def _value(plugin: MetricPlugin, scored: Scored) -> float:
    try:
        return measure(plugin.function, plugin.info, scored).value
    except Undefined:
        return float("nan")


def interval_of(values: FloatArray) -> tuple[float, float]:
    """The 95 % percentile interval of (n,) resampled values."""
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def _intervals(values: FloatArray, keys: Sequence[str]) -> dict[str, tuple[float, float] | None]:
    """95 % percentile intervals of (resamples, keys) values; None where more than one in twenty is undefined."""
    found: dict[str, tuple[float, float] | None] = dict.fromkeys(keys)
    for k, key in enumerate(keys):
        known = values[np.isfinite(values[:, k]), k]
        if len(values) and len(known) >= 0.95 * len(values):
            found[key] = interval_of(known)
    return found


# -------------------------------------------------------------------- one model


@dataclass(frozen=True)
class Measured:
    """One measure."""

    info: MetricInfo
    measure: Measure
    interval: tuple[float, float] | None = None

    @property
    def value(self) -> float | None:
        """The value; None where it is undefined."""
        return self.measure.value

    @property
    def note(self) -> str:
        """Why there is no value, or what its reader must know."""
        return "; ".join(filter(None, (self.measure.undefined, *self.measure.warnings)))

    @property
    def infeasible(self) -> bool:
        """Whether the metric says that its value cannot be: prior, purity or SCAR are wrong, or rows are few."""
        return any(line.startswith("infeasible") for line in self.measure.warnings)

    def to_dict(self) -> dict[str, Any]:
        """Everything but curves, which the card has once, as JSON holds it."""
        return {
            "name": self.info.name,
            "value": self.value,
            "interval": plain_data(self.interval),
            "undefined": self.measure.undefined,
            "assumes": sorted(self.info.assumes),
            "oracle": self.info.oracle,
            "warnings": list(self.measure.warnings),
            "details": {name: value for name, value in self.measure.details.items() if name not in _CURVES},
        }


def measured(rows: LabeledScores, metrics: Mapping[str, MetricPlugin], times: int, seed: int) -> dict[str, Measured]:
    """Every metric for which enough is known, with intervals of ``times`` resamples.

    Those with true labels are measured on the draw from the population.
    """
    measurer, known, oracle = Measurer(metrics), rows.knowledge, None
    if known.truth is not None:
        part = rows.population
        oracle = Scored.of(rows.scores[part], Knowledge(truth=known.truth[part], threshold=known.threshold))
    of_truth = {key for key, plugin in metrics.items() if plugin.info.needs == {"truth"}}
    found = {
        key: measurer.measure(key, oracle if oracle is not None and key in of_truth else rows)
        for key, plugin in metrics.items()
        if plugin.fits(known)
    }
    lacking = [key for key, one in found.items() if key in RESAMPLED and one.value is not None and one.interval is None]
    intervals = _intervals(resampled(rows, {key: metrics[key] for key in lacking}, times, seed), lacking)
    return {key: Measured(metrics[key].info, one, one.interval or intervals.get(key)) for key, one in found.items()}


@dataclass(frozen=True)
class PlottedCurve:
    """Points of a curve, from left to right."""

    x: tuple[float, ...]
    y: tuple[float, ...]


def curves_of(
    rows: LabeledScores, measures: Mapping[str, Measured]
) -> tuple[dict[str, PlottedCurve], dict[str, tuple[float, ...]] | None]:
    """Raw curves, as if every unlabeled row were negative, recovered ones, and the band of the recovered ROC curve."""
    labeled, unlabeled = np.sort(rows.of_labeled), np.sort(rows.of_unlabeled)
    cuts = np.unique(rows.scores)[::-1]
    if len(cuts) > _POINTS:
        cuts = cuts[np.linspace(0, len(cuts) - 1, _POINTS).astype(int)]
    y = np.append(0.0, 1 - np.searchsorted(labeled, cuts, "left") / len(labeled))
    x = np.append(0.0, 1 - np.searchsorted(unlabeled, cuts, "left") / len(unlabeled))
    found = y * len(labeled)
    taken = found + x * len(unlabeled)
    known = taken > 0
    raw_pr = PlottedCurve(tuple(y[known].tolist()), tuple((found[known] / taken[known]).tolist()))
    curves = {"raw-roc": PlottedCurve(tuple(x.tolist()), tuple(y.tolist())), "raw-pr": raw_pr}
    for name, key, across, up in (
        ("recovered-roc", "recovered-auc", "fpr", "recall"),
        ("recovered-pr", "recovered-ap", "recall", "precision"),
    ):
        if key in measures and (said := measures[key].measure.details.get("curve")):
            curves[name] = PlottedCurve(tuple(said[across]), tuple(said[up]))
    band = measures["recovered-auc"].measure.details.get("band") if "recovered-auc" in measures else None
    return curves, None if not band else {name: tuple(band[name]) for name in ("fpr", "low", "high")}
