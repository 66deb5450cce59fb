"""Many runs of one file: descriptions of the commands of ``pubench study``.

``spec``, ``grid`` and ``files`` read a study; ``planning`` resolves every run once; ``plan`` is the frozen plan;
``state`` reads which runs are done; ``scheduler`` gives the others to the pool of an executor (``executors``), by
default processes here (``local``, ``worker``); ``export`` packs plan and records. ``crossfit`` joins
the runs of a run with ``validation.folds`` (``folds``).
"""

from __future__ import annotations

from pubench_core import CommandInfo, hookimpl


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return [
        CommandInfo(
            path="study",
            panel="Run and compare",
            help="Run many experiments from one file; the same command resumes.",
        ),
        CommandInfo(
            path="study plan",
            load="pubench_study.cli.commands:plan",
            example="pubench study plan quick --results results",
        ),
        CommandInfo(
            path="study run",
            load="pubench_study.cli.commands:run",
            example="pubench study run quick --results results -j 2",
        ),
        CommandInfo(
            path="study status",
            load="pubench_study.cli.commands:status",
            example="pubench study status quick --results results",
        ),
        CommandInfo(
            path="remove",
            panel="Results",
            load="pubench_study.cli.commands:remove",
            example="pubench remove --superseded --results results",
        ),
        CommandInfo(
            path="study export",
            load="pubench_study.cli.commands:export",
            example="pubench study export quick --results results --out quick.zip",
        ),
    ]


@hookimpl
def pubench_folds() -> str:
    return "pubench_study.crossfit:JointWork"


@hookimpl
def pubench_protocols() -> str:
    return "pubench_study.study_file:protocol_rows"
