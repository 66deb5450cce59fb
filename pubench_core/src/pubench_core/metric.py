"""The contract of a metric, the view of scores that it is given, and how metrics are applied. No torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from .errors import PluginError, Undefined, said_by
from .plugins.info import MetricInfo
from .results import Measure, plain_data
from .specs import Scheme, is_one_sample

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


Array = TypeVar("Array", bound=npt.NDArray[Any])
Value = TypeVar("Value")


def _read_only(array: Array) -> Array:
    """A copy that nobody can make writable: its memory is that of a ``bytes`` object."""
    copied: Array = np.ndarray(array.shape, array.dtype, buffer=array.tobytes())  # type: ignore[assignment]
    return copied


@dataclass(frozen=True)
class Knowledge:
    """Knowledge of the rows of one part, besides their scores. Absent knowledge is None.

    ``truth``: (n,) 0/1 true labels. ``labeled``/``unlabeled``: positions of P' and U' among the n rows; in case-control
    U' contains P'. ``prior``: π as the method was given it; ``prior_interval``: where it lies, if it was estimated.
    ``unlabeled_total``: rows of U in all parts together, of which U' is one part; None if U' is all there is.
    ``positive_purity``: share of true positives in P' (β), in (0, 1]. ``threshold``: a row is decided positive iff its
    score is above it. ``thorough``: somebody reads a report; without it, a metric says what every run's record keeps,
    in few resamples and without curves.
    """

    truth: npt.NDArray[np.int8] | None = None
    labeled: npt.NDArray[np.int64] | None = None
    unlabeled: npt.NDArray[np.int64] | None = None
    prior: float | None = None
    scheme: Scheme | None = None
    unlabeled_total: int | None = None
    prior_interval: tuple[float, float] | None = None
    positive_purity: float = 1.0
    threshold: float = 0.0
    thorough: bool = False

    def __post_init__(self) -> None:
        for name in ("truth", "labeled", "unlabeled"):
            if (array := getattr(self, name)) is not None:
                object.__setattr__(self, name, _read_only(array))

    @cached_property
    def known(self) -> frozenset[str]:
        """Needs of metrics that are known here."""
        return frozenset(name for name in ("truth", "labeled", "prior", "scheme") if getattr(self, name) is not None)


class Counts(NamedTuple):
    """The four cells of the confusion matrix."""

    tp: int
    fp: int
    fn: int
    tn: int


class Curve(NamedTuple):
    """Counts at or above each distinct score, from the highest down: equal scores are never torn apart.

    ``taken``: (k,) rows there, ``found``: (k,) positives among them; the last pair counts every row. Read-only.
    """

    taken: npt.NDArray[np.int64]
    found: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Scored:
    """Scores of one part, with their decisions.

    ``scores``: (n,) one per instance. ``decisions``: (n,) True iff score > threshold (decided by the engine, once).

    What several metrics need of both is computed once, when the first of them asks.
    """

    scores: FloatArray
    decisions: BoolArray
    knowledge: Knowledge

    @classmethod
    def of(cls, scores: FloatArray, knowledge: Knowledge | None = None, **known: Any) -> Self:
        """Scores with the engine's decision; what is known of the rows as an object or field by field.

        Metrics share the arrays, which they can therefore only read.
        """
        knowledge = knowledge or Knowledge(**known)
        return cls(_read_only(scores), _read_only(scores > knowledge.threshold), knowledge)

    @cached_property
    def counts(self) -> Counts:
        """Decisions against the truth, which must be known."""
        y, h = self._positive, self.decisions
        tp, positive, decided = (int(np.count_nonzero(rows)) for rows in (y & h, y, h))
        return Counts(tp, decided - tp, positive - tp, len(y) - decided - positive + tp)

    @cached_property
    def curve(self) -> Curve:
        """Scores against the truth, which must be known."""
        order = np.argsort(self.scores)[::-1]
        scores = self.scores[order]
        last_of_equal = np.append(scores[1:] != scores[:-1], True)[: len(scores)]
        found = np.cumsum(self._positive[order])[last_of_equal]
        return Curve(_read_only(np.flatnonzero(last_of_equal) + 1), _read_only(found))

    @cached_property
    def _positive(self) -> BoolArray:
        assert self.knowledge.truth is not None
        positive: BoolArray = self.knowledge.truth == 1
        return positive


class MetricView:
    """Inputs that a metric declared, and nothing else: reading another field is a PluginError."""

    def __init__(self, scored: Scored, info: MetricInfo) -> None:
        self._scored, self._info = scored, info
        #: Whether the metric has read what a threshold decides.
        self.read_decisions = False

    def _declared(self, need: str, value: Value | None) -> Value:
        if need not in self._info.needs:
            raise PluginError(f"metric '{self._info.key}' reads {need} without declaring it in needs")
        if value is None:
            raise PluginError(f"metric '{self._info.key}' needs {need}, which this part does not have")
        return value

    @property
    def scores(self) -> FloatArray:
        """(n,) real-valued scores."""
        return self._scored.scores

    @property
    def decisions(self) -> BoolArray:
        """(n,) True where the decision is positive."""
        self.read_decisions = True
        return self._scored.decisions

    @property
    def truth(self) -> npt.NDArray[np.int8]:
        """(n,) true labels, 1 positive and 0 negative."""
        return self._declared("truth", self._scored.knowledge.truth)

    @property
    def counts(self) -> Counts:
        """The confusion matrix of the decisions. Needs truth."""
        self._declared("truth", self._scored.knowledge.truth)
        self.read_decisions = True
        return self._scored.counts

    @property
    def curve(self) -> Curve:
        """How many positives lie above each distinct score. Needs truth."""
        self._declared("truth", self._scored.knowledge.truth)
        return self._scored.curve

    @property
    def labeled(self) -> npt.NDArray[np.int64]:
        """Positions of the labeled positives P'."""
        return self._declared("labeled", self._scored.knowledge.labeled)

    @property
    def unlabeled(self) -> npt.NDArray[np.int64]:
        """Positions of the unlabeled rows U'."""
        return self._declared("labeled", self._scored.knowledge.unlabeled)

    @property
    def unlabeled_total(self) -> int:
        """Rows of U in all parts together. Needs labeled."""
        total = self._scored.knowledge.unlabeled_total
        return len(self.unlabeled) if total is None else total

    @property
    def prior(self) -> float:
        """π as the method was given it."""
        return float(self._declared("prior", self._scored.knowledge.prior))

    @property
    def prior_interval(self) -> tuple[float, float] | None:
        """Lower and upper end of where π lies; None where it is taken as known. Needs the prior."""
        self._declared("prior", self._scored.knowledge.prior)
        return self._scored.knowledge.prior_interval

    @property
    def one_sample(self) -> bool:
        """P' and U' together are one draw from the population (rather than U' alone)."""
        return is_one_sample(self._declared("scheme", self._scored.knowledge.scheme))

    @property
    def positive_purity(self) -> float:
        """Share of true positives in P' (β), in (0, 1]; 1 unless it was given. Needs labeled."""
        self._declared("labeled", self._scored.knowledge.labeled)
        return self._scored.knowledge.positive_purity

    @property
    def unlabeled_prior(self) -> float:
        """Share of positives in U' (α): π, or in one-sample data what π and the counts of this part leave there.

        Needs labeled, prior and scheme. Raises Undefined where π and the counts contradict each other.
        """
        share = self._in_unlabeled(self.prior)
        if share < -1e-12:
            raise Undefined(
                f"prior {self.prior:g} and {len(self.labeled)} labeled of "
                f"{len(self.labeled) + len(self.unlabeled)} rows "
                "contradict each other: no positive would be left to be unlabeled"
            )
        return max(share, 0.0)

    @property
    def unlabeled_prior_interval(self) -> tuple[float, float] | None:
        """Interval of the share of positives in U' that :attr:`prior_interval` implies; ends are moved into [0, 1]."""
        if self.prior_interval is None:
            return None
        low, high = (min(max(self._in_unlabeled(end), 0.0), 1.0) for end in self.prior_interval)
        return low, high

    def _in_unlabeled(self, prior: float) -> float:
        """(π n - β N_l) / N_u in one-sample data: the π-bar of Wang et al., with a share β of P' truly positive."""
        n_labeled, n_unlabeled = len(self.labeled), len(self.unlabeled)
        if not self.one_sample:
            return prior
        if not n_unlabeled:
            raise Undefined("no unlabeled row")
        return (prior * (n_labeled + n_unlabeled) - self.positive_purity * n_labeled) / n_unlabeled

    @property
    def threshold(self) -> float:
        """Rows whose score is above it are decided positive."""
        self.read_decisions = True
        return self._scored.knowledge.threshold

    @property
    def thorough(self) -> bool:
        """Whether somebody reads a report: full resampling, and curves in the details."""
        return self._scored.knowledge.thorough


@dataclass(frozen=True)
class MetricValue:
    """A value, an interval where the metric gives one, warnings for the reader, and further results by name.

    ``details`` is recorded as it is: numbers, texts, arrays, and lists and mappings of them.
    """

    value: float
    interval: tuple[float, float] | None = None
    warnings: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


class Metric(Protocol):
    """A callable view -> value. Raises :class:`~pubench_core.errors.Undefined` where the measure has none."""

    def __call__(self, view: MetricView) -> MetricValue | float: ...


@dataclass(frozen=True)
class MetricPlugin:
    """An installed metric. ``code``: hash of the function and of what it refers to."""

    info: MetricInfo
    function: Metric
    code: str

    def fits(self, knowledge: Knowledge) -> bool:
        """Whether enough is known of the rows of a part."""
        return self.info.needs <= knowledge.known


def measure(metric: Metric, info: MetricInfo, scored: Scored) -> MetricValue:
    """Applies a metric; raises Undefined where it has no value, PluginError where it returns a non-number."""
    return _measure(metric, MetricView(scored, info), info)


def _measure(metric: Metric, view: MetricView, info: MetricInfo) -> MetricValue:
    found = metric(view)
    value = found if isinstance(found, MetricValue) else MetricValue(float(found))
    if not np.isfinite(value.value):
        raise PluginError(f"metric '{info.key}' returned {value.value}; it must raise Undefined if it has no value")
    return value


class Measurer:
    """Applies metrics for one run. A metric that fails loses its own values and is not applied again.

    The criterion that names the result, ``indispensable``, is different: its failure is the run's. ``failed``: metric
    -> why, in words for the reader. ``deciding``: metrics that have read a decision; the others have the same value
    at every threshold.
    """

    def __init__(
        self, metrics: Mapping[str, MetricPlugin], indispensable: str = "", failed: Mapping[str, str] | None = None
    ) -> None:
        self.metrics = metrics
        self.failed: dict[str, str] = dict(failed or {})
        self.deciding: set[str] = set()
        self._indispensable = indispensable

    def measure(self, name: str, scored: Scored) -> Measure:
        """One metric."""
        if name in self.failed:
            return Measure(undefined=self.failed[name])
        plugin = self.metrics[name]
        view = MetricView(scored, plugin.info)
        try:
            found = _measure(plugin.function, view, plugin.info)
            return Measure(
                value=found.value,
                interval=found.interval,
                warnings=found.warnings,
                details=plain_data(found.details),
            )
        except Undefined as reason:
            return Measure(undefined=str(reason))
        except KeyboardInterrupt:
            raise
        # A metric may raise anything, even what ends a process; the run goes on without its value.
        except BaseException as error:
            if name == self._indispensable:
                raise
            self.failed[name] = f"metric '{name}' failed and has no value: {said_by(error)}"
            return Measure(undefined=self.failed[name])
        finally:
            if view.read_decisions:
                self.deciding.add(name)

    def measure_all(self, names: Iterable[str], scored: Scored) -> dict[str, Measure]:
        """Every metric for which enough is known of these rows."""
        return {name: self.measure(name, scored) for name in names if self.metrics[name].fits(scored.knowledge)}
