"""Run folders: written aside, renamed when complete, never overwritten, and never deleted once complete.

``<results>/<run-id>/`` is a finished run. ``<results>/.incoming/`` holds what is being worked on and written,
``<results>/superseded/`` what a newer record of the same run replaced, ``<results>/failed/`` runs that failed or
were refused.

Everything in ``.incoming`` has an owner, who holds the lock beside it for as long as he lives: a process number says
nothing on another host or in another container. Folders are made, put in place and cleared under one more lock, the
store's, which nobody holds for longer than a few renames.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os.path import isdir, isfile  # False where a folder may not be entered; pathlib's raise there
from pathlib import Path

import filelock
from pydantic import ValidationError

from ..errors import Hint, RecordError, RequestError, RunTaken, shortened
from ..results import RECORD_VERSION, Failure, Result
from .files import FAILURE, RESULT, replace_text, sync, write_json

#: A folder in ``.incoming``: of which run, and whose (older versions wrote the process number alone).
_OWNED = re.compile(r"(?P<run>\w+)-(?P<process>\d+)(-\w+@(?P<host>[\w.-]*))?")
_HOST = re.sub(r"[^\w.-]", "_", socket.gethostname())[:64]
#: Seconds until what another host left unfinished is cleared: its locks may not be seen from here.
_ABANDONED = 86_400.0
#: Seconds to wait for the store's lock, and between two looks at a run that another process carries out.
_PATIENCE, _POLL = 60.0, 0.25


class OtherFormat(RecordError):
    """A sound record that another version of pubench wrote. ``version``: of its format."""

    def __init__(self, path: Path, version: object) -> None:
        super().__init__(
            f"{path} is a record of format {shortened(str(version))}; this version of pubench reads format "
            f"{RECORD_VERSION}. It is kept as it is, and its run can be run again"
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
        if error.errno == errno.ENAMETOOLONG:
            raise RequestError(
                f"{shortened(str(path))}: {error.strerror}; name another folder (execution.results)",
                field="execution.results",
            ) from error
        reason = error.strerror or error
        raise RecordError(f"{path} cannot be read ({reason}); move it away", hint=Hint("run again")) from error
    try:
        return Record(folder, Result.model_validate_json(text))
    except ValidationError:  # the long way finds the words for it
        return Record(folder, _explained(path, text))


def _explained(path: Path, text: bytes) -> Result:
    """The content of a ``result.json``, piece by piece. Raises OtherFormat, or RecordError for what is wrong."""
    again = Hint("run again")
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{path} cannot be read ({shortened(str(error))}); move it away", hint=again) from error
    if not isinstance(plain, dict) or not isinstance(plain.get("run_id"), str):
        raise RecordError(f"{path} is not the record of a run; move it away", hint=again)
    if plain.get("record_version") != RECORD_VERSION:
        raise OtherFormat(path, plain.get("record_version"))
    try:
        return Result.model_validate(plain)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        reason = shortened(f"{where}: {first['msg']}")
        raise RecordError(f"{path} is damaged ({reason}); move it away", hint=again) from error


class RecordStore:
    """The records under one results folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._incoming, self._superseded = root / ".incoming", root / "superseded"

    def check_writable(self, run_id: str = "") -> None:
        """Raises RequestError before any work is done if records cannot be written here.

        ``run_id``: the run whose record is to be written; an older one must be free to go under ``superseded``.
        """
        try:
            with self._locked():
                (self._incoming / f".probe-{os.getpid()}").touch()
                (self._incoming / f".probe-{os.getpid()}").unlink()
            for path in (self.root, *((self._superseded, self.folder(run_id)) if run_id else ())):
                if path.exists() and not (path.is_dir() and os.access(path, os.W_OK)):
                    raise NotADirectoryError(f"{path} is {'not writable' if path.is_dir() else 'not a folder'}")
        except (OSError, NotImplementedError) as error:
            raise RequestError(
                f"cannot write records in {self.root}: {_reason(error)}; name another folder (execution.results)",
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
        if isfile(given / RESULT):
            return given
        named = self.root.glob(f"{run}*") if re.fullmatch(r"\w+", run) and isdir(self.root) else []
        folders = [p for p in named if isfile(p / RESULT)]
        if len(folders) == 1:
            return folders[0]
        ids = ", ".join(sorted(p.name for p in folders))
        raise RequestError(
            f"several runs start with '{shortened(run)}': {ids}"
            if folders
            else f"no finished run '{shortened(run)}' in {self.root}; name another folder (execution.results)",
            field="execution.results",
        )

    def in_work(self) -> int:
        """How many runs living processes of this host carry out here."""
        try:
            with self._locked():
                found = (_OWNED.fullmatch(folder.name) for folder in self._settled())
                return len({name["run"] for name in found if name is not None and name["host"] == _HOST})
        except OSError:
            return 0

    def taken(self, run_id: str) -> bool:
        """Whether a living process carries this run out, or writes its record."""
        try:
            with self._locked():
                return bool(self._settled(run_id))
        except OSError:
            return False

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

    def stamp(self, run_id: str) -> tuple[int, int] | None:
        """Something that changes when another record takes the place of this run's; None where there is none."""
        try:
            found = (self.folder(run_id) / RESULT).stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def set_aside(self, run_id: str) -> None:
        """Puts the folder of a run under ``superseded`` if its record is still one that cannot be read.

        Raises RecordError if that cannot be done.
        """
        try:
            with self._locked():
                try:
                    read_record(self.folder(run_id))
                except FileNotFoundError:
                    return
                except RecordError:
                    self._superseded.mkdir(exist_ok=True)
                    self.folder(run_id).rename(_numbered(self._superseded, run_id))
        except OSError as error:
            raise RecordError(f"{self.folder(run_id)} could not be put aside: {_reason(error)}") from error

    def all(self) -> Records:
        """Every finished record of this folder, and why others cannot be read."""
        folders = [p for p in self.root.iterdir() if isfile(p / RESULT)] if isdir(self.root) else []
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

    # ---------------------------------------------------------------- claiming and writing

    @contextmanager
    def claim(
        self, run_id: str, say: Callable[[str], None] = lambda text: None, *, wait: bool = True
    ) -> Iterator[None]:
        """Inside this block, no other process carries this run out; one that wants to waits.

        ``say`` is called with whom it waits for. Raises RequestError if nothing can be written here, RunTaken where it
        would have to wait and is not to.
        """
        waited = False
        try:
            while True:
                with self._locked():
                    living = [other for other in self._settled(run_id) if not _ours(other)]
                    mine = self._enter(run_id) if not living else None
                if mine is not None:
                    break
                if not wait:
                    raise RunTaken(f"run {run_id} is being carried out by {_owner(living[0])}")
                if not waited:
                    say(f"run {run_id} is being carried out by {_owner(living[0])}; waiting for it")
                waited = True
                time.sleep(_POLL)
        except OSError as error:
            raise RequestError(
                f"cannot write records in {self.root}: {_reason(error)}; name another folder (execution.results)",
                field="execution.results",
                value=self.root,
            ) from error
        try:
            yield
        finally:
            self._leave(*mine)

    @contextmanager
    def write(self, run_id: str) -> Iterator[Path]:
        """A folder to fill; published as the record of ``run_id`` if the block ends well, removed otherwise.

        The block must write :data:`RESULT` last. An earlier record is kept under ``superseded``. A complete folder that
        cannot be put in place is kept where it is, and :meth:`find` puts it in place as soon as it can.
        """
        try:
            with self._locked():
                self._settled()
                folder, lock = self._enter(run_id)
            complete = False
            try:
                yield folder
                for path in folder.iterdir():
                    sync(path)
                complete = True
                with self._locked():
                    self._publish(run_id, folder)
            except OSError as error:
                if not complete:
                    raise
                raise RecordError(
                    f"the record of run {run_id} could not be put in place in {self.root}: {_reason(error)}; it is "
                    f"complete in {folder}, and the next command that asks for the run puts it in place"
                ) from error
            finally:  # an interrupt too: nothing half-written stays, nothing complete goes
                self._leave(folder, lock, keep=complete)
        except OSError as error:
            raise RecordError(
                f"the record of run {run_id} could not be written in {self.root}: {_reason(error)}"
            ) from error

    def write_failure(self, failure: Failure) -> Path:
        """``failed/<run-id>-<n>/failure.json``; its folder. Raises RecordError if it cannot be written."""
        folder = self.root / "failed"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self._locked():
                folder = _numbered(folder, failure.run_id)
                folder.mkdir()
            write_json(folder / FAILURE, failure.model_dump(mode="json"))
        except OSError as error:
            raise RecordError(
                f"the failure record {folder / FAILURE} could not be written: {_reason(error)}"
            ) from error
        return folder

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """The store's lock. Raises OSError if it cannot be had."""
        self._incoming.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(self._incoming / ".lock", timeout=_PATIENCE, mode=0o666):  # whoever may write here
            yield

    def _enter(self, run_id: str) -> tuple[Path, filelock.BaseFileLock]:
        """A new folder in ``.incoming`` and its lock, held. Under the store's lock."""
        folder = self._incoming / f"{run_id}-{os.getpid()}-{secrets.token_hex(4)}@{_HOST}"
        lock = _lock_of(folder)
        lock.acquire(timeout=0)
        folder.mkdir()
        return folder, lock

    def _leave(self, folder: Path, lock: filelock.BaseFileLock, *, keep: bool = False) -> None:
        """Gives up a folder of one's own, and deletes it unless it is to be kept."""
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
        try:
            with suppress(OSError), self._locked():  # nobody may open the file between unlinking and releasing
                Path(lock.lock_file).unlink(missing_ok=True)
        finally:
            lock.release()

    def _publish(self, run_id: str, folder: Path) -> None:
        """Puts a complete folder in place. Under the store's lock."""
        final, kept = self.folder(run_id), None
        if final.exists():
            self._superseded.mkdir(exist_ok=True)
            kept = _numbered(self._superseded, run_id)
            final.rename(kept)
        try:
            folder.rename(final)
        except OSError:
            if kept is not None:
                kept.rename(final)
            raise
        with suppress(OSError):  # it is in place, whether or not this file system can wait for a folder
            sync(self.root)

    def _settled(self, run_id: str = "") -> list[Path]:
        """The folders of living owners, of one run if ``run_id`` is given; what dead ones left is put in its place.

        Under the store's lock.
        """
        living = []
        folders = [path for path in self._incoming.iterdir() if path.is_dir() and _OWNED.fullmatch(path.name)]
        locks = {Path(f"{folder}.lock") for folder in folders}
        for path in sorted(locks | set(self._incoming.glob("*@*.lock"))):
            folder, lock = path.with_suffix(""), filelock.FileLock(path, mode=0o666)
            try:
                lock.acquire(timeout=0)
            except filelock.Timeout:
                living.append(folder)
                continue
            except OSError:  # of somebody else, not to be opened
                continue
            try:
                self._settle(folder)
                path.unlink(missing_ok=True)
            finally:
                lock.release()
        return [folder for folder in living if folder.name.startswith(f"{run_id}-" if run_id else "")]

    def _settle(self, folder: Path) -> None:
        """What a dead owner left: a complete record is put in place, or under ``superseded`` if it is the older one."""
        found = _OWNED.fullmatch(folder.name)
        if found is None or not folder.is_dir():
            return
        run_id, finished_at = found["run"], _finished_at(folder)
        try:
            if not finished_at:
                if found["host"] in (None, _HOST) or time.time() - folder.stat().st_mtime > _ABANDONED:
                    shutil.rmtree(folder, ignore_errors=True)
            elif finished_at > _finished_at(self.folder(run_id)):
                self._publish(run_id, folder)
            else:
                self._superseded.mkdir(exist_ok=True)
                folder.rename(_numbered(self._superseded, run_id))
        except OSError:  # not now: it stays, and the next one tries again
            return

    def _adopt(self, run_id: str) -> None:
        """Puts in place what a dead writer of this run, or one that could not, left complete."""
        try:
            if any(path.name.startswith(f"{run_id}-") for path in self._incoming.iterdir()):
                with self._locked():
                    self._settled()
        except OSError:  # nothing is there, or nothing can be changed here: what is in place counts
            return


def result_text(result: Result) -> str:
    """The content of ``result.json``."""
    return json.dumps(result.plain(), indent=2, allow_nan=False) + "\n"


def _finished_at(folder: Path) -> str:
    """When a complete record finished, as it says itself (as text it sorts by time); empty if it is not complete."""
    try:
        plain = json.loads((folder / RESULT).read_bytes())
    except (OSError, ValueError):
        return ""
    return str(plain.get("finished_at") or "0") if isinstance(plain, dict) else ""


def _lock_of(folder: Path) -> filelock.BaseFileLock:
    """What the owner of a folder in ``.incoming`` holds."""
    return filelock.FileLock(f"{folder}.lock", mode=0o666)


def _ours(folder: Path) -> bool:
    """Whether this very process owns a folder in ``.incoming``; waiting for oneself would never end."""
    found = _OWNED.fullmatch(folder.name)
    return found is not None and (found["process"], found["host"]) == (str(os.getpid()), _HOST)


def _owner(folder: Path) -> str:
    found = _OWNED.fullmatch(folder.name)
    return f"process {found['process']} on {found['host']}" if found is not None else "another process"


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _numbered(parent: Path, run_id: str) -> Path:
    taken = [p.name for p in parent.iterdir()] if parent.is_dir() else []
    n = 1
    while f"{run_id}-{n}" in taken:
        n += 1
    return parent / f"{run_id}-{n}"
