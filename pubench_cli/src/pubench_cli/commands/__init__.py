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
        example="pubench run --method nnpu --data digits --mech scar --c 0.1 --seed 2 --select pa",
    ),
    CommandInfo(
        path="track",
        panel="Results",
        load="pubench_cli.commands.runs:track",
        example="pubench track --results results",
    ),
    CommandInfo(
        path="list",
        panel="Plugins and data",
        load="pubench_cli.commands.plugins:list_",
        example="pubench list methods --format json",
    ),
    CommandInfo(
        path="info",
        panel="Plugins and data",
        load="pubench_cli.commands.plugins:info",
        example="pubench info nnpu",
    ),
    CommandInfo(
        path="doctor",
        panel="Plugins and data",
        load="pubench_cli.commands.plugins:doctor",
        example="pubench doctor nnpu",
    ),
    CommandInfo(
        path="help",
        panel="Plugins and data",
        load="pubench_cli.commands.plugins:help_",
        example="pubench help all",
    ),
    CommandInfo(path="data", panel="Plugins and data", help="Fetch and remove data sets; check a table of your own."),
    CommandInfo(
        path="data check",
        load="pubench_cli.commands.data:check",
        example="pubench data check my.csv --label-col labeled",
    ),
    CommandInfo(
        path="data fetch",
        load="pubench_cli.commands.data:fetch",
        example="pubench data fetch fashion-mnist",
    ),
    CommandInfo(
        path="data remove",
        load="pubench_cli.commands.data:remove",
        example="pubench data remove mnist",
    ),
]


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return COMMANDS
