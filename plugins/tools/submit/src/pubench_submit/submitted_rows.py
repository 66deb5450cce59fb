"""Rows of a board: what records, or files of rows, say of each run and criterion."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os.path import isdir, isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pubench_report.boards import COLUMNS, MEASURES, problem_of
from pubench_report.site.rows import each_run
from pubench_study.plan import read_plan
from pubench_study.study_file import studies_in

from pubench_core.engine.layers import Layer
from pubench_core.engine.resolve import resolve
from pubench_core.errors import RecordError, RequestError, counted, shortened
from pubench_core.plugins.registry import registry
from pubench_core.records.files import ENVIRONMENT, SCORES, read_scores
from pubench_core.records.record import Record
from pubench_core.records.scores import scores_name
from pubench_core.records.store import RecordStore
from pubench_core.results import CriterionResult, Environment, Result
from pubench_core.specs import RunSpec

if TYPE_CHECKING:
    from pandas import DataFrame

Row = dict[str, Any]
#: Sections of a spec that say what the problem is, not what the method does.
_OF_THE_PROBLEM = frozenset({"data", "mechanism", "validation", "prior"})
_NAME = re.compile(r"(?:^| )([A-Za-z_][\w.]*)=")
#: What names a value of a table: a method with its settings on a problem.
CELL = ["problem", "row", "seed", "criterion"]


def rows_of(sources: Iterable[Path]) -> tuple[DataFrame, list[str]]:
    """The rows of all runs in folders of records and files of rows, sorted; notes on what is left out.

    A run that is in several sources counts once: with the newest engine revision, then from the first source. Of draws
    of hyper-parameters, each criterion keeps the one that it values most. Runs on user tables and single folds are
    left out.

    Raises RequestError for a source that is not there, or if no run is left.
    """
    import pandas

    names = (*COLUMNS, "draw")
    found: list[tuple[Any, ...]] = []  # a tenth of the memory of as many mappings
    notes: list[str] = []
    for source in sources:
        if isdir(source):
            found += (tuple(row[name] for name in names) for row in _of_records(source, notes))
        elif isfile(source):
            found += (tuple(row[name] for name in names) for row in _of_file(source, notes))
        else:
            raise RequestError(
                f"{shortened(str(source))} is not there; expected a folder of records or a file of rows (.csv)"
            )
    if not found:
        raise RequestError("the sources hold no finished run that a board can have")
    frame = pandas.DataFrame(found, columns=list(names))
    found.clear()
    revision = pandas.to_numeric(frame["revision"], errors="coerce").fillna(-1)
    read = len(frame)
    frame = frame.iloc[(-revision).argsort(kind="stable")].drop_duplicates(["run_id", "criterion"])
    if twice := read - len(frame):
        notes.append(f"{counted(twice, 'row')} of a run that another source has: the newest engine revision counts")
    frame = _with_presets(_best_of_draws(frame))
    double = frame.duplicated(CELL)
    if double.any():
        notes.append(f"{counted(int(double.sum()), 'row')} of the same cell and seed as another: the first counts")
    frame = frame.loc[~double, list(COLUMNS)].sort_values([*CELL, "run_id"], kind="stable", ignore_index=True)
    return frame.astype(dict(COLUMNS)), notes


def _best_of_draws(frame: DataFrame) -> DataFrame:
    """Of draws, the one with the highest value of each criterion; rows that are no draws as they are."""
    import pandas

    drawn = frame[frame["draw"] != ""].dropna(subset=["criterion_value"])
    best = drawn.sort_values("criterion_value", ascending=False, kind="stable").drop_duplicates(CELL)
    return pandas.concat([frame[frame["draw"] == ""], best])


def _with_presets(frame: DataFrame) -> DataFrame:
    """The name of a row has its preset if a problem has the row with several."""
    several = frame.groupby(["problem", "row"])["preset"].transform("nunique") > 1
    named = frame["row"] + " preset=" + frame["preset"].where(frame["preset"] != "", "none")
    return frame.assign(row=frame["row"].where(~several, named))


# -------------------------------------------------------------------- a folder of records


def _of_records(folder: Path, notes: list[str]) -> Iterator[Row]:
    studies: dict[str, str] = {}
    draws: dict[str, int] = {}
    for study in studies_in(folder):
        if (plan := read_plan(study)) is not None:
            studies |= {run.run_id: plan.name for run in plan.runs}
            draws |= {run.run_id: run.draw for run in plan.runs if run.draw is not None}
    known: dict[str, str] = {}
    for record in RecordStore(folder).each():  # thousands of records take more memory than their rows
        if isinstance(record, RecordError):
            notes.append(f"left out: {record}")
            continue
        result = record.result
        if result.spec.data.own is not None or result.spec.validation.fold is not None:
            notes.append(f"{result.run_id} is left out: it is of a user table or of a single fold")
        else:
            yield from rows_of_record(record, studies.get(result.run_id, ""), draws.get(result.run_id), known)


def rows_of_record(record: Record, study: str, draw: int | None, known: dict[str, str]) -> Iterator[Row]:
    """A row per criterion. ``known``: settings of specs that were seen, filled on the way."""
    result, spec = record.result, record.result.spec
    environment = Environment.model_validate_json((record.folder / ENVIRONMENT).read_bytes())
    arrays = read_scores(record.folder) if isfile(record.folder / SCORES) else {}
    more = {
        "told_prior": result.data.prior.given,
        "settings": settings_of(spec, known),
        "draw": "" if draw is None else str(draw),
        "peak_mib": round(result.peak_memory.bytes / 2**20),
        "revision": "" if environment.git_dirty else revision_of(result),
        "commit": commit_of(environment),
        "machine": machine_of(environment),
        "study": study,
    }
    for name, criterion in result.criteria.items():
        scores = arrays.get(scores_name("test", criterion.snapshot or ""))
        yield _row(result, name, criterion, {**more, "scores": "" if scores is None else digest_of(scores)})


def digest_of(scores: Any) -> str:
    """SHA-256 of scores as little-endian doubles."""
    return hashlib.sha256(np.ascontiguousarray(scores, dtype="<f8").tobytes()).hexdigest()


# -------------------------------------------------------------------- a file of rows


def _of_file(path: Path, notes: list[str]) -> Iterator[Row]:
    said: list[str] = []
    for run, rows in each_run(path, said):
        for row in rows:
            more: Row = {name: row.get(name) or "" for name in ("draw", "revision", "commit", "machine", "study")}
            more |= {"settings": row["settings"], "peak_mib": float(row["peak_mib"]), "scores": ""}
            more["told_prior"] = float(row["told_prior"]) if row["told_prior"] else None
            yield _row(run.result, row["criterion"], run.result.criteria[row["criterion"]], more)
    notes += [note for note in said if "left out" in note]


# -------------------------------------------------------------------- one row


def _row(result: Result, name: str, criterion: CriterionResult, more: Mapping[str, Any]) -> Row:
    spec = result.spec
    return {
        "problem": problem_of(spec),
        "data": spec.data.key,
        "mechanism": spec.mechanism.key,
        "c": spec.mechanism.c,
        "positive_rate": spec.mechanism.positive_rate,
        "scheme": spec.data.scheme,
        "prior": str(spec.prior),
        "seed": spec.seed,
        "method": spec.method.key,
        "row": row_name(spec.method.key, more["settings"], drawn=bool(more["draw"])),
        "preset": spec.method.preset or "",
        "oracle": result.oracle,
        "criterion": name,
        "criterion_oracle": criterion.oracle,
        "criterion_value": criterion.value,
        "selected": name == result.selected,
        "epoch": criterion.epoch,
        "epochs": result.epochs,
        **{measure: percent(criterion, measure) for measure in MEASURES},
        "alike": criterion.decided_alike,
        "seconds": round(result.seconds.total, 2),
        "at_once": result.at_once,
        "threads": result.threads,
        "run_id": result.run_id,
        "code": result.code.hash,
        **more,
    }


def percent(criterion: CriterionResult, metric: str) -> float | None:
    """A measure on test rows; None if it is not there or undefined."""
    measure = criterion.measures.get("test", {}).get(metric)
    return round(100 * measure.value, 4) if measure is not None and measure.value is not None else None


def row_name(method: str, settings: str, *, drawn: bool) -> str:
    """The method with what was set of it beyond its preset. ``drawn``: hyper-parameters are draws, and no part of it.

    >>> row_name("naive", "base=trees validation.fraction=0.01", drawn=False)
    'naive base=trees'
    >>> row_name("nnpu", "lr=0.1 method.calibrate=off", drawn=True)
    'nnpu calibrate=off'
    """
    found = list(_NAME.finditer(settings))
    ends = [*(each.start() for each in found[1:]), len(settings)]
    mine = [
        f"{each[1].removeprefix('method.')}={settings[each.end() : end]}"
        for each, end in zip(found, ends, strict=False)
        if each[1].partition(".")[0] not in _OF_THE_PROBLEM and (not drawn or "." in each[1])
    ]
    return " ".join([method, *mine])


def commit_of(environment: Environment) -> str:
    """The commit of a run, marked where the checkout had changes."""
    dirty = "-dirty" if environment.git_dirty else ""
    return f"{environment.git_commit[:12]}{dirty}" if environment.git_commit else ""


def revision_of(result: Result) -> str:
    """Number of the engine revision that a record names (``revision 5``); empty if it names none."""
    return result.code.parts.get("engine", "").removeprefix("revision ")


def machine_of(environment: Environment) -> str:
    """System, architecture, model name of the processor or GPU, as ``raw_rows.machine`` says them."""
    system = environment.platform.split("-")[0]
    architecture = re.search(r"x86_64|aarch64|arm64|AMD64", environment.platform)
    return f"{system} {architecture[0] if architecture else '?'}, {environment.gpu or environment.cpu}"


# -------------------------------------------------------------------- what was set


def settings_of(spec: RunSpec, known: dict[str, str]) -> str:
    """Where a run differs from the one that method, preset, data set and labeling alone would give."""
    plain = {
        "method": {"key": spec.method.key, "preset": spec.method.preset},
        "data": {"key": spec.data.key, "scheme": spec.data.scheme},
        "mechanism": {"key": spec.mechanism.key, **dict([spec.mechanism.amount] if spec.mechanism.amount else [])},
        "prior": spec.prior,
    }
    mine = _assignments(spec)
    key = json.dumps([plain, mine], sort_keys=True)
    if key not in known:
        theirs = _assignments(resolve([Layer(plain)], registry()).spec)
        differ = {name: value for name, value in mine.items() if value != theirs.get(name)}
        known[key] = " ".join(f"{name.removeprefix('method.config.')}={_text(differ[name])}" for name in sorted(differ))
    return known[key]


def _assignments(spec: RunSpec) -> dict[str, Any]:
    """Dotted names and values of what a run computes with."""
    sections = {"data": spec.data, "mechanism": spec.mechanism, "validation": spec.validation, "method": spec.method}
    plain = {name: section.model_dump(mode="json") for name, section in sections.items()}
    return _flat({**plain, "backbone": spec.backbone.key})


def _flat(section: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """
    >>> _flat({"a": {"b": 1, "c": {}}, "d": [2]})
    {'a.b': 1, 'd': [2]}
    """
    found: dict[str, Any] = {}
    for name, value in section.items():
        found |= _flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


__all__: Sequence[str] = ("CELL", "commit_of", "digest_of", "machine_of", "rows_of", "rows_of_record", "settings_of")
