"""Sources with tasks in comparisons over data sets: each source counts once.

Tasks of a source share rows, sites or observers, so they are no independent data sets: a source of 164 tasks must not
outvote the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from statistics import fmean

#: method -> task or data set -> value
Means = Mapping[str, Mapping[str, float]]


def once_per_source(values: Means) -> dict[str, dict[str, float]]:
    """The values with the tasks of each source replaced by their mean; as they are if all are of one source.

    >>> once_per_source({"a": {"disdat/sa01": 0.5, "disdat/sa02": 0.75, "digits": 1.0}})
    {'a': {'disdat': 0.625, 'digits': 1.0}}
    """
    sources = {data: _source(data) for found in values.values() for data in found}
    if len(set(sources.values())) == 1:
        return {method: dict(found) for method, found in values.items()}
    return {
        method: {
            source: fmean(value for data, value in found.items() if sources[data] == source)
            for source in dict.fromkeys(sources[data] for data in found)
        }
        for method, found in values.items()
    }


def _source(data: str) -> str:
    """``disdat`` of ``disdat/nsw14``; other names as they are."""
    match = re.match(r"([a-z0-9-]+)[/:]", data)
    return match[1] if match else data
