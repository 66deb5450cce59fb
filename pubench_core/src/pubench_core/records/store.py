"""Run folders: written aside, renamed when complete, never overwritten, and deleted on request only.

``<results>/<run-id>/`` is a finished run. ``<results>/.incoming/`` holds what is being worked on and written,
``<results>/superseded/`` what a newer record of the same run replaced, ``<results>/failed/`` runs that failed or
were refused.

A finished folder is put in its place under the lock of :mod:`.incoming`.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from os.path import isdir, isfile  # False where a folder may not be entered; pathlib's raise there
from pathlib import Path

import filelock

from ..data.checksum_cache import sync
from ..errors import Hint, RecordError, RequestError, RunTaken
from ..results import Failure
from .files import FAILED, FAILURE, RESULT, write_json
from .record import Record, read_record
from .staging import LEASED, Incoming, abandoned, held, of_this_host, ours, owner, run_of

#: Seconds between two looks at a run that another process carries out.
_POLL = 0.25


class RecordStore:
    """The records under one results folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._incoming, self._superseded = Incoming(root / ".incoming", self._settle), root / "superseded"
        self._claims: dict[str, filelock.BaseFileLock] = {}

    def check_writable(self, run_id: str = "") -> None:
        """Raises RequestError before any work is done if records cannot be written here.

        ``run_id``: the run whose record is to be written; an older one must be free to go under ``superseded``.
        """
        try:
            with self._incoming.locked():
                (self._incoming.path / f".probe-{os.getpid()}").touch()
                (self._incoming.path / f".probe-{os.getpid()}").unlink()
            for path in (self.root, *((self._superseded, self.folder(run_id)) if run_id else ())):
                if path.exists() and not (path.is_dir() and os.access(path, os.W_OK)):
                    raise NotADirectoryError(f"{path} is {'not writable' if path.is_dir() else 'not a folder'}")
        except (OSError, NotImplementedError) as error:
            raise self._refused(error) from error

    def _refused(self, error: Exception) -> RequestError:
        return RequestError(
            f"cannot write records in {self.root}: {_reason(error)}; name another folder (execution.results)",
            field="execution.results",
            value=self.root,
        )

    @property
    def leased(self) -> bool:
        """Whether claims in this folder are leases."""
        return self._incoming.leased

    def lease(self) -> None:
        """Makes claims in this folder leases, from now on and for every host. RequestError while runs are in work."""
        try:
            with self._incoming.locked():
                if not self._incoming.leased and (living := self._incoming.living()):
                    raise RequestError(
                        f"claims in {self.root} cannot become leases while {owner(living[0])} works there; wait for it"
                    )
                (self._incoming.path / LEASED).touch()
        except OSError as error:
            raise self._refused(error) from error

    def folder(self, run_id: str) -> Path:
        """The folder of a finished record."""
        return self.root / run_id

    def _living(self, run_id: str = "") -> list[Path]:
        """Folders of living owners, of one run if ``run_id`` is given; none where that cannot be seen."""
        with suppress(OSError), self._incoming.locked():
            return self._incoming.living(run_id)
        return []

    def in_work(self) -> int:
        """How many runs living processes of this host carry out here."""
        return len({run_of(folder) for folder in self._living() if of_this_host(folder)})

    def at_work(self) -> dict[str, tuple[str, float]]:
        """Run id -> whose it is, in words, and since when (seconds, as time.time), of every run in work here."""
        found: dict[str, tuple[str, float]] = {}
        for folder in self._living():
            with suppress(FileNotFoundError):  # its owner has just left
                since = folder.stat().st_mtime
                if since < found.get(run_of(folder), ("", math.inf))[1]:
                    found[run_of(folder)] = owner(folder), since
        return found

    def remove(self, folder: Path) -> bool:
        """Deletes a record, a failure or what was superseded; False if its run is in work. Raises RecordError."""
        try:
            with self._incoming.locked():
                if self._incoming.living(folder.name.partition("-")[0]):
                    return False
                gone = self._incoming.path / f"removed-{folder.name}"
                folder.rename(gone)
            shutil.rmtree(gone)
        except OSError as error:
            raise RecordError(f"{folder} could not be removed: {_reason(error)}") from error
        return True

    def taken(self, run_id: str) -> bool:
        """Whether a living process carries this run out, or writes its record."""
        return bool(self._living(run_id))

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
        """Something that changes when another record takes the place of this run's; None if there is none."""
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
            with self._incoming.locked():
                try:
                    read_record(self.folder(run_id))
                except FileNotFoundError:
                    return
                except RecordError:
                    self._superseded.mkdir(exist_ok=True)
                    self.folder(run_id).rename(_numbered(self._superseded, run_id))
        except OSError as error:
            raise RecordError(f"{self.folder(run_id)} could not be put aside: {_reason(error)}") from error

    def all(self) -> tuple[list[Record], list[RecordError]]:
        """Every finished record of this folder, oldest first, and why others cannot be read."""
        found = list(self.each())
        readable = sorted((one for one in found if isinstance(one, Record)), key=lambda one: one.result.finished_at)
        return readable, [one for one in found if isinstance(one, RecordError)]

    def each(self) -> Iterator[Record | RecordError]:
        """Finished records one at a time, by run id; for one that cannot be read, why."""
        folders = [p for p in self.root.iterdir() if isfile(p / RESULT)] if isdir(self.root) else []
        for folder in sorted(folders):
            if not folder.name.startswith("."):
                try:
                    record = read_record(folder)
                except RecordError as error:
                    yield error
                else:
                    yield record

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
                with self._incoming.locked():
                    living = [other for other in self._incoming.living(run_id) if not ours(other)]
                    mine = self._incoming.enter(run_id) if not living else None
                if mine is not None:
                    break
                if not wait:
                    raise RunTaken(f"run {run_id} is being carried out by {owner(living[0])}")
                if not waited:
                    say(f"run {run_id} is being carried out by {owner(living[0])}; waiting for it")
                waited = True
                time.sleep(_POLL)
        except OSError as error:
            raise self._refused(error) from error
        self._claims[run_id] = mine[1]
        try:
            yield
        finally:
            del self._claims[run_id]
            self._incoming.leave(*mine)

    @contextmanager
    def write(self, run_id: str) -> Iterator[Path]:
        """A folder to fill; published as the record of ``run_id`` if the block ends well, removed otherwise.

        The block must write :data:`RESULT` last. An earlier record is kept under ``superseded``. A complete folder that
        cannot be put in place is kept where it is, and :meth:`find` puts it in place as soon as it can.

        Raises RunTaken if the claim on the run was a lease and somebody else has it by now.
        """
        try:
            with self._incoming.locked():
                self._incoming.living()
                folder, lock = self._incoming.enter(run_id)
            complete = False
            try:
                yield folder
                for path in folder.iterdir():
                    sync(path)
                complete = True
                with self._incoming.locked():
                    if run_id in self._claims and not held(self._claims[run_id]):
                        complete = False
                        raise RunTaken(
                            f"run {run_id} was taken over by another process: this one was stopped for longer than its "
                            "lease lasts; the other's record counts"
                        )
                    self._publish(run_id, folder)
            except OSError as error:
                if not complete:
                    raise
                raise RecordError(
                    f"the record of run {run_id} could not be put in place in {self.root}: {_reason(error)}; it is "
                    f"complete in {folder}, and the next command that asks for the run puts it in place"
                ) from error
            finally:  # an interrupt too: nothing half-written stays, nothing complete goes
                self._incoming.leave(folder, lock, keep=complete)
        except OSError as error:
            raise RecordError(
                f"the record of run {run_id} could not be written in {self.root}: {_reason(error)}"
            ) from error

    def write_failure(self, failure: Failure) -> Path:
        """``failed/<run-id>-<n>/failure.json``; its folder. Raises RecordError if it cannot be written."""
        folder = self.root / FAILED
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self._incoming.locked():
                folder = _numbered(folder, failure.run_id)
                folder.mkdir()
            write_json(folder / FAILURE, failure.model_dump(mode="json"))
        except OSError as error:
            raise RecordError(
                f"the failure record {folder / FAILURE} could not be written: {_reason(error)}"
            ) from error
        return folder

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

    def _settle(self, folder: Path) -> None:
        """What a dead owner left: a complete record is put in place, or under ``superseded`` if it is the older one."""
        run_id, finished_at = run_of(folder), _finished_at(folder)
        try:
            if not finished_at:
                if abandoned(folder):
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
            if any(path.name.startswith(f"{run_id}-") for path in self._incoming.path.iterdir()):
                with self._incoming.locked():
                    self._incoming.living()
        except OSError:  # nothing is there, or nothing can be changed here: what is in place counts
            return


def _finished_at(folder: Path) -> str:
    """When a complete record finished, as it says itself (as text it sorts by time); empty if it is not complete."""
    try:
        plain = json.loads((folder / RESULT).read_bytes())
    except (OSError, ValueError):
        return ""
    return str(plain.get("finished_at") or "0") if isinstance(plain, dict) else ""


def failures_in(results: Path) -> dict[str, list[Path]]:
    """Run id -> folders of its failures, oldest first."""
    found: dict[str, list[Path]] = {}
    try:
        paths = list((results / FAILED).iterdir())
    except OSError:
        return {}
    for path in paths:
        run_id, _, number = path.name.rpartition("-")
        if run_id and number.isdigit():
            found.setdefault(run_id, []).append(path)
    return {
        run_id: sorted(paths, key=lambda path: int(path.name.rpartition("-")[2])) for run_id, paths in found.items()
    }


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _numbered(parent: Path, run_id: str) -> Path:
    taken = [p.name for p in parent.iterdir()] if parent.is_dir() else []
    n = 1
    while f"{run_id}-{n}" in taken:
        n += 1
    return parent / f"{run_id}-{n}"
