"""Dated boards of results, and submissions to them.

``rows`` are what records say of runs; ``building`` writes a board of them; ``packing`` makes the archive of a
submission, ``unpacking`` opens one that anybody may have made, ``checking`` judges it.
"""

from __future__ import annotations

from pubench_core import CommandInfo, hookimpl

COMMANDS = [
    CommandInfo(
        path="submit",
        panel="Results",
        load="pubench_submit.cli.commands:submit",
        help="Pack records for a board, check them as its workflow does, and write what the issue form needs.",
        example="pubench submit results --name my-method --with board@2026.12",
    ),
    CommandInfo(
        path="board",
        panel="Results",
        help="Dated boards: frozen rows of finished runs that others can compare with.",
    ),
    CommandInfo(
        path="board build",
        load="pubench_submit.cli.commands:build",
        help="Freeze finished runs as a dated board: rows as parquet, scores apart, checksums, BibTeX.",
        example="pubench board build 2026.12 --from results --out boards",
    ),
    CommandInfo(
        path="board check",
        load="pubench_submit.cli.commands:check",
        help="Check the files of a board against its checksums and its format.",
        example="pubench board check boards/2026.12",
    ),
]


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return COMMANDS
