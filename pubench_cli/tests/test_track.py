"""``pubench track``: what it refuses. Tests of each sink send records with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from printed import Run


def test_an_absent_folder_and_an_unknown_sink_are_one_line(pubench_in: Callable[[Path], Run], tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    for words, line in (
        (("--results", "nope"), "error: no results folder nope; name one with --results"),
        (("--to", "nope"), "error: unknown sink 'nope'; known: "),
    ):
        done = pubench_in(tmp_path)("track", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(line)
        assert done.stderr.count("\n") == 1
