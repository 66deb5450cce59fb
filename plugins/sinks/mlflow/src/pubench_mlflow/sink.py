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

from pubench_core.errors import PluginError, PubenchError, RecordError, said_by
from pubench_core.records.files import ENVIRONMENT, TRACE
from pubench_core.records.record import Record, read_record
from pubench_core.records.store import RecordStore
from pubench_core.results import Environment, Result
from pubench_core.specs.secrets import without_password

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


@dataclass(frozen=True)
class Sent:
    """What :func:`track` did with the records of a folder. ``left_out``: why the others were left out."""

    sent: int
    already_there: int
    left_out: tuple[PubenchError, ...] = ()


class TrackerError(PluginError):
    """A tracker refuses what it is sent."""


class NoTracker(TrackerError):
    """A tracker cannot be reached or opened."""


def send_record(folder: Path, uri: str | None = None) -> bool:
    """Sends one record; False if it was there already.

    Raises RecordError if it cannot be read, TrackerError if it cannot be sent, NoTracker if nothing can.
    """
    record = read_record(folder)
    return _Tracker(tracking_uri(folder.parent, uri)).send(record)


def track(results: Path, uri: str | None = None) -> Sent:
    """Sends every record of a results folder that is not there yet; one that cannot be read or sent is left out.

    Raises NoTracker if the tracker cannot be opened, or does not answer any more.
    """
    records = RecordStore(results).all()
    if not records.readable:
        return Sent(0, 0, records.unreadable)
    tracker, done, left_out = _Tracker(tracking_uri(results, uri)), [], list[PubenchError](records.unreadable)
    for record in records.readable:
        try:
            done.append(tracker.send(record))
        except RecordError as error:
            left_out.append(error)
        except NoTracker:
            raise
        except TrackerError as error:
            with tracker.opened():  # if it answers, the record is to blame
                left_out.append(error)
    return Sent(sum(done), len(done) - sum(done), tuple(left_out))


# -------------------------------------------------------------------- the tracker


class _Tracker:
    """A server, a database, or a file that one process at a time creates and writes to."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._file = file_of(uri)

    def send(self, record: Record) -> bool:
        """Sends one record; False if it was there already."""
        content = _Content.of(record)
        with self.opened() as client:
            try:
                return _send(client, record, content)
            except _ERRORS as error:
                raise TrackerError(self._said("did not take the record", error)) from None

    @contextmanager
    def opened(self) -> Iterator[MlflowClient]:
        """A client; a file is created and written to by one process at a time. Raises NoTracker."""
        with ExitStack() as turn:
            try:
                if self._file is not None:
                    turn.enter_context(_turn(self._file))
                client = self._client()
            except _ERRORS as error:
                raise NoTracker(self._said("cannot be opened", error)) from None
            yield client

    def _said(self, what: str, error: Exception) -> str:
        """One line that names the tracker and no password."""
        reason = without_password(said_by(error)).split(" [SQL")[0]
        return f"{without_password(self.uri)} {what} ({reason}); 'pubench track' sends it later"

    def _client(self) -> MlflowClient:
        """A client whose tracker has answered. Databases that do not are tried for 107 s by mlflow, elsewhere."""
        if self._file is not None:
            return _client(self.uri)
        found: list[MlflowClient | BaseException] = []

        def reach() -> None:
            try:
                client = _client(self.uri)
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
    """What is sent of a record beside its files, read before anything is sent."""

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


def _send(client: MlflowClient, record: Record, content: _Content) -> bool:
    result = record.result
    experiment = _experiment(client, f"pubench/{result.spec.data.key}", record.folder.parent)
    identity = f"{result.run_id}/{result.code.hash}/{result.finished_at}"
    for run in client.search_runs([experiment], f"tags.`{RECORD_TAG}` = '{identity}'"):
        if run.info.status == "FINISHED":
            return False
        client.delete_run(run.info.run_id)
    run = client.create_run(experiment, start_time=content.started, run_name=_name(result), tags={RECORD_TAG: identity})
    _fill(client, run, record, content)
    client.set_terminated(run.info.run_id, "FINISHED", end_time=content.ended)
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


def _fill(client: MlflowClient, run: Run, record: Record, content: _Content) -> None:
    for chunk in _chunks(content.params, PARAMS_PER_CALL):
        client.log_batch(run.info.run_id, params=chunk)
    for batch in _chunks(content.metrics, METRICS_PER_CALL):
        client.log_batch(run.info.run_id, metrics=batch)
    client.log_batch(run.info.run_id, tags=content.tags)
    client.log_artifacts(run.info.run_id, str(record.folder))


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
