"""Standing of methods: points below the best of each data set, and how sure their order is.

Data sets are the sample: a resample draws them with replacement, grouped by their source, then their seeds, the same
for all methods. ``site/board.js`` computes the same numbers in the page, from the same stream of random numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pubench_core.errors import counted

from .ranking import complete_part
from .rendering import EQUAL, percent, points

if TYPE_CHECKING:
    from .cells import MeasuredCell, ShownMeasure
    from .report.model import Model, Setting

#: Resamples, the level of the intervals, and the seeds that a data set needs to count.
RESAMPLES, LEVEL, LEAST_SEEDS = 1000, 0.9, 2
#: More shared seeds than this are not worth leaving a method out for.
ENOUGH_SEEDS = 3
#: Fewer data sets say little about others.
FEW_DATA_SETS = 5
#: Measures that deciding every row alike can win.
WON_BY_NOTHING = ("precision", "recall")
#: Park and Miller's generator, which is exact in the floating-point numbers of a browser.
_FACTOR, _MODULUS, _START = 16807, 2**31 - 1, 7


@dataclass(frozen=True)
class MethodPlace:
    """``below``: mean points below the best of each data set, with its interval; ``first``: share of resamples in which
    the method comes first; ``by_column``: points below the best, by column. Equal methods share a rank.
    """

    row: str
    rank: int
    below: float
    low: float
    high: float
    first: float
    by_column: tuple[float, ...]


@dataclass(frozen=True)
class Standing:
    """``columns``: labels of the data sets that count, ``groups``: their sources; ``places``: best first, of methods
    that have every shared seed of these; ``wins``: share of resamples in which one place is better than another;
    ``baselines``: row -> mean points below the best, of what methods have to beat; ``why``: why there is no place.
    """

    columns: tuple[str, ...]
    groups: tuple[str, ...]
    places: tuple[MethodPlace, ...]
    wins: npt.NDArray[np.float64]
    baselines: Mapping[str, float] = field(default_factory=dict)
    why: str = ""

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
    """``columns``: labels of data sets that can count by default; ``seeds``: label -> shared seeds of every column."""

    columns: tuple[str, ...]
    seeds: Mapping[str, tuple[int, ...]]


def counted_in(model: Model, setting: Setting, cells: Mapping[tuple[str, str], MeasuredCell]) -> Counted:
    """Which data sets and seeds of a setting methods are ranked by: the largest part that has no gap."""
    rows = [row for row in model.rows_of(setting) if row not in model.apart]
    labels = [column.label for column in setting.columns]
    seeds = {c: compared_seeds([cells[row, c].values.keys() for row in rows if cells[row, c].values]) for c in labels}
    values = {
        c: {row: cells[row, c].values for row in rows if cells[row, c].values.keys() >= set(seeds[c])}
        for c in labels
        if len(seeds[c]) >= LEAST_SEEDS
    }
    return Counted(complete_part(values, rows).data, seeds)


def standing_of(model: Model, setting: Setting, measure: ShownMeasure, criterion: str, counts: Counted) -> Standing:
    """The methods of a setting by a measure, at the epoch that a criterion chose."""
    cells = model.cells(measure, criterion)
    sources = {column.label: column.spec.data.key for column in setting.columns}
    groups = tuple(sources[label] for label in counts.columns)
    complete = [
        row
        for row in model.rows_of(setting)
        if all(cells[row, c].values.keys() >= set(counts.seeds[c]) for c in counts.columns)
    ]
    rows = [row for row in complete if row not in model.apart]
    if why := _why_none(model, setting, measure, counts, rows):
        return Standing(counts.columns, groups, (), np.zeros((0, 0)), why=why)
    scale = 1.0 if measure.percent else 100.0

    def values(row: str, column: str) -> npt.NDArray[np.float64]:
        of = cells[row, column].values
        return scale * np.array([float(measure.text(of[seed])) for seed in counts.seeds[column]])

    alike = np.array([[cells[row, c].alike > 0 for c in counts.columns] for row in rows])
    tables = [np.array([values(row, c) for row in rows]) for c in counts.columns]
    best = [_best(table.mean(axis=1), alike[:, k]) for k, table in enumerate(tables)]
    below = [_below(table, one) for table, one in zip(tables, best, strict=True)]
    baselines = {
        row: fmean(one - values(row, c).mean() for one, c in zip(best, counts.columns, strict=True))
        for row in complete
        if row in model.gathered.grid.baselines
    }
    by_column = np.stack([part.mean(axis=1) for part in below], axis=1)
    resampled = np.concatenate(below, axis=1) @ resampling(groups, [part.shape[1] for part in below]).T
    point = by_column.mean(axis=1)
    ordered = np.sort(resampled, axis=1)
    low, high = (np.maximum(0.0, ordered[:, int(RESAMPLES * share)]) for share in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    is_first = resampled <= resampled.min(axis=0) + EQUAL
    first = (is_first / is_first.sum(axis=0)).mean(axis=1)
    places = [
        MethodPlace(
            row=row,
            rank=1 + int((point < point[k] - EQUAL).sum()),
            below=float(point[k]),
            low=float(low[k]),
            high=float(high[k]),
            first=float(first[k]),
            by_column=tuple(by_column[k]),
        )
        for k, row in enumerate(rows)
    ]
    order = sorted(range(len(rows)), key=lambda k: (places[k].rank, rows[k]))
    wins = (resampled[order, None] < resampled[None, order] - EQUAL).mean(axis=2)
    return Standing(counts.columns, groups, tuple(places[k] for k in order), wins, baselines)


def why_unranked(measure: ShownMeasure) -> str:
    """Why methods are not ranked by a measure; empty if they are."""
    if measure.higher_is_better is not True:
        return f"{measure.name} names no best value, so methods are not ranked by it."
    if measure.key.startswith(WON_BY_NOTHING):
        return f"A method that decides every row alike can have the best {measure.name}, so none is ranked by it."
    return ""


def _why_none(model: Model, setting: Setting, measure: ShownMeasure, counts: Counted, rows: Sequence[str]) -> str:
    if why := why_unranked(measure):
        return why
    there = [row for row in model.rows_of(setting) if row not in model.apart]
    if len(there) < 2:
        return f"{counted(len(there), 'method')}: there is nothing to compare."
    if all(len(seeds) < LEAST_SEEDS for seeds in counts.seeds.values()):
        return "One seed per data set: the spread is unknown, so no method is ranked. Run 3 seeds or more."
    if len(rows) < 2 or not counts.columns:
        return "No two methods have a value for every shared seed of a data set, so none is ranked."
    return ""


def _best(means: npt.NDArray[np.float64], alike: npt.NDArray[np.bool_]) -> float:
    """The best mean of a column, (rows,), of what does not decide every row alike if there is any."""
    return float((means if alike.all() else means[~alike]).max())


def _below(values: npt.NDArray[np.float64], best: float) -> npt.NDArray[np.float64]:
    """Points below the best, (rows, seeds). What decides every row alike is never above it."""
    above: npt.NDArray[np.float64] = np.maximum(0.0, values.mean(axis=1) - best)
    return best - values + above[:, None]


def resampling(groups: Sequence[str], seeds: Sequence[int]) -> npt.NDArray[np.float64]:
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


# -------------------------------------------------------------------- in words


def headline(standing: Standing, names: Mapping[str, str], sources: Mapping[str, str]) -> list[str]:
    """Who is best, and how sure that is: two sentences, or why nothing is ranked. ``names``: of rows; ``sources``: of
    data sets, by their key.
    """
    if not standing.places:
        return [standing.why]
    first, unbeaten = standing.places[0], standing.unbeaten
    tied = [names[place.row] for place in standing.places if place.rank == 1]
    who, several, number = " and ".join(tied), len(tied) > 1, len(standing.columns)
    if max(first.by_column) <= EQUAL:
        where = f"on {sources[standing.groups[0]]}" if number == 1 else f"on each of {standing.problems}"
        second = next((place for place in standing.places if place.rank > 1), None)
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
        below = standing.baselines[unbeaten]
        said = (
            f"No method beats {names[unbeaten]} (baseline), {points(abs(below))} points "
            f"{'above' if below < -EQUAL else 'below'} the best of each data set on average. {said}"
        )
    others = sorted((place for place in standing.places[1:] if place.first >= 0.005), key=lambda place: -place.first)
    following = ", ".join(f"{names[place.row]} {percent(place.first)}" for place in others[:2])
    return [
        said,
        f"Over resampled {'data sets and seeds' if number > 1 else 'seeds'} {names[first.row] if several else 'it'} "
        f"comes first in {percent(first.first)}{f'; next: {following}' if following else ''}.",
    ]


def changes(
    standing: Standing, names: Mapping[str, str], sources: Mapping[str, str], oracle: tuple[str, Standing] | None
) -> list[str]:
    """Limits of the answer: a baseline, few data sets, one left out, an oracle's epochs (its name and standing)."""
    if not standing.places:
        return []
    first, unbeaten, found = standing.places[0].row, standing.unbeaten, []
    for row, below in standing.baselines.items():
        if row == unbeaten:  # the headline says it
            continue
        better = sum(place.below < below - EQUAL for place in standing.places)
        found.append(
            f"{names[row]} (baseline) is {points(below)} points below: {better} of "
            f"{counted(len(standing.places), 'method')} {'is' if better == 1 else 'are'} better."
        )
    groups = list(dict.fromkeys(standing.groups))
    if len(groups) < FEW_DATA_SETS:
        found.append(f"{counted(len(groups), 'data set')} can say little about others.")
    if len(groups) > 1:
        other = {sources[group]: names[row] for group in groups if (row := standing.without(group)) != first}
        found += [f"Without {group} it would be {name}." for group, name in other.items()]
        found += [] if other else ["It stays first whichever data set is left out."]
    if oracle is not None and oracle[1].places:
        then = oracle[1].places[0].row
        found.append(
            f"With epochs chosen by an oracle ({oracle[0]}) it would {'still ' * (then == first)}be {names[then]}."
        )
    return found
