"""Claims where locks of the operating system exclude nobody: leases do, and a holder that slept does not publish."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from pubench_core.errors import RequestError
from pubench_core.records import staging
from pubench_core.records.files import RESULT
from pubench_core.records.store import RecordStore

RUNS = 60
WORKER = f"""
import fcntl, os, sys, time
from pathlib import Path
fcntl.flock = lambda descriptor, operation: None  # as on a mount where locks are each host's own
from pubench_core.errors import PubenchError
from pubench_core.records.store import RecordStore
root, log = Path(sys.argv[1]), os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
store = RecordStore(root)
while len(list(root.glob("ready-*"))) < 2:
    (root / f"ready-{{os.getpid()}}").touch()
left = [f"{{number:016x}}" for number in range({RUNS})]
while left:
    for run_id in list(left):
        if (store.folder(run_id) / "result.json").exists():
            left.remove(run_id)
            continue
        try:
            with store.claim(run_id, wait=False):
                if store.stamp(run_id) is None:
                    os.write(log, f"begin {{run_id}} {{os.getpid()}}\\n".encode())
                    time.sleep(0.001)
                    os.write(log, f"end {{run_id}} {{os.getpid()}}\\n".encode())
                    with store.write(run_id) as folder:
                        (folder / "result.json").write_text('{{"finished_at": "2026"}}')
        except PubenchError:
            pass
"""
SLEEPER = """
import sys
from pathlib import Path
from pubench_core.errors import RunTaken
from pubench_core.records import staging
from pubench_core.records.store import RecordStore
staging.LEASE, staging.RENEWAL = 1.0, 0.2
store = RecordStore(Path(sys.argv[1]))
with store.claim("00aa"):
    print("claimed", flush=True)
    sys.stdin.readline()
    try:
        with store.write("00aa") as folder:
            (folder / "result.json").write_text('{"finished_at": "mine"}')
        print("published", flush=True)
    except RunTaken as error:
        print(error, flush=True)
"""


def contended(tmp_path: Path, *, leases: bool) -> tuple[int, Counter[str]]:
    """Runs that two workers carried out at the same time, and how often each was carried out."""
    root, log = tmp_path / "results", tmp_path / "log"
    root.mkdir()
    if leases:
        RecordStore(root).lease()
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, root, log]) for _ in range(2)]
    assert [worker.wait(240) for worker in workers] == [0, 0]
    open_runs, overlaps, begun = set[str](), 0, Counter[str]()
    for event, run_id, _ in (line.split() for line in log.read_text().splitlines()):
        if event == "begin":
            overlaps += run_id in open_runs
            begun[run_id] += 1
            open_runs.add(run_id)
        else:
            open_runs.discard(run_id)
    return overlaps, begun


def test_two_workers_carry_no_run_out_twice_although_flock_lets_both_in(tmp_path: Path) -> None:
    overlaps, begun = contended(tmp_path, leases=True)
    assert overlaps == 0
    assert set(begun.values()) == {1}
    assert len(begun) == len(list(tmp_path.glob("results/*/result.json"))) == RUNS
    assert not (tmp_path / "results" / "superseded").exists()


def test_the_locks_of_the_system_would_let_both_in(tmp_path: Path) -> None:
    """Else the test above shows nothing."""
    _, begun = contended(tmp_path, leases=False)
    assert sum(begun.values()) > RUNS


def test_a_holder_that_was_stopped_for_longer_than_its_lease_does_not_publish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "LEASE", 1.0)
    monkeypatch.setattr(staging, "RENEWAL", 0.2)
    store = RecordStore(tmp_path)
    store.lease()
    sleeper = subprocess.Popen(
        [sys.executable, "-c", SLEEPER, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert sleeper.stdout is not None
    assert sleeper.stdout.readline() == "claimed\n"
    assert store.taken("00aa")
    os.kill(sleeper.pid, signal.SIGSTOP)
    try:
        with store.claim("00aa"), store.write("00aa") as folder:
            (folder / RESULT).write_text('{"finished_at": "other"}')
    finally:
        os.kill(sleeper.pid, signal.SIGCONT)
    said, _ = sleeper.communicate("go on\n", timeout=60)
    assert said.startswith("run 00aa was taken over by another process: this one was stopped for longer")
    assert "other" in (store.folder("00aa") / RESULT).read_text()
    assert not (tmp_path / "superseded").exists()
    assert [path.name for path in (tmp_path / ".incoming").iterdir() if path.is_dir()] == []


def test_claims_become_leases_only_while_nobody_works(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    with store.claim("00aa"), pytest.raises(RequestError, match="cannot become leases while process"):
        RecordStore(tmp_path).lease()
    store.lease()
    with store.claim("00aa"):  # again: they are
        RecordStore(tmp_path).lease()


def test_a_run_in_work_is_named_and_not_removed(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    with store.write("00aa") as folder:
        (folder / RESULT).write_text('{"finished_at": "1"}')
    with store.claim("00aa"):
        ((run_id, (whose, since)),) = store.at_work().items()
        assert (run_id, whose.startswith(f"process {os.getpid()} on ")) == ("00aa", True)
        assert abs(time.time() - since) < 60
        assert not store.remove(store.folder("00aa"))
    assert store.at_work() == {}
    assert store.remove(store.folder("00aa"))
    assert not store.folder("00aa").exists()


def test_a_folder_on_a_network_has_leases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "file_system", lambda path: (True, "nfs4 (rw,local_lock=all)"))
    RecordStore(tmp_path / "there").check_writable()
    assert (tmp_path / "there" / ".incoming" / staging.LEASED).exists()
