"""Studies as arrays of Slurm jobs: ``config`` reads what a cluster needs, ``script`` writes, ``command`` submits."""

from pubench_core import CommandInfo, hookimpl


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return [
        CommandInfo(
            path="study slurm",
            load="pubench_slurm.command:slurm",
            help="Write the Slurm array that carries a study out, and submit it with --submit.",
            example="pubench study slurm quick --results results --config slurm.yaml",
        )
    ]
