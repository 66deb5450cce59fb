"""Rows of records: what the columns of a run are filled from, and frames of finished runs."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from operator import attrgetter
from os.path import isfile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from pubench.field_names import InvalidRequest
from pubench.running import RunResult
from pubench_core.errors import counted, unknown
from pubench_core.plugins.registry import registry
from pubench_core.records.files import ENVIRONMENT, SCORES, TRACE, read_scores
from pubench_core.records.scores import scores_name
from pubench_core.results import CriterionResult, Environment, Result
from pubench_core.specs import RunSpec
from pubench_core.specs.fields import short_hash

from ..grouping import FailedRun, by_path, spec_of
from .columns import BY_NAME, FRAME, names, types

if TYPE_CHECKING:
    from pandas import DataFrame

#: What a frame may have of measures -> the parts that they are of.
_PARTS = {"test": ("test",), "validation": ("validation",), "all": ("test", "validation"), "none": ()}


@dataclass
class RowSource:
    """Source of the columns of a run: its result under one criterion, and what its folder has besides."""

    result: Result
    folder: Path | None = None
    name: str = ""
    criterion: str = ""
    study: str = ""
    draw: str = ""

    @property
    def spec(self) -> RunSpec:
        return self.result.spec

    @property
    def chosen(self) -> CriterionResult:
        return self.result.criteria[self.criterion]

    @cached_property
    def environment(self) -> Environment:
        assert self.folder is not None  # a record
        return Environment.model_validate_json((self.folder / ENVIRONMENT).read_bytes())

    @cached_property
    def arrays(self) -> Mapping[str, Any]:
        there = self.folder is not None and isfile(self.folder / SCORES)
        return read_scores(self.folder) if there and self.folder is not None else {}


#: Sources of columns that are more than a path.
_MADE: Mapping[str, Callable[[Any], Any]] = {
    "selected": lambda at: at.criterion == at.result.selected,
    "spec.prior": lambda at: str(at.spec.prior),
    "config": lambda at: json.dumps(at.spec.method.config, sort_keys=True),
    "versions": lambda at: json.dumps(at.result.code.versions, sort_keys=True),
    "warnings": lambda at: "; ".join((*at.result.warnings, *at.chosen.warnings)),
    "problem": lambda at: problem_of(at.spec),
    "quantile_of": lambda at: "" if at.chosen.threshold is None else "U",
    "settings": lambda at: "" if at.spec.data.own is not None else settings_of(at.spec),
    "revision": lambda at: "" if at.environment.git_dirty else revision_of(at.result),
    "commit": lambda at: commit_of(at.environment),
    "machine": lambda at: machine_of(at.environment),
    "scores_digest": lambda at: digest_of(at.arrays.get(scores_name("test", at.chosen.snapshot or ""))),
}


def rows_of(
    source: RowSource, columns: Iterable[str], criteria: Iterable[str] | None = None
) -> Iterator[dict[str, Any]]:
    """A row for each criterion of a run, by default of all.

    ``columns``: those of :data:`COLUMNS`, measures (``test_accuracy``) and hyper-parameters (``config.lr``).
    """
    tracked, readers = source.result.criteria, {name: reader(name) for name in columns}
    for criterion in tracked if criteria is None else [name for name in criteria if name in tracked]:
        source.criterion = criterion
        yield {name: read(source) for name, read in readers.items()}


@cache
def reader(column: str) -> Callable[[Any], Any]:
    """Reads a column from a :class:`RowSource`; None for a measure or hyper-parameter that is not there."""
    if column in BY_NAME:
        path = BY_NAME[column].source
        return _MADE.get(path) or attrgetter(path)
    part, _, metric = column.partition("_")
    if column.startswith("config."):
        return lambda at: at.spec.method.config.get(column.removeprefix("config."))
    return lambda at: getattr(at.chosen.measured(part).get(metric), "value", None)


def problem_of(spec: RunSpec) -> str:
    """Sixteen digits that are the same for all methods and seeds on the same data, labeling, prior and validation."""
    identity = {name: value for name, value in spec.identity().items() if name not in ("method", "backbone", "seed")}
    return short_hash(identity)


def digest_of(scores: Any) -> str:
    """SHA-256 of scores as little-endian doubles; empty without scores."""
    return "" if scores is None else hashlib.sha256(np.ascontiguousarray(scores, dtype="<f8").tobytes()).hexdigest()


def commit_of(environment: Environment) -> str:
    """The commit of a run, marked if the checkout had changes."""
    dirty = "-dirty" if environment.git_dirty else ""
    return f"{environment.git_commit[:12]}{dirty}" if environment.git_commit else ""


def revision_of(result: Result) -> str:
    """Number of the engine revision that a record names (``revision 5``); empty if it names none."""
    return result.code.parts.get("engine", "").removeprefix("revision ")


def machine_of(environment: Environment) -> str:
    """System, architecture, model name of the processor or GPU."""
    system = environment.platform.split("-")[0]
    architecture = re.search(r"x86_64|aarch64|arm64|AMD64", environment.platform)
    return f"{system} {architecture[0] if architecture else '?'}, {environment.gpu or environment.cpu}"


# -------------------------------------------------------------------- what was set


def settings_of(spec: RunSpec) -> str:
    """Where a run differs from the one that method, preset, data set and labeling alone would give."""
    plain = {
        "method": {"key": spec.method.key, "preset": spec.method.preset},
        "data": {"key": spec.data.key, "scheme": spec.data.scheme},
        "mechanism": {"key": spec.mechanism.key, **dict([spec.mechanism.amount] if spec.mechanism.amount else [])},
        "prior": spec.prior,
    }
    mine, theirs = assignments_of(spec), by_itself(json.dumps(plain, sort_keys=True))
    differ = {name: value for name, value in mine.items() if value != theirs.get(name)}
    as_text = json.JSONEncoder(separators=(",", ":")).encode
    texts = {name: value if isinstance(value, str) else as_text(value) for name, value in differ.items()}
    return " ".join(f"{name.removeprefix('method.config.')}={texts[name]}" for name in sorted(texts))


@lru_cache(maxsize=4096)
def by_itself(plain: str) -> Mapping[str, Any]:
    """Settings that a run with nothing but these fields computes with, by dotted name."""
    from pubench_core.engine.layers import Layer
    from pubench_core.engine.resolve import resolve  # torch, which records do not need

    return assignments_of(resolve([Layer(json.loads(plain))], registry()).spec)


def assignments_of(spec: RunSpec) -> dict[str, Any]:
    """Dotted names and values of what a run computes with."""
    names = ("data", "mechanism", "checked", "validation", "method")
    plain = {name: getattr(spec, name).model_dump(mode="json") for name in names}
    return by_path({**plain, "backbone": spec.backbone.key, "precision": spec.precision})


# -------------------------------------------------------------------- finished runs


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
    """Facts of a run by its columns, hyper-parameters included; of a failed one, those of its spec."""
    spec, columns = spec_of(run), names(FRAME)
    if isinstance(run, FailedRun):
        columns = [one for one in columns if BY_NAME[one].source.startswith(("name", "spec."))]
        source: Any = SimpleNamespace(spec=spec, name=name)
    else:
        source = RowSource(run.result, run.folder, name, run.result.selected)
    return {one: reader(one)(source) for one in [*columns, *(f"config.{field}" for field in spec.method.config)]}


def trace(run: RunResult) -> DataFrame:
    """One row per epoch: seconds, reported losses, criteria. Raises ValueError if the run kept none."""
    import pandas

    path = run.folder / TRACE
    if not path.exists():
        raise ValueError(f"run {run.run_id} kept no trace; run it again with artifacts=['scores', 'trace']")
    return pandas.read_csv(path)


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
    measured = [f"{part}_{metric}" for part in _PARTS[measures] for metric in metrics_of(runs, part)]
    columns = [*names(FRAME), *(f"config.{name}" for name in _named("hyper-parameter", config, known)), *measured]
    wanted = None if criteria == "selected" else _named("criterion", criteria, criteria_of(runs))
    rows = [
        row
        for name, run in named
        for row in rows_of(
            RowSource(run.result, run.folder, name), columns, [run.result.selected] if wanted is None else wanted
        )
    ]
    frame = pandas.DataFrame(rows, columns=columns)
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
