"""Conformance checks, and templates of new plugins: descriptions of the commands."""

from __future__ import annotations

from pubench_core import CommandInfo, hookimpl

PANEL = "Plugins and data"


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return [
        CommandInfo(path="check", panel=PANEL, load="pubench_testkit.cli:check", example="pubench check nnpu"),
        CommandInfo(path="new", panel=PANEL, load="pubench_testkit.cli:new", example="pubench new metric my-metric"),
        CommandInfo(
            path="new-method",
            panel=PANEL,
            load="pubench_testkit.cli:new_method",
            example="pubench new-method my-method --family disambiguation",
        ),
    ]
