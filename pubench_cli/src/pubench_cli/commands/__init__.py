"""The commands as they are typed: arguments, options, help. What they do is in the modules next to this folder.

:data:`COMMANDS` describes them; nothing else is imported before one is called.
"""

from __future__ import annotations

from pubench_core import CommandInfo, hookimpl

COMMANDS = [
    CommandInfo(
        path="run",
        panel="Run and compare",
        load="pubench_cli.commands.runs:run",
        help="Train one method and print its test scores for each selection criterion.",
        example="pubench run --method nnpu --data digits --mech scar --c 0.1 --seed 2 --select pa",
    ),
    CommandInfo(
        path="track",
        panel="Results",
        load="pubench_cli.commands.runs:track",
        help="Send to sinks every record that they lack, each exactly once.",
        example="pubench track --results results",
    ),
    CommandInfo(
        path="list",
        panel="Plugins and data",
        load="pubench_cli.commands.plugins:list_",
        help="List installed plugins, broken ones included, without importing them.",
        example="pubench list methods --format json",
    ),
    CommandInfo(
        path="info",
        panel="Plugins and data",
        load="pubench_cli.commands.plugins:info",
        help="Show a plugin's reference, hyper-parameters and presets.",
        example="pubench info nnpu",
    ),
    CommandInfo(
        path="doctor",
        panel="Plugins and data",
        load="pubench_cli.commands.plugins:doctor",
        help="Check the installation, one plugin (with its traceback if it is broken, and exit code 1), or a folder's "
        "locks.",
        example="pubench doctor nnpu",
    ),
    CommandInfo(
        path="help",
        panel="Plugins and data",
        load="pubench_cli.commands.helping:help_",
        help="List every command, or show the help of one.",
        example="pubench help all",
    ),
    CommandInfo(path="data", panel="Plugins and data", help="List, fetch, check, draw and remove data sets."),
    CommandInfo(
        path="data list",
        load="pubench_cli.commands.data:list_",
        help="List data sets on this machine: state, size, rows, classes, prior, license (citations: pubench data "
        "info).",
        example="pubench data list",
    ),
    CommandInfo(
        path="data info",
        load="pubench_cli.commands.data:info",
        help="Everything about one data set, or what is understood of a table of your own (my.csv --label-col COLUMN).",
        example="pubench data info letter",
    ),
    CommandInfo(
        path="data check",
        load="pubench_cli.commands.data:check",
        help="Show how a table of your own is read, before anything is trained: labels, features, ids, oddities.",
        example="pubench data check my.csv --label-col labeled",
    ),
    CommandInfo(
        path="data fetch",
        load="pubench_cli.commands.data:fetch",
        help="Download what is absent and prepare the copy that runs open.",
        example="pubench data fetch fashion-mnist",
    ),
    CommandInfo(
        path="data verify",
        load="pubench_cli.commands.data:verify",
        help="Read every byte of prepared copies and their sources, and compare checksums. Exit code 1 if one differs.",
        example="pubench data verify fashion-mnist",
    ),
    CommandInfo(
        path="data path",
        load="pubench_cli.commands.data:path",
        help="Print the folder of a data set's prepared copy, or of its files if there is none.",
        example="cd $(pubench data path mnist)",
    ),
    CommandInfo(
        path="data remove",
        load="pubench_cli.commands.data:remove",
        help="Delete prepared copies. The files as distributed stay.",
        example="pubench data remove mnist",
    ),
]


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return COMMANDS
