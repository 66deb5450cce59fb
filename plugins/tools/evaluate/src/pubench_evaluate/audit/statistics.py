"""Intervals and a test from a sample of rows that somebody has checked, drawn apart above and below a threshold.

Within a side every row is drawn with the same probability, proportionally from bands of the score. The number of
positives found there is then a sum of independent, unequal coins (a hypergeometric number is one, too), whose tails are
no heavier than those of the binomial with the same mean (Hoeffding 1956): intervals that are exact for a binomial
(Clopper and Pearson 1934) hold for it. What depends on both sides is had by melding (Fay, Proschan and Brittain 2015,
who treat two samples): the lower confidence distributions where a quantity grows with a share, the upper ones where it
falls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..scored_rows import FloatArray

#: Draws from confidence distributions; the ends of intervals are good to about .002.
DRAWS = 20_000
#: Audited positives on one side from which the ranks of their scores are compared.
FEWEST = 8


@dataclass(frozen=True)
class AuditEstimate:
    """A value and a two-sided interval; all None, and ``undefined`` says why, if there is none."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    undefined: str = ""

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends; None if there is no value."""
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True)
class Side:
    """``rows``: of the side; ``checked``: those of them with an answer; ``positive``: those found positive."""

    rows: int
    checked: float
    positive: float

    def grown(self, factor: float) -> Side:
        """The side if ``factor`` times as many rows were checked and the same share of them was positive."""
        checked = min(self.checked * factor, self.rows)
        return Side(self.rows, checked, checked * self.share)

    @property
    def share(self) -> float:
        """Share of positives among the checked rows; 0 if there is no row."""
        return self.positive / self.checked if self.checked else 0.0

    @property
    def everything(self) -> bool:
        """Whether every row is checked, so that nothing is uncertain."""
        return self.checked == self.rows

    def drawn(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draws of the share from the lower and the upper confidence distribution, Beta(x, n-x+1), Beta(x+1, n-x)."""
        x, n = self.positive, self.checked
        if self.everything:
            return np.full(DRAWS, self.share), np.full(DRAWS, self.share)
        low = rng.beta(x, n - x + 1, DRAWS) if x else np.zeros(DRAWS)
        high = rng.beta(x + 1, n - x, DRAWS) if x < n else np.ones(DRAWS)
        return low, high


@dataclass(frozen=True)
class Melded:
    """Quantities of two sides. ``above``, ``below``: the sides; their draws are made once."""

    above: Side
    below: Side
    draws: tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]

    @classmethod
    def of(cls, above: Side, below: Side, rng: np.random.Generator) -> Melded:
        """Draws for both sides. A side with rows needs at least one that is checked."""
        return cls(above, below, (above.drawn(rng), below.drawn(rng)))

    def quantity(self, of: Callable[[FloatArray, FloatArray], FloatArray], grows: tuple[bool, bool]) -> AuditEstimate:
        """An interval of a function of the shares (above, below). ``grows``: whether it grows with either."""
        (low_above, high_above), (low_below, high_below) = self.draws
        lower = of(low_above if grows[0] else high_above, low_below if grows[1] else high_below)
        upper = of(high_above if grows[0] else low_above, high_below if grows[1] else low_below)
        value = of(np.array([self.above.share]), np.array([self.below.share]))[0]
        low, high = np.percentile(lower, 2.5), np.percentile(upper, 97.5)
        return AuditEstimate(float(value), min(float(low), float(value)), max(float(high), float(value)))

    def share(self) -> AuditEstimate:
        """Share of positives among all rows of both sides."""
        n_above, n_below = self.above.rows, self.below.rows
        return self.quantity(
            lambda above, below: (n_above * above + n_below * below) / (n_above + n_below), (True, True)
        )

    def precision(self) -> AuditEstimate:
        """Share of positives above the threshold."""
        if not self.above.rows:
            return AuditEstimate(undefined="no unlabeled row is above the threshold")
        low, high = clopper_pearson(self.above)
        return AuditEstimate(self.above.share, low, high)

    def recall(self) -> AuditEstimate:
        """Share of the positives that is above the threshold."""
        if not self.above.positive + self.below.positive:
            return AuditEstimate(undefined="no positive was found, so no share of them is above the threshold")
        return self.quantity(self.recalls, (True, False))

    def recalls(self, above: FloatArray, below: FloatArray) -> FloatArray:
        """Recall for each pair of shares; 0 if there is no positive at all."""
        found, missed = self.above.rows * above, self.below.rows * below
        return np.divide(found, found + missed, out=np.zeros_like(found), where=found + missed > 0)


def clopper_pearson(side: Side) -> tuple[float, float]:
    """Exact 95 % binomial interval of the share of positives (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv

    x, n, tail = side.positive, side.checked, 0.025
    if side.everything:
        return side.share, side.share
    low = float(betaincinv(x, n - x + 1, tail)) if x else 0.0
    high = float(betaincinv(x + 1, n - x, 1 - tail)) if x < n else 1.0
    return low, high


# -------------------------------------------------------------------- is SCAR plausible?


@dataclass(frozen=True)
class ScarTest:
    """Labeled positives against audited ones. ``p_value``: smallest, after Holm's correction; ``parts``: of each test.

    ``rejected``: whether it is below ``alpha``. ``undefined``: why nothing was tested. ``contradiction``: what the
    prior and the scores say against SCAR, which counts unless it is rejected.
    """

    p_value: float | None = None
    parts: tuple[tuple[str, float], ...] = ()
    rejected: bool = False
    alpha: float = 0.05
    undefined: str = ""
    contradiction: str = ""

    @property
    def verdict(self) -> str:
        """Whether SCAR is ``rejected``, ``contradicted``, ``not rejected`` or ``not tested``."""
        if self.rejected or self.contradiction:
            return "rejected" if self.rejected else "contradicted"
        return "not tested" if self.p_value is None else "not rejected"

    @property
    def sentence(self) -> str:
        """The verdict with its p-values, or why there is none."""
        if self.verdict == "contradicted":
            return f"Labeled rows are no random draw of the positives, or the prior is wrong: {self.contradiction}"
        if self.p_value is None:
            return f"SCAR is not tested: {self.undefined}"
        parts = ", ".join(f"{name} p = {p:.2g}" for name, p in self.parts)
        verdict = (
            "SCAR is rejected: labeled positives do not score as positives do in general; measures that assume SCAR "
            "mislead"
            if self.rejected
            else "SCAR is not rejected, which is no proof of it"
        )
        return f"{verdict} (p = {self.p_value:.2g} after Holm; {parts})"


def scar_test(
    melded: Melded,
    labeled: tuple[FloatArray, FloatArray],
    audited: tuple[FloatArray, FloatArray],
    rng: np.random.Generator,
    alpha: float = 0.05,
) -> ScarTest:
    """Whether labeled positives score as all positives do, which SCAR demands.

    ``labeled``, ``audited``: scores of labeled rows, and of rows that were found positive, above and below the
    threshold. Two kinds of test, combined by Holm (1979): the share above the threshold (weighted by the design, melded
    binomial intervals of both), and within each side, where all rows were drawn alike, Mann and Whitney's test.
    """
    from scipy.stats import mannwhitneyu

    if not melded.above.positive + melded.below.positive:
        return ScarTest(alpha=alpha, undefined="no positive was found among the checked rows")
    parts = []
    if melded.above.rows and melded.below.rows:
        parts.append(("share above the threshold", _same_recall(melded, labeled, rng)))
    for name, ours, theirs in zip(("above", "below"), labeled, audited, strict=True):
        if min(len(ours), len(theirs)) >= FEWEST and np.ptp(np.concatenate([ours, theirs])) > 0:
            p = float(mannwhitneyu(ours, theirs, method="asymptotic").pvalue)
            parts.append((f"scores {name} the threshold", p))
    if not parts:
        return ScarTest(alpha=alpha, undefined=f"fewer than {FEWEST} positives were found on either side")
    smallest = min(min(p for _, p in parts) * len(parts), 1.0)
    return ScarTest(smallest, tuple(parts), smallest < alpha, alpha)


def _same_recall(melded: Melded, labeled: tuple[FloatArray, FloatArray], rng: np.random.Generator) -> float:
    """Two-sided p-value: recall of the audit minus the share of labeled rows above the threshold is 0."""
    n_above, n_below = map(len, labeled)
    low, high = Side(n_above + n_below + 1, n_above + n_below, n_above).drawn(rng)
    (low_above, high_above), (low_below, high_below) = melded.draws
    larger = float((melded.recalls(low_above, high_below) - high <= 0).mean())
    smaller = float((melded.recalls(high_above, low_below) - low >= 0).mean())
    return min(1.0, 2 * min(larger, smaller))
