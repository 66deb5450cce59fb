"""Measuring stored or fresh scores: every metric on every part of which enough is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..metric import FloatArray, Knowledge, Measurer, Scored
from ..results import Measure

#: part -> metric -> measure
Measures = dict[str, dict[str, Measure]]


def measures_of(
    scores: Mapping[str, FloatArray],
    knowledge: Mapping[str, Knowledge],
    names: Iterable[str],
    measurer: Measurer,
) -> Measures:
    """All metrics on the scores of one state. ``scores``: part -> (n,); ``knowledge``: part -> what is known of it."""
    names = tuple(names)
    found = {
        part: measurer.measure_all(names, Scored.of(scores[part], known))
        for part, known in knowledge.items()
        if part in scores and len(scores[part])
    }
    return {part: measures for part, measures in found.items() if measures}
