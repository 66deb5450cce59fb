"""Class-prior estimators side by side, asked about one table of scores or features."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt
from pubench_report.rendering import RenderedTable

from pubench_core.errors import PluginError, PubenchError, RequestError, Undefined, said_by, unknown
from pubench_core.plugins.info import PriorInfo
from pubench_core.plugins.registry import load, registry
from pubench_core.prior import PriorEstimate, PriorEstimator
from pubench_core.randomness import stream
from pubench_core.results import plain_data

from .page import between
from .scored_rows import ScoredRows

#: Estimators are said to disagree if their priors lie further apart than this; one that errs more is left out.
APART = 0.1
#: Which estimates are part of the range of priors.
RULE = (
    f"In the range: estimators that are off by at most {APART:g} on average on known shares and warn of nothing. "
    "Labels that prefer some positives (not SCAR) bias all of them; sixty checked rows need no SCAR (pubench audit)."
)
#: Why an estimator without an estimate is left out.
NONE = "no estimate"


@dataclass(frozen=True)
class EstimatedPrior:
    """Estimate of one estimator.

    ``share``: of positives in U (α); ``interval``: of the share. ``prior``, ``prior_interval``: what that means for π
    of the population. ``undefined``: why there is no estimate. ``left_out``: why the estimate is not part of the range
    of priors; empty if it is.
    """

    key: str
    name: str
    share: float | None = None
    prior: float | None = None
    interval: tuple[float, float] | None = None
    prior_interval: tuple[float, float] | None = None
    undefined: str = ""
    left_out: str = ""
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    diagnostics: dict[str, Any] = field(default_factory=dict)

    @property
    def note(self) -> str:
        """Why there is no estimate, or what its reader must know."""
        return self.undefined or "; ".join(self.warnings)


def infos_of(inputs: str, keys: Sequence[str] | None, *, thorough: bool = False) -> list[PriorInfo]:
    """The installed estimators that read ``inputs`` (scores, features or ``any``), or those that are named.

    ``thorough``: whether the slow ones are among them.

    Raises RequestError for a key that is not installed, or that reads something else.
    """
    known = {info.key: info for info in registry().infos(PriorInfo)}
    fitting = [info for info in known.values() if inputs in ("any", info.inputs)]
    if keys is None:
        return [info for info in fitting if thorough or not info.slow]
    found = []
    for key in keys:
        if key not in known:
            raise unknown("prior estimator", key, known, field="estimators")
        if known[key] not in fitting:
            names = ", ".join(info.key for info in fitting) or "none is installed"
            raise RequestError(
                f"estimators={key}: it reads {known[key].inputs}, not {inputs}; those that read {inputs}: {names}",
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
        return EstimatedPrior(info.key, info.name, undefined=reason, left_out=NONE, seconds=_since(started))
    if not math.isfinite(found.share):
        reason = f"it returned {found.share}"
        return EstimatedPrior(info.key, info.name, undefined=reason, left_out=NONE, seconds=_since(started))
    interval = None if found.interval is None else (float(found.interval[0]), float(found.interval[1]))
    return EstimatedPrior(
        info.key,
        info.name,
        share=float(found.share),
        prior=rows.prior_of(float(found.share)),
        interval=interval,
        prior_interval=None if interval is None else (rows.prior_of(interval[0]), rows.prior_of(interval[1])),
        left_out=_why_left_out(info, _warnings_in(found)),
        warnings=_warnings_in(found),
        seconds=_since(started),
        diagnostics=plain_data(found.diagnostics),
    )


def _why_left_out(info: PriorInfo, warnings: Sequence[str]) -> str:
    """Why an estimate is not part of the range: a measured error above :data:`APART`, no measured one, or a warning."""
    if info.error is None:
        return "its error on known shares is not measured"
    if info.error > APART:
        return f"off by {info.error:.2f} on average on known shares"
    return "it warns" if warnings else ""


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


def counted(estimates: Sequence[EstimatedPrior]) -> list[EstimatedPrior]:
    """Those that are part of the range of priors."""
    return [found for found in estimates if not found.left_out]


def range_of(estimates: Sequence[EstimatedPrior]) -> tuple[float, float] | None:
    """π from the lowest to the highest end of the intervals of the counted estimators; None if there is none."""
    ends = [end for one in counted(estimates) for end in (one.prior, *(one.prior_interval or ())) if end is not None]
    return (min(ends), max(ends)) if ends else None


def summary(estimates: Sequence[EstimatedPrior]) -> str:
    """The range of priors, by which estimators, and what it assumes."""
    taken, ends = counted(estimates), range_of(estimates)
    if ends is None:
        return "no range of class priors: every estimator is left out; sixty checked rows give one (pubench audit)"
    points = sorted(found.prior for found in taken if found.prior is not None)
    names, several = ", ".join(found.key for found in taken), points[0] != points[-1]
    estimated = f"{points[0]:.3f}{f' to {points[-1]:.3f}' if several else ''}"
    return f"class prior {ends[0]:.3f} to {ends[1]:.3f}, if labels are SCAR (95 % by {names}; estimated {estimated})"


def disagreement(estimates: Sequence[EstimatedPrior]) -> str:
    """A line if the counted estimators' priors are further apart than :data:`APART`; else empty."""
    priors = [(found.prior, found.key) for found in counted(estimates) if found.prior is not None]
    if len(priors) < 2:
        return ""
    (low, lowest), (high, highest) = min(priors), max(priors)
    if high - low <= APART:
        return ""
    return (
        f"the estimators disagree: the prior is {low:.3g} by {lowest} and {high:.3g} by {highest}; without true labels "
        "none of them can be checked, by sixty audited rows they can"
    )


def estimates_table(estimates: Sequence[EstimatedPrior], *, notes: bool = True) -> RenderedTable:
    """Each estimator's prior in the population, and why some are left out. ``notes``: whether it has their notes."""
    rows = [
        [
            found.key,
            "" if found.prior is None else f"{found.prior:.3f}",
            between(found.prior_interval),
            f"{found.seconds:.1f}",
            f"no: {found.left_out}" if found.left_out else "yes",
            *([found.note] if notes else []),
        ]
        for found in estimates
    ]
    head = ("estimator", "prior", "95 % interval", "seconds", "in the range", *(["note"] if notes else []))
    return RenderedTable.of(head, rows, texts=(4, 5), wraps=(4, 5), ranks={3: 1})


def spans_of(
    estimates: Sequence[EstimatedPrior], believed: tuple[str, float, tuple[float, float] | None] | None
) -> list[tuple[str, float, tuple[float, float] | None, bool]]:
    """Content of the figure: π by each estimator with its interval, and what is believed."""
    found = [(one.name, one.prior, one.prior_interval, False) for one in estimates if one.prior is not None]
    return found if believed is None else [*found, (*believed, True)]
