"""Whether locks exclude in a folder, tried: two processes take the same lock in turns and look for each other."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import filelock


def lock_trial(folder: Path, seconds: float) -> tuple[int, int]:
    """(times that either process had the lock, times that it was not alone) in a folder, which is made if need be.

    Raises OSError where the folder cannot be written or locked.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".locks-", dir=folder) as place:
        command = [sys.executable, "-m", __name__, place, str(seconds)]
        tries = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        found = [list(map(int, (one.communicate()[0] or "0 0").split())) for one in tries]
    if any(one.returncode for one in tries):
        raise OSError(f"no lock can be taken in {folder}")
    return sum(had for had, _ in found), sum(shared for _, shared in found)


def main(place: Path, seconds: float) -> None:
    """One of the two processes; prints both numbers."""
    lock, holder = filelock.FileLock(place / "lock", poll_interval=0.001), place / "holder"
    until, had, shared = time.monotonic() + seconds, 0, 0
    while time.monotonic() < until:
        with lock:
            alone = not holder.exists()
            holder.write_text(str(os.getpid()))
            time.sleep(0.002)
            with suppress(FileNotFoundError):
                alone = alone and holder.read_text() == str(os.getpid())
                holder.unlink()
            had, shared = had + 1, shared + (not alone)
    print(had, shared)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
