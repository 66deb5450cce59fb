"""Conformance checks, and templates of new plugins: descriptions of the commands."""

from __future__ import annotations

from pubench_core import CommandInfo, hookimpl

COMMANDS = [
    CommandInfo(
        path="check",
        panel="Plugins and data",
        load="pubench_testkit.cli.commands:check",
        help="Put a method through every conformance check. Exit code 1 if one fails.",
        example="pubench check nnpu",
    ),
    CommandInfo(
        path="new-method",
        panel="Plugins and data",
        load="pubench_testkit.cli.commands:new_method",
        help="Make a package with a method that works, its tests, and comments that say what to replace.",
        example="pubench new-method my-method --family disambiguation",
    ),
    CommandInfo(
        path="new-dataset",
        panel="Plugins and data",
        load="pubench_testkit.cli.commands:new_dataset",
        help="Make a package with a data set that works, its tests, and comments that say what to replace.",
        example="pubench new-dataset my-data --path packages",
    ),
    CommandInfo(
        path="new-mechanism",
        panel="Plugins and data",
        load="pubench_testkit.cli.commands:new_mechanism",
        help="Make a package with a labeling mechanism that works, its tests, and comments that say what to replace.",
        example="pubench new-mechanism my-mechanism",
    ),
    CommandInfo(
        path="new-metric",
        panel="Plugins and data",
        load="pubench_testkit.cli.commands:new_metric",
        help="Make a package with a metric that works, its tests, and comments that say what to replace.",
        example="pubench new-metric my-metric",
    ),
    CommandInfo(
        path="new-sink",
        panel="Plugins and data",
        load="pubench_testkit.cli.commands:new_sink",
        help="Make a package with a sink that works, its tests, and comments that say what to replace.",
        example="pubench new-sink my-sink",
    ),
    CommandInfo(
        path="new-command",
        panel="Plugins and data",
        load="pubench_testkit.cli.commands:new_command",
        help="Make a package with a command that works, its tests, and comments that say what to replace.",
        example="pubench new-command my-command",
    ),
]


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return COMMANDS
