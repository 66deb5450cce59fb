"""Folders being worked on and written in a results folder: each has an owner, who is alive or not.

An owner holds the lock next to his folder for as long as he lives: a process number says nothing on another host or in
another container. Folders are made, put in place and cleared under one more lock, which nobody holds for longer than a
few renames.

Locks are those of the operating system. On network file systems these may not exclude other hosts, so that a folder
there has *leases* instead: files that their holders renew. A holder that does not is taken for dead. The file
:data:`LEASED` says so to every host, however it sees the folder.
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
#: Seconds to wait for the lock of all, besides those until a dead holder's lease is over.
_PATIENCE = 60.0
#: In a folder whose locks are leases.
LEASED = "leased"
#: Seconds after which a lease that was not renewed is over, and between two renewals.
LEASE, RENEWAL = 120.0, 15.0
_NETWORK = re.compile(
    r"nfs\d*|cifs|smb\w*|afs|9p|lustre|gpfs|beegfs|ceph|glusterfs|panfs|pvfs2|wekafs|fuse\.(?!portal|lxcfs).*"
)


class Incoming:
    """The folder of this name. ``settle`` puts what a dead owner left in its place; it is called under the lock."""

    def __init__(self, path: Path, settle: Callable[[Path], None]) -> None:
        self.path = path
        self._settle = settle
        #: Leases of others, which must be watched for as long as one lasts to be known as over.
        self._watched: dict[Path, filelock.BaseFileLock] = {}

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The lock of all. Raises OSError if it cannot be had."""
        if not self.path.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            if file_system(self.path)[0]:
                (self.path / LEASED).touch()
        name, patience = (".lease", _PATIENCE + LEASE) if self.leased else (".lock", _PATIENCE)
        with self._lock(self.path / name).acquire(timeout=patience):
            yield

    @property
    def leased(self) -> bool:
        """Whether locks here are leases."""
        return (self.path / LEASED).exists()

    def _lock(self, path: Path) -> filelock.BaseFileLock:
        if self.leased:
            return filelock.SoftFileLease(path, lease_duration=LEASE, heartbeat_interval=RENEWAL)
        return filelock.FileLock(path, mode=0o666)  # everybody who may write here takes it

    def enter(self, run_id: str) -> tuple[Path, filelock.BaseFileLock]:
        """A new folder and its lock, held. Under the lock."""
        folder = self.path / f"{run_id}-{os.getpid()}-{secrets.token_hex(4)}@{_HOST}"
        lock = self._lock(Path(f"{folder}.lock"))
        lock.acquire(timeout=0)
        folder.mkdir()
        return folder, lock

    def leave(self, folder: Path, lock: filelock.BaseFileLock, *, keep: bool = False) -> None:
        """Gives up its own folder, and deletes it unless it is to be kept."""
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
        try:
            with suppress(OSError), self.locked():  # nobody may open the file between unlinking and releasing
                _unlink(lock)
        finally:
            lock.release()

    def living(self, run_id: str = "") -> list[Path]:
        """The folders of living owners, of one run if ``run_id`` is given; what dead ones left is settled.

        Under the lock.
        """
        living = []
        watched, self._watched = self._watched, {}
        folders = [path for path in self.path.iterdir() if path.is_dir() and _NAME.fullmatch(path.name)]
        locks = {Path(f"{folder}.lock") for folder in folders}
        for path in sorted(locks | set(self.path.glob("*@*.lock"))):
            folder, lock = path.with_suffix(""), watched.get(path) or self._lock(path)
            try:
                lock.acquire(timeout=0)
            except filelock.Timeout:
                living.append(folder)
                self._watched[path] = lock
                continue
            except OSError:  # of somebody else, not to be opened
                continue
            try:
                if folder.is_dir() and _NAME.fullmatch(folder.name):
                    self._settle(folder)
                _unlink(lock)
            finally:
                lock.release()
        return [folder for folder in living if folder.name.startswith(f"{run_id}-" if run_id else "")]


def held(lock: filelock.BaseFileLock) -> bool:
    """Whether a lock is still its holder's: a lease may have been over while its process was stopped."""
    return not isinstance(lock, filelock.SoftFileLease) or lock.is_lock_held_by_us


def _unlink(lock: filelock.BaseFileLock) -> None:
    """Removes the file of a lock that is held. A lease does so when it is released, if the file is its own."""
    if not isinstance(lock, filelock.SoftFileLease):
        Path(lock.lock_file).unlink(missing_ok=True)


def file_system(path: Path) -> tuple[bool, str]:
    """Whether a folder is on a network, and its file system with the options of the mount; unknown is local."""
    try:
        lines = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False, ""
    mounts = {fields[1]: fields for fields in map(str.split, lines) if len(fields) > 3}
    real = path.resolve()
    kind, options = next((mounts[str(place)][2:4] for place in (real, *real.parents) if str(place) in mounts), ("", ""))
    return _NETWORK.fullmatch(kind) is not None, f"{kind} ({options})"


def _named(folder: Path) -> dict[str, str | None]:
    """Run, process and host by the name of a folder; empty if it is of another kind."""
    found = _NAME.fullmatch(folder.name)
    return {} if found is None else found.groupdict()


def run_of(folder: Path) -> str:
    """The run of a folder; empty where its name is of another kind."""
    return _named(folder).get("run") or ""


def of_this_host(folder: Path) -> bool:
    """Whether a process of this host owns a folder."""
    return _named(folder).get("host") == _HOST


def ours(folder: Path) -> bool:
    """Whether this very process owns a folder; waiting for oneself would never end."""
    return of_this_host(folder) and _named(folder)["process"] == str(os.getpid())


def owner(folder: Path) -> str:
    """Whose a folder is, in words."""
    found = _named(folder)
    return f"process {found['process']} on {found['host']}" if found else "another process"


def abandoned(folder: Path) -> bool:
    """Whether a folder whose lock is free may be cleared: another host's lock may not be seen from here for a day."""
    here = _named(folder).get("host", "elsewhere") in (None, _HOST)
    return here or time.time() - folder.stat().st_mtime > _ABANDONED
