"""Folders being worked on and written in a results folder: each has an owner, who is alive or not.

An owner holds the lock next to his folder for as long as he lives: a process number says nothing on another host or in
another container. Folders are made, put in place and cleared under one more lock, which nobody holds for longer than a
few renames.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import filelock

#: A folder: of which run, and whose (older versions wrote the process number alone).
_NAME = re.compile(r"(?P<run>\w+)-(?P<process>\d+)(-\w+@(?P<host>[\w.-]*))?")
_HOST = re.sub(r"[^\w.-]", "_", socket.gethostname())[:64]
#: Seconds until what another host left unfinished is cleared: its locks may not be seen from here.
_ABANDONED = 86_400.0
#: Seconds to wait for the lock of all.
_PATIENCE = 60.0


class Incoming:
    """The folder of this name. ``settle`` puts what a dead owner left in its place; it is called under the lock."""

    def __init__(self, path: Path, settle: Callable[[Path], None]) -> None:
        self.path = path
        self._settle = settle

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The lock of all. Raises OSError if it cannot be had."""
        self.path.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(self.path / ".lock", timeout=_PATIENCE, mode=0o666):  # whoever may write here
            yield

    def holds(self, run_id: str) -> bool:
        """Whether there is anything of this run. Raises OSError if that cannot be seen."""
        return any(path.name.startswith(f"{run_id}-") for path in self.path.iterdir())

    def enter(self, run_id: str) -> tuple[Path, filelock.BaseFileLock]:
        """A new folder and its lock, held. Under the lock."""
        folder = self.path / f"{run_id}-{os.getpid()}-{secrets.token_hex(4)}@{_HOST}"
        lock = filelock.FileLock(f"{folder}.lock", mode=0o666)
        lock.acquire(timeout=0)
        folder.mkdir()
        return folder, lock

    def leave(self, folder: Path, lock: filelock.BaseFileLock, *, keep: bool = False) -> None:
        """Gives up its own folder, and deletes it unless it is to be kept."""
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
        try:
            with suppress(OSError), self.locked():  # nobody may open the file between unlinking and releasing
                Path(lock.lock_file).unlink(missing_ok=True)
        finally:
            lock.release()

    def living(self, run_id: str = "") -> list[Path]:
        """The folders of living owners, of one run if ``run_id`` is given; what dead ones left is settled.

        Under the lock.
        """
        living = []
        folders = [path for path in self.path.iterdir() if path.is_dir() and _NAME.fullmatch(path.name)]
        locks = {Path(f"{folder}.lock") for folder in folders}
        for path in sorted(locks | set(self.path.glob("*@*.lock"))):
            folder, lock = path.with_suffix(""), filelock.FileLock(path, mode=0o666)
            try:
                lock.acquire(timeout=0)
            except filelock.Timeout:
                living.append(folder)
                continue
            except OSError:  # of somebody else, not to be opened
                continue
            try:
                if folder.is_dir() and _NAME.fullmatch(folder.name):
                    self._settle(folder)
                path.unlink(missing_ok=True)
            finally:
                lock.release()
        return [folder for folder in living if folder.name.startswith(f"{run_id}-" if run_id else "")]


def run_of(folder: Path) -> str:
    """The run of a folder; empty where its name is of another kind."""
    found = _NAME.fullmatch(folder.name)
    return found["run"] if found is not None else ""


def of_this_host(folder: Path) -> bool:
    """Whether a process of this host owns a folder."""
    found = _NAME.fullmatch(folder.name)
    return found is not None and found["host"] == _HOST


def ours(folder: Path) -> bool:
    """Whether this very process owns a folder; waiting for oneself would never end."""
    found = _NAME.fullmatch(folder.name)
    return found is not None and (found["process"], found["host"]) == (str(os.getpid()), _HOST)


def owner(folder: Path) -> str:
    """Whose a folder is, in words."""
    found = _NAME.fullmatch(folder.name)
    return f"process {found['process']} on {found['host']}" if found is not None else "another process"


def abandoned(folder: Path) -> bool:
    """Whether a folder whose lock is free may be cleared: another host's lock may not be seen from here for a day."""
    found = _NAME.fullmatch(folder.name)
    here = found is not None and found["host"] in (None, _HOST)
    return here or time.time() - folder.stat().st_mtime > _ABANDONED
