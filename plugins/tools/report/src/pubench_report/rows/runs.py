"""Runs made of rows: what a repository keeps of records that are too large for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pubench.running import RunResult
from pubench_core.engine.identity import ENGINE_REVISION
from pubench_core.engine.layers import Layer
from pubench_core.errors import PluginError, RequestError
from pubench_core.plugins.registry import registry
from pubench_core.results import (
    AT_PRIOR,
    Code,
    CriterionResult,
    DataFacts,
    Measure,
    PeakMemory,
    PriorFacts,
    Result,
    Seconds,
    Stored,
    at_prior_name,
    said_alike,
)
from pubench_core.specs import RunSpec

from .columns import BY_NAME
from .files import read_rows

if TYPE_CHECKING:
    from pandas import DataFrame

    from pubench_core.engine.criteria import Installed
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
#: Values of a hyper-parameter ``threshold`` with which a method itself decides at the prior, if it is given one.
_OWN = frozenset({"auto", "prior", "unlabeled-quantile"})


def each_run(path: Path, notes: list[str]) -> Iterator[tuple[RunResult, list[Row]]]:
    """Each run of a file of rows, or of the folder of a dated board, with its rows. ``notes`` gets what is to be known
    of them. Specs are what the installed plugins make of method, preset and settings.

    Raises RequestError if the file cannot be read, or is none of rows.
    """
    from pubench_core.engine.criteria import Installed  # torch, which records do not need

    frame, installed = read_rows(path), Installed.of(registry())
    frame, by_run = frame.assign(alike=_alike(frame)), frame.groupby("run_id", sort=False).indices
    specs: dict[tuple[Any, ...], tuple[RunSpec, bool, bool]] = {}
    older = other = done = 0
    rows: list[Row] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    for run_id, places in by_run.items():
        mine = [rows[place] for place in places]
        older += mine[0].get("revision") != str(ENGINE_REVISION)
        key = tuple(mine[0].get(name) for name in (*_OF_A_SPEC, "settings"))
        try:
            if key not in specs:  # resolved once for all seeds
                plan = _planned(mine[0], installed)
                specs[key] = plan.spec, "truth" in plan.method.requires, plan.run_id != run_id
        except (RequestError, PluginError) as error:
            notes.append(f"{path.name}: run {run_id} is left out: {error}")
            continue
        spec, oracle, is_other = specs[key]
        done, other = done + 1, other + is_other
        spec = spec.model_copy(update={"seed": mine[0]["seed"]})
        result = _result(str(run_id), mine, spec, oracle=oracle)
        yield RunResult(result, path, reused=True), mine
    notes.append(WHOLE_RUNS)
    if n := len({row["run_id"] for row in rows if row.get("threshold_from") == "test"}):
        notes.append(f"{path.name}: {n} runs are decided at the prior by the quantile of their test scores, not of U")
    if older:
        notes.append(
            f"{path.name}: {older} of {len(by_run)} runs are of another engine revision than {ENGINE_REVISION}, or of "
            "an unknown one"
        )
    if other:
        notes.append(
            f"{path.name}: what is installed reads {other} of {len(by_run)} runs under another id; the commands shown "
            "for them are of the installed version"
        )
    if not done:
        raise RequestError(f"{path} holds no row of a method and data set that are installed")


def _planned(row: Row, installed: Installed) -> Plan:
    """The run that the installed plugins make of a row. Raises RequestError, PluginError."""
    from pubench_cli.yaml_layers import assigned
    from pubench_core.engine.resolve import resolve

    layer = Layer()
    for name in (*_OF_A_SPEC, "seed"):
        if row.get(name) not in (None, ""):
            field = BY_NAME[name].source.removeprefix("spec.")
            layer.put(field.split("."), row[name], f"{field}={row[name]}")
    return resolve([layer, assigned(*assignments(row["settings"]))], registry(), installed=installed)


def _set(settings: str) -> Iterator[tuple[str, str]]:
    """(name, value) of what a row's ``settings`` say."""
    _, *parts = _NAME.split(settings)
    return zip(parts[::2], parts[1::2], strict=True)


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


def _result(run_id: str, rows: Sequence[Row], spec: RunSpec, *, oracle: bool) -> Any:
    """What rows say of a run. Facts that they do not have are not there: counts, warnings, the digest of the data."""
    first = rows[0]
    selected = next((row["criterion"] for row in rows if row["criterion_selected"]), first["criterion"])
    own = first["prior"] is not None and spec.method.config.get("threshold") in _OWN
    criteria = {row["criterion"]: _criterion(row, own=own) for row in rows}
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


def _criterion(row: Row, *, own: bool) -> CriterionResult:
    oracle = row["criterion_oracle"]
    values = {name.removeprefix("test_"): value for name, value in row.items() if name.startswith("test_")}
    values = {name: value for name, value in values.items() if value is not None or not name.endswith(AT_PRIOR)}
    values = {at_prior_name(name): values[name] for name in ("accuracy", "f1") if own and name in values} | values
    if row["epoch"] is None and all(value is None for value in values.values()):
        return CriterionResult(oracle=oracle, undefined=_NO_VALUE)
    found: CriterionResult = _partial(  # validation would copy the measures
        CriterionResult,
        oracle=oracle,
        value=row.get("criterion_value"),
        epoch=row["epoch"],
        warnings=(said_alike("test", positive=row["test_recall"] == 1),) if row["alike"] else (),
        measures={"test": {name: _measure(value) for name, value in values.items()}},
    )
    return found


def _alike(rows: DataFrame) -> Any:
    """Whether all test rows are decided alike, for each row: as a board says, else as the measures imply.

    With a recall of 1, accuracy and precision are equal if no negative is decided negative; with a recall of 0,
    accuracy is the share of negatives if nothing is decided positive. Classes and test part are settings of the data;
    the share of positives in it is the median over rows that have some recall.
    """
    names = ["test_accuracy", "test_precision", "test_recall"]
    if "alike" in rows or not {*names} <= {*rows.columns}:
        return rows.get("alike", False)
    accuracy, precision, recall = (rows[name] for name in names)
    implied = share_of_positives(accuracy, precision, recall)
    implied = implied.where((recall > 0) & (precision > 0) & (accuracy < 1))
    part = rows["settings"].map(lambda text: " ".join(one for one in assignments(text) if one.startswith("data.")))
    share = implied.groupby([rows["data"], rows["scheme"], rows["seed"], part]).transform("median")
    positive = (recall == 1) & (accuracy < 1) & ((accuracy - precision).abs() < _ALIKE)
    return positive | ((recall == 0) & precision.notna() & ((accuracy + share - 1).abs() < _ALIKE))


def share_of_positives(accuracy: Any, precision: Any, recall: Any) -> Any:
    """Share of positives that these imply, as numbers or columns; precision > 0.

    accuracy = 1 - share (1 - 2 recall + recall / precision).
    """
    return (1 - accuracy) / (1 - 2 * recall + recall / precision)
