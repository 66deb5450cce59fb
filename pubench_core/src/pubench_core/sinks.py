"""Sinks: places that get copies of finished runs. The folder of records is the truth; a sink is sent what it lacks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import PluginError
from .plugins.events import RunFinished
from .plugins.info import SinkInfo
from .plugins.registry import load, registry
from .records.record import Record, read_record
from .specs import ExecutionSpec


class SinkError(PluginError):
    """A sink does not take a record."""


class SinkUnavailable(SinkError):
    """A sink cannot be reached or opened: it takes no record at all."""


class Sink(ABC):
    """A place that gets copies of finished runs.

    ``where``: its address for people, without a password. Subclasses take the folder of records and the address of the
    request, None if it names none.
    """

    where: str

    @abstractmethod
    def __init__(self, results: Path, address: str | None) -> None:
        """Sets ``where``. Opens nothing."""

    @abstractmethod
    def has(self, record: Record) -> bool:
        """Whether the record is there and complete. Raises SinkUnavailable."""

    @abstractmethod
    def send(self, record: Record) -> None:
        """Sends a record. One that is there already stays as it is.

        Raises RecordError if a file of the record cannot be read, SinkUnavailable if the sink takes nothing, SinkError
        if it does not take this record.
        """


def open_sink(key: str, results: Path, address: str | None = None) -> Sink:
    """The sink of a plugin. Raises RequestError if none has this key, PluginError if it is broken."""
    made: Sink = load(registry().find(SinkInfo, key))(results, address)
    return made


def chosen_sinks(execution: ExecutionSpec) -> Mapping[str, str | None]:
    """Key -> address of the sinks that get a run: those of the request, and the automatic ones.

    Raises RequestError for a sink that is not installed, PluginError for a broken one.
    """
    named = {registry().find(SinkInfo, key).key: address for key, address in execution.sinks.items()}
    automatic = [info.key for info in registry().infos(SinkInfo) if info.automatic]
    return dict.fromkeys(automatic, execution.tracking_uri) | named


def listeners_of(execution: ExecutionSpec) -> list[Any]:
    """Listeners of a run: those of plugins, and one for each sink. None if ``execution.tracking`` is false.

    Raises as :func:`chosen_sinks`, before anything is trained.
    """
    if not execution.tracking:
        return []
    return [*registry().listeners, *(_Sender(key, address) for key, address in chosen_sinks(execution).items())]


class _Sender:
    """A listener that sends a finished run to one sink, whose package is imported then."""

    def __init__(self, key: str, address: str | None) -> None:
        self.__name__ = f"of sink {key}"
        self._key, self._address = key, address  # a record holds no password

    def pubench_run_finished(self, event: RunFinished) -> None:
        if event.status == "finished":
            open_sink(self._key, event.record.parent, self._address).send(read_record(event.record))
