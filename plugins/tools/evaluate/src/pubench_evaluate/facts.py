"""Content of a report card and of a page of class priors; the callers add how they are requested and printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .estimates import EstimatedPrior
from .measuring import Measured, PlottedCurve
from .paired import Comparison
from .prior_input import Belief
from .thresholds import ThresholdCut


@dataclass(frozen=True)
class CardFacts:
    """See :class:`~pubench_evaluate.evaluation.Evaluation`."""

    name: str
    rows: Mapping[str, int]
    scheme: str
    purity: float
    belief: Belief
    estimates: tuple[EstimatedPrior, ...]
    measures: Mapping[str, Measured]
    decision: ThresholdCut
    budgets: tuple[ThresholdCut, ...]
    recalls: tuple[ThresholdCut, ...]
    curves: Mapping[str, PlottedCurve] = field(default_factory=dict)
    band: Mapping[str, tuple[float, ...]] | None = None
    comparison: Comparison | None = None
    contradictions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    checked: str = ""
    scar_tested: bool = False
    histogram: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    by_prior: tuple[tuple[float, float, float], ...] = ()


@dataclass(frozen=True)
class PriorFindings:
    """See :class:`~pubench_evaluate.prior_estimates.PriorEstimates`."""

    name: str
    rows: int
    labeled: int
    scheme: str
    purity: float
    read: str
    estimates: tuple[EstimatedPrior, ...]
    interval: tuple[float, float] | None = None
    true: float | None = None
    checked: str = ""
    warnings: tuple[str, ...] = ()
