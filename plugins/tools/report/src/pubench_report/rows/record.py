"""Rows of a record: what the columns of a run are filled from."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import attrgetter
from os.path import isfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from pubench_core.plugins.registry import registry
from pubench_core.records.files import ENVIRONMENT, SCORES, read_scores
from pubench_core.records.scores import scores_name
from pubench_core.results import CriterionResult, Environment, Result
from pubench_core.specs import RunSpec
from pubench_core.specs.fields import short_hash

from ..grouping import by_path
from .columns import COLUMNS, FRAME


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


#: Sources of columns that are no path.
_MADE: Mapping[str, Callable[[Any], Any]] = {
    "selected": lambda at: at.criterion == at.result.selected,
    "prior_from": lambda at: str(at.spec.prior),
    "config": lambda at: json.dumps(at.spec.method.config, sort_keys=True),
    "versions": lambda at: json.dumps(at.result.code.versions, sort_keys=True),
    "warnings": lambda at: "; ".join((*at.result.warnings, *at.chosen.warnings)),
    "problem": lambda at: problem_of(at.spec),
    "settings": lambda at: "" if at.spec.data.own is not None else settings_of(at.spec),
    "revision": lambda at: "" if at.environment.git_dirty else revision_of(at.result),
    "commit": lambda at: commit_of(at.environment),
    "machine": lambda at: machine_of(at.environment),
    "scores_digest": lambda at: digest_of(at.arrays.get(scores_name("test", at.chosen.snapshot or ""))),
}
_GET = {column.name: _MADE.get(column.source) or attrgetter(column.source) for column in COLUMNS if column.source}


def rows_of(
    source: RowSource, columns: Sequence[str], criteria: Iterable[str] | None = None, measures: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """A row for each criterion of a run, by default of all. ``measures``: ``test_accuracy`` and so on."""
    tracked = source.result.criteria
    for criterion in tracked if criteria is None else [name for name in criteria if name in tracked]:
        source.criterion = criterion
        row = {name: _GET[name](source) for name in columns}
        yield row | {name: value_of(source.chosen, name) for name in measures}


def value_of(chosen: CriterionResult, measure: str) -> float | None:
    """A measure named as its column; None if it is not there or undefined."""
    part, _, metric = measure.partition("_")
    return getattr(chosen.measured(part).get(metric), "value", None)


def facts_of(spec: RunSpec) -> dict[str, Any]:
    """The columns of ``to_frame`` that are known before a run is carried out."""
    known = SimpleNamespace(spec=spec)
    of_spec = [c.name for c in COLUMNS if FRAME in c.forms and c.source.startswith(("spec.", "prior_from"))]
    return {name: _GET[name](known) for name in of_spec}


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
    sections = {"data": spec.data, "mechanism": spec.mechanism, "validation": spec.validation, "method": spec.method}
    plain = {name: section.model_dump(mode="json") for name, section in sections.items()}
    return by_path({**plain, "backbone": spec.backbone.key})
