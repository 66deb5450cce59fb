"""Finished runs as rows of a frame."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from pubench.running import RunResult
from pubench_core.errors import unknown

from .facts import FACTS, config_of, criteria_of, facts_of, metrics_of

if TYPE_CHECKING:
    from pandas import DataFrame

#: What a frame may have of measures -> the parts that they are of.
_PARTS = {"test": ("test",), "validation": ("validation",), "all": ("test", "validation"), "none": ()}


def measured_frame(
    named: Sequence[tuple[str, RunResult]],
    measures: str,
    criteria: str | Collection[str],
    config: bool | Collection[str],
) -> DataFrame:
    """:meth:`pubench.Results.to_frame` of named runs.

    Raises RequestError for a choice of measures, a criterion or a hyper-parameter that there is none of.
    """
    import pandas

    if measures not in _PARTS:
        raise unknown("choice of measures", measures, _PARTS)
    runs = [run for _, run in named]
    wanted, columns = _criteria(criteria, runs), _config_columns(config, runs)
    measured = [(part, metric) for part in _PARTS[measures] for metric in metrics_of(runs, part)]
    rows = []
    for name, run in named:
        hyper = config_of(run.result.spec)
        for criterion in [run.result.selected] if wanted is None else wanted:
            if criterion in run.result.criteria:
                found = run.result.criteria[criterion]
                facts = {**facts_of(name, run, criterion), **{column: hyper.get(column) for column in columns}}
                values = {
                    f"{part}_{metric}": getattr(found.measured(part).get(metric), "value", None)
                    for part, metric in measured
                }
                rows.append({**facts, **values})
    names = [f"{part}_{metric}" for part, metric in measured]
    frame = pandas.DataFrame(rows, columns=[*FACTS, *columns, *names])
    numbers = ["c", "positive_rate", "prior", "prior_true", "criterion_value", *names]
    return frame.astype(dict.fromkeys(numbers, "float64"))


def _criteria(given: str | Collection[str], runs: Sequence[RunResult]) -> list[str] | None:
    """Criteria by name; None for the one that names each result."""
    if given == "selected":
        return None
    known = criteria_of(runs)
    if given == "all":
        return list(known)
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        if name not in known:
            raise unknown("criterion", str(name), known)
    return names


def _config_columns(given: bool | Collection[str], runs: Sequence[RunResult]) -> list[str]:
    known = list(dict.fromkeys(field for run in runs for field in config_of(run.result.spec)))
    if isinstance(given, bool):
        return known if given else []
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        if f"config.{name}" not in known:
            raise unknown("hyper-parameter", name, (field.removeprefix("config.") for field in known))
    return [f"config.{name}" for name in names]
