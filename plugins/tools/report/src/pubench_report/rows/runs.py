"""Runs made of rows: what a repository keeps of records that are too large for it."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pubench.running import RunResult
from pubench_core.engine.identity import ENGINE_REVISION
from pubench_core.errors import PluginError, RequestError
from pubench_core.plugins.info import MethodInfo
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
    Stored,
    said_alike,
)
from pubench_core.specs import RunSpec

from .columns import BY_NAME
from .files import read_rows

if TYPE_CHECKING:
    from pandas import DataFrame

    from pubench_core.engine.plan import Plan

Row = Mapping[str, Any]
#: Columns that say which spec a run had, except for its seed and settings.
_OF_A_SPEC = ("method", "data", "mechanism", "c", "positive_rate", "scheme", "prior_from", "preset")
#: What is set in a row's ``settings``: the name before each ``=``.
_NAME = re.compile(r"(?:^| )([A-Za-z_][\w.]*)=")
_SECTIONS = frozenset(RunSpec.model_fields)
#: Sections of a spec that say what the problem is, not what the method does.
_OF_THE_PROBLEM = frozenset({"data", "mechanism", "validation", "prior"})
#: Measures of rows are percents of four decimals.
ROUNDED = 1e-6
#: Half a row of ten thousand: what is computed of several of them differs by less where they say the same.
_ALIKE = 5e-5
#: What is to be known of a row's seconds.
WHOLE_RUNS = "seconds of rows are of whole runs, scoring included"
_NO_VALUE = "the rows have no value"


def each_run(path: Path, notes: list[str]) -> Iterator[tuple[RunResult, list[Row]]]:
    """Each run of a file of rows, or of the folder of a dated board, with its rows. ``notes`` gets what is to be known
    of them. Specs are what the installed plugins make of method, preset and settings.

    Raises RequestError if the file cannot be read, or is none of rows.
    """
    frame = read_rows(path)
    shares, by_run = _shares(frame), frame.groupby("run_id", sort=False).indices
    specs: dict[tuple[Any, ...], tuple[RunSpec, bool, bool]] = {}
    older, counts = 0, Counter[tuple[Any, ...]]()
    rows: list[Row] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    for run_id, places in by_run.items():
        mine = [rows[place] for place in places]
        older += mine[0].get("revision") != str(ENGINE_REVISION)
        key = tuple(mine[0].get(name) for name in (*_OF_A_SPEC, "settings"))
        try:
            if key not in specs:  # resolved once for all seeds
                plan, oracle = _planned(mine[0])
                specs[key] = plan.spec, oracle, plan.run_id != run_id
        except (RequestError, PluginError) as error:
            notes.append(f"{path.name}: run {run_id} is left out: {error}")
            continue
        counts[key] += 1
        spec, oracle, _ = specs[key]
        spec = spec.model_copy(update={"seed": mine[0]["seed"]})
        result = _result(str(run_id), mine, spec, shares.get(_test_part(mine[0])), oracle=oracle)
        yield RunResult(result, path, reused=True), mine
    notes.append(WHOLE_RUNS)
    if older:
        notes.append(
            f"{path.name}: {older} of {len(by_run)} runs are of another engine revision than {ENGINE_REVISION}, or of "
            "an unknown one"
        )
    if other := sum(counts[key] for key, (*_, is_other) in specs.items() if is_other):
        notes.append(
            f"{path.name}: what is installed reads {other} of {len(by_run)} runs under another id; the commands shown "
            "for them are of the installed version"
        )
    if not counts:
        raise RequestError(f"{path} holds no row of a method and data set that are installed")


def _planned(row: Row) -> tuple[Plan, bool]:
    """The run that what is installed makes of a row, and whether its method is granted true labels.

    Raises RequestError, PluginError.
    """
    from pubench_cli.yaml_layers import assigned
    from pubench_core.engine.resolve import resolve  # torch, which records do not need
    from pubench_core.engine.resolve_method import method_class

    fields = {name: BY_NAME[name].source.removeprefix("spec.") for name in (*_OF_A_SPEC, "seed")}
    layer = assigned(*(f"{field}={row[name]}" for name, field in fields.items() if row.get(name) not in (None, "")))
    plan = resolve([layer, assigned(*assignments(row["settings"]))], registry())
    method = method_class(registry().find(MethodInfo, plan.spec.method.key))
    return plan, "truth" in method.requires(method.Config.model_validate(plan.spec.method.config))


def _set(settings: str) -> Iterator[tuple[str, str]]:
    """(name, value) of what a row's ``settings`` say."""
    found = list(_NAME.finditer(settings))
    ends = [*(each.start() for each in found[1:]), len(settings)]
    return ((each[1], settings[each.end() : end]) for each, end in zip(found, ends, strict=False))


def assignments(settings: str) -> Iterator[str]:
    """``validation.fraction=0.01 lr=0.1`` as fields of a spec.

    >>> list(assignments("validation.fraction=0.01 lr=0.1 hidden=[300, 300]"))
    ['validation.fraction=0.01', 'method.config.lr=0.1', 'method.config.hidden=[300, 300]']
    >>> list(assignments(""))
    []
    """
    for name, value in _set(settings):
        yield f"{name if name.partition('.')[0] in _SECTIONS else f'method.config.{name}'}={value}"


def row_name(method: str, settings: str, *, drawn: bool) -> str:
    """The method with what was set of it beyond its preset. ``drawn``: hyper-parameters are draws, and no part of it.

    >>> row_name("naive", "base=trees validation.fraction=0.01", drawn=False)
    'naive base=trees'
    >>> row_name("nnpu", "lr=0.1 method.calibrate=off", drawn=True)
    'nnpu calibrate=off'
    """
    mine = [
        f"{name.removeprefix('method.')}={value}"
        for name, value in _set(settings)
        if name.partition(".")[0] not in _OF_THE_PROBLEM and (not drawn or "." in name)
    ]
    return " ".join([method, *mine])


# -------------------------------------------------------------------- a result


def _result(run_id: str, rows: Sequence[Row], spec: RunSpec, share: float | None, *, oracle: bool) -> Any:
    """What rows say of a run. Facts that they do not have are not there: counts, warnings, the digest of the data."""
    first = rows[0]
    selected = next((row["criterion"] for row in rows if row["criterion_selected"]), first["criterion"])
    criteria = {row["criterion"]: _criterion(row, share) for row in rows}
    seconds, revision = first["seconds"], first.get("revision")  # older files name none
    selection = spec.selection.model_copy(update={"criterion": selected, "criteria": tuple(criteria)})
    fields: dict[str, Any] = {
        "run_id": run_id,
        "code": Code(hash=first["code"], parts={"engine": f"revision {revision}"} if revision else {}, versions={}),
        "spec": spec.model_copy(update={"selection": selection}),
        "oracle": oracle,
        "selected": selected,
        "criteria": criteria,
        "data": _partial(DataFacts, prior=PriorFacts(given=first["prior"]), digest=""),
        "epochs": first["epochs"],
        "seconds": _partial(Seconds, total=seconds, training=seconds),
        "peak_memory": PeakMemory(bytes=first["memory_bytes"], what="as the rows say"),
        "warnings": (),
        "device": "",
        "threads": first["threads"],
        "at_once": first["at_once"],
        "finished_at": "",
    }
    return _partial(Result, **fields)


def _partial(kind: type[Stored], **known: Any) -> Any:
    """An object with these fields only: reading one that the rows do not have is an error, not a made-up value."""
    return kind.model_construct(_names_of(tuple(known)), **known)


@cache
def _names_of(fields: tuple[str, ...]) -> set[str]:
    """The same set for every object, which takes as much memory as the object."""
    return set(fields)


@cache
def _measure(value: float | None) -> Measure:
    return Measure(undefined=_NO_VALUE) if value is None else Measure(value=value)


def _criterion(row: Row, share: float | None) -> CriterionResult:
    oracle = row["criterion_oracle"]
    values = {name.removeprefix("test_"): value for name, value in row.items() if name.startswith("test_")}
    if row["epoch"] is None and all(value is None for value in values.values()):
        return CriterionResult(oracle=oracle, undefined=_NO_VALUE)
    found: CriterionResult = _partial(  # validation would copy the measures
        CriterionResult,
        oracle=oracle,
        value=row.get("criterion_value"),
        epoch=row["epoch"],
        warnings=_alike(row, share),
        measures={"test": {name: _measure(value) for name, value in values.items()}},
    )
    return found


def _alike(row: Row, share: float | None) -> tuple[str, ...]:
    """The engine's warning that every row is decided alike, in short, where the measures say so.

    ``share``: of positives among the test rows. With a recall of 1, accuracy and precision are equal where no negative
    is decided negative; with a recall of 0, accuracy is the share of negatives where nothing is decided positive.
    """
    accuracy, precision, recall = (row.get(f"test_{name}") for name in ("accuracy", "precision", "recall"))
    if accuracy is None or precision is None or recall is None:
        return ()
    if recall == 1 and accuracy < 1 and abs(accuracy - precision) < _ALIKE:
        return (said_alike("test", positive=True),)
    if recall == 0 and share is not None and abs(accuracy - (1 - share)) < _ALIKE:
        return (said_alike("test", positive=False),)
    return ()


def _shares(rows: DataFrame) -> dict[tuple[str, ...], float]:
    """Share of positives among the test rows, by what decides them: the median over rows that have some recall."""
    found: dict[tuple[str, ...], list[float]] = {}
    names = ["test_accuracy", "test_precision", "test_recall"]
    if not {*names} <= {*rows.columns}:
        return {}
    some = rows[(rows["test_recall"] > 0) & (rows["test_precision"] > 0) & (rows["test_accuracy"] < 1)]
    for row in some.to_dict("records"):
        found.setdefault(_test_part(row), []).append(share_of_positives(*(row[name] for name in names)))
    return {part: statistics.median(shares) for part, shares in found.items()}


def share_of_positives(accuracy: float, precision: float, recall: float) -> float:
    """Share of positives that these imply: accuracy = 1 - share (1 - 2 recall + recall / precision), precision > 0."""
    return (1 - accuracy) / (1 - 2 * recall + recall / precision)


def _test_part(row: Mapping[Any, Any]) -> tuple[str, ...]:
    """What decides the share of positives among the test rows: classes and test part are settings of the data."""
    of_data = (one for one in assignments(row["settings"]) if one.startswith("data."))
    return row["data"], row["scheme"], str(row["seed"]), *of_data
