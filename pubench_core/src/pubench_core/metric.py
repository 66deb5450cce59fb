"""The contract of a metric, and the view of scores that it is given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .data.views import is_one_sample
from .errors import PluginError
from .info import MetricInfo
from .specs import Scheme

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Scored:
    """Scores of one part, and what is known of its rows. Absent knowledge is None.

    ``scores``: (n,) one per instance; ``decisions``: (n,) True iff score > 0 (decided by the engine, once).
    ``truth``: (n,) 0/1 true labels. ``labeled``/``unlabeled``: positions of P' and U' among the n rows; in
    case-control U' contains P'. ``prior``: π as the method was told it.
    """

    scores: FloatArray
    decisions: BoolArray
    truth: npt.NDArray[np.int8] | None = None
    labeled: npt.NDArray[np.int64] | None = None
    unlabeled: npt.NDArray[np.int64] | None = None
    prior: float | None = None
    scheme: Scheme | None = None

    @classmethod
    def of(cls, scores: FloatArray, **known: Any) -> Scored:
        """Scores with the engine's decision: positive iff score > 0."""
        return cls(scores=scores, decisions=scores > 0, **known)


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
        value: npt.NDArray[np.int8] = self._declared("truth", self._scored.truth)
        return value

    @property
    def labeled(self) -> npt.NDArray[np.int64]:
        """Positions of the labeled positives P'."""
        value: npt.NDArray[np.int64] = self._declared("labeled", self._scored.labeled)
        return value

    @property
    def unlabeled(self) -> npt.NDArray[np.int64]:
        """Positions of the unlabeled rows U'."""
        value: npt.NDArray[np.int64] = self._declared("labeled", self._scored.unlabeled)
        return value

    @property
    def prior(self) -> float:
        """π as the method was told it."""
        return float(self._declared("prior", self._scored.prior))

    @property
    def one_sample(self) -> bool:
        """P' and U' together are one draw from the population (rather than U' alone)."""
        return is_one_sample(self._declared("scheme", self._scored.scheme))


@dataclass(frozen=True)
class MetricValue:
    """A value, an interval where the metric gives one, and warnings for the reader."""

    value: float
    interval: tuple[float, float] | None = None
    warnings: tuple[str, ...] = field(default=())


class Metric(Protocol):
    """A callable view -> value. Raises :class:`~pubench_core.errors.Undefined` where the measure has none."""

    def __call__(self, view: MetricView) -> MetricValue | float: ...


def measure(metric: Metric, info: MetricInfo, scored: Scored) -> MetricValue:
    """Applies a metric; raises Undefined where it has no value, PluginError where it returns a non-number."""
    found = metric(MetricView(scored, info))
    value = found if isinstance(found, MetricValue) else MetricValue(float(found))
    if not np.isfinite(value.value):
        raise PluginError(f"metric '{info.key}' returned {value.value}; it must raise Undefined where it has no value")
    return value
