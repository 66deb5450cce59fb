"""Processes that prepare, use and remove a data set at once share the work and the memory."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable

from gray_data import GrayData

from pubench_cli.copies import copies_of, folders_of_copies, remove_copies, verify_copy

Child = Callable[..., "subprocess.Popen[str]"]

#: What a child does that opens the data set.
OPENED = "print(store.open_dataset(source_of(INFO), root).digest, flush=True)"


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


class TestOtherProcesses:
    def test_two_that_prepare_a_set_at_once_do_the_work_once(self, child: Child, gray: GrayData) -> None:
        both = [child(OPENED, SECONDS_TO_READ="0.5") for _ in range(2)]
        first, second = (line_of(process) for process in both)
        assert gray.reads() == 1
        assert first == second == gray.opened().digest

    def test_kill_9_leaves_nothing_that_opens_and_the_next_run_makes_it(self, child: Child, gray: GrayData) -> None:
        process = child(f'held("write_manifest")\n{OPENED}')  # all but the last step
        assert line_of(process) == "held"
        process.kill()
        assert process.wait() == -signal.SIGKILL
        (half,) = (p for p in (gray.root.cache / "prepared" / "gray").iterdir() if p.is_dir())
        assert half.name.endswith(f".{process.pid}.incoming")
        assert copies_of("gray", gray.root.cache) == []
        assert folders_of_copies("gray", gray.root.cache) == []

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
