"""Gain of methods over a reference, paired by seed on each data set.

A gain is of two methods on one data set alone: a run that is missing changes no other number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from pubench_core.errors import counted

from .numbers import points
from .ranking import FEW_DATA_SETS, LEVEL
from .significance import paired_t

#: Seeds of a data set from which on a gain there can be sure.
SURE_SEEDS = 3


@dataclass(frozen=True)
class Gain:
    """Gain on one data set, in points. ``sure``: three seeds or more, and a paired t-test at level .1 finds it."""

    points: float
    seeds: int
    sure: bool


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


def gains_over(
    reference: Mapping[str, Mapping[int, float]], method: Mapping[str, Mapping[int, float]]
) -> dict[str, Gain]:
    """Data set -> gain, where both have a seed in common. Given: data set -> seed -> points."""
    found = {}
    for data, mine in method.items():
        if shared := sorted(mine.keys() & reference.get(data, {}).keys()):
            one, other = ([values[seed] for seed in shared] for values in (mine, reference[data]))
            sure = len(shared) >= SURE_SEEDS and paired_t(one, other)[1] < 1 - LEVEL
            found[data] = Gain(fmean(one) - fmean(other), len(shared), sure)
    return found


def mean_gain(gains: Mapping[str, Gain], sources: Mapping[str, str]) -> MeanGain | None:
    """Mean over sources; None without a gain. ``sources``: data set -> its source."""
    by_source: dict[str, list[float]] = {}
    for data, gain in gains.items():
        by_source.setdefault(sources[data], []).append(gain.points)
    if not by_source:
        return None
    means = [fmean(of) for of in by_source.values()]
    sure = len(means) >= FEW_DATA_SETS and paired_t(means, [0.0] * len(means))[1] < 1 - LEVEL
    ahead, behind = (sum(gain.sure and sign * gain.points > 0 for gain in gains.values()) for sign in (1, -1))
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
