"""Finished runs as rows of a frame, and as what they are chosen by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pubench.field_names import InvalidRequest
from pubench.running import RunResult
from pubench_core.errors import counted, unknown
from pubench_core.plugins.registry import registry
from pubench_core.specs import RunSpec

from ..grouping import FailedRun, spec_of
from .columns import FRAME, names, types
from .record import RowSource, facts_of, rows_of

if TYPE_CHECKING:
    from pandas import DataFrame

#: What a frame may have of measures -> the parts that they are of.
_PARTS = {"test": ("test",), "validation": ("validation",), "all": ("test", "validation"), "none": ()}


def criteria_of(runs: Iterable[RunResult]) -> tuple[str, ...]:
    """Selection criteria that a run tracked, in order of appearance."""
    return tuple(dict.fromkeys(name for run in runs for name in run.result.criteria))


def metrics_of(runs: Iterable[RunResult], part: str) -> tuple[str, ...]:
    """Metrics that a run has a measure of on a part, the well-known ones first."""
    found = dict.fromkeys(
        metric for run in runs for criterion in run.result.criteria.values() for metric in criterion.measured(part)
    )
    return tuple(dict.fromkeys([*(metric for metric in registry().headline() if metric in found), *found]))


def compared_by(runs: Sequence[RunResult], measure: str, criterion: str | None, part: str) -> tuple[str, str]:
    """The criterion whose epochs are compared, and a note if it was picked among several that name the results.

    ``criterion``: None means the one that names the results. Raises InvalidRequest for a measure or a criterion that no
    run has, and if several criteria name the results of which every run lacks one.
    """
    if measure not in (known := metrics_of(runs, part)):
        if not known:
            there = (
                "; pubench evaluate RUN shows what validation rows say without them, and in Python "
                "results.table('pa', part='validation') compares the methods"
            )
            none = f"nothing is measured on {part} rows of these runs: no true labels are known"
            raise InvalidRequest(none + there * (part == "test"))
        raise unknown(f"measure on {part} rows", measure, known)
    if criterion is not None:
        if criterion not in (tracked := criteria_of(runs)):
            raise unknown("criterion", criterion, tracked)
        return criterion, ""
    naming = Counter(run.result.selected for run in runs)
    everywhere = [name for name, _ in naming.most_common() if all(name in run.result.criteria for run in runs)]
    counts = ", ".join(f"{name} ({counted(n, 'run')})" for name, n in naming.items())
    if not everywhere:
        raise InvalidRequest(
            f"these results are named by several criteria, {counts}, and no one of them was tracked by every run; name "
            f"one: criterion={min(naming)!r}"
        )
    several = f"results are named by several criteria, {counts}; all are shown by {everywhere[0]}"
    return everywhere[0], several if len(naming) > 1 else ""


def known_of(name: str, run: RunResult | FailedRun) -> dict[str, Any]:
    """Facts of a run by its columns, hyper-parameters included."""
    if isinstance(run, FailedRun):
        return {"name": name, **facts_of(run.spec), **config_of(run.spec)}
    (row,) = rows_of(RowSource(run.result, run.folder, name), names(FRAME), [run.result.selected])
    return {**row, **config_of(spec_of(run))}


def config_of(spec: RunSpec) -> dict[str, Any]:
    """Hyper-parameters by the names of their columns."""
    return {f"config.{name}": value for name, value in spec.method.config.items()}


def fits(facts: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether every column that is asked for is there and has one of the values."""
    several = {
        column: value if isinstance(value, Collection) and not isinstance(value, (str, bytes)) else (value,)
        for column, value in wanted.items()
    }
    return all(column in facts and facts[column] in values for column, values in several.items())


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
    known = list(dict.fromkeys(field for run in runs for field in run.result.spec.method.config))
    columns = [f"config.{name}" for name in _named("hyper-parameter", config, known)]
    wanted = None if criteria == "selected" else _named("criterion", criteria, criteria_of(runs))
    measured = [f"{part}_{metric}" for part in _PARTS[measures] for metric in metrics_of(runs, part)]
    rows = []
    for name, run in named:
        hyper = config_of(run.result.spec)
        chosen = {column: hyper.get(column) for column in columns}
        source = RowSource(run.result, run.folder, name)
        asked = [run.result.selected] if wanted is None else wanted
        rows += [{**row, **chosen} for row in rows_of(source, names(FRAME), asked, measured)]
    frame = pandas.DataFrame(rows, columns=[*names(FRAME), *columns, *measured])
    numbers = [name for name, kind in types(FRAME).items() if kind == "float64" and name != "seconds"]
    return frame.astype(dict.fromkeys([*numbers, *measured], "float64"))


def _named(what: str, given: bool | str | Collection[str], known: Sequence[str]) -> list[str]:
    """Names that are asked for: all, none, or these. Raises RequestError for one that is not known."""
    if isinstance(given, bool) or given == "all":
        return list(known) if given else []
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        if name not in known:
            raise unknown(what, str(name), known)
    return names
