"""Runs from a file of rows, as ``benchmarks/study_rows.py`` writes them: what a repository keeps of large records."""

from __future__ import annotations

import csv
import math
import re
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from sys import intern
from typing import Any

from pubench.running import RunResult
from pubench_core.engine.identity import ENGINE_REVISION
from pubench_core.errors import PluginError, RequestError, shortened
from pubench_core.plugins.registry import registry
from pubench_core.results import (
    Code,
    CriterionResult,
    DataFacts,
    Measure,
    PeakMemory,
    PriorFacts,
    Result,
    Seconds,
    said_alike,
)
from pubench_core.results.result import Stored
from pubench_core.specs import RunSpec

from ..boards import read_board

Row = Mapping[str, str]
#: Columns of measures, in percent; every other column is named below.
MEASURES = ("accuracy", "precision", "recall", "f1", "macro-f1", "auc")
_NEEDED = (
    "method", "data", "mechanism", "c", "scheme", "prior", "told_prior", "seed", "preset", "settings", "criterion",
    "criterion_oracle", "selected", "epoch", "epochs", *MEASURES, "seconds", "peak_mib", "at_once", "threads",
    "run_id", "code", "study",
)  # fmt: skip
#: Columns that are read; the last ones are missing in older files.
_READ = (*_NEEDED, "positive_rate", "criterion_value", "draw", "revision", "commit", "machine")
#: Columns that say which spec a run had, except for its seed; files from before there were positive rates lack those.
_OF_A_SPEC = ("method", "data", "mechanism", "c", "positive_rate", "scheme", "prior", "preset", "settings")
#: Column -> largest number that it may have; and those that may have none.
_BOUNDS = {
    **dict.fromkeys(MEASURES, 100.0),
    **dict.fromkeys(("seconds", "peak_mib", "epochs", "threads"), sys.float_info.max),
}
_MAY_LACK = frozenset(MEASURES)
#: What is set in a row's ``settings``: the name before each ``=``.
_NAME = re.compile(r"(?:^| )([A-Za-z_][\w.]*)=")
_SECTIONS = frozenset(RunSpec.model_fields)
#: Measures of rows are percents of four decimals.
ROUNDED = 1e-6
#: Half a row of ten thousand: what is computed of several of them differs by less where they say the same.
_ALIKE = 5e-5
_RUN_ID = re.compile(r"[0-9a-f]{16}")
#: What is to be known of a row's seconds.
WHOLE_RUNS = "seconds of rows are of whole runs, scoring included"


@dataclass(frozen=True)
class Rows:
    """``runs``: in the order of the file; ``studies``: run id -> studies that it is of; ``draws``: ids of runs that are
    draws of hyper-parameters.
    """

    runs: tuple[RunResult, ...]
    studies: Mapping[str, frozenset[str]]
    draws: frozenset[str]
    notes: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """Names of all studies, in order."""
        return sorted({name for names in self.studies.values() for name in names})


def has_rows(path: Path) -> bool:
    """Whether a file that can be read has the columns of a file of rows."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return set(_NEEDED) <= set(next(csv.reader(file), []))
    except (OSError, UnicodeDecodeError, csv.Error):
        return False


def read_rows(path: Path) -> Rows:
    """The runs of a file of rows, or of the folder of a dated board; raises what ``each_run`` raises."""
    notes, runs, draws = list[str](), [], set[str]()
    studies: dict[str, frozenset[str]] = {}
    for run, rows in each_run(path, notes):
        runs.append(run)
        studies[run.run_id] = frozenset(row["study"] for row in rows if row["study"])
        if rows[0].get("draw"):
            draws.add(run.run_id)
    return Rows(tuple(runs), studies, frozenset(draws), tuple(notes))


def each_run(path: Path, notes: list[str]) -> Iterator[tuple[RunResult, list[Row]]]:
    """Each run of a file of rows, or of the folder of a dated board, with its rows. ``notes`` gets what is to be known
    of them. Specs are what the installed plugins make of method, preset and settings.

    Raises RequestError if the file cannot be read, or is none of rows.
    """
    by_run: dict[str, list[Row]] = {}
    for row in _board_rows(path) if path.is_dir() else _rows(path):
        by_run.setdefault(row["run_id"], []).append(row)
    shares = _shares(row for rows in by_run.values() for row in rows)
    number, read, older, specs, measures = len(by_run), 0, 0, _Specs(), dict[str, Measure]()
    for run_id in list(by_run):
        mine = by_run.pop(run_id)  # the texts of a run are larger than what is made of them
        older += mine[0].get("revision") != str(ENGINE_REVISION)
        try:
            spec, oracle = specs.of(mine[0])
        except (RequestError, PluginError) as error:
            notes.append(f"{path.name}: run {run_id} is left out: {error}")
            continue
        try:
            result = _result(run_id, mine, spec, shares.get(_test_part(mine[0])), measures, oracle=oracle)
        except (ValueError, IndexError) as error:
            raise RequestError(f"{path}: the rows of run {run_id} cannot be read: {shortened(str(error))}") from error
        read += 1
        yield RunResult(result, path, reused=True), mine
    notes.append(WHOLE_RUNS)
    if older:
        notes.append(
            f"{path.name}: {older} of {number} runs are of another engine revision than {ENGINE_REVISION}, or of "
            "an unknown one"
        )
    if specs.other:
        notes.append(
            f"{path.name}: what is installed reads {len(specs.other)} of {number} runs under another id; the "
            "commands shown for them are of the installed version"
        )
    if not read:
        raise RequestError(f"{path} holds no row of a method and data set that are installed")


def _rows(path: Path) -> list[Row]:
    found: list[Row]
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            lacking = [name for name in _NEEDED if name not in (reader.fieldnames or ())]
            if lacking:
                raise RequestError(
                    f"{path} is no file of rows: it lacks the column {lacking[0]}; expected a folder of records, or "
                    "what benchmarks/study_rows.py writes"
                )
            found = []
            for number, row in enumerate(reader, 2):
                if None in row.values() or not _RUN_ID.fullmatch(row["run_id"]):
                    raise RequestError(f"{path}, line {number}: not a row of a run")
                _refuse_impossible(path, number, row)
                # most texts of a file are the same ones: kept once, they take a third of the memory
                found.append({name: intern(row[name]) for name in _READ if name in row})
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise RequestError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    return found


def _board_rows(path: Path) -> list[Row]:
    """As those of a file: a board has the same columns and more."""
    rows = read_board(path).rows
    texts = rows.astype("string").fillna("")
    return [{str(name): str(value) for name, value in row.items()} for row in texts.to_dict("records")]


def _refuse_impossible(path: Path, number: int, row: Row) -> None:
    """Raises RequestError for a measure that is no percentage, and for a time, memory or count below 0."""
    for name, most in _BOUNDS.items():
        text = row.get(name) or ""
        if not text and name in _MAY_LACK:
            continue
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0 <= value <= most:
            bound = f"from 0 to {most:g}" if most < 1e9 else "of 0 or more"
            raise RequestError(f"{path}, line {number}: {name} must be a number {bound}, got {shortened(text)!r}")


@dataclass
class _Specs:
    """Specs of rows, resolved once for all seeds. ``other``: run ids that what is installed does not give."""

    other: set[str] = field(default_factory=set)
    _known: dict[tuple[str, ...], tuple[RunSpec, bool, bool]] = field(default_factory=dict)

    def of(self, row: Row) -> tuple[RunSpec, bool]:
        """The spec, and whether the method is granted true labels. Raises RequestError, PluginError."""
        key = tuple(row.get(name, "") for name in _OF_A_SPEC)
        if key not in self._known:
            self._known[key] = self._resolved(row)
        spec, other, oracle = self._known[key]
        if other:
            self.other.add(row["run_id"])
        return spec.model_copy(update={"seed": int(row["seed"])}), oracle

    def _resolved(self, row: Row) -> tuple[RunSpec, bool, bool]:
        """The spec, whether it is that of another run than the row names, and whether the method is an oracle."""
        from pubench_cli.yaml_layers import assigned
        from pubench_core.engine.resolve import resolve  # torch, which records do not need

        plain = {
            "method.key": row["method"],
            "method.preset": row["preset"] or None,
            "data.key": row["data"],
            "data.scheme": row["scheme"],
            "mechanism.key": row["mechanism"],
            "mechanism.c": row["c"] or None,
            "mechanism.positive_rate": row.get("positive_rate") or None,
            "prior": row["prior"],
            "seed": row["seed"],
        }
        layer = assigned(*(f"{name}={value}" for name, value in plain.items() if value is not None))
        plan = resolve([layer, assigned(*_assignments(row["settings"]))], registry())
        return plan.spec, plan.run_id != row["run_id"], _is_oracle(plan.spec)


def _assignments(text: str) -> Iterator[str]:
    """``validation.fraction=0.01 lr=0.1`` as fields of a spec.

    >>> list(_assignments("validation.fraction=0.01 lr=0.1 hidden=[300, 300]"))
    ['validation.fraction=0.01', 'method.config.lr=0.1', 'method.config.hidden=[300, 300]']
    >>> list(_assignments(""))
    []
    """
    found = list(_NAME.finditer(text))
    starts = [*(each.start() for each in found), len(text)]
    for this, end in zip(found, starts[1:], strict=True):
        name = this[1]
        section = name.partition(".")[0]
        yield f"{name if section in _SECTIONS else f'method.config.{name}'}={text[this.end() : end]}"


def _result(
    run_id: str, rows: Sequence[Row], spec: RunSpec, share: float | None, known: dict[str, Measure], *, oracle: bool
) -> Any:
    """What rows say of a run. Facts that they do not have are not there: counts, warnings, the digest of the data."""
    first = rows[0]
    selected = next((row["criterion"] for row in rows if row["selected"] == "True"), first["criterion"])
    criteria = {row["criterion"]: _criterion(row, share, known) for row in rows}
    told = float(first["told_prior"]) if first["told_prior"] else None
    seconds = float(first["seconds"])
    selection = spec.selection.model_copy(update={"criterion": selected, "criteria": tuple(criteria)})
    fields: dict[str, Any] = {
        "run_id": run_id,
        "code": Code(hash=first["code"], parts=_parts(first), versions={}),
        "spec": spec.model_copy(update={"selection": selection}),
        "oracle": oracle,
        "selected": selected,
        "criteria": criteria,
        "data": _partial(DataFacts, prior=PriorFacts(given=told), digest=""),
        "epochs": int(first["epochs"]),
        "seconds": _partial(Seconds, total=seconds, training=seconds),
        "peak_memory": PeakMemory(bytes=int(float(first["peak_mib"])) * 2**20, what="as the rows say"),
        "warnings": (),
        "device": "",
        "threads": int(first["threads"]),
        "at_once": int(first["at_once"]) if first["at_once"] else None,
        "finished_at": "",
    }
    return _partial(Result, **fields)


def _parts(row: Row) -> dict[str, str]:
    """The part of a run's code that rows name: the engine; files from before ``revision`` name none."""
    return {"engine": f"revision {row['revision']}"} if row.get("revision") else {}


def _partial(kind: type[Stored], **known: Any) -> Any:
    """An object with these fields only: reading one that the rows do not have is an error, not a made-up value."""
    return kind.model_construct(_names_of(tuple(known)), **known)


@cache
def _names_of(fields: tuple[str, ...]) -> set[str]:
    """The same set for every object, which takes as much memory as the object."""
    return set(fields)


def _is_oracle(spec: RunSpec) -> bool:
    from pubench_core.engine.resolve_method import method_class
    from pubench_core.plugins.info import MethodInfo

    implementation = method_class(registry().find(MethodInfo, spec.method.key))
    return "truth" in implementation.requires(implementation.Config.model_validate(spec.method.config))


def _criterion(row: Row, share: float | None, known: dict[str, Measure]) -> CriterionResult:
    """``known``: measures by their text, filled on the way, as most values of a file are there many times."""
    oracle, texts = row["criterion_oracle"] == "True", {name: row[name] for name in MEASURES}
    if not row["epoch"] and not any(texts.values()):
        return CriterionResult(oracle=oracle, undefined="the rows have no value")
    for text in texts.values():
        if text not in known:
            known[text] = Measure(value=float(text) / 100) if text else Measure(undefined="the rows have no value")
    found: CriterionResult = _partial(  # validation would copy the measures
        CriterionResult,
        oracle=oracle,
        value=float(row["criterion_value"]) if row.get("criterion_value") else None,
        epoch=int(row["epoch"]) if row["epoch"] else None,
        warnings=_alike(row, share),
        measures={"test": {name: known[text] for name, text in texts.items()}},
    )
    return found


def _alike(row: Row, share: float | None) -> tuple[str, ...]:
    """The engine's warning that every row is decided alike, in short, where the measures say so.

    ``share``: of positives among the test rows. With a recall of 1, accuracy and precision are equal where no negative
    is decided negative; with a recall of 0, accuracy is the share of negatives where nothing is decided positive.
    """
    if not (row["accuracy"] and row["precision"] and row["recall"]):
        return ()
    accuracy, precision, recall = (float(row[name]) / 100 for name in ("accuracy", "precision", "recall"))
    if recall == 1 and accuracy < 1 and abs(accuracy - precision) < _ALIKE:
        return (said_alike("test", positive=True),)
    if recall == 0 and share is not None and abs(accuracy - (1 - share)) < _ALIKE:
        return (said_alike("test", positive=False),)
    return ()


def _shares(rows: Iterable[Row]) -> dict[tuple[str, ...], float]:
    """Share of positives among the test rows, by what decides them: accuracy, precision and recall imply it.

    accuracy = 1 - share (1 - 2 recall + recall / precision). The median over rows that have some recall.
    """
    found: dict[tuple[str, ...], list[float]] = {}
    for row in rows:
        if row["accuracy"] and row["precision"] and row["recall"]:
            accuracy, precision, recall = (float(row[name]) / 100 for name in ("accuracy", "precision", "recall"))
            if recall > 0 and precision > 0 and accuracy < 1:
                share = (1 - accuracy) / (1 - 2 * recall + recall / precision)
                found.setdefault(_test_part(row), []).append(share)
    return {part: statistics.median(shares) for part, shares in found.items()}


def _test_part(row: Row) -> tuple[str, ...]:
    """What decides the share of positives among the test rows: classes and test part are settings of the data."""
    of_data = (one for one in _assignments(row["settings"]) if one.startswith("data."))
    return row["data"], row["scheme"], row["seed"], *of_data
