"""Whether differences between methods are more than chance: paired tests over seeds, ranks over data sets.

Sources: Holm (1979) for many comparisons at once; Friedman (1937) and Nemenyi (1963) as Demsar (2006) uses them for
classifiers. scipy computes what it has; Holm's correction is here.

Seeds split, label and train the same rows again. A small p over seeds says that the difference is more than the chance
of these draws, not that it would show on other data; that is what the ranks over data sets are for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Decision = Literal["better", "worse", "not decided", "too few pairs"]

#: Level of tests.
ALPHA = 0.05

#: Differences below this share of the largest value count as zero: they are rounding.
ROUNDING = 1e-12


# -------------------------------------------------------------------- tests, as functions of numbers


def paired_t(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """(t, p) of the paired t-test, two-sided, with n - 1 degrees of freedom.

    x, y: (n,) values of two methods with the same seeds, n >= 2. Differences that are all alike, up to rounding, give
    t = 0 and p = 1 where they are zero, an infinite t and p = 0 where they are not. Never NaN.

    >>> paired_t([1.0, 2.0, 4.0], [1.0, 2.0, 4.0])
    (0.0, 1.0)
    """
    d = np.subtract(x, y)
    if len(d) < 2:
        raise ValueError(f"a paired t-test needs 2 pairs at least, given {len(d)}")
    mean, smallest = float(d.sum() / len(d)), ROUNDING * max(map(abs, [*x, *y]))
    deviation = math.sqrt(((d - mean) ** 2).sum() / (len(d) - 1))  # d.std(ddof=1), which takes five times as long
    if deviation <= smallest:
        return (0.0, 1.0) if abs(mean) <= smallest else (math.copysign(math.inf, mean), 0.0)
    from scipy.special import stdtr  # of stats.ttest_1samp, which takes a hundred times as long for a few numbers

    t = mean / (deviation / math.sqrt(len(d)))
    return t, 2 * float(stdtr(len(d) - 1, -abs(t)))


def without_rounding(values: Floats) -> Floats:
    """The numbers in twelve digits of the largest: means that are equal except for the last bits are equal then.

    Of 3, 4, 5 and of 4, 4, 4 correct decisions of 114, say, which have the same mean.
    """
    largest = float(np.abs(values).max(initial=0.0))
    return np.asarray(np.round(values / (ROUNDING * largest)) * (ROUNDING * largest)) if largest else values


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment of p-values, in the order given; NaN stays NaN and does not count.

    The j-th smallest of m becomes min(1, max over k <= j of (m - k + 1) p_(k)).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values)[: np.count_nonzero(~np.isnan(values))]  # NaN is sorted behind the numbers
    adjusted = np.full(len(values), math.nan)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(np.arange(len(order), 0, -1) * values[order]))
    return [float(one) for one in adjusted]


@dataclass(frozen=True)
class Friedman:
    """Methods ranked on every data set; rank 1 is best, equal values share the mean of their ranks.

    ``chi2``, ``p``: Friedman's test, corrected for ties, K - 1 degrees of freedom. ``critical_difference``: Nemenyi's;
    two methods differ where their average ranks are at least that far apart.
    """

    methods: tuple[str, ...]
    data: tuple[str, ...]
    average_ranks: tuple[float, ...]
    chi2: float
    p: float
    critical_difference: float

    def lines(self) -> list[str]:
        """The tests in words."""
        found = [
            f"Friedman chi2 = {self.chi2:.3f}, p = {p_text(self.p)}; Nemenyi's critical difference "
            f"{self.critical_difference:.2f}"
        ]
        if len(self.methods) - 1 < self.critical_difference:
            found.append(
                f"too few data sets for Nemenyi's test: average ranks of {len(self.methods)} methods differ by "
                f"{len(self.methods) - 1} at most, which is below the critical difference"
            )
        return found


def critical_difference(methods: int, data: int, alpha: float = ALPHA) -> float:
    """Nemenyi's q sqrt(K (K + 1) / (6 D)); q: quantile of the studentized range of K groups over sqrt 2.

    >>> round(critical_difference(methods=8, data=12), 3)
    3.031
    """
    from scipy import stats

    q = float(stats.studentized_range.ppf(1 - alpha, methods, np.inf)) / math.sqrt(2)
    return q * math.sqrt(methods * (methods + 1) / (6 * data))


def friedman(values: Mapping[str, Mapping[str, float]], *, higher_is_better: bool = True) -> Friedman:
    """Friedman's and Nemenyi's tests.

    ``values``: method -> data set -> value; every method has the same D >= 2 data sets, and there are K >= 3 methods.
    """
    from scipy import stats

    methods, data = tuple(values), tuple(next(iter(values.values())))
    k, d = len(methods), len(data)
    if k < 3 or d < 2:
        raise ValueError(f"Friedman's test needs 3 methods and 2 data sets at least, given {k} and {d}")
    table = without_rounding(np.array([[values[method][name] for method in methods] for name in data], np.float64))
    ranks = stats.rankdata(-table if higher_is_better else table, axis=1)
    if all(len(set(row)) == 1 for row in table.tolist()):  # every rank is shared by all
        chi2, p = 0.0, 1.0
    else:
        chi2, p = (float(number) for number in stats.friedmanchisquare(*table.T))
    average = tuple(float(rank) for rank in ranks.mean(axis=0))
    return Friedman(methods, data, average, chi2, p, critical_difference(k, d))


# -------------------------------------------------------------------- what a comparison says


@dataclass(frozen=True)
class Pair:
    """One method against the reference on one data set, by a paired t-test over the seeds that both ran."""

    data: str
    method: str
    reference: str
    n: int
    """seeds that both ran"""
    difference: float
    """mean of method - reference over these, in the metric's own unit"""
    statistic: float
    p: float
    """NaN if there are too few pairs, as is ``statistic``"""
    adjusted: float
    """Holm's, over the methods compared on this data set"""
    decision: Decision


def p_text(value: float) -> str:
    """A p-value: three digits, or two significant ones if it is small."""
    return "-" if math.isnan(value) else format(value, ".2g") if value < 0.001 else format(value, ".3f")


#: data set -> method -> seed -> value
Values = Mapping[str, Mapping[str, Mapping[int, float]]]


def pairs_of(values: Values, reference: str, *, higher_is_better: bool) -> list[Pair]:
    """Every method against the reference on every data set that has both, each data set a family of tests."""
    found: list[Pair] = []
    for data, methods in values.items():
        tested: list[tuple[str, int, float, float, float]] = []
        for method in methods if reference in methods else ():
            if method != reference:
                seeds = [seed for seed in methods[method] if seed in methods[reference]]
                x, y = ([methods[one][seed] for seed in seeds] for one in (method, reference))
                statistic, p = paired_t(x, y) if len(seeds) > 1 else (math.nan, math.nan)
                tested.append((method, len(seeds), float(np.subtract(x, y).mean()) if x else math.nan, statistic, p))
        for (method, n, difference, statistic, p), adjusted in zip(tested, holm([p for *_, p in tested]), strict=True):
            decision: Decision = "too few pairs" if math.isnan(p) else "not decided"
            if adjusted <= ALPHA:
                decision = "better" if (difference > 0) == higher_is_better else "worse"
            found.append(Pair(data, method, reference, n, difference, statistic, p, adjusted, decision))
    return found
