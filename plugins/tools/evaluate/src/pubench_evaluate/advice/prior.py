"""Beliefs about a table: its class prior, and whether labels are a random draw of the positives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pubench_core.errors import PubenchError
from pubench_core.randomness import stream

from ..audit import AuditResult
from ..estimates import APART, infos_of
from ..prior_estimates import PriorEstimates, estimate_prior
from ..prior_input import narrowed
from .fits import FitRows

#: Estimators read at most so many rows, a random part of the table.
MOST_ROWS = 10_000


@dataclass(frozen=True)
class Prior:
    """Where π of the population lies."""

    interval: tuple[float, float] | None
    """None if nothing is known"""
    source: str
    assumes_scar: bool = False
    """whether it rests on labels being a random draw of the positives"""
    estimated: PriorEstimates | None = None
    warnings: tuple[str, ...] = ()
    """what contradicts it"""

    @property
    def middle(self) -> float | None:
        """Prior for what cannot do without one."""
        return None if self.interval is None else sum(self.interval) / 2

    def without(self, why: str) -> Prior:
        """Unknown, because what was estimated cannot be."""
        return replace(self, interval=None, source=f"unknown: the estimate {said(self.interval)} {why}")


def said(interval: tuple[float, float] | None) -> str:
    """An interval in words."""
    return "unknown" if interval is None else " to ".join(dict.fromkeys(f"{end:.3g}" for end in interval))


def prior_of(given: tuple[float, float] | None, audited: AuditResult | None, estimated: PriorEstimates | None) -> Prior:
    """Checked rows outweigh a given prior, and both outweigh estimators, which assume SCAR."""
    found = None if estimated is None or estimated.interval is None else _inside(estimated.interval)
    if audited is not None and audited.prior.low is not None:
        interval = narrowed(given, audited)
        if given is None or (given[0] <= interval[1] and interval[0] <= given[1]):
            return Prior(interval, "checked rows" if given is None else "given, narrowed by checked rows")
        line = f"checked rows say {said(interval)}, the given prior is {said(given)}: the checked rows count"
        return Prior(interval, "checked rows", warnings=(line,))
    if given is not None:
        apart = found is not None and (found[1] < given[0] or found[0] > given[1])
        line = (
            f"estimators that assume SCAR say {said(found)}, outside of the given {said(given)}: labels are not SCAR, "
            "or the given prior is wrong"
        )
        return Prior(given, "given", False, estimated, (line,) if apart else ())
    if found is not None:
        return Prior(found, "estimated", True, estimated)
    return Prior(None, "unknown: none was given, and no estimator counts here", True, estimated)


def _inside(interval: tuple[float, float]) -> tuple[float, float]:
    """The interval without 0 and 1, which an estimate can reach and no prior can be."""
    low, high = (min(max(end, 0.001), 0.999) for end in interval)
    return low, high


def estimates(rows: FitRows, progress: Callable[[str], None]) -> PriorEstimates | None:
    """Estimators whose answer can count, on at most :data:`MOST_ROWS` rows; None if they cannot be asked."""
    keys = [info.key for info in infos_of("any", None) if info.error is not None and info.error <= APART]
    part = stream(rows.seed, "rows for priors").permutation(len(rows.x))[:MOST_ROWS]
    x = rows.x[part]
    known = ~np.isnan(x).all(axis=0)
    try:
        return estimate_prior(
            x[:, known], rows.labeled[part], estimators=keys, scheme=rows.scheme, seed=rows.seed, progress=progress
        )
    except PubenchError as error:
        progress(f"no prior is estimated: {error}")
        return None


@dataclass(frozen=True)
class Scar:
    """Whether labeled positives are a random draw of all positives."""

    status: str
    """``untested``, ``contradicted`` (by prior and scores), ``rejected`` or ``not rejected`` (by checked rows)"""
    p_value: float | None = None
    """of the checked rows"""
    reason: str = ""

    @property
    def sentence(self) -> str:
        """Finding about SCAR, in words."""
        match self.status:
            case "rejected":
                return f"Labeled rows are no random draw of the positives (p = {self.p_value:.2g}, checked rows)."
            case "not rejected":
                return f"Checked rows do not contradict a random draw (p = {self.p_value:.2g}); no proof."
            case "contradicted":
                return f"Labeled rows are no random draw of the positives, or the prior is wrong: {self.reason}."
        return (
            f"Whether labeled rows are a random draw of the positives is not tested: {self.reason}. A table alone "
            "cannot tell: labels that prefer some positives look like a smaller prior."
        )


def scar_of(audited: AuditResult | None, contradiction: str) -> Scar:
    """Rejected by checked rows, contradicted by the scores at the narrowed prior, not rejected, or untested."""
    test = None if audited is None else audited.scar
    if test is not None and test.rejected:
        return Scar("rejected", test.p_value)
    if contradiction:
        return Scar("contradicted", None if test is None else test.p_value, contradiction)
    if test is not None and test.p_value is not None:
        return Scar("not rejected", test.p_value)
    return Scar("untested", reason="no row was checked" if test is None else test.undefined)
