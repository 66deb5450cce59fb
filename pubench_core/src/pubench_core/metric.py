"""The contract of a metric, the view of scores that it is given, and how metrics are applied. No torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .errors import PluginError, Undefined
from .plugins.info import MetricInfo
from .results import Measure, plain_data
from .specs import Scheme, is_one_sample

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Knowledge:
    """What is known of the rows of one part, beside their scores. Absent knowledge is None.

    ``truth``: (n,) 0/1 true labels. ``labeled``/``unlabeled``: positions of P' and U' among the n rows; in case-control
    U' contains P'. ``prior``: π as the method was given it.
    """

    truth: npt.NDArray[np.int8] | None = None
    labeled: npt.NDArray[np.int64] | None = None
    unlabeled: npt.NDArray[np.int64] | None = None
    prior: float | None = None
    scheme: Scheme | None = None

    @property
    def known(self) -> frozenset[str]:
        """What a metric may need that is known here."""
        return frozenset(name for name in ("truth", "labeled", "prior", "scheme") if getattr(self, name) is not None)


@dataclass(frozen=True)
class Scored:
    """``scores``: (n,) one per instance; ``decisions``: (n,) True iff score > 0 (decided by the engine, once)."""

    scores: FloatArray
    decisions: BoolArray
    knowledge: Knowledge

    @classmethod
    def of(cls, scores: FloatArray, knowledge: Knowledge | None = None, **known: Any) -> Scored:
        """Scores with the engine's decision; what is known of the rows as an object or field by field."""
        return cls(scores, scores > 0, knowledge or Knowledge(**known))


class MetricView:
    """What a metric declared that it needs, and nothing else: reading another field is a PluginError."""

    def __init__(self, scored: Scored, info: MetricInfo) -> None:
        self._scored, self._info = scored, info

    def _declared(self, need: str, value: Any) -> Any:
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
        return self._scored.decisions

    @property
    def truth(self) -> npt.NDArray[np.int8]:
        """(n,) true labels, 1 positive and 0 negative."""
        value: npt.NDArray[np.int8] = self._declared("truth", self._scored.knowledge.truth)
        return value

    @property
    def labeled(self) -> npt.NDArray[np.int64]:
        """Positions of the labeled positives P'."""
        value: npt.NDArray[np.int64] = self._declared("labeled", self._scored.knowledge.labeled)
        return value

    @property
    def unlabeled(self) -> npt.NDArray[np.int64]:
        """Positions of the unlabeled rows U'."""
        value: npt.NDArray[np.int64] = self._declared("labeled", self._scored.knowledge.unlabeled)
        return value

    @property
    def prior(self) -> float:
        """π as the method was given it."""
        return float(self._declared("prior", self._scored.knowledge.prior))

    @property
    def one_sample(self) -> bool:
        """P' and U' together are one draw from the population (rather than U' alone)."""
        return is_one_sample(self._declared("scheme", self._scored.knowledge.scheme))


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
    """``code``: hash of the function and of what it refers to."""

    info: MetricInfo
    function: Metric
    code: str

    def fits(self, knowledge: Knowledge) -> bool:
        """Whether enough is known of the rows of a part."""
        return self.info.needs <= knowledge.known


def measure(metric: Metric, info: MetricInfo, scored: Scored) -> MetricValue:
    """Applies a metric; raises Undefined where it has no value, PluginError where it returns a non-number."""
    found = metric(MetricView(scored, info))
    value = found if isinstance(found, MetricValue) else MetricValue(float(found))
    if not np.isfinite(value.value):
        raise PluginError(f"metric '{info.key}' returned {value.value}; it must raise Undefined where it has no value")
    return value


class Measurer:
    """Applies metrics for one run. A metric that fails loses its own values and is not applied again.

    The criterion that names the result, ``indispensable``, is different: its failure is the run's. ``failed``: metric
    -> why, in words for the reader.
    """

    def __init__(
        self, metrics: Mapping[str, MetricPlugin], indispensable: str = "", failed: Mapping[str, str] | None = None
    ) -> None:
        self.metrics = metrics
        self.failed: dict[str, str] = dict(failed or {})
        self._indispensable = indispensable

    def measure(self, name: str, scored: Scored) -> Measure:
        """One metric."""
        if name in self.failed:
            return Measure(undefined=self.failed[name])
        plugin = self.metrics[name]
        try:
            found = measure(plugin.function, plugin.info, scored)
            return Measure(
                value=found.value,
                interval=found.interval,
                warnings=found.warnings,
                details=plain_data(found.details),
            )
        except Undefined as reason:
            return Measure(undefined=str(reason))
        # A metric may raise anything; the run goes on without its value.
        except Exception as error:
            if name == self._indispensable:
                raise
            self.failed[name] = f"metric '{name}' failed and has no value: {type(error).__name__}: {error}"
            return Measure(undefined=self.failed[name])

    def measure_all(self, names: Iterable[str], scored: Scored) -> dict[str, Measure]:
        """Every metric for which enough is known of these rows."""
        return {name: self.measure(name, scored) for name in names if self.metrics[name].fits(scored.knowledge)}
