"""PULP: how improbable it is that chance ranks the labeled rows as high, averaged over all operating points.

N items ranked by score, t of them labeled. At operating point b, the first b items hold k_b labeled ones, and a random
choice of b items would hold K ~ Hypergeometric(N, t, b). T_b = P(K < k_b); PULP is the mean of T_b over b = 0..N.
It lies in [0, 1), is below 1/2 for a random ranking, and 0 for the worst one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from .hypergeometric import FloatArray, Hypergeometric, IntArray, highest, log_pmf, lowest

BoolArray = npt.NDArray[np.bool_]
Ties = Literal["expected", "stable", "optimistic", "pessimistic"]

#: A tied block of more rows is evaluated at about this many of them, the others by a cubic spline through those.
KNOTS = 2048
#: Rows of tied blocks that are worked on at once.
_CHUNK = 1 << 15


@dataclass(frozen=True)
class Pulp:
    """``value``: the mean of ``terms``; 0 where it is not ``defined`` (no item labeled, or every one).

    ``terms``: (N + 1,) of T_b. ``tied``: items that share a score with an item of the other kind; ``approximated``: how
    many of those lie between knots of a spline.
    """

    value: float
    defined: bool
    terms: FloatArray
    tied: int
    approximated: int = 0


def pulp(scores: FloatArray, labeled: BoolArray, ties: Ties = "expected") -> Pulp:
    """PULP of a ranking. ``scores``: (N,), higher is more positive, N >= 1; ``labeled``: (N,).

    Items of equal score: the mean over a uniformly random order among them (``expected``), the order in which they
    are given (``stable``), labeled ones first (``optimistic``) or last (``pessimistic``).
    """
    ranking = Ranking.of(scores, labeled)
    n, t = len(scores), ranking.t
    if t in (0, n):
        return Pulp(0.0, False, np.zeros(n + 1), ranking.tied)
    law = Hypergeometric.of(n, t)
    if ties == "stable" or (ties != "expected" and not ranking.tied):
        terms = terms_of(law, ranking.hits)
    elif ties == "expected":
        return _expected(law, ranking)
    else:
        first = labeled if ties == "optimistic" else ~labeled
        order = np.lexsort((~first, -scores))
        terms = terms_of(law, labeled[order])
    return Pulp(_mean(terms), True, terms, ranking.tied)


@dataclass(frozen=True)
class Ranking:
    """Items from the highest score down, equal scores in the order given. ``hits``: (N,) whether each is labeled.

    Blocks of equal scores that hold both kinds: ``start`` (items before it), ``size``, ``labeled_before`` it and
    ``labeled_in`` it, (m,) each.
    """

    t: int
    hits: BoolArray
    start: IntArray
    size: IntArray
    labeled_before: IntArray
    labeled_in: IntArray

    @classmethod
    def of(cls, scores: FloatArray, labeled: BoolArray) -> Ranking:
        """Sorts once."""
        order = np.argsort(-scores, kind="stable")
        ranked, hits = scores[order], labeled[order]
        first = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1])) if len(ranked) else np.zeros(0, np.int64)
        size = np.diff(np.append(first, len(ranked)))
        before = np.append(0, np.cumsum(hits, dtype=np.int64))
        inside = before[first + size] - before[first]
        mixed = (inside > 0) & (inside < size)
        return cls(int(before[-1]), hits, first[mixed], size[mixed], before[first[mixed]], inside[mixed])

    @property
    def tied(self) -> int:
        """Items in blocks that hold both kinds."""
        return int(self.size.sum())


def terms_of(law: Hypergeometric, hits: BoolArray) -> FloatArray:
    """(N + 1,) of P(K_b < k_b) along a ranking. ``hits``: (N,) whether each item is labeled, the highest first.

    One more draw without a hit moves the law by -P(K_b = k - 1)(t - k + 1)/(N - b), a hit adds P(K_b = k - 1): all
    steps are known beforehand, and their running sum is T.
    """
    n, t = law.n, law.t
    after = np.cumsum(hits, dtype=np.int64)
    before, drawn = after - hits, np.arange(n, dtype=np.int64)
    rows = np.flatnonzero((before > 0) & (before <= t))
    k = before[rows]
    step = np.zeros(n)
    step[rows] = -law.pmf(drawn[rows], k - 1) * ((t - k + 1) / (n - drawn[rows]))
    rows = np.flatnonzero(hits)
    step[rows] += law.pmf(drawn[rows] + 1, after[rows] - 1)
    found: FloatArray = np.clip(np.append(0.0, np.cumsum(step)), 0.0, 1.0)
    return found


def random_value(n: int, t: int) -> float:
    """Expectation of PULP when every order of the items is equally likely: the value of constant scores."""
    return pulp(np.zeros(n), np.arange(n) < t).value


def _mean(terms: FloatArray) -> float:
    return float(np.mean(terms))


# -------------------------------------------------------------------- ties


def _expected(law: Hypergeometric, ranking: Ranking) -> Pulp:
    """The mean over a random order inside each block: T_{a+d} = sum_j P(J_d = j) P(K_{a+d} < k0 + j)."""
    if not ranking.tied:
        terms = terms_of(law, ranking.hits)
        return Pulp(_mean(terms), True, terms, 0)
    hits = ranking.hits.copy()
    parts = []
    for a, m, k0, h in zip(ranking.start, ranking.size, ranking.labeled_before, ranking.labeled_in, strict=True):
        low = _low_path(m, h)
        hits[a : a + m] = np.diff(low).astype(bool)
        parts.append(_Rows.of(a, m, k0, h, low))
    rows = _Rows.joined(parts)
    terms = terms_of(law, hits)
    found = np.empty(len(rows.b))
    for part in np.array_split(np.argsort(rows.length, kind="stable"), -(-len(found) // _CHUNK)):
        found[part] = _sums(law, rows.of_these(part), terms)
    terms[rows.b] = np.clip(found, 0.0, 1.0)
    approximated = 0
    for a, m in zip(ranking.start, ranking.size, strict=True):
        if m > 2 * KNOTS:
            knots = _knots(int(m))
            approximated += int(m) - len(knots)
            terms[a + 1 : a + m + 1] = _spline(knots, terms[a + knots], int(m))
    return Pulp(_mean(terms), True, terms, ranking.tied, approximated)


def _low_path(m: int, h: int) -> IntArray:
    """(m + 1,) a path of labeled counts in a block, in steps of 0 or 1, never above what is plausible."""
    d = np.arange(m + 1, dtype=np.int64)
    path = np.minimum.accumulate(lowest(m, h, d)[::-1])[::-1]
    path[-1] = h
    found: IntArray = d + np.minimum.accumulate(path - d)
    return found


def _knots(m: int) -> IntArray:
    """Rows of a block, from 1 to m, dense at its ends, where the terms bend."""
    angle = np.linspace(0, np.pi, KNOTS)
    inner = np.round(1 + (m - 1) * (1 - np.cos(angle)) / 2).astype(np.int64)
    ends = np.arange(1, 129)
    return np.unique(np.concatenate([inner, ends, m + 1 - ends]))


def _spline(knots: IntArray, values: FloatArray, m: int) -> FloatArray:
    from scipy.interpolate import CubicSpline

    found: FloatArray = np.clip(CubicSpline(knots, values)(np.arange(1, m + 1)), 0.0, 1.0)
    return found


@dataclass(frozen=True)
class _Rows:
    """Rows of tied blocks, (r,) each: operating point ``b``, depth ``d`` in a block of ``m`` rows with ``h`` labeled

    after ``k0`` labeled ones. ``start``: count in the block at which the sum starts; ``low``: the least plausible one;
    ``length``: terms of the sum.
    """

    b: IntArray
    d: IntArray
    m: IntArray
    h: IntArray
    k0: IntArray
    start: IntArray
    low: IntArray
    length: IntArray

    @classmethod
    def of(cls, a: int, m: int, k0: int, h: int, path: IntArray) -> _Rows:
        """The rows of a block, all of them or those at its knots."""
        d = np.arange(1, m + 1, dtype=np.int64) if m <= 2 * KNOTS else _knots(int(m))
        same = np.ones_like(d)
        start = path[d]
        return cls(a + d, d, m * same, h * same, k0 * same, start, lowest(m, h, d), highest(m, h, d) - start + 1)

    @classmethod
    def joined(cls, parts: list[_Rows]) -> _Rows:
        """The rows of several blocks."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__annotations__))

    def of_these(self, rows: IntArray) -> _Rows:
        """Some of them."""
        return _Rows(*(getattr(self, name)[rows] for name in type(self).__annotations__))


def _sums(law: Hypergeometric, rows: _Rows, low_terms: FloatArray) -> FloatArray:
    """(r,) of sum_j P(J = j) P(K_b < k0 + j), j from ``start`` up. ``low_terms``: P(K_b < k0 + start) by b.

    Both laws go from j to j + 1 by the ratio of their neighboring probabilities. A law whose probability at the first
    j is far in its lower tail is 0 until its own lowest value.
    """
    n, t = law.n, law.t
    j, k = rows.start.copy(), rows.k0 + rows.start - 1
    j_first, k_first = np.maximum(rows.low, j), np.maximum(law.lowest(rows.b), k)
    j_mass = np.exp(log_pmf(law.remainder, rows.m, rows.h, rows.d, j_first))
    k_mass = law.pmf(rows.b, k_first)
    chance, mass = np.where(j == j_first, j_mass, 0.0), np.where(k == k_first, k_mass, 0.0)
    below = low_terms[rows.b].copy()
    found = np.zeros(len(j))
    for _ in range(int(rows.length.max())):
        found += chance * below
        # K: from k to k + 1
        up = (t - k) * (rows.b - k) / np.maximum((k + 1) * (n - t - rows.b + k + 1), 1)
        k += 1
        mass = np.where(k == k_first, k_mass, mass * up)
        below += mass
        # J: from j to j + 1
        up = (rows.h - j) * (rows.d - j) / np.maximum((j + 1) * (rows.m - rows.h - rows.d + j + 1), 1)
        j += 1
        chance = np.where(j == j_first, j_mass, chance * up)
    return found
