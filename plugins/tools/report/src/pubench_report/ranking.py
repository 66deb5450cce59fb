"""Ranking of methods: points below the best of each data set, how sure the order is, and what cannot be told apart.

Data sets are the sample: a resample draws them with replacement, grouped by their source, then their seeds, the same
for all methods. Average ranks take methods that lack seeds as well. A gain over a reference is a pair of the tests, of
two methods on one data set alone: a run that is missing changes no other number. Pages and reports show what is
computed here.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from statistics import fmean

import numpy as np
import numpy.typing as npt

from pubench_core.errors import counted

from .significance import Friedman, Pair, Values, friedman, paired_t, pairs_of

#: Numbers that differ by less are equal.
EQUAL = 1e-9
#: Resamples, the level of the intervals, and the seeds that a data set needs to count.
RESAMPLES, LEVEL, LEAST_SEEDS = 1000, 0.9, 2
#: More shared seeds than this are not worth leaving a method out for.
ENOUGH_SEEDS = 3
#: Fewer data sets say little about others.
FEW_DATA_SETS = 5
#: Park and Miller's generator: the same numbers in every version of numpy.
_FACTOR, _MODULUS, _START = 16807, 2**31 - 1, 7


@dataclass(frozen=True)
class MethodPlace:
    """A ranked method."""

    row: str
    rank: int
    """equal methods share one"""
    below: float
    """mean points below the best of each data set"""
    low: float
    high: float
    """ends of its interval"""
    first: float
    """share of resamples in which the method comes first"""
    level: float
    """mean over data sets, in points"""
    by_column: tuple[float, ...]
    """points below the best, by data set"""


@dataclass(frozen=True)
class Ranking:
    """Methods in order, with how sure it is."""

    columns: tuple[str, ...]
    """data sets that count"""
    groups: tuple[str, ...]
    """their sources"""
    places: tuple[MethodPlace, ...]
    """best first, of methods that have every shared seed of these data sets"""
    resampled: npt.NDArray[np.float64]
    """points below the best, (places, resamples)"""
    baselines: Mapping[str, float] = field(default_factory=dict)
    """row -> mean points below the best, of what methods have to beat"""
    silent: tuple[str, ...] = ()
    """data sets on which seeds tell no two methods apart"""
    seeds: int = 0
    """fewest shared seeds of a data set"""
    why: str = ""
    """why there is no place"""

    @property
    def problems(self) -> str:
        """``3 data sets``, or ``3 problems of 2 data sets`` if some are of the same source."""
        sources = len({*self.groups})
        said = counted(sources, "data set")
        return said if sources == len(self.groups) else f"{len(self.groups)} problems of {said}"

    @property
    def unbeaten(self) -> str | None:
        """The best baseline, if no method is better."""
        best = min(self.baselines, key=lambda row: self.baselines[row], default=None)
        return best if best is not None and self.baselines[best] <= self.places[0].below + EQUAL else None

    def without(self, group: str) -> str:
        """The row that comes first if the data sets of a source are left out."""
        kept = [k for k, name in enumerate(self.groups) if name != group]
        return min(self.places, key=lambda place: fmean(place.by_column[k] for k in kept)).row


def ranks_of(values: Iterable[float], *, larger_is_better: bool) -> list[int]:
    """Rank of each value: 1 is best, equal ones share it.

    >>> ranks_of([0.7, 0.9, 0.9, 0.8], larger_is_better=True)
    [4, 1, 1, 3]
    """
    costs = [-value if larger_is_better else value for value in values]
    order = sorted(costs)
    return [1 + bisect_left(order, cost - EQUAL) for cost in costs]


def compared_seeds(seeds_of: Collection[Collection[int]]) -> tuple[int, ...]:
    """The seeds by which the methods on a data set are compared. ``seeds_of``: of each method.

    Those that most methods share, except for a method that would leave fewer than three.

    >>> compared_seeds([{2, 25, 42}, {2, 25, 42, 7}, {2, 25, 42, 7}])
    (2, 25, 42)
    >>> compared_seeds([{2, 25, 42}, {2, 25, 42}, {2}])
    (2, 25, 42)
    """
    counts = Counter(seed for seeds in seeds_of for seed in seeds)
    order = sorted(counts, key=lambda seed: (-counts[seed], seed))

    def worth(k: int) -> tuple[int, int]:
        methods = sum(set(order[:k]) <= set(seeds) for seeds in seeds_of)
        return methods * min(k, ENOUGH_SEEDS), k

    return tuple(sorted(order[: max(range(len(order) + 1), key=worth)]))


@dataclass(frozen=True)
class Counted:
    """Cells that methods are ranked by: the largest part of a comparison that has no gap."""

    methods: tuple[str, ...]
    columns: tuple[str, ...]
    """data sets that count"""
    dropped: tuple[str, ...]
    """what was left out, in words"""
    seeds: Mapping[str, tuple[int, ...]]
    """seeds by which methods are compared on every data set, those that do not count included"""

    def has(self, column: str, values: Collection[int]) -> bool:
        """Whether a method with values of these seeds has all by which a data set is compared."""
        return bool(self.seeds[column]) and {*self.seeds[column]} <= {*values}


def counted_in(values: Values, methods: Sequence[str], least: int = LEAST_SEEDS, *, any_seed: bool = False) -> Counted:
    """The largest part of a comparison that has no gap, found greedily.

    ``values``: data set -> method -> seed -> value; ``methods``: those that compete; ``least``: seeds that a data set
    needs; ``any_seed``: a method has no gap where it has a value, else where it has every seed that counts. Whatever
    lacks the largest share of its cells is left out first, a data set before a method where the shares are equal.

    >>> counted_in({"a": {"x": {2: 1.0}, "y": {2: 2.0}}, "b": {"x": {2: 1.0}}}, ["x", "y"], least=1).columns
    ('a',)
    """
    seeds = {c: compared_seeds([{*of[row]} for row in methods if of.get(row)]) for c, of in values.items()}
    rows, columns = list(methods), [c for c in values if len(seeds[c]) >= least]
    there = {
        c: {row for row in methods if of.get(row) and (any_seed or {*of[row]} >= {*seeds[c]})}
        for c, of in values.items()
    }
    dropped: list[str] = []
    while True:
        gaps = [(sum(row not in there[column] for row in rows) / len(rows), 1, column) for column in columns if rows]
        gaps += [(sum(row not in there[c] for c in columns) / len(columns), 0, row) for row in rows if columns]
        worst = max(gaps, default=(0.0, 0, ""), key=lambda gap: gap[:2])
        if not worst[0]:
            return Counted(tuple(rows), tuple(columns), tuple(dropped), seeds)
        (columns if worst[1] else rows).remove(worst[2])
        dropped.append(f"{worst[2]} ({100 * worst[0]:.0f} % of its cells lack values)")


def ranking_of(
    values: Values,
    rows: Sequence[str],
    counts: Counted,
    sources: Mapping[str, str],
    *,
    references: Collection[str] = (),
    baselines: Collection[str] = (),
    alike: Collection[tuple[str, str]] = (),
    unranked: str = "",
) -> Ranking:
    """The methods of a comparison by points below the best.

    ``values``: in points, larger is better; ``sources``: data set -> its source; ``references``: rows that are not
    ranked, ``baselines`` among them; ``alike``: (row, data set) whose runs decide every row alike; ``unranked``: why a
    measure ranks nothing.
    """
    columns = counts.columns
    groups = tuple(sources[c] for c in columns)
    complete = [row for row in rows if all(counts.has(c, values[c].get(row, ())) for c in columns)]
    ranked = [row for row in complete if row not in references]
    if why := unranked or _why_none([row for row in rows if row not in references], counts, ranked):
        return Ranking(columns, groups, (), np.zeros((0, 0)), why=why)

    def table(row: str, column: str) -> npt.NDArray[np.float64]:
        return np.array([values[column][row][seed] for seed in counts.seeds[column]])

    same = np.array([[(row, c) in alike for c in columns] for row in ranked])
    tables = [np.array([table(row, c) for row in ranked]) for c in columns]
    means = [one.mean(axis=1) for one in tables]  # the best mean is of what does not decide every row alike, if any
    best = [float((m if (alone := same[:, k]).all() else m[~alone]).max()) for k, m in enumerate(means)]
    below = [  # what decides every row alike is never above the best
        top - one + np.maximum(0.0, mean - top)[:, None] for one, mean, top in zip(tables, means, best, strict=True)
    ]
    by_column = np.stack([part.mean(axis=1) for part in below], axis=1)
    resampled = np.concatenate(below, axis=1) @ resampling(groups, tuple(part.shape[1] for part in below)).T
    point = by_column.mean(axis=1)
    ordered = np.sort(resampled, axis=1)
    low, high = (np.maximum(0.0, ordered[:, int(RESAMPLES * share)]) for share in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    is_first = resampled <= resampled.min(axis=0) + EQUAL
    first = (is_first / is_first.sum(axis=0)).mean(axis=1)
    ranks = ranks_of(point, larger_is_better=False)
    places = [
        MethodPlace(
            row=row,
            rank=ranks[k],
            below=float(point[k]),
            low=float(low[k]),
            high=float(high[k]),
            first=float(first[k]),
            level=fmean(float(one[k].mean()) for one in tables),
            by_column=tuple(by_column[k]),
        )
        for k, row in enumerate(ranked)
    ]
    order = sorted(range(len(ranked)), key=lambda k: (places[k].rank, ranked[k]))
    return Ranking(
        columns=columns,
        groups=groups,
        places=tuple(places[k] for k in order),
        resampled=resampled[order],
        baselines={
            row: fmean(top - table(row, c).mean() for top, c in zip(best, columns, strict=True))
            for row in complete
            if row in baselines
        },
        silent=tuple(  # a paired t-test over seeds tells not even the best from the worst
            c
            for c, one, mean in zip(columns, tables, means, strict=True)
            if paired_t(one[mean.argmax()].tolist(), one[mean.argmin()].tolist())[1] > 1 - LEVEL
        ),
        seeds=min(len(counts.seeds[c]) for c in columns),
    )


def _why_none(competing: Sequence[str], counts: Counted, ranked: Sequence[str]) -> str:
    if len(competing) < 2:
        return f"{counted(len(competing), 'method')}: there is nothing to compare."
    if (most := max(map(len, counts.seeds.values()), default=0)) < LEAST_SEEDS:
        if not most:
            return "No run has a value here, so no method is ranked."
        return "One seed per data set: the spread is unknown, so no method is ranked. Run 3 seeds or more."
    if len(ranked) < 2 or not counts.columns:
        return "No two methods have a value for every shared seed of a data set, so none is ranked."
    return ""


@cache
def resampling(groups: tuple[str, ...], seeds: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Weight of each seed of each column in each resample, (resamples, all seeds); every row adds up to 1.

    ``groups``: source of each column; a resample draws as many sources as there are, with all their columns.
    """
    members = [[k for k, name in enumerate(groups) if name == group] for group in dict.fromkeys(groups)]
    offsets = np.concatenate([[0], np.cumsum(seeds)])
    weights = np.zeros((RESAMPLES, int(offsets[-1])))
    state = _START
    for row in weights:
        columns = 0
        for _ in members:
            state = state * _FACTOR % _MODULUS
            for column in members[state * len(members) // _MODULUS]:
                columns += 1
                for _ in range(seeds[column]):
                    state = state * _FACTOR % _MODULUS
                    row[offsets[column] + state * seeds[column] // _MODULUS] += 1 / seeds[column]
        row /= columns
    return weights


# -------------------------------------------------------------------- average ranks


@dataclass(frozen=True)
class AverageRanks:
    """Average ranks over data sets with Friedman's test, of the cells that methods are ranked by."""

    part: Counted
    friedman: Friedman | None = None
    why: str = ""
    """why there is none"""
    tasks: tuple[str, ...] = ()
    """sources whose tasks count as one data set, in words"""

    @property
    def ranks(self) -> list[tuple[str, float]]:
        """(method, average rank), best first."""
        found = self.friedman
        pairs = zip(found.methods, found.average_ranks, strict=True) if found is not None else ()
        return sorted(pairs, key=lambda pair: pair[1])

    @property
    def groups(self) -> list[tuple[str, ...]]:
        """Largest groups of methods that Nemenyi's test does not tell apart, each from best to worst."""
        order, found, last = self.ranks, list[tuple[str, ...]](), -1
        for first, (_, rank) in enumerate(order):
            distance = self.friedman.critical_difference if self.friedman is not None else 0.0
            end = max(k for k, (_, other) in enumerate(order) if other - rank < distance)
            if end > max(last, first):
                found.append(tuple(method for method, _ in order[first : end + 1]))
            last = max(last, end)
        return found

    def lines(self) -> list[str]:
        """Data sets of the ranks, and outcome of the tests."""
        if self.friedman is None:
            return [f"no ranks over data sets: {self.why}"]
        found = [f"over {counted(len(self.part.columns), 'data set')}: {', '.join(self.part.columns)}", *self.tasks]
        if self.part.dropped:
            found.append(f"left out, so that every cell has values: {', '.join(self.part.dropped)}")
        return [*found, *self.friedman.lines(), *(f"not told apart: {', '.join(group)}" for group in self.groups)]


def sources_of(data: Sequence[str]) -> dict[str, str]:
    """Name of a column -> what counts as one data set: ``digits`` of ``digits [c=0.1]``, ``disdat`` of
    ``disdat/nsw14``; its tasks count each if there is no other source.

    Tasks of a source share rows, sites or observers: a source of 164 tasks must not outvote the others.

    >>> sources_of(["disdat/sa01", "disdat/sa02", "digits [c=0.1]"])
    {'disdat/sa01': 'disdat', 'disdat/sa02': 'disdat', 'digits [c=0.1]': 'digits'}
    """
    names = {one: one.partition(" [")[0] for one in data}
    sources = {one: re.sub(r"^([a-z0-9-]+)[/:].*", r"\1", name) for one, name in names.items()}
    return names if len(set(sources.values())) == 1 else sources


def average_ranks(values: Values, methods: Sequence[str], *, higher_is_better: bool) -> AverageRanks:
    """Average ranks of methods by their means over the seeds that count; every source counts once.

    No method is left out for a seed that it lacks, and none for a seed that another one lacks.
    """
    part = counted_in(values, methods, least=1, any_seed=True)
    sources = sources_of(part.columns)
    several = Counter(sources.values())
    if not any(values.values()):
        return AverageRanks(part, why="no method has a value here")
    if (k := len(part.methods)) < 3:
        are = "is" if k == 1 else "are"
        return AverageRanks(part, why=f"{counted(k, 'method')} {are} ranked, and 3 are needed")
    if len(several) < 2:
        there = f"there are values of all methods on {counted(len(several), 'data set')}"
        return AverageRanks(part, why=f"{there}, and 2 data sets are needed")

    def by_seeds(method: str, column: str) -> float:
        """Mean over the shared seeds that it has, or over its own if it has none of them."""
        mine = values[column][method]
        return fmean([mine[seed] for seed in part.seeds[column] if seed in mine] or mine.values())

    def mean(method: str, source: str) -> float:  # fmean adds exactly: ties stay ties
        return fmean(by_seeds(method, column) for column in part.columns if sources[column] == source)

    table = {method: {source: mean(method, source) for source in several} for method in part.methods}
    tasks = (f"{n} tasks of {name} count as one data set, by their mean" for name, n in several.items() if n > 1)
    return AverageRanks(part, friedman(table, higher_is_better=higher_is_better), "", tuple(tasks))


# -------------------------------------------------------------------- gains over a reference

#: Seeds of a data set from which on a gain there can be sure.
SURE_SEEDS = 3


@dataclass(frozen=True)
class MeanGain:
    """Gain over the data sets that a method shares with the reference; those of one source count as one.

    ``by_source``: points on each. ``ahead``, ``behind``: data sets on which it is sure. ``sure``: a t-test over five
    sources or more finds it.
    """

    by_source: Mapping[str, float]
    ahead: int
    behind: int
    sure: bool

    @property
    def points(self) -> float:
        """Mean over sources."""
        return fmean(self.by_source.values())

    @property
    def data(self) -> int:
        """How many sources."""
        return len(self.by_source)


def gains_over(values: Values, reference: str) -> dict[tuple[str, str], Pair]:
    """(method, data set) -> its gain, where both have a seed in common. ``values``: in points."""
    pairs = pairs_of(values, reference, higher_is_better=True)
    return {(pair.method, pair.data): pair for pair in pairs if pair.n}


def is_sure(gain: Pair) -> bool:
    """Whether a paired t-test over three seeds or more finds it at level .1."""
    return gain.n >= SURE_SEEDS and gain.p < 1 - LEVEL


def mean_gain(gains: Collection[Pair], sources: Mapping[str, str]) -> MeanGain | None:
    """Mean over sources; None without a gain. ``sources``: data set -> its source."""
    by_source: dict[str, list[float]] = {}
    for gain in gains:
        by_source.setdefault(sources[gain.data], []).append(gain.difference)
    if not by_source:
        return None
    means = {source: fmean(of) for source, of in by_source.items()}
    sure = len(means) >= FEW_DATA_SETS and paired_t([*means.values()], [0.0] * len(means))[1] < 1 - LEVEL
    ahead, behind = (sum(is_sure(gain) and sign * gain.difference > 0 for gain in gains) for sign in (1, -1))
    return MeanGain(means, ahead, behind, sure)


def gain_sentences(means: Mapping[str, MeanGain], reference: str, sources: Mapping[str, str]) -> list[str]:
    """Who is ahead of a reference on average, and by how much; with few data sets, who gains most on each.

    ``means``: name of a method -> its mean gain; ``sources``: key of a source -> its name.
    """
    several = {name: one for name, one in means.items() if one.data >= FEW_DATA_SETS}
    if not several:
        return _leaders(means, reference, sources)
    order = sorted(several, key=lambda name: -several[name].points)
    ahead = [name for name in order if several[name].sure and several[name].points > 0]
    names = f": {', '.join(ahead[:3])}{' and others' * (len(ahead) > 3)}" if ahead else ""
    best, of = order[0], several[order[0]]
    who = (
        f"{len(ahead)} of {counted(len(several), 'method')} {'is' if len(ahead) == 1 else 'are'}"
        if ahead
        else f"no method of {len(several)} with {FEW_DATA_SETS} data sets or more is"
    )
    return [
        f"On average {who} ahead of {reference}{' for sure' * (not ahead and of.points > 0)}{names}.",
        f"The highest mean gain is that of {best}: {'+' * (of.points > 0)}{points(of.points)} points on "
        f"{counted(of.data, 'data set')}.",
    ]


def _leaders(means: Mapping[str, MeanGain], reference: str, sources: Mapping[str, str]) -> list[str]:
    """Who gains most on each of a few data sets."""
    leads: dict[str, list[str]] = {}
    for source, name in sources.items():
        if of := [(round(one.by_source[source], 1), who) for who, one in means.items() if source in one.by_source]:
            gain, first = max(of)
            leads.setdefault(first if gain > 0 else "", []).append(f"{name} (+{gain} points)" if gain > 0 else name)
    if not leads:
        return [f"No method has a seed in common with {reference}, so gains over it are unknown."]
    nowhere = [f"no method gains on {', '.join(leads.pop(''))}"] if "" in leads else []
    said = [*(f"{first} gains most on {', '.join(on)}" for first, on in leads.items()), *nowhere]
    few = f"Methods share fewer than {FEW_DATA_SETS} data sets with it, too few for a ranking."
    return [f"Compared with {reference}: {'; '.join(said)}.", few]


# -------------------------------------------------------------------- in words


def percent(share: float) -> str:
    """``63 %``; half a percent is rounded up, as the page does."""
    return f"{math.floor(100 * share + 0.5 + EQUAL)} %"


def points(value: float) -> str:
    """``1.7``; half of the last digit is rounded up, as the page does."""
    return f"{math.floor(10 * value + 0.5 + EQUAL) / 10:.1f}"


def duration(seconds: float) -> str:
    """``0.5``, ``12``, as a browser rounds."""
    return points(seconds) if seconds < 10 else f"{math.floor(seconds + 0.5)}"


def headline(ranking: Ranking, names: Mapping[str, str], sources: Mapping[str, str]) -> list[str]:
    """Who is best, and how sure that is: two sentences, or why nothing is ranked. ``names``: of rows; ``sources``: of
    data sets, by their key.
    """
    if not ranking.places:
        return [ranking.why]
    first, unbeaten = ranking.places[0], ranking.unbeaten
    tied = [names[place.row] for place in ranking.places if place.rank == 1]
    who, several, number = " and ".join(tied), len(tied) > 1, len(ranking.columns)
    if max(first.by_column) <= EQUAL:
        where = f"on {sources[ranking.groups[0]]}" if number == 1 else f"on each of {ranking.problems}"
        second = next((place for place in ranking.places if place.rank > 1), None)
        after = f"; {names[second.row]}, the second, is {points(second.below)} points below" if second else ""
        said = f"{who} {'are' if several else 'is'} best {where}{after}."
    elif unbeaten is not None:
        said = f"{who} {'come' if several else 'comes'} closest: {points(first.below)}."
    else:
        said = (
            f"{who} {'come' if several else 'comes'} closest to the best of each data set: "
            f"{points(first.below)} points below it on average."
        )
    if unbeaten is not None:
        below = ranking.baselines[unbeaten]
        said = (
            f"No method beats {names[unbeaten]} (baseline), {points(abs(below))} points "
            f"{'above' if below < -EQUAL else 'below'} the best of each data set on average. {said}"
        )
    others = sorted((place for place in ranking.places[1:] if place.first >= 0.005), key=lambda place: -place.first)
    following = ", ".join(f"{names[place.row]} {percent(place.first)}" for place in others[:2])
    return [
        said,
        f"Over resampled {'data sets and seeds' if number > 1 else 'seeds'} {names[first.row] if several else 'it'} "
        f"comes first in {percent(first.first)}{f'; next: {following}' if following else ''}.",
    ]


def changes(ranking: Ranking, names: Mapping[str, str], sources: Mapping[str, str]) -> list[str]:
    """Limits of the answer: a baseline, few data sets, one left out."""
    if not ranking.places:
        return []
    first, unbeaten, found = ranking.places[0].row, ranking.unbeaten, []
    for row, below in ranking.baselines.items():
        if row == unbeaten:  # the headline says it
            continue
        better = sum(place.below < below - EQUAL for place in ranking.places)
        found.append(
            f"{names[row]} (baseline) is {points(below)} points below: {better} of "
            f"{counted(len(ranking.places), 'method')} {'is' if better == 1 else 'are'} better."
        )
    groups = list(dict.fromkeys(ranking.groups))
    if len(groups) < FEW_DATA_SETS:
        found.append(f"{counted(len(groups), 'data set')} can say little about others.")
    if len(groups) > 1:
        other = {sources[group]: names[row] for group in groups if (row := ranking.without(group)) != first}
        found += [f"Without {group} it would be {name}." for group, name in other.items()]
        found += [] if other else ["It stays first whichever data set is left out."]
    return found


def not_told_apart(ranking: Ranking, names: Mapping[str, str], columns: Mapping[str, str]) -> list[str]:
    """Sentences on what these data sets and seeds cannot tell apart. ``names``: of rows; ``columns``: of data sets.

    A pair is told apart if the interval of its difference over resamples leaves zero out. Half of an interval, the
    median over pairs, is what does not show; it shrinks with the root of the number of data sets (of one: of seeds).
    """
    places, sources = ranking.places, len({*ranking.groups})
    if not places:
        return []
    pairs = np.array(list(combinations(range(len(places)), 2)))
    differences = ranking.resampled[pairs[:, 1]] - ranking.resampled[pairs[:, 0]]
    low, high = np.quantile(differences, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=1)
    half, together = (high - low) / 2, (low <= EQUAL) & (high >= -EQUAL)
    found = [
        f"{together.sum()} of {counted(len(pairs), 'pair')} of methods cannot be told apart here: differences below "
        f"about {points(float(np.median(half)))} points do not show."
    ]
    second = next((k for k, place in enumerate(places) if place.rank > 1), 0)
    if second and together[second - 1]:  # its pair with the first
        units, difference = sources if sources > 1 else ranking.seeds, places[second].below - places[0].below
        needed = max(units + 1, math.ceil(units * (half[second - 1] / difference) ** 2))
        found.append(
            f"{names[places[0].row]} and {names[places[second].row]} differ by {points(difference)} points; about "
            f"{counted(needed, 'data set' if sources > 1 else 'seed')} would tell them apart."
        )
    if ranking.silent:
        found.append(f"Seeds tell no two methods apart on {', '.join(columns[c] for c in ranking.silent)}.")
    return found
