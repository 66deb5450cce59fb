"""Records as one frame: a row per run, criterion and measure. Made from the run folders at any time, without torch."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pubench_core.errors import RecordError
from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import Registry
from pubench_core.records.files import RESULT
from pubench_core.records.record import Record
from pubench_core.records.store import RecordStore
from pubench_core.results import Result
from pubench_core.specs import RunSpec
from pubench_core.specs.fields import short_hash

from .measure_names import metric_and_rule

if TYPE_CHECKING:
    from pandas import DataFrame

#: The frame of all records of a folder.
FRAME = "results.parquet"
#: Raised when a column changes its meaning or goes.
FRAME_VERSION = 1
#: Columns and their types.
COLUMNS: Mapping[str, str] = {
    "run_id": "string", "method": "string", "data": "string", "mechanism": "string", "variant": "string",
    "c": "float64", "positive_rate": "float64", "scheme": "string",
    "prior": "float64", "prior_from": "string", "prior_true": "float64",
    "seed": "int64", "preset": "string", "calibrate": "string", "backbone": "string", "config": "string",
    "validation_fraction": "float64", "oracle": "bool", "criterion": "string", "criterion_selected": "bool",
    "criterion_oracle": "bool", "criterion_value": "float64", "epoch": "Int64", "threshold": "float64",
    "epochs": "int64", "part": "string",
    "measure": "string", "tag": "string", "value": "float64", "low": "float64", "high": "float64",
    "undefined": "string", "seconds": "float64", "seconds_training": "float64", "memory_bytes": "int64",
    "memory_of": "string", "at_once": "Int64", "device": "string", "threads": "int64", "code": "string",
    "versions": "string", "warnings": "string", "finished_at": "string",
}  # fmt: skip


def frame_of(results: Iterable[Result], registry: Registry) -> DataFrame:
    """A row per run, criterion, part and measure; a criterion without a value has one row that says why.

    ``prior``: what the method was given; ``prior_from``: how that came about. ``config``: hyper-parameters as JSON.
    ``threshold``: of the decision at the prior, by which measures are that are named ``METRIC-at-prior``.
    ``tag``: ``oracle`` if the measure reads true labels, ``pu`` if not, empty where it is not installed. ``value``: as
    the metric gives it, ``low`` and ``high`` the ends of its interval, NaN if there is none; ``undefined``: why
    there is no value. ``at_once``: how many runs of studies in this folder shared the machine, at most; absent where
    not known.
    """
    import pandas

    tags = {info.key: "oracle" if "truth" in info.needs else "pu" for info in registry.infos(MetricInfo)}
    rows = [row for result in results for row in _rows(result, tags)]
    return pandas.DataFrame(rows, columns=list(COLUMNS)).astype(dict(COLUMNS))


def _rows(result: Result, tags: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    facts = _facts(result)
    for name, criterion in result.criteria.items():
        chosen = {
            "criterion": name,
            "criterion_selected": name == result.selected,
            "criterion_oracle": criterion.oracle,
            "criterion_value": criterion.value,
            "epoch": criterion.epoch,
            "threshold": criterion.threshold,
            "warnings": "; ".join((*result.warnings, *criterion.warnings)),
        }
        if criterion.undefined:
            yield {**facts, **chosen, "undefined": criterion.undefined, "part": "", "measure": "", "tag": ""}
        for part in criterion.measures:
            for measure, found in criterion.measured(part).items():
                tag, (low, high) = tags.get(metric_and_rule(measure)[0], ""), found.interval or (None, None)
                measured = {"value": found.value, "low": low, "high": high, "undefined": found.undefined}
                yield {**facts, **chosen, "part": part, "measure": measure, "tag": tag, **measured}


def facts_of(spec: RunSpec) -> dict[str, Any]:
    """Facts of a run that are known before it is carried out."""
    return {
        "method": spec.method.key,
        "data": spec.data.key,
        "mechanism": spec.mechanism.key,
        "variant": spec.mechanism.variant,
        "c": spec.mechanism.c,
        "positive_rate": spec.mechanism.positive_rate,
        "scheme": spec.data.scheme,
        "prior_from": str(spec.prior),
        "seed": spec.seed,
        "preset": spec.method.preset,
        "calibrate": spec.method.calibrate,
        "backbone": spec.backbone.key,
        "validation_fraction": spec.validation.fraction,
    }


def _facts(result: Result) -> dict[str, Any]:
    """What is the same for all measures of a run."""
    spec = result.spec
    return {
        "run_id": result.run_id,
        **facts_of(spec),
        "preset": spec.method.preset or "",
        "prior": result.data.prior.given,
        "prior_true": result.data.prior.true,
        "config": json.dumps(spec.method.config, sort_keys=True),
        "oracle": result.oracle,
        "epochs": result.epochs,
        "seconds": result.seconds.total,
        "seconds_training": result.seconds.training,
        "memory_bytes": result.peak_memory.bytes,
        "memory_of": result.peak_memory.what,
        "at_once": result.at_once,
        "device": result.device,
        "threads": result.threads,
        "code": result.code.hash,
        "versions": json.dumps(result.code.versions, sort_keys=True),
        "finished_at": result.finished_at,
    }


# -------------------------------------------------------------------- the file


def write_frame(results: Path, registry: Registry) -> tuple[Path, tuple[RecordError, ...]]:
    """Brings ``results.parquet`` of a folder of records up to date; its path, and which records cannot be read.

    Nothing is done where it has just these records already. Raises RecordError if it cannot be written, or the folder
    not be read.
    """
    path = results / FRAME
    try:
        folders = [Path(entry) for entry in os.scandir(results)]
    except OSError as error:
        raise RecordError(f"the folder of records {results} cannot be read: {error.strerror or error}") from error
    if _stamp_in(path) == _stamp(folders):
        return path, ()
    records = RecordStore(results).all()
    content = frame_bytes(records.readable, registry)
    aside = path.with_name(f".{FRAME}-{os.getpid()}")
    try:
        aside.write_bytes(content)
        aside.replace(path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        reason = error.strerror or error
        raise RecordError(f"{path} could not be written: {reason}; the records stay as they are") from error
    return path, records.unreadable


def frame_bytes(records: Sequence[Record], registry: Registry) -> bytes:
    """The content of a ``results.parquet``, which says what records it was made of."""
    import pyarrow
    import pyarrow.parquet

    stamp = _stamp(record.folder for record in records)
    results = sorted((record.result for record in records), key=lambda result: result.run_id)  # whenever made
    table = pyarrow.Table.from_pandas(frame_of(results, registry), preserve_index=False)
    noted = {**(table.schema.metadata or {}), b"pubench": json.dumps({"version": FRAME_VERSION, "of": stamp}).encode()}
    stream = io.BytesIO()
    pyarrow.parquet.write_table(table.replace_schema_metadata(noted), stream, compression="zstd")
    return stream.getvalue()


def _stamp(folders: Iterable[Path]) -> str:
    """Of the results in these folders: another one whenever a record comes, goes or changes, and no other for a copy
    of them all."""
    found = []
    for folder in folders:
        try:
            with (folder / RESULT).open("rb") as stream:
                found.append([folder.name, hashlib.file_digest(stream, "sha256").hexdigest()])
        except OSError:  # no record
            continue
    return short_hash(sorted(found))


def _stamp_in(path: Path) -> str:
    import pyarrow
    import pyarrow.parquet

    try:
        noted = (pyarrow.parquet.read_schema(path).metadata or {}).get(b"pubench", b"{}")
        found = json.loads(noted)
    except (OSError, ValueError, pyarrow.ArrowException):  # not there, or not ours: it is written again
        return ""
    return str(found.get("of", "")) if found.get("version") == FRAME_VERSION else ""
