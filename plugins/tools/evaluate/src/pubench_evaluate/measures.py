"""The installed metrics on one table of scores and on two models side by side, with intervals by resampling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pubench_core.errors import RequestError, Undefined
from pubench_core.metric import Knowledge, Measurer, MetricPlugin, Scored, measure
from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import load, registry
from pubench_core.randomness import stream
from pubench_core.results import Measure, plain_data

from .scored_rows import FloatArray, LabeledScores, scored_rows

#: Order in which measures are shown; others follow.
_ORDER = (
    "pauc", "recovered-auc", "recovered-ap", "recovered-precision", "recovered-recall", "recovered-fpr", "pa", "pulp",
    "lee-liu", "pseudo-f", "pu-auc", "pu-ap",
)  # fmt: skip
#: PU-only metrics that are resampled here, and by which two models are compared.
COMPARED = ("pauc", "pa", "pulp", "lee-liu", "pseudo-f", "pu-ap")
#: Oracle metrics by which two models are compared if the truth is known.
_COMPARED_ORACLE = ("auc", "f1")
#: So many rows at most -> resamples: one of PULP takes time that grows with the rows.
RESAMPLES = ((2_000, 1000), (20_000, 400), (100_000, 100))
#: The most resamples that can be asked for.
MOST_RESAMPLES = 100_000
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
    return {info.key: MetricPlugin(info, _later(info), "") for info in infos}


def _later(info: MetricInfo) -> Any:
    """The metric, loaded when it is first applied; a Measurer says why one has no value."""
    loaded: list[Any] = []

    def metric(view: Any) -> Any:
        if not loaded:
            loaded.append(load(info))
        return loaded[0](view)

    return metric


# -------------------------------------------------------------------- resamples


@dataclass(frozen=True)
class Resampling:
    """How often rows are drawn again, and the seed of the draws."""

    times: int
    seed: int


def resamples_for(n: int) -> int:
    """How many resamples a table of ``n`` rows gets; 0 if intervals would take too long."""
    return next((resamples for most, resamples in RESAMPLES if n <= most), 0)


def resampled(models: Sequence[LabeledScores], metrics: Mapping[str, MetricPlugin], drawn: Resampling) -> FloatArray:
    """(times, models, metrics) values, NaN where one is undefined; every model on the same rows.

    Rows are drawn with replacement, labeled and others apart, so that both counts stay. Where the prior lies in an
    interval, it is drawn from it uniformly, once per resample.
    """
    found = np.full((drawn.times, len(models), len(metrics)), np.nan)
    if not metrics:
        return found
    rng, rng_of_prior = stream(drawn.seed, "evaluation"), stream(drawn.seed, "evaluation prior")
    rows = models[0]
    labeled, others = np.flatnonzero(rows.labeled), np.flatnonzero(~rows.labeled)
    places = np.arange(len(rows.scores))
    in_pick = {
        "labeled": places[: len(labeled)],
        "unlabeled": places if rows.scheme == "case-control" else places[len(labeled) :],
        "prior_interval": None,
        "thorough": False,
    }
    for b in range(drawn.times):
        pick = np.concatenate([rng.choice(labeled, len(labeled)), rng.choice(others, len(others))])
        interval = rows.knowledge.prior_interval
        prior = rows.knowledge.prior if interval is None else float(rng_of_prior.uniform(*interval))
        for m, model in enumerate(models):
            truth = None if model.knowledge.truth is None else model.knowledge.truth[pick]
            scored = model.knowing(model.scores[pick], truth=truth, prior=prior, **in_pick)
            for k, plugin in enumerate(metrics.values()):
                found[b, m, k] = _value(plugin, scored)
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

    key: str
    name: str
    summary: str
    assumes: tuple[str, ...]
    """what must hold for it to mean what it says"""
    oracle: bool
    """whether it reads true labels"""
    measure: Measure
    interval: tuple[float, float] | None = None
    interval_from: str = ""
    """how the interval was made; empty if there is none, or the metric does not say"""

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
            "name": self.name,
            "value": self.value,
            "interval": plain_data(self.interval),
            "interval_from": self.interval_from,
            "undefined": self.measure.undefined,
            "assumes": list(self.assumes),
            "oracle": self.oracle,
            "warnings": list(self.measure.warnings),
            "details": {name: value for name, value in self.measure.details.items() if name not in _CURVES},
        }


def measured(rows: LabeledScores, metrics: Mapping[str, MetricPlugin], drawn: Resampling) -> dict[str, Measured]:
    """Every metric for which enough is known; those with true labels on the draw from the population."""
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
    lacking = [key for key, one in found.items() if key in COMPARED and one.value is not None and one.interval is None]
    values = resampled([rows], {key: metrics[key] for key in lacking}, drawn)
    intervals = _intervals(values[:, 0], lacking)
    return {
        key: Measured(
            key=key,
            name=metrics[key].info.name,
            summary=metrics[key].info.summary,
            assumes=tuple(sorted(metrics[key].info.assumes)),
            oracle=metrics[key].info.oracle,
            measure=one,
            interval=one.interval or intervals.get(key),
            interval_from=f"bootstrap, {drawn.times} resamples"
            if intervals.get(key)
            else str(one.details.get("interval_by", "")),
        )
        for key, one in found.items()
    }


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
        ("pulp", "pulp", "share", "probability"),
    ):
        if key in measures and (said := measures[key].measure.details.get("curve")):
            curves[name] = PlottedCurve(tuple(said[across]), tuple(said[up]))
    band = measures["recovered-auc"].measure.details.get("band") if "recovered-auc" in measures else None
    return curves, None if not band else {name: tuple(band[name]) for name in ("fpr", "low", "high")}


# -------------------------------------------------------------------- two models


@dataclass(frozen=True)
class Difference:
    """One metric of two models on the same rows."""

    key: str
    name: str
    assumes: tuple[str, ...]
    oracle: bool
    first: float | None
    second: float | None
    interval: tuple[float, float] | None = None
    """of second minus first, paired percentile bootstrap"""
    better: str = ""
    """``first`` or ``second`` if the interval excludes 0; empty if it does not, or there is none"""
    undefined: str = ""
    higher_is_better: bool = True

    @property
    def leans_to(self) -> str:
        """Which has the better value, whether or not that may be chance; empty if they are equal."""
        if self.first is None or self.second is None or self.first == self.second:
            return ""
        return "second" if (self.second > self.first) == self.higher_is_better else "first"


@dataclass(frozen=True)
class Comparison:
    """Two models on the same rows."""

    names: tuple[str, str]
    differences: tuple[Difference, ...]
    resamples: int
    warnings: tuple[str, ...]
    """where measures contradict each other, in words"""


def other_model(rows: LabeledScores, scores: Any) -> LabeledScores:
    """The same rows with the scores of another model."""
    if np.shape(scores) != rows.scores.shape:
        raise RequestError(
            f"compare: expected {len(rows.scores)} scores, of the same rows in the same order; given shape "
            f"{np.shape(scores)}",
            field="compare",
        )
    try:
        return rows.knowing(scored_rows(scores, rows.labeled).scores)
    except RequestError as error:
        raise RequestError(f"compare: {error}", field="compare") from None


def compared(
    names: tuple[str, str],
    models: tuple[LabeledScores, LabeledScores],
    metrics: Mapping[str, MetricPlugin],
    drawn: Resampling,
) -> Comparison:
    """Paired: both models on the same resampled rows, each with its own threshold."""
    wanted = (*COMPARED, *(_COMPARED_ORACLE if models[0].scheme != "two-sample" else ()))
    chosen = {key: metrics[key] for key in wanted if key in metrics and metrics[key].fits(models[0].knowledge)}
    measurer, quick = Measurer(chosen), [model.knowing(thorough=False) for model in models]
    first, second = ({key: measurer.measure(key, model) for key in chosen} for model in quick)
    defined = [key for key in chosen if first[key].value is not None and second[key].value is not None]
    values = resampled(quick, {key: chosen[key] for key in defined}, drawn)
    intervals = _intervals(values[:, 1] - values[:, 0], defined)
    differences = tuple(
        Difference(
            key=key,
            name=plugin.info.name,
            assumes=tuple(sorted(plugin.info.assumes)),
            oracle=plugin.info.oracle,
            first=first[key].value,
            second=second[key].value,
            interval=intervals.get(key),
            better=_better(intervals.get(key), higher_is_better=plugin.info.higher_is_better),
            undefined=first[key].undefined or second[key].undefined,
            higher_is_better=plugin.info.higher_is_better,
        )
        for key, plugin in chosen.items()
    )
    return Comparison(names, differences, drawn.times, tuple(_contradictions(names, differences)))


def _better(interval: tuple[float, float] | None, *, higher_is_better: bool) -> str:
    if interval is None or interval[0] <= 0 <= interval[1]:
        return ""
    return "second" if (interval[0] > 0) == higher_is_better else "first"


def _contradictions(names: tuple[str, str], differences: Sequence[Difference]) -> list[str]:
    """Where measures that need SCAR and those that do not name different models as the better one."""
    known = [one for one in differences if not one.oracle and one.leans_to]
    said = []
    for other in (one for one in known if "SCAR" not in one.assumes):
        against = [one for one in known if "SCAR" in one.assumes and one.leans_to != other.leans_to]
        if not against:
            continue
        best, rest = names if against[0].leans_to == "first" else names[::-1]
        sure = other.better and any(one.better for one in against)
        chance = "" if sure else "; at least one of these differences may be chance"
        keys = ", ".join(one.key for one in against)
        said.append(
            f"measures that need SCAR ({keys}) put {best} first, {other.key}, which does not, {rest}{chance}; "
            "if labeled positives are not a random draw of all positives, do not choose by the former: audit some rows"
        )
    return said
