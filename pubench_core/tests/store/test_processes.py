"""Processes that prepare, use and remove a data set at once share the work and the memory."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from gray_data import GrayData

from pubench_cli.copies import copies_of, remove_copies, verify_copy

Child = Callable[..., "subprocess.Popen[str]"]

#: What a child does that opens the data set.
OPENED = "print(store.open_dataset(source_of(INFO), root).digest, flush=True)"


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def pages_of(pid: int, name: str) -> dict[str, int]:
    """KiB of a process's mapping of one file, by kind."""
    lines = iter(Path(f"/proc/{pid}/smaps").read_text().splitlines())
    next(line for line in lines if line.endswith(name))
    kib = {}
    for line in lines:
        kind, _, rest = line.partition(":")
        if not rest.endswith(" kB"):
            break
        kib[kind] = int(rest.split()[0])
    return kib


class TestOtherProcesses:
    def test_two_that_prepare_a_set_at_once_do_the_work_once(self, child: Child, gray: GrayData) -> None:
        both = [child(OPENED, SECONDS_TO_READ="0.5") for _ in range(2)]
        first, second = (line_of(process) for process in both)
        assert gray.reads() == 1
        assert first == second == gray.opened().digest

    @pytest.mark.parametrize(
        "moment",
        ['held("_saved", lambda path, array: path.name == "y.npy")', 'held("write_manifest")'],
        ids=["between-two-arrays", "before-the-last-step"],
    )
    def test_kill_9_leaves_nothing_that_opens_and_the_next_run_makes_it(
        self, child: Child, gray: GrayData, moment: str
    ) -> None:
        process = child(f"{moment}\n{OPENED}")
        assert line_of(process) == "held"
        process.kill()
        assert process.wait() == -signal.SIGKILL
        (half,) = (p for p in (gray.root.cache / "prepared" / "gray").iterdir() if p.is_dir())
        assert half.name.endswith(f".{process.pid}.incoming")
        assert copies_of("gray", gray.root.cache) == []

        folder = gray.opened().folder
        assert gray.reads() == 2
        assert verify_copy(folder) == []
        assert not half.exists()

    def test_removing_waits_for_one_that_is_being_made(self, child: Child, gray: GrayData) -> None:
        slow = 'held("write_manifest"); time.sleep = lambda seconds, wait=time.sleep: wait(0.5)\n'
        maker = child(slow + OPENED)
        assert line_of(maker) == "held"
        assert remove_copies("gray", gray.root.cache) > 0
        assert len(line_of(maker)) == 16  # the digest: it ended well, and what it has open stays
        assert gray.left_in_cache() == []
        gray.opened()
        assert gray.reads() == 2

    @pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="/proc/<pid>/smaps is Linux's")
    def test_two_that_use_a_set_share_its_pages(self, child: Child, gray: GrayData) -> None:
        gray.rows.write_bytes(bytes(5 * 4_000_000))
        size = gray.opened().folder.joinpath("x.npy").stat().st_size
        used = "x = store.open_dataset(source_of(INFO), root).data.x; x.max(); print('used', flush=True); input()"
        both = [child(used) for _ in range(2)]
        for process in both:
            assert line_of(process) == "used"
        for kib in (pages_of(process.pid, "x.npy") for process in both):
            assert kib["Rss"] * 1024 == pytest.approx(size, rel=0.01)  # each has all of it in memory,
            assert kib["Pss"] == pytest.approx(kib["Rss"] / 2, rel=0.01)  # and half of it to its account
            assert kib["Private_Dirty"] + kib["Private_Clean"] == 0
