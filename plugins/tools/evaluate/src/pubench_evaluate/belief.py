"""Assumed class prior, and its meaning for a table of labeled and unlabeled rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from pubench_core.errors import RequestError, shown
from pubench_core.specs import is_one_sample

from .scored_rows import LabeledScores

Interval = tuple[float, float]
_RANGE = re.compile(r"(?P<low>[^.]*(?:\.\d*)?)\.\.(?P<high>.+)")


@dataclass(frozen=True)
class EstimatedPrior:
    """Estimate of one estimator."""

    key: str
    name: str
    share: float | None = None
    """of positives in U (α)"""
    prior: float | None = None
    """what that means for π of the population"""
    interval: Interval | None = None
    """of the share"""
    prior_interval: Interval | None = None
    undefined: str = ""
    """why there is no estimate"""
    left_out: str = ""
    """why the estimate is not part of the range of priors; empty if it is"""
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    diagnostics: dict[str, Any] = field(default_factory=dict)

    @property
    def note(self) -> str:
        """Why there is no estimate, or what its reader must know."""
        return self.undefined or "; ".join(self.warnings)


@dataclass(frozen=True)
class Belief:
    """Assumed class prior, and what it means for a table. None where nothing is believed."""

    prior: float | None = None
    """π of the population"""
    interval: Interval | None = None
    """where it lies"""
    share: float | None = None
    """α, the share of positives in U"""
    share_interval: Interval | None = None
    source: str = "not given"
    """where it comes from, in words"""
    estimated: bool = False
    """by an estimator of the share in U"""

    @classmethod
    def between(cls, interval: Interval, source: str, *, estimated: bool = False) -> Belief:
        """Belief before a table says what it means for U; the middle counts if one number is needed."""
        return cls(sum(interval) / 2, interval, source=source, estimated=estimated)

    @property
    def line(self) -> str:
        """The assumed prior in words."""
        if self.prior is None:
            return "no prior given"
        where = "" if self.interval is None else f" (between {self.interval[0]:.3g} and {self.interval[1]:.3g})"
        return f"class prior {self.prior:.3g}{where}, {self.source}; share of positives in U {self.share:.3g}"


def belief_in(prior: Any, rows: LabeledScores, found: EstimatedPrior | None = None) -> Belief:
    """Belief that an argument ``prior`` means for these rows; ``found``: the estimate that it asks for.

    Raises RequestError for a prior outside (0, 1), one that leaves less than no positive among the unlabeled rows, or
    an estimator that has no estimate.
    """
    if prior is None:
        return Belief()
    if found is not None:
        if found.share is None or found.prior is None:
            why = f"{found.key} has no estimate ({found.undefined}); give a number"
            raise RequestError(f"prior={prior}: {why}", field="prior", value=prior)
        return Belief(found.prior, found.prior_interval, found.share, found.interval, f"estimated by {found.key}", True)
    low, high = ends_of(prior, "estimated:KEY")
    least = rows.purity * rows.n_labeled / len(rows.scores) if is_one_sample(rows.scheme) else 0.0
    if high <= least:
        raise RequestError(
            f"prior={in_short((low, high))}: {rows.n_labeled} of {len(rows.scores)} rows are labeled positives, so the "
            f"prior of a {rows.scheme} table is above {least:.4g}; give a larger one, or scheme=two-sample where the "
            "labeled rows come from elsewhere",
            field="prior",
            value=prior,
        )
    low = max(low, least)
    value = (low + high) / 2
    if low == high:
        return Belief(value, None, rows.share_in_u(value), None, "given")
    share = (rows.share_in_u(low), rows.share_in_u(high))
    return Belief(value, (low, high), rows.share_in_u(value), share, "given as an interval; its middle is used")


def wanted_estimator(prior: Any) -> str:
    """The key of the estimator that the prior is to be taken from; empty if it is not estimated."""
    word, _, key = prior.partition(":") if isinstance(prior, str) else ("", "", "")
    return key if word == "estimated" else ""


def ends_of(prior: Any, also: str = "") -> Interval:
    """The two ends of a prior; equal for a single number. Raises RequestError for anything else.

    ``also``: what else a prior may be where it is given, in words.
    """
    given: Any = prior
    if isinstance(prior, str) and (match := _RANGE.fullmatch(prior.strip())):
        given = (match["low"], match["high"])
    pair = given if isinstance(given, (tuple, list)) else (given, given)
    try:
        low, high = (float(end) for end in pair)
    except (TypeError, ValueError):
        low = high = float("nan")
    if not 0 < low <= high < 1:
        number, interval = "a number between 0 and 1 (0.3)", "an interval (0.2..0.4)"
        expected = f"{number}, {interval} or {also}" if also else f"{number} or {interval}"
        raise RequestError(f"prior must be {expected}, got {shown(prior)}", field="prior", value=prior)
    return low, high


def in_short(interval: Interval | None) -> str:
    """An interval in words."""
    return "unknown" if interval is None else " to ".join(dict.fromkeys(f"{end:.3g}" for end in interval))
