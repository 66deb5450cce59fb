"""Studies as arrays of Slurm jobs: ``config`` reads what a cluster needs, ``script`` writes, ``command`` submits."""

from pubench_core import CommandInfo, hookimpl


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return [
        CommandInfo(
            path="study slurm",
            load="pubench_slurm.command:slurm",
            example="pubench study slurm quick --results results --config slurm.yaml",
        )
    ]
