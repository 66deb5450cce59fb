"""Assumed class prior, and its meaning for a table of labeled and unlabeled rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pubench_core.errors import RequestError, shown
from pubench_core.specs import is_one_sample

from .estimates import EstimatedPrior
from .scored_rows import ScoredRows
from .thresholds import Shares

if TYPE_CHECKING:
    from .audit import AuditResult

_RANGE = re.compile(r"(?P<low>[^.]*(?:\.\d*)?)\.\.(?P<high>.+)")


@dataclass(frozen=True)
class Belief:
    """Assumed class prior.

    ``prior``: π of the population, ``interval``: where it lies; ``share``, ``share_interval``: what that means for α,
    the share of positives in U. ``source``: where it comes from, in words; ``estimated``: by an estimator of the share
    in U. None where nothing is believed.
    """

    prior: float | None = None
    interval: tuple[float, float] | None = None
    share: float | None = None
    share_interval: tuple[float, float] | None = None
    source: str = "not given"
    estimated: bool = False


def wanted_estimator(prior: Any) -> str:
    """The key of the estimator that the prior is to be taken from; empty where it is not estimated."""
    word, _, key = prior.partition(":") if isinstance(prior, str) else ("", "", "")
    return key if word == "estimated" else ""


def shares_of(belief: Belief, rows: ScoredRows) -> Shares:
    """Shares of positives in U under a belief, with their uncertainty."""
    follows = belief.prior is not None and not belief.estimated and is_one_sample(rows.scheme)
    ends = (belief.interval or (belief.prior, belief.prior)) if follows else None
    return Shares(belief.share, belief.share_interval, rows.purity, ends)  # type: ignore[arg-type]


def belief_in(prior: Any, rows: ScoredRows, estimates: Sequence[EstimatedPrior]) -> Belief:
    """Belief that an argument ``prior`` means for these rows.

    Raises RequestError for a prior outside (0, 1), one that leaves less than no positive among the unlabeled rows, or
    an estimator that has no estimate.
    """
    if prior is None:
        return Belief()
    if key := wanted_estimator(prior):
        found = next(estimate for estimate in estimates if estimate.key == key)
        if found.share is None or found.prior is None:
            raise RequestError(
                f"prior={prior}: {key} has no estimate ({found.undefined}); give a number", field="prior", value=prior
            )
        return Belief(found.prior, found.prior_interval, found.share, found.interval, f"estimated by {key}", True)
    low, high = ends_of(prior, "estimated:KEY")
    least = rows.purity * rows.n_labeled / len(rows.scores) if is_one_sample(rows.scheme) else 0.0
    if high <= least:
        raise RequestError(
            f"prior={shown(prior)}: {rows.n_labeled} of {len(rows.scores)} rows are labeled positives, so the prior "
            f"of a {rows.scheme} table is above {least:.4g}; give a larger one, or scheme=two-sample where the "
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


def narrowed(prior: Any, audited: AuditResult | None) -> Any:
    """Belief after rows were checked: both where they agree, the checked rows where they do not.

    An estimator's prior is replaced, because estimators assume SCAR and checked rows do not.
    """
    if audited is None or audited.prior.low is None or audited.prior.high is None:
        return prior
    low, high = max(audited.prior.low, 1e-6), min(audited.prior.high, 1 - 1e-6)
    if prior is None or wanted_estimator(prior):
        return low, high
    given_low, given_high = ends_of(prior, "estimated:KEY")
    both = max(low, given_low), min(high, given_high)
    return both if both[0] <= both[1] else (low, high)


def ends_of(prior: Any, also: str = "") -> tuple[float, float]:
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
