"""Run folders: written aside, renamed when complete, never overwritten.

``<results>/<run-id>/`` is a finished run. ``<results>/.incoming/`` holds what is being written,
``<results>/superseded/`` what a newer record of the same run replaced, ``<results>/failed/`` runs that failed or
were refused.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from ..errors import Hint, RecordError, RequestError
from ..results import RECORD_VERSION, Failure, Result
from .files import FAILURE, RESULT, replace_text, sync, write_json


class OtherFormat(RecordError):
    """A sound record that another version of pubench wrote. ``version``: of its format."""

    def __init__(self, path: Path, version: object) -> None:
        super().__init__(
            f"{path} is a record of format {version}; this version of pubench reads format {RECORD_VERSION}. It is "
            "kept as it is, and its run can be run again"
        )
        self.version = version


@dataclass(frozen=True)
class Record:
    """A finished run on disk."""

    folder: Path
    result: Result


@dataclass(frozen=True)
class Records:
    """``readable``: oldest first; ``unreadable``: why the others are not."""

    readable: tuple[Record, ...]
    unreadable: tuple[RecordError, ...]


def read_record(folder: Path) -> Record:
    """The record in a folder.

    Raises FileNotFoundError if there is none, OtherFormat if another version wrote it, RecordError if it is damaged.
    """
    path = folder / RESULT
    try:
        text = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(path) from None
    except OSError as error:
        raise RecordError(f"{path} cannot be read ({error}); move it away", hint=Hint("run again")) from error
    try:
        return Record(folder, Result.model_validate_json(text))
    except ValidationError:  # the long way finds the words for it
        return Record(folder, _explained(path, text))


def _explained(path: Path, text: bytes) -> Result:
    """The content of a ``result.json``, piece by piece. Raises OtherFormat, or RecordError for what is wrong."""
    again = Hint("run again")
    try:
        plain = json.loads(text)
    except ValueError as error:
        raise RecordError(f"{path} cannot be read ({error}); move it away", hint=again) from error
    if not isinstance(plain, dict) or not isinstance(plain.get("run_id"), str):
        raise RecordError(f"{path} is not the record of a run; move it away", hint=again)
    if plain.get("record_version") != RECORD_VERSION:
        raise OtherFormat(path, plain.get("record_version"))
    try:
        return Result.model_validate(plain)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise RecordError(f"{path} is damaged ({where}: {first['msg']}); move it away", hint=again) from error


class RecordStore:
    """The records under one results folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def check_writable(self) -> None:
        """Raises RequestError before any work is done if records cannot be written here."""
        probe = self.root / ".incoming"
        try:
            probe.mkdir(parents=True, exist_ok=True)
            (probe / f".probe-{os.getpid()}").touch()
            (probe / f".probe-{os.getpid()}").unlink()
        except OSError as error:
            raise RequestError(
                f"cannot write records in {self.root}: {error.strerror}; name another folder (execution.results)",
                field="execution.results",
                value=self.root,
            ) from error

    def folder(self, run_id: str) -> Path:
        """The folder of a finished record."""
        return self.root / run_id

    def locate(self, run: str) -> Path:
        """The folder of a finished record, by run id, by its first digits, or by path.

        Raises RequestError if there is none, or more than one.
        """
        given = Path(run)
        if (given / RESULT).is_file():
            return given
        folders = [p for p in self.root.glob(f"{run}*") if (p / RESULT).is_file()] if re.fullmatch(r"\w+", run) else []
        if len(folders) == 1:
            return folders[0]
        ids = ", ".join(sorted(p.name for p in folders))
        raise RequestError(
            f"several runs start with '{run}': {ids}"
            if folders
            else f"no finished run '{run}' in {self.root}; name another folder (execution.results)",
            field="execution.results",
        )

    def find(self, run_id: str) -> Record | None:
        """The stored record of a run id, whatever its code; None if there is none.

        Raises RecordError if it is damaged, OtherFormat if another version wrote it.
        """
        self._adopt(run_id)
        try:
            found = read_record(self.folder(run_id))
        except FileNotFoundError:
            return None
        if found.result.run_id != run_id:
            path = found.folder / RESULT
            raise RecordError(f"{path} is not the record of run {run_id}; move it away", hint=Hint("run again"))
        return found

    def all(self) -> Records:
        """Every finished record of this folder, and why others cannot be read."""
        folders = [p for p in self.root.iterdir() if (p / RESULT).is_file()] if self.root.is_dir() else []
        readable, unreadable = [], []
        for folder in sorted(folders):
            if folder.name.startswith("."):
                continue
            try:
                readable.append(read_record(folder))
            except RecordError as error:
                unreadable.append(error)
        readable.sort(key=lambda record: record.result.finished_at)
        return Records(tuple(readable), tuple(unreadable))

    def update(self, record: Record, result: Result) -> Record:
        """The record with a result that says more of the same run (measures derived later, another chosen criterion).

        Raises RecordError if it cannot be written; the older one is then still there.
        """
        try:
            replace_text(record.folder / RESULT, result_text(result))
        except OSError as error:
            raise RecordError(f"{record.folder / RESULT} could not be written: {error.strerror or error}") from error
        return Record(record.folder, result)

    @contextmanager
    def write(self, run_id: str) -> Iterator[Path]:
        """A folder to fill; published as the record of ``run_id`` if the block ends well, removed otherwise.

        The block must write :data:`RESULT` last. An earlier record is kept under ``superseded``.
        """
        incoming = self.root / ".incoming"
        self._adopt(run_id)
        self._sweep(run_id)
        folder = incoming / f"{run_id}-{os.getpid()}"
        try:
            folder.mkdir(parents=True)
            try:
                yield folder
                for path in folder.iterdir():
                    sync(path)
                self._publish(run_id, folder)
            except BaseException:  # an interrupt too: nothing half-written stays
                shutil.rmtree(folder, ignore_errors=True)
                raise
        except OSError as error:
            raise RecordError(
                f"the record of run {run_id} could not be written in {self.root}: {error.strerror or error}"
            ) from error

    def write_failure(self, failure: Failure) -> Path:
        """``failed/<run-id>-<n>/failure.json``; its folder."""
        folder = _numbered(self.root / "failed", failure.run_id)
        try:
            folder.mkdir(parents=True)
            write_json(folder / FAILURE, failure.model_dump(mode="json"))
        except OSError as error:
            raise RecordError(
                f"the failure record {folder / FAILURE} could not be written: {error.strerror or error}"
            ) from error
        return folder

    def _publish(self, run_id: str, folder: Path) -> None:
        final = self.folder(run_id)
        if final.exists():
            kept = _numbered(self.root / "superseded", run_id)
            kept.parent.mkdir(parents=True, exist_ok=True)
            final.rename(kept)
            try:
                folder.rename(final)
            except OSError:
                kept.rename(final)
                raise
        else:
            folder.rename(final)
        sync(self.root)

    def _adopt(self, run_id: str) -> None:
        """Publishes a complete folder whose writer died between setting the old record aside and renaming."""
        if not self.folder(run_id).exists():
            for folder in self._incoming(run_id):
                if not _alive(folder) and (folder / RESULT).exists() and _complete(folder):
                    folder.rename(self.folder(run_id))
                    return

    def _sweep(self, run_id: str) -> None:
        """Removes what a killed run of the same spec left behind."""
        for folder in self._incoming(run_id):
            if not _alive(folder) or folder.name == f"{run_id}-{os.getpid()}":
                shutil.rmtree(folder, ignore_errors=True)

    def _incoming(self, run_id: str) -> list[Path]:
        pattern = re.compile(re.escape(run_id) + r"-\d+")
        incoming = self.root / ".incoming"
        return sorted(p for p in incoming.iterdir() if pattern.fullmatch(p.name)) if incoming.is_dir() else []


def result_text(result: Result) -> str:
    """The content of ``result.json``."""
    return json.dumps(result.plain(), indent=2, allow_nan=False) + "\n"


def _complete(folder: Path) -> bool:
    try:
        json.loads((folder / RESULT).read_text(encoding="utf-8"))
    except ValueError:
        return False
    return True


def _alive(folder: Path) -> bool:
    """Whether the process that writes this folder still runs."""
    try:
        os.kill(int(folder.name.rsplit("-", 1)[1]), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _numbered(parent: Path, run_id: str) -> Path:
    taken = [p.name for p in parent.iterdir()] if parent.is_dir() else []
    n = 1
    while f"{run_id}-{n}" in taken:
        n += 1
    return parent / f"{run_id}-{n}"
