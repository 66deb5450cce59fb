"""Inputs of the measures: the two groups of scores of a view, and the shares of positives in them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pubench_core.errors import Undefined
from pubench_core.metric import MetricView

from .hypergeometric import FloatArray
from .recovered import Mixture, auc_error
from .resampling import MOST_ROWS

Interval = tuple[float, float]
#: Fewer labeled rows than this make every value rough.
FEW = 20
#: A gap between purity and prior below this multiplies every error by ten or more.
NARROW = 0.1
#: Points of a curve in the details.
POINTS = 200
#: Standard normal quantile of a 95 % interval.
_Z = 1.959963984540054


@dataclass(frozen=True)
class Scores:
    """``labeled``: (n1,) scores of P'; ``unlabeled``: (n,) of U', which in case-control holds P' once more."""

    labeled: FloatArray
    unlabeled: FloatArray

    @classmethod
    def of(cls, view: MetricView) -> Scores:
        """Raises Undefined without a row on one side, or where a score is not a number."""
        for name, rows in (("labeled positive", view.labeled), ("unlabeled row", view.unlabeled)):
            if not len(rows):
                raise Undefined(f"no {name}")
        if not np.isfinite(view.scores).all():
            bad = int(np.flatnonzero(~np.isfinite(view.scores))[0])
            raise Undefined(f"the score of row {bad} is {view.scores[bad]}")
        return cls(view.scores[view.labeled], view.scores[view.unlabeled])

    @property
    def as_bytes(self) -> tuple[bytes, bytes]:
        """Both groups, for what is kept of the last ones."""
        return self.labeled.tobytes(), self.unlabeled.tobytes()

    @property
    def warnings(self) -> list[str]:
        """Oddities of the scores."""
        found = []
        if len(self.labeled) < FEW:
            found.append(f"{len(self.labeled)} labeled positives: a rough value")
        if self.labeled.min() == self.labeled.max() == self.unlabeled.min() == self.unlabeled.max():
            found.append("every score is the same: nothing is ranked")
        return found

    def resampled(self, view: MetricView) -> bool:
        """Whether curves of this many rows are resampled for this reader."""
        return view.thorough and len(self.labeled) + len(self.unlabeled) <= MOST_ROWS

    def lacks_interval(self, view: MetricView) -> list[str]:
        """Why a report has no interval, if it has none."""
        n = len(self.labeled) + len(self.unlabeled)
        return (
            [f"no interval: {n} rows, and at most {MOST_ROWS} are resampled"] if view.thorough and n > MOST_ROWS else []
        )


@dataclass(frozen=True)
class Mixtures:
    """``given``: the shares of positives as they were given; ``ends``: at both ends of the prior's interval, if any."""

    given: Mixture
    ends: tuple[Mixture, ...]
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, view: MetricView) -> Mixtures:
        """Raises Undefined where the two shares do not allow to recover anything."""
        alpha, beta = view.unlabeled_prior, view.positive_purity
        if not 0 < beta <= 1:
            raise Undefined(f"the purity of the labeled rows is {beta:g}; expected a number in (0, 1]")
        if not alpha < beta:
            raise Undefined(
                f"the share of positives among unlabeled rows, {alpha:g}, is not below their share among labeled "
                f"ones, {beta:g}: nothing can be recovered"
            )
        warnings, ends = [], []
        if beta - alpha < NARROW:
            warnings.append(
                f"labeled and unlabeled rows differ by {beta - alpha:.3g} in positives: errors are multiplied"
            )
        interval = view.unlabeled_prior_interval
        if interval is not None:
            if interval[1] > beta - NARROW / 10:
                warnings.append("the prior's interval reaches the purity of labeled rows; it is cut off shortly below")
            ends = [Mixture(min(end, beta - NARROW / 10), beta) for end in interval]
        return cls(Mixture(alpha, beta), tuple(ends), tuple(warnings))

    def __iter__(self) -> Iterator[Mixture]:
        return iter((self.given, *self.ends))

    @property
    def details(self) -> dict[str, float]:
        """For the record."""
        return {"unlabeled_prior": self.given.alpha, "positive_purity": self.given.beta}


def covering(intervals: list[Interval]) -> Interval:
    """From the lowest to the highest end: of the prior's interval nobody knows where in it the prior lies."""
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def clipped(interval: Interval) -> Interval:
    low, high = (min(max(end, 0.0), 1.0) for end in interval)
    return low, high


def normal_interval(value: float, scores: Scores) -> Interval | None:
    error = auc_error(scores.labeled, scores.unlabeled)
    return None if math.isnan(error) else (value - _Z * error, value + _Z * error)
