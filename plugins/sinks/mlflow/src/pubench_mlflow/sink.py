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
import secrets
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # a run is nobody else's business; read at the import

import filelock
from mlflow.entities import Metric, Param, Run, RunTag
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient
from sqlalchemy.exc import SQLAlchemyError

from pubench_core.errors import RecordError, said_by, without_password
from pubench_core.records.files import ENVIRONMENT, TRACE
from pubench_core.records.record import Record
from pubench_core.results import Environment, Result
from pubench_core.sinks import Sink, SinkError, SinkUnavailable

from .address import file_of, tracking_uri

#: Seconds to wait for a server or a database to answer at all, for others who send to the same file, and for a
#: database file that somebody has locked.
OPENING, TAKING_TURNS, LOCKED = 10.0, 120.0, 5.0
#: A server that does not answer must not hold up a run for minutes. Read by mlflow whenever it waits.
_LIMITS = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_TIMEOUT": "10"}
#: What mlflow and what it stands on raise.
_ERRORS = (MlflowException, SQLAlchemyError, sqlite3.Error, OSError, ImportError, ValueError)
#: What MLflow takes in one call.
METRICS_PER_CALL = 1000
PARAMS_PER_CALL = 100
RECORD_TAG = "pubench.record"
#: Makes MLflow's page open on the table of runs; without it, it opens on traces of language models.
EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}


# -------------------------------------------------------------------- the tracker


class MlflowSink(Sink):
    """A server, a database, or a file that one process at a time creates and writes to."""

    def __init__(self, results: Path, address: str | None) -> None:
        self._uri = tracking_uri(results, address)
        self._file = file_of(self._uri)
        self.where = without_password(self._uri)

    def has(self, record: Record) -> bool:
        with self._opened() as client:
            try:
                experiment = client.get_experiment_by_name(_experiment_name(record.result))
                return experiment is not None and any(map(_sent, _runs(client, experiment.experiment_id, record)))
            except _ERRORS as error:
                raise SinkUnavailable(self._said("does not answer", error)) from None

    def send(self, record: Record) -> None:
        content = _Content.of(record)
        with self._opened() as client:
            try:
                _send(client, record, content)
                return
            except _ERRORS as error:
                refused = SinkError(self._said("did not take the record", error))
        with self._opened():  # if it answers, the record is to blame
            raise refused

    @contextmanager
    def _opened(self) -> Iterator[MlflowClient]:
        """A client; a file is created and written to by one process at a time. Raises SinkUnavailable."""
        with ExitStack() as turn:
            try:
                if self._file is not None:
                    turn.enter_context(_turn(self._file))
                client = self._client()
            except _ERRORS as error:
                raise SinkUnavailable(self._said("cannot be opened", error)) from None
            yield client

    def _said(self, what: str, error: Exception) -> str:
        """One line that names the tracker and no password."""
        reason = without_password(said_by(error)).split(" [SQL")[0]
        return f"{self.where} {what} ({reason}); 'pubench track' sends it later"

    def _client(self) -> MlflowClient:
        """A client whose tracker has answered. Databases that do not are tried for 107 s by mlflow, elsewhere."""
        if self._file is not None:
            return _client(self._uri)
        found: list[MlflowClient | BaseException] = []

        def reach() -> None:
            try:
                client = _client(self._uri)
                client.search_experiments(max_results=1)
                found.append(client)
            except BaseException as error:  # noqa: BLE001 (raised where it is waited for)
                found.append(error)

        thread = threading.Thread(target=reach, daemon=True)
        thread.start()
        thread.join(OPENING)
        if not found:
            raise TimeoutError(f"no answer within {OPENING:g} s")
        if isinstance(found[0], BaseException):
            raise found[0]
        return found[0]


@contextmanager
def _turn(file: Path) -> Iterator[None]:
    """The only process that uses this database of mlflow's, which is there and whole."""
    if not file.parent.is_dir():
        raise NotADirectoryError(f"there is no folder {file.parent}")
    with filelock.FileLock(file.with_name(f".{file.name}.lock"), timeout=TAKING_TURNS, mode=0o666):
        _create_or_check(file)
        yield


def _create_or_check(file: Path) -> None:
    """Makes mlflow's database aside and renames it when complete; raises sqlite3.Error if what is there is none.

    Its lock is held. One that was half made, by two processes or by one that was killed, is ruined for good.
    """
    if file.exists() and file.stat().st_size:
        with sqlite3.connect(file, timeout=LOCKED, isolation_level=None) as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute("ROLLBACK")
        database.close()
        return
    for stale in file.parent.glob(f".{file.name}.*.new*"):
        stale.unlink()
    # A name that was never used: mlflow remembers for the life of a process that an address has its tables.
    aside = file.with_name(f".{file.name}.{secrets.token_hex(4)}.new")
    _client(f"sqlite:///{aside}").search_experiments(max_results=1)
    aside.replace(file)


def _client(uri: str) -> MlflowClient:
    for name, value in _LIMITS.items():
        os.environ.setdefault(name, value)
    for name in ("alembic", "mlflow.store.db.utils", "mlflow.tracking"):
        logging.getLogger(name).setLevel(logging.ERROR)  # migrations of a new database are not news
    return MlflowClient(tracking_uri=uri)


# -------------------------------------------------------------------- one record


@dataclass(frozen=True)
class _Content:
    """What is sent of a record besides its files, read before anything is sent."""

    params: list[Param]
    metrics: list[Metric]
    tags: list[RunTag]
    started: int
    ended: int

    @classmethod
    def of(cls, record: Record) -> _Content:
        """Raises RecordError if a file of the record cannot be read."""
        result = record.result
        try:
            ended = round(datetime.fromisoformat(result.finished_at).timestamp() * 1000)
            started = ended - round(result.seconds.total * 1000)
            spec = result.spec.model_dump(mode="json", exclude={"execution"})
            return cls(
                params=[Param(name, text[:6000]) for name, text in _flat(spec)],
                metrics=list(_metrics(record, started)),
                tags=[RunTag(name, text) for name, text in _tags(record)],
                started=started,
                ended=ended,
            )
        except (OSError, ValueError, KeyError, csv.Error) as error:
            raise RecordError(f"{record.folder} is damaged ({said_by(error)}); move it away") from error


def _send(client: MlflowClient, record: Record, content: _Content) -> None:
    """Nothing if the record is there; one that was cut off is replaced."""
    result = record.result
    experiment = _experiment(client, _experiment_name(result), record.folder.parent)
    for run in _runs(client, experiment, record):
        if _sent(run):
            return
        client.delete_run(run.info.run_id)
    tags = {RECORD_TAG: _identity(result)}
    run = client.create_run(experiment, start_time=content.started, run_name=_name(result), tags=tags)
    for params in _chunks(content.params, PARAMS_PER_CALL):
        client.log_batch(run.info.run_id, params=params)
    for metrics in _chunks(content.metrics, METRICS_PER_CALL):
        client.log_batch(run.info.run_id, metrics=metrics)
    client.log_batch(run.info.run_id, tags=content.tags)
    client.log_artifacts(run.info.run_id, str(record.folder))
    client.set_terminated(run.info.run_id, "FINISHED", end_time=content.ended)


def _identity(result: Result) -> str:
    return f"{result.run_id}/{result.code.hash}/{result.finished_at}"


def _runs(client: MlflowClient, experiment: str, record: Record) -> list[Run]:
    """Every MLflow run of a record, cut off or complete."""
    return list(client.search_runs([experiment], f"tags.`{RECORD_TAG}` = '{_identity(record.result)}'"))


def _sent(run: Run) -> bool:
    return bool(run.info.status == "FINISHED")


def _experiment_name(result: Result) -> str:
    return f"pubench/{result.spec.data.key}"


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


def _metrics(record: Record, timestamp: int) -> Iterator[Metric]:
    result = record.result
    for name, value in result.test.items():
        if value is not None:
            yield Metric(f"test/{name}", value, timestamp, 0)
    for key, criterion in result.criteria.items():
        for part in criterion.measures:
            for name, measure in criterion.measured(part).items():
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
    amount = spec.mechanism.amount_in_words.replace(" = ", "=")
    return f"{' '.join(filter(None, (spec.method.key, spec.mechanism.key, amount)))} seed={spec.seed}"


def _flat(value: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(inner, f"{prefix}.{name}" if prefix else str(name))
    else:
        yield prefix, json.dumps(value) if isinstance(value, list) else str(value)


def _chunks(items: list[Any], size: int) -> Iterable[list[Any]]:
    return (items[i : i + size] for i in range(0, len(items), size))
