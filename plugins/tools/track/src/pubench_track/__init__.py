"""Records sent to the sinks that lack them."""

from pubench_core import CommandInfo, hookimpl

COMMANDS = [
    CommandInfo(
        path="track",
        panel="Results",
        load="pubench_track.commands:track",
        help="Send to sinks every record that they lack, each exactly once.",
        example="pubench track --results results",
    ),
]


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return COMMANDS
