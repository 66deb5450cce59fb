"""Run folders: written aside, renamed when complete, never overwritten.

``<results>/<run-id>/`` is a finished run. ``<results>/.incoming/`` holds what is being written,
``<results>/superseded/`` what a newer record of the same spec replaced, ``<results>/failed/`` what went wrong.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import yaml

from .errors import RecordError, RequestError

#: Written last: a folder without it is not a record.
RESULT = "result.json"


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
            raise RequestError(f"cannot write records in {self.root}: {error.strerror} (--results DIR)") from error

    def folder(self, run_id: str) -> Path:
        """Where a finished record lives."""
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
            f"'{run}' is the beginning of several runs: {ids}"
            if folders
            else f"no finished run '{run}' in {self.root} (--results DIR names another folder)"
        )

    def find(self, run_id: str) -> dict[str, Any] | None:
        """The stored result of a run id, whatever its code; None if there is none. Raises RecordError if damaged."""
        self._adopt(run_id)
        path = self.folder(run_id) / RESULT
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            raise RecordError(f"{path} cannot be read ({error}); move it away or run with --force") from error
        if not isinstance(found, dict) or found.get("run_id") != run_id:
            raise RecordError(f"{path} is not the record of run {run_id}; move it away or run with --force")
        return found

    def all(self) -> list[tuple[Path, dict[str, Any]]]:
        """(folder, result) of every finished record, oldest first."""
        folders = [p for p in self.root.iterdir() if (p / RESULT).is_file()] if self.root.is_dir() else []
        found = [(folder, self.find(folder.name)) for folder in folders if not folder.name.startswith(".")]
        records = [(folder, result) for folder, result in found if result is not None]
        return sorted(records, key=lambda record: str(record[1]["finished_at"]))

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
                    _sync(path)
                self._publish(run_id, folder)
            except BaseException:  # an interrupt too: nothing half-written stays
                shutil.rmtree(folder, ignore_errors=True)
                raise
        except OSError as error:
            raise RecordError(
                f"the record of run {run_id} could not be written in {self.root}: {error.strerror or error}"
            ) from error

    def write_failure(self, run_id: str, failure: Mapping[str, Any]) -> Path:
        """``failed/<run-id>-<n>/failure.json``."""
        folder = _numbered(self.root / "failed", run_id)
        path = folder / "failure.json"
        try:
            folder.mkdir(parents=True)
            write_json(path, failure)
        except OSError as error:
            raise RecordError(f"the failure record {path} could not be written: {error.strerror or error}") from error
        return path

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
        _sync(self.root)

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


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Indented JSON without NaN."""
    path.write_text(json.dumps(value, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def write_yaml(path: Path, value: Mapping[str, Any]) -> None:
    """YAML in the given order."""
    path.write_text(yaml.safe_dump(dict(value), sort_keys=False), encoding="utf-8")


def write_rows(target: Path | TextIO, rows: Iterable[Mapping[str, Any]]) -> None:
    """CSV with the union of all columns, in order of appearance; absent values are empty."""
    if isinstance(target, Path):
        with target.open("w", newline="", encoding="utf-8") as file:
            write_rows(file, rows)
        return
    rows = list(rows)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(target, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
