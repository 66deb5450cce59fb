"""Appending records to a file, each exactly once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from pubench_core.records.files import RESULT
from pubench_core.records.record import Record
from pubench_core.sinks import Sink, SinkUnavailable

#: Seconds to wait for other processes that write to the file.
TURN = 60.0


class JsonLines(Sink):
    """A file of one JSON object per record, in the order in which they were sent."""

    def __init__(self, results: Path, address: str | None) -> None:
        self._path = Path(address) if address is not None else results / "records.jsonl"
        self.where = str(self._path)

    def has(self, record: Record) -> bool:
        with self._turn():
            return self._holds(record)

    def send(self, record: Record) -> None:
        line = json.dumps(json.loads((record.folder / RESULT).read_text(encoding="utf-8")))
        with self._turn():
            if not self._holds(record):
                with self._path.open("a+b") as file:
                    file.write(self._end_of_line() + line.encode() + b"\n")

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """The only process that uses the file. Raises SinkUnavailable if it cannot be used."""
        try:
            with FileLock(self._path.with_name(f".{self._path.name}.lock"), timeout=TURN, mode=0o666):
                yield
        except (OSError, Timeout) as error:
            raise SinkUnavailable(f"{self.where} cannot be written: {error}; 'pubench track' sends it later") from None

    def _holds(self, record: Record) -> bool:
        if not self._path.exists():
            return False
        wanted = _identity(record.result.model_dump(mode="json"))
        with self._path.open(encoding="utf-8") as file:
            return any(_identity(found) == wanted for found in map(_parsed, file) if found)

    def _end_of_line(self) -> bytes:
        """What a line that was cut off lacks."""
        if not self._path.exists() or not self._path.stat().st_size:
            return b""
        with self._path.open("rb") as file:
            file.seek(-1, 2)
            return b"" if file.read(1) == b"\n" else b"\n"


def _parsed(line: str) -> dict[str, Any]:
    """Empty if the line was cut off."""
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _identity(result: dict[str, Any]) -> tuple[Any, ...]:
    """A run carried out again, or by other code, is another record."""
    return result.get("run_id"), result.get("code", {}).get("hash"), result.get("finished_at")
