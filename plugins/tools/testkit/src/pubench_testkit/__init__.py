"""Conformance checks, and templates of new plugins: descriptions of the commands."""

from __future__ import annotations

from pubench_core import CommandInfo, hookimpl

COMMANDS = [
    CommandInfo(
        path="check",
        panel="Plugins and data",
        load="pubench_testkit.cli:check",
        help="Put a method through every conformance check. Exit code 1 if one fails.",
        example="pubench check nnpu",
    ),
    CommandInfo(
        path="new",
        panel="Plugins and data",
        load="pubench_testkit.cli:new",
        help="Make a package with a plugin that works, its tests, and comments that say what to replace.",
        example="pubench new metric my-metric",
    ),
    CommandInfo(
        path="new-method",
        panel="Plugins and data",
        load="pubench_testkit.cli:new_method",
        help="Make a package with a method that works; the same as new method KEY.",
        example="pubench new-method my-method --family disambiguation",
    ),
]


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return COMMANDS
