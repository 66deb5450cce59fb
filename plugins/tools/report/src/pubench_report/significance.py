"""Whether differences between methods are more than chance: paired tests over seeds, ranks over data sets.

Sources: Holm (1979) for many comparisons at once; Wilcoxon (1945); Friedman (1937), Iman and Davenport (1980) and
Nemenyi (1963) as Demsar (2006) uses them for classifiers. scipy computes what it has; Holm's correction and the
F statistic are here.

Seeds split, label and train the same rows again. A small p over seeds says that the difference is more than the chance
of these draws, not that it would show on other data; that is what the ranks over data sets are for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Test = Literal["t", "wilcoxon"]
Decision = Literal["better", "worse", "not decided", "too few pairs"]

#: Level of tests, if none is named.
ALPHA = 0.05

#: Differences below this share of the largest value count as zero: they are rounding.
ROUNDING = 1e-12
#: Pairs up to which Wilcoxon's null distribution is counted out, if there are no ties and no zeros.
EXACT = 50


# -------------------------------------------------------------------- tests, as functions of numbers


def paired_t(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """(t, p) of the paired t-test, two-sided, with n - 1 degrees of freedom.

    x, y: (n,) values of two methods with the same seeds, n >= 2. Differences that are all alike, up to rounding, give
    t = 0 and p = 1 where they are zero, an infinite t and p = 0 where they are not. Never NaN.

    >>> paired_t([1.0, 2.0, 4.0], [1.0, 2.0, 4.0])
    (0.0, 1.0)
    """
    d, smallest = _differences(x, y)
    if len(d) < 2:
        raise ValueError(f"a paired t-test needs 2 pairs at least, given {len(d)}")
    mean = float(d.mean())
    if d.std(ddof=1) <= smallest:
        return (0.0, 1.0) if abs(mean) <= smallest else (math.copysign(math.inf, mean), 0.0)
    from scipy import stats

    found = stats.ttest_1samp(d, 0.0)
    return float(found.statistic), float(found.pvalue)


def wilcoxon(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """(W, p) of Wilcoxon's signed-rank test, two-sided; W is the smaller of the two sums of ranks.

    x, y: (n,) values of two methods with the same seeds. Zero differences are left out, ties have mid-ranks. The null
    distribution is counted out without ties and zeros up to n = 50; else it is the normal one, its variance corrected
    for ties, without correction for continuity. Only zeros: p = 1.

    >>> wilcoxon([1.0, 2.0, 4.0], [0.5, 1.0, 2.5])
    (0.0, 0.25)
    """
    d, smallest = _differences(x, y)
    kept = d[np.abs(d) > smallest]
    if not len(kept):
        return 0.0, 1.0
    from scipy import stats

    if smallest:
        kept = np.round(kept / smallest)  # equal differences of other values differ in their last bits, and are ties
    sizes = np.abs(kept)
    exact = len(kept) == len(d) <= EXACT and len(np.unique(sizes)) == len(sizes)
    if exact:
        found = stats.wilcoxon(kept, correction=False, method="exact")
        return float(found.statistic), float(found.pvalue)
    # scipy renamed the option for the normal distribution between two of the releases that core accepts
    ranks = stats.rankdata(sizes)
    w = float(min(ranks[kept > 0].sum(), ranks[kept < 0].sum()))
    n, counts = len(kept), np.unique(sizes, return_counts=True)[1].astype(np.float64)
    variance = n * (n + 1) * (2 * n + 1) / 24 - float((counts**3 - counts).sum()) / 48
    z = (w - n * (n + 1) / 4) / math.sqrt(variance)
    return w, float(min(1.0, 2 * stats.norm.cdf(z)))


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
    order = [int(i) for i in np.argsort(values, kind="stable") if not math.isnan(values[i])]
    adjusted, largest = [math.nan] * len(values), 0.0
    for k, i in enumerate(order):
        largest = max(largest, (len(order) - k) * float(values[i]))
        adjusted[i] = min(1.0, largest)
    return adjusted


def _differences(x: Sequence[float], y: Sequence[float]) -> tuple[Floats, float]:
    """x - y, and the size below which a difference is rounding."""
    left, right = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    return left - right, ROUNDING * float(np.abs([left, right]).max(initial=0.0))


@dataclass(frozen=True)
class Friedman:
    """Methods ranked on every data set; rank 1 is best, equal values share the mean of their ranks.

    ``chi2``, ``p``: Friedman's test, corrected for ties, K - 1 degrees of freedom. ``f``, ``f_p``: Iman and
    Davenport's F of the uncorrected statistic, (K - 1, (K - 1)(D - 1)) degrees of freedom. ``critical_difference``:
    Nemenyi's; two methods differ where their average ranks are at least that far apart.
    """

    methods: tuple[str, ...]
    data: tuple[str, ...]
    average_ranks: tuple[float, ...]
    chi2: float
    p: float
    f: float
    f_p: float
    critical_difference: float
    alpha: float

    def differ(self, one: str, other: str) -> bool:
        """Whether Nemenyi's test tells two methods apart."""
        ranks = dict(zip(self.methods, self.average_ranks, strict=True))
        return abs(ranks[one] - ranks[other]) >= self.critical_difference

    @property
    def can_decide(self) -> bool:
        """Whether the largest possible difference of average ranks, K - 1, reaches the critical one."""
        return len(self.methods) - 1 >= self.critical_difference

    def lines(self) -> list[str]:
        """The tests in words."""
        found = [
            f"Friedman chi2 = {self.chi2:.3f}, p = {p_text(self.p)}; Iman-Davenport F = {self.f:.3f}, "
            f"p = {p_text(self.f_p)}; Nemenyi's critical difference {self.critical_difference:.2f}"
        ]
        if not self.can_decide:
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


def friedman(
    values: Mapping[str, Mapping[str, float]], *, higher_is_better: bool = True, alpha: float = ALPHA
) -> Friedman:
    """Friedman's, Iman and Davenport's and Nemenyi's tests.

    ``values``: method -> data set -> value; every method has the same D >= 2 data sets, and there are K >= 3 methods.
    """
    from scipy import stats

    methods, data = tuple(values), tuple(next(iter(values.values())))
    k, d = len(methods), len(data)
    if k < 3 or d < 2:
        raise ValueError(f"Friedman's test needs 3 methods and 2 data sets at least, given {k} and {d}")
    table = without_rounding(np.array([[values[method][name] for method in methods] for name in data], np.float64))
    ranks = stats.rankdata(-table if higher_is_better else table, axis=1)
    average = ranks.mean(axis=0)
    plain = 12 * d / (k * (k + 1)) * (float((average**2).sum()) - k * (k + 1) ** 2 / 4)
    if all(len(set(row)) == 1 for row in table.tolist()):  # every rank is shared by all
        chi2, p = 0.0, 1.0
    else:
        chi2, p = (float(number) for number in stats.friedmanchisquare(*table.T))
    left = d * (k - 1) - plain
    f = math.inf if left <= ROUNDING * d * k else (d - 1) * plain / left
    return Friedman(
        methods=methods,
        data=data,
        average_ranks=tuple(float(rank) for rank in average),
        chi2=chi2,
        p=p,
        f=f,
        f_p=float(stats.f.sf(f, k - 1, (k - 1) * (d - 1))),
        critical_difference=critical_difference(k, d, alpha),
        alpha=alpha,
    )


# -------------------------------------------------------------------- what a comparison says


@dataclass(frozen=True)
class Pair:
    """One method against the reference on one data set.

    ``difference``: mean of method - reference over the ``n`` seeds that both ran, in the metric's own unit.
    ``statistic``, ``p``: NaN where there are too few pairs. ``adjusted``: Holm's, over the methods compared on this
    data set. ``smallest_p``: the smallest adjusted p that an exact test of so
    many pairs can give.
    """

    data: str
    method: str
    reference: str
    n: int
    difference: float
    statistic: float
    p: float
    adjusted: float
    smallest_p: float
    decision: Decision

    def interval(self, alpha: float) -> tuple[float, float]:
        """Interval of the difference at level 1 - alpha, by a paired t-test; NaN if it gives none."""
        if self.n < 2 or math.isnan(self.statistic) or (self.statistic == 0 and self.difference == 0):
            return math.nan, math.nan
        half = 0.0 if math.isinf(self.statistic) else abs(self.difference / self.statistic) * _t_quantile(alpha, self.n)
        return self.difference - half, self.difference + half


@cache
def _t_quantile(alpha: float, n: int) -> float:
    from scipy import stats

    return float(stats.t.ppf(1 - alpha / 2, n - 1))


def p_text(value: float) -> str:
    """A p-value: three digits, or two significant ones if it is small."""
    return "-" if math.isnan(value) else format(value, ".2g") if value < 0.001 else format(value, ".3f")


# -------------------------------------------------------------------- from values to pairs


#: data set -> method -> seed -> value
Values = Mapping[str, Mapping[str, Mapping[int, float]]]


def pairs_of(values: Values, reference: str, *, test: Test, alpha: float, higher_is_better: bool) -> list[Pair]:
    """Every method against the reference on every data set that has both, each data set a family of tests."""
    apply: Callable[[Sequence[float], Sequence[float]], tuple[float, float]] = paired_t if test == "t" else wilcoxon
    needed = 2 if test == "t" else 1
    found: list[Pair] = []
    for data, methods in values.items():
        if reference not in methods:
            continue
        tested: list[tuple[str, int, float, float, float]] = []
        for method in methods:
            if method != reference:
                seeds = [seed for seed in methods[method] if seed in methods[reference]]
                x, y = ([methods[one][seed] for seed in seeds] for one in (method, reference))
                statistic, p = apply(x, y) if len(seeds) >= needed else (math.nan, math.nan)
                difference = float(np.mean(np.subtract(x, y))) if x else math.nan
                tested.append((method, len(seeds), difference, statistic, p))
        adjusted = holm([p for *_, p in tested])
        family = sum(not math.isnan(p) for *_, p in tested)
        for (method, n, difference, statistic, p), of_family in zip(tested, adjusted, strict=True):
            smallest = math.nan if math.isnan(p) else 0.0 if test == "t" else min(1.0, family * 2 / 2**n)
            decision: Decision = "not decided"
            if math.isnan(p) or smallest > alpha:
                decision = "too few pairs"
            elif of_family <= alpha and difference != 0:
                decision = "better" if (difference > 0) == higher_is_better else "worse"
            found.append(Pair(data, method, reference, n, difference, statistic, p, of_family, smallest, decision))
    return found
