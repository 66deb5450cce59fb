"""Gain of methods over a reference, paired by seed on each data set.

A gain is a pair of the tests, of two methods on one data set alone: a run that is missing changes no other number.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from statistics import fmean

from pubench_core.errors import counted

from .numbers import points
from .ranking import FEW_DATA_SETS, LEVEL
from .significance import Pair, Values, paired_t, pairs_of

#: Seeds of a data set from which on a gain there can be sure.
SURE_SEEDS = 3


@dataclass(frozen=True)
class MeanGain:
    """Gain over the data sets that a method shares with the reference; those of one source count as one.

    ``ahead``, ``behind``: data sets on which it is sure. ``sure``: a t-test over five sources or more finds it.
    """

    points: float
    ahead: int
    behind: int
    data: int
    sure: bool


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
    means = [fmean(of) for of in by_source.values()]
    sure = len(means) >= FEW_DATA_SETS and paired_t(means, [0.0] * len(means))[1] < 1 - LEVEL
    ahead, behind = (sum(is_sure(gain) and sign * gain.difference > 0 for gain in gains) for sign in (1, -1))
    return MeanGain(fmean(means), ahead, behind, len(means), sure)


def gain_sentences(means: Mapping[str, MeanGain], reference: str) -> list[str]:
    """Who is ahead of a reference on average, and by how much. ``means``: name of a method -> its mean gain."""
    several = {name: one for name, one in means.items() if one.data >= FEW_DATA_SETS}
    if not several:
        return [f"No method shares {FEW_DATA_SETS} data sets with {reference}."]
    order = sorted(several, key=lambda name: -several[name].points)
    ahead = [name for name in order if several[name].sure and several[name].points > 0]
    names = f": {', '.join(ahead[:3])}{' and others' * (len(ahead) > 3)}" if ahead else ""
    best, of = order[0], several[order[0]]
    who = (
        f"{len(ahead)} of {counted(len(several), 'method')} {'is' if len(ahead) == 1 else 'are'}"
        if ahead
        else "no method is"
    )
    return [
        f"On average {who} ahead of {reference}{names}.",
        f"The highest mean gain is that of {best}: {'+' * (of.points > 0)}{points(of.points)} points on "
        f"{counted(of.data, 'data set')}.",
    ]
