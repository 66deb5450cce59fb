"""Sending records to MLflow, each exactly once.

Everything is read from the record folder, so that a run tracked when it finished and one tracked later are the same.
An MLflow run counts as sent when it is FINISHED and carries the record's tags; one that is not FINISHED was cut off and
is replaced.
"""

from __future__ import annotations

import csv
import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

# Read by mlflow when it is imported: a server that does not answer must not hold up a run for minutes, and a run is
# nobody else's business.
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

from mlflow.entities import Metric, Param, Run, RunTag
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from pubench_core.errors import RecordError
from pubench_core.records.files import ENVIRONMENT, TRACE
from pubench_core.records.store import Record, RecordStore, read_record
from pubench_core.results import Environment, Result

#: What MLflow takes in one call.
METRICS_PER_CALL = 1000
PARAMS_PER_CALL = 100
RECORD_TAG = "pubench.record"
#: Makes MLflow's page open on the table of runs; without it, it opens on traces of language models.
EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}


@dataclass(frozen=True)
class Sent:
    """What :func:`track` did with the records of a folder. ``unreadable``: why the others were left out."""

    sent: int
    already_there: int
    unreadable: tuple[RecordError, ...] = ()


def tracking_uri(results: Path, given: str | None) -> str:
    """``given``, else MLFLOW_TRACKING_URI, else the sqlite file ``<results>/mlflow.db``."""
    return given or os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{results.resolve() / 'mlflow.db'}"


def send_record(folder: Path, uri: str | None = None) -> bool:
    """Sends one record; False if it was there already. Raises what mlflow raises if it cannot be sent."""
    record = read_record(folder)
    client = _client(tracking_uri(folder.parent, uri or record.result.spec.execution.tracking_uri))
    return _send(client, record)


def track(results: Path, uri: str | None = None) -> Sent:
    """Sends every record of a results folder that is not there yet; one that cannot be read is left out."""
    records = RecordStore(results).all()
    if not records.readable:
        return Sent(0, 0, records.unreadable)
    client = _client(tracking_uri(results, uri))
    done = [_send(client, record) for record in records.readable]
    return Sent(sum(done), len(done) - sum(done), records.unreadable)


def _client(uri: str) -> MlflowClient:
    for name in ("alembic", "mlflow.store.db.utils", "mlflow.tracking"):
        logging.getLogger(name).setLevel(logging.ERROR)  # migrations of a new database are not news
    return MlflowClient(tracking_uri=uri)


def _send(client: MlflowClient, record: Record) -> bool:
    result = record.result
    experiment = _experiment(client, f"pubench/{result.spec.data.key}", record.folder.parent)
    identity = f"{result.run_id}/{result.code.hash}/{result.finished_at}"
    for run in client.search_runs([experiment], f"tags.`{RECORD_TAG}` = '{identity}'"):
        if run.info.status == "FINISHED":
            return False
        client.delete_run(run.info.run_id)
    ended = round(datetime.fromisoformat(result.finished_at).timestamp() * 1000)
    started = ended - round(result.seconds.total * 1000)
    run = client.create_run(experiment, start_time=started, run_name=_name(result), tags={RECORD_TAG: identity})
    _fill(client, run, record)
    client.set_terminated(run.info.run_id, "FINISHED", end_time=ended)
    return True


def _experiment(client: MlflowClient, name: str, results: Path) -> str:
    found = client.get_experiment_by_name(name)
    if found is not None:
        return str(found.experiment_id)
    local = str(client.tracking_uri).startswith("sqlite:")
    location = (results.resolve() / "mlflow-artifacts").as_uri() if local else None
    try:
        return str(client.create_experiment(name, artifact_location=location, tags=EXPERIMENT_TAGS))
    except MlflowException:
        found = client.get_experiment_by_name(name)  # another process created it in between
        if found is None:
            raise
        return str(found.experiment_id)


def _fill(client: MlflowClient, run: Run, record: Record) -> None:
    spec = record.result.spec.model_dump(mode="json", exclude={"execution"})
    params = [Param(name, text[:6000]) for name, text in _flat(spec)]
    for chunk in _chunks(params, PARAMS_PER_CALL):
        client.log_batch(run.info.run_id, params=chunk)
    for batch in _chunks(list(_metrics(record, run.info.start_time)), METRICS_PER_CALL):
        client.log_batch(run.info.run_id, metrics=batch)
    tags = [RunTag(name, text) for name, text in _tags(record)]
    client.log_batch(run.info.run_id, tags=tags)
    client.log_artifacts(run.info.run_id, str(record.folder))


def _metrics(record: Record, timestamp: int) -> Iterator[Metric]:
    result = record.result
    for name, value in result.test.items():
        if value is not None:
            yield Metric(f"test/{name}", value, timestamp, 0)
    for key, criterion in result.criteria.items():
        for part, measures in criterion.measures.items():
            for name, measure in measures.items():
                if measure.value is not None:
                    yield Metric(f"by-{key}/{part}-{name}", measure.value, timestamp, criterion.epoch or 0)
    for name, seconds in result.seconds.model_dump().items():
        yield Metric(f"seconds/{name}", seconds, timestamp, 0)
    yield Metric("peak_memory_bytes", result.peak_memory.bytes, timestamp, 0)
    trace = record.folder / TRACE
    if trace.exists():
        with trace.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                for name, text in row.items():
                    if name not in ("stage", "epoch", "in_stage") and text:
                        yield Metric(f"epoch/{name}", float(text), timestamp, int(row["epoch"]))


def _tags(record: Record) -> Iterator[tuple[str, str]]:
    result = record.result
    environment = Environment.model_validate_json((record.folder / ENVIRONMENT).read_text(encoding="utf-8"))
    yield "pubench.run_id", result.run_id
    yield "pubench.code", result.code.hash
    yield "pubench.method", result.spec.method.key
    yield "pubench.selected", result.selected
    yield "pubench.oracle", str(result.oracle).lower()
    for name, version in environment.packages.items():
        yield f"version.{name}", version
    if environment.git_commit is not None:
        yield "mlflow.source.git.commit", environment.git_commit


def _name(result: Result) -> str:
    spec = result.spec
    c = "" if spec.mechanism.c is None else f" c={spec.mechanism.c:g}"
    return f"{spec.method.key} {spec.mechanism.key}{c} seed={spec.seed}"


def _flat(value: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(inner, f"{prefix}.{name}" if prefix else str(name))
    else:
        yield prefix, json.dumps(value) if isinstance(value, list) else str(value)


def _chunks(items: list[Any], size: int) -> Iterable[list[Any]]:
    return (items[i : i + size] for i in range(0, len(items), size))
