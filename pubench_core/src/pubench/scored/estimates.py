"""Class-prior estimators side by side, asked about one table of scores or features."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pubench_core.errors import PluginError, PubenchError, RequestError, Undefined, said_by, unknown
from pubench_core.plugins.info import PriorInfo
from pubench_core.plugins.registry import load, registry
from pubench_core.prior import PriorEstimate, PriorEstimator
from pubench_core.randomness import stream
from pubench_core.results import plain_data

from .rows import ScoredRows

#: Estimators are said to disagree where their shares lie further apart than this.
APART = 0.1


@dataclass(frozen=True)
class EstimatedPrior:
    """What one estimator says.

    ``share``: of positives in U (α); ``interval``: of the share. ``prior``, ``prior_interval``: what that means for π
    of the population. ``undefined``: why there is no estimate.
    """

    key: str
    name: str
    share: float | None = None
    prior: float | None = None
    interval: tuple[float, float] | None = None
    prior_interval: tuple[float, float] | None = None
    undefined: str = ""
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    diagnostics: dict[str, Any] = field(default_factory=dict)

    @property
    def note(self) -> str:
        """Why there is no estimate, or what its reader must know."""
        return self.undefined or "; ".join(self.warnings)


def infos_of(inputs: str, keys: Sequence[str] | None) -> list[PriorInfo]:
    """The installed estimators that read ``inputs`` (scores, features or ``any``), or those that are named.

    Raises RequestError for a key that is not installed, or that reads something else.
    """
    known = {info.key: info for info in registry().infos(PriorInfo)}
    fitting = [info for info in known.values() if inputs in ("any", info.inputs)]
    if keys is None:
        return fitting
    found = []
    for key in keys:
        if key not in known:
            raise unknown("prior estimator", key, known, field="estimators")
        if known[key] not in fitting:
            names = ", ".join(info.key for info in fitting) or "none is installed"
            raise RequestError(
                f"estimators={key}: {key} reads {known[key].inputs}, and here are {inputs}; those that read {inputs}: "
                f"{names}",
                field="estimators",
                value=key,
            )
        found.append(known[key])
    return found


def asked(
    info: PriorInfo, positive: npt.NDArray[Any], unlabeled: npt.NDArray[Any], rows: ScoredRows, seed: int
) -> EstimatedPrior:
    """One estimator's answer, or why it has none: an estimator that fails loses its own row only."""
    started = time.perf_counter()
    try:
        found = _estimate(info, positive, unlabeled, seed)
    except (PubenchError, Undefined, ValueError, ArithmeticError) as error:
        reason = str(error) if isinstance(error, (PubenchError, Undefined)) else said_by(error)
        reason = reason.removeprefix(f"prior estimated:{info.key}: ").removesuffix("; give a number (prior=0.4)")
        return EstimatedPrior(info.key, info.name, undefined=reason, seconds=_since(started))
    if not math.isfinite(found.share):
        reason = f"it returned {found.share}"
        return EstimatedPrior(info.key, info.name, undefined=reason, seconds=_since(started))
    interval = None if found.interval is None else (float(found.interval[0]), float(found.interval[1]))
    return EstimatedPrior(
        info.key,
        info.name,
        share=float(found.share),
        prior=rows.prior_of(float(found.share)),
        interval=interval,
        prior_interval=None if interval is None else (rows.prior_of(interval[0]), rows.prior_of(interval[1])),
        warnings=_warnings_in(found),
        seconds=_since(started),
        diagnostics=plain_data(found.diagnostics),
    )


def _warnings_in(found: PriorEstimate) -> tuple[str, ...]:
    """What the estimator itself says under ``warnings`` of its diagnostics, if it says anything there."""
    said = found.diagnostics.get("warnings", ())
    return tuple(map(str, said)) if isinstance(said, (list, tuple)) else ()


def _estimate(info: PriorInfo, positive: npt.NDArray[Any], unlabeled: npt.NDArray[Any], seed: int) -> PriorEstimate:
    made = load(info)
    if not (isinstance(made, type) and issubclass(made, PriorEstimator)):
        raise PluginError(f"prior '{info.key}': {info.load} is not a subclass of pubench_core.prior.PriorEstimator")
    return made().estimate(positive, unlabeled, stream(seed, "prior"))


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 4)


def disagreement(estimates: Sequence[EstimatedPrior]) -> str:
    """A line where the estimators' shares are further apart than :data:`APART`; empty where they are not."""
    shares = [(found.share, found.key) for found in estimates if found.share is not None]
    if len(shares) < 2:
        return ""
    (low, lowest), (high, highest) = min(shares), max(shares)
    if high - low <= APART:
        return ""
    return (
        f"the estimators disagree: the share of positives among the unlabeled rows is {low:.3g} by {lowest} and "
        f"{high:.3g} by {highest}; none of them can be checked without true labels, sixty audited rows can"
    )


def plain(found: EstimatedPrior) -> dict[str, Any]:
    """As JSON holds it."""
    return dict(plain_data(asdict(found)))


def named(positive: npt.NDArray[Any]) -> str:
    """What an estimator would read of an array: ``scores`` of shape (n,), ``features`` of shape (n, d)."""
    return "scores" if np.ndim(positive) == 1 else "features"
