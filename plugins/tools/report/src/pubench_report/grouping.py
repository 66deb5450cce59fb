"""Which runs are one cell of a comparison: the same method, set up alike, on the same problem, with other seeds.

A *problem* is everything that the methods compared have in common: data and classes, scheme, labeling, validation
part. A *setup* is what is the method's own: its configuration, network, calibration and the given prior. Runs that
differ in either are never averaged; they get rows and columns of their own, named by what differs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pubench.running import RunResult
from pubench_core.errors import RequestError
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry
from pubench_core.specs import RunSpec

#: One encoder for all: json.dumps makes one for every call.
_as_json = json.JSONEncoder(sort_keys=True).encode
#: First parts of the fields that are a method's own.
_OWN = ("method", "backbone", "prior", "prior_scorer", "precision")
#: Field of a run's identity -> what a label calls it. The others keep the last part of their path.
_SHORT = {"mechanism.key": "mechanism", "backbone.key": "backbone", "validation.fraction": "validation"}
#: Fields of the problem that mean the same on every data set: where they differ at all, every column says its value.
_COMMON = (
    *("data.scheme", "mechanism.key", "mechanism.variant", "mechanism.c", "mechanism.positive_rate"),
    "validation.fraction",
)


#: Cause of a planned run that has neither a result nor a failure.
MISSING = "missing"


@dataclass(frozen=True)
class FailedRun:
    """A run of a comparison that has no result. ``name``: of its row; ``reason``: what happened, in words."""

    name: str
    run_id: str
    spec: RunSpec
    cause: str
    reason: str

    @property
    def short(self) -> str:
        """Event without its run."""
        return "not carried out yet" if self.cause == MISSING else f"{self.cause}: {self.reason}"

    def __str__(self) -> str:
        return f"{self.name} on {self.spec.data.key}, seed {self.spec.seed}: {self.cause}: {self.reason}"


#: A run with the name of its row.
NamedRun = tuple[str, RunResult | FailedRun]


def spec_of(run: RunResult | FailedRun) -> RunSpec:
    """The spec of a run, finished or not."""
    return run.spec if isinstance(run, FailedRun) else run.result.spec


@dataclass(frozen=True)
class RunGroup:
    """``runs``: by seed; ``failures``: of the same method on the same problem."""

    runs: Mapping[int, RunResult]
    failures: tuple[FailedRun, ...] = ()

    @property
    def seeds(self) -> int:
        """How many seeds were tried."""
        return len({*self.runs, *(failure.spec.seed for failure in self.failures)})


@dataclass(frozen=True)
class Grid:
    """Runs by row (a method, set up in one way) and column (a problem), both in order of appearance.

    ``oracles``: rows of methods that were granted true labels. ``baselines``: rows of what methods have to beat.
    ``departures``: (row, column) -> what runs there have otherwise than the preset of their row, which the name of the
    row does not say.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], RunGroup]
    oracles: frozenset[str]
    notes: tuple[str, ...]
    baselines: frozenset[str]
    departures: Mapping[tuple[str, str], str]

    @cached_property
    def apart(self) -> frozenset[str]:
        """References, never best or ranked. Baselines are none if fewer than two methods compete without them."""
        several = len({*self.rows} - self.oracles - self.baselines) > 1
        return self.oracles | self.baselines if several else self.oracles

    def cell(self, row: str, column: str) -> RunGroup:
        """The runs of a cell, which may be none."""
        return self.cells.get((row, column), RunGroup({}))

    def marked(self, row: str) -> str:
        """The name of a row, with what it is if it is a reference: ``naive (baseline)``."""
        return f"{row} (oracle)" if row in self.oracles else f"{row} (baseline)" if row in self.baselines else row

    @cached_property
    def ids(self) -> dict[tuple[str, str], str]:
        """(row, column) -> identifier in a page, of cells that have runs."""
        there = (place for place, cell in self.cells.items() if cell.runs)
        return {place: f"c{number}" for number, place in enumerate(there, 1)}

    @cached_property
    def specs(self) -> dict[tuple[str, str], list[RunSpec]]:
        """(row, column) -> specs of its runs, failed ones included."""
        return {
            place: [*(run.result.spec for run in cell.runs.values()), *(failure.spec for failure in cell.failures)]
            for place, cell in self.cells.items()
        }

    @cached_property
    def seeds(self) -> dict[str, frozenset[int]]:
        """Column -> seeds of all its runs."""
        found: dict[str, set[int]] = {column: set() for column in self.columns}
        for (_, column), specs in self.specs.items():
            found[column].update(spec.seed for spec in specs)
        return {column: frozenset(seeds) for column, seeds in found.items()}

    @property
    def reference(self) -> str:
        """The row that others are compared with by default: the fullest baseline, else the fullest that competes."""
        competing = [row for row in self.rows if row not in self.apart]
        return self.fullest([row for row in self.rows if row in self.baselines] or competing or self.rows)

    def called(self, name: str) -> str:
        """The row of this name, or the fullest one of this method in several settings; empty if there is none."""
        return name if name in self.rows else self.fullest([r for r in self.rows if r.startswith(f"{name} [")])

    def fullest(self, rows: Sequence[str], columns: Collection[str] | None = None) -> str:
        """The row with runs on most columns, by default of all; the first of equal ones, empty if there is no row."""
        on = Counter(row for row, column in self.ids if columns is None or column in columns)
        return max(rows, key=lambda row: on[row], default="")


#: Digits that a name has of a number, where they tell the names apart.
_DIGITS = 4
#: Stands for hyper-parameters that were chosen among draws, for every run by itself.
_DRAWN = "method.draws"


@dataclass(frozen=True)
class _Place:
    """A run or a failure, with what decides where it belongs. ``problem``, ``setup``: field -> value, as JSON."""

    name: str
    data: str
    problem: Mapping[str, str]
    setup: Mapping[str, str]
    of: RunResult | FailedRun

    @classmethod
    def of_run(cls, name: str, of: RunResult | FailedRun, *, drawn: bool = False) -> _Place:
        spec = spec_of(of)
        problem, setup = _fields(spec)
        setup["method.preset"] = _as_json(spec.method.preset)
        if drawn:
            setup = {field: value for field, value in setup.items() if not field.startswith("method.config.")}
            setup[_DRAWN] = '"chosen"'
        return cls(name, spec.data.key, problem, setup, of)

    @property
    def column(self) -> tuple[str, str]:
        """Equal for runs on the same problem."""
        return self.data, _as_json(self.problem)


def grid_of(named: Sequence[NamedRun], *, drawn: Container[str] = ()) -> Grid:
    """The grid of named runs. ``drawn``: ids of runs whose hyper-parameters were chosen for each by itself, so that
    those that differ in nothing else are one row.

    Raises RequestError if a seed is there twice, or data files changed in between.
    """
    places = [_Place.of_run(name, run, drawn=run.run_id in drawn) for name, run in named]
    columns, rows = problem_names([(place.data, place.problem) for place in places]), _row_names(places)
    baselines = {info.key for info in registry().infos(MethodInfo) if info.role == "baseline"}
    versions: dict[str, set[str]] = {}  # part of the code -> hashes
    for part, code in (one for _, run in named if isinstance(run, RunResult) for one in run.result.code.parts.items()):
        versions.setdefault(part, set()).add(code)
    several = [
        f"{part} ({len(found)} versions)"
        for part, found in versions.items()
        if len(found) > 1 and not part.startswith("data ")
    ]
    cells: dict[tuple[str, str], tuple[dict[int, RunResult], list[FailedRun]]] = {}
    read: dict[str, RunResult] = {}  # column -> a run of which it is known what arrays it read
    of = list(zip(rows, columns, places, strict=True))
    for row, column, place in of:
        (done, failed), run = cells.setdefault((row, column), ({}, [])), place.of
        if isinstance(run, FailedRun):
            failed.append(run)
            continue
        seed, digest = run.result.spec.seed, run.result.data.digest
        if (there := done.setdefault(seed, run)) is not run:
            raise RequestError(
                f"{row} on {column}: seed {seed} is there twice ({there.folder} and {run.folder}); leave one out, with "
                "where(...) or by loading one folder"
            )
        if digest and (other := read.setdefault(column, run)).result.data.digest != digest:
            raise RequestError(
                f"{column}: runs {other.run_id} and {run.run_id} read different arrays, because the files of the data "
                "set changed in between; run the older ones again, or leave them out with where(...)"
            )
    return Grid(
        rows=tuple(dict.fromkeys(rows)),
        columns=tuple(dict.fromkeys(columns)),
        cells={where: RunGroup(done, tuple(failed)) for where, (done, failed) in cells.items()},
        oracles=frozenset(row for row, _, p in of if isinstance(p.of, RunResult) and p.of.result.oracle),
        baselines=frozenset(row for row, _, p in of if spec_of(p.of).method.key in baselines),
        notes=(f"the runs are of different code: {', '.join(several)}; run the older ones again",) if several else (),
        departures=_departures([(row, c, spec_of(p.of)) for row, c, p in of if _DRAWN not in p.setup]),
    )


def problem_of(spec: RunSpec) -> dict[str, str]:
    """Field of what methods that are compared have in common -> value, as JSON."""
    return _fields(spec)[0]


def identity_of(spec: RunSpec) -> str:
    """Equal for runs with the same scores."""
    return _as_json(spec.identity())


def but_for_seed(spec: RunSpec) -> str:
    """Equal for runs that differ in nothing but their seed."""
    return _as_json({**spec.identity(), "seed": None})


def but_for_config(run: RunResult | FailedRun) -> str:
    """Equal for runs that differ in hyper-parameters alone."""
    spec = spec_of(run)
    identity = spec.identity()
    identity["method"] = {name: value for name, value in identity["method"].items() if name != "config"}
    return _as_json({**identity, "preset": spec.method.preset})


def problem_names(problems: Sequence[tuple[str, Mapping[str, str]]]) -> list[str]:
    """``digits [c=0.1]`` for each problem, as (data set, fields): with the fields that tell it from the others.

    Those of ``_COMMON`` that differ anywhere, and all that differ on its data set.
    """
    varying = _varying([fields for _, fields in problems])
    everywhere = [field for field in _COMMON if field in varying]
    of_data = {
        data: _varying([fields for other, fields in problems if other == data])
        for data in dict.fromkeys(data for data, _ in problems)
    }
    told = {data: list(dict.fromkeys([*everywhere, *fields])) for data, fields in of_data.items()}
    return _labels([(data, fields, told[data]) for data, fields in problems])


def in_short(field: str, value: str, digits: int | None = _DIGITS) -> str:
    """``c=0.1``, of a field and its value as JSON. ``digits``: of numbers that are no whole ones; None: all."""
    plain = json.loads(value)
    if isinstance(plain, float) and digits is not None:
        plain = f"{plain:.{digits}g}"
    name = _SHORT.get(field, field.rpartition(".")[2])
    if name in ("sha256", "test_sha256"):
        plain = str(plain)[:8]
    if isinstance(plain, list):
        plain = ",".join(str(item) for item in plain)
    return f"{name}={plain}"


def by_path(values: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Nested values by dotted path.

    >>> by_path({"a": {"b": 1, "c": {}}, "d": [2]})
    {'a.b': 1, 'd': [2]}
    """
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= by_path(value, f"{above}{name}.") if isinstance(value, dict) else {f"{above}{name}": value}
    return found


# -------------------------------------------------------------------- names


def _fields(spec: RunSpec) -> tuple[dict[str, str], dict[str, str]]:
    """(problem, setup): field of a run's identity -> value, as JSON; the seed is in neither."""
    problem: dict[str, str] = {}
    setup: dict[str, str] = {}
    for name, value in by_path(spec.identity()).items():
        if name != "seed":
            (setup if name.split(".")[0] in _OWN else problem)[name] = _as_json(value)
    return problem, setup


def _varying(given: Collection[Mapping[str, str]]) -> list[str]:
    """Fields that do not have one value, in order of appearance; a field that is not there counts as a value."""
    fields = dict.fromkeys(field for each in given for field in each)
    return [field for field in fields if len({each.get(field) for each in given}) > 1]


def _row_names(places: Sequence[_Place]) -> list[str]:
    by_column: dict[tuple[str, str], list[_Place]] = {}
    for place in places:
        by_column.setdefault(place.column, []).append(place)
    told_otherwise = any("prior" in _varying([place.setup for place in column]) for column in by_column.values())
    names = dict.fromkeys(place.name for place in places)
    of_name = {
        name: _row_fields([[p for p in column if p.name == name] for column in by_column.values()]) for name in names
    }
    shown = {name: ["prior", *fields] if told_otherwise else fields for name, fields in of_name.items()}
    return _labels([(place.name, place.setup, list(dict.fromkeys(shown[place.name]))) for place in places])


def _row_fields(columns: Sequence[Sequence[_Place]]) -> list[str]:
    """What tells the setups under one name apart, on whichever problem they differ: the preset, or else a field of
    texts such as a base classifier, if that is enough.
    """
    fields: dict[str, None] = {}
    for column in columns:
        fields |= dict.fromkeys(_varying_setup(column))
    everywhere = [place for column in columns for place in column]
    texts = [f for f in fields if all(place.setup.get(f, "").startswith('"') for place in everywhere)]
    for one in (*(["method.preset"] if "method.preset" in fields else []), *texts):
        groups: dict[tuple[int, str], list[_Place]] = {}
        for number, column in enumerate(columns):
            for place in column:
                groups.setdefault((number, place.setup[one]), []).append(place)
        if not any(_varying_setup(group) for group in groups.values()):
            return [one]
    if len(fields) > 1:
        fields.pop("method.preset", None)  # other fields say what it changed
    return list(fields)


def _varying_setup(places: Sequence[_Place]) -> list[str]:
    """Runs whose hyper-parameters were chosen among draws differ from the others by that alone."""
    kinds = [[place for place in places if (_DRAWN in place.setup) is drawn] for drawn in (False, True)]
    found = [field for kind in kinds for field in _varying([place.setup for place in kind])]
    return [*found, *([_DRAWN] if all(kinds) else [])]


def _labels(given: Sequence[tuple[str, Mapping[str, str], Sequence[str]]]) -> list[str]:
    """A name for each (name, values, fields that tell it apart), with few digits unless that makes two the same."""

    def label(name: str, values: Mapping[str, str], fields: Sequence[str], digits: int | None) -> str:
        said = [in_short(field, values[field], digits) for field in fields if values.get(field, "null") != "null"]
        return f"{name} [{', '.join(said)}]" if said else name

    short, exact = ([label(*each, digits) for each in given] for digits in (_DIGITS, None))
    return short if len(set(short)) == len(set(exact)) else exact


# -------------------------------------------------------------------- what a reader must know


def _departures(runs: Sequence[tuple[str, str, RunSpec]]) -> dict[tuple[str, str], str]:
    """(row, column) -> another preset than most runs of the row have, and settings other than those of the preset."""
    infos = {info.key: info for info in registry().infos(MethodInfo)}
    presets: dict[str, Counter[str]] = {}
    for row, _, spec in runs:
        presets.setdefault(row, Counter())[spec.method.preset or ""] += 1
    found: dict[tuple[str, str], str] = {}
    for row, column, spec in runs:
        key, name = spec.method.key, spec.method.preset or ""
        if key not in infos or name not in infos[key].presets:
            continue
        said = [] if name == presets[row].most_common(1)[0][0] else [f"preset={name}"]
        for setting, usual in infos[key].presets[name].resolve(spec.data.key).items():
            if not _has(mine := spec.method.config.get(setting, usual), usual):
                theirs = in_short(setting, _as_json(usual)).partition("=")[2]
                said.append(f"{in_short(setting, _as_json(mine))} instead of {theirs}")
        said = [text for text in said if text.partition(" instead")[0] not in row]
        if said:
            found[row, column] = ", ".join(said)
    return found


def _has(value: object, usual: object) -> bool:
    """Whether a value is as a preset says: of a mapping, what the preset names. Defaults fill the rest."""
    if isinstance(usual, Mapping) and isinstance(value, Mapping):
        return all(key in value and _has(value[key], of) for key, of in usual.items())
    return _as_json(value) == _as_json(usual)
