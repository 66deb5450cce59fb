"""The command that opens MLflow's page."""

from __future__ import annotations

from pubench_core import CommandInfo, hookimpl


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return [
        CommandInfo(
            path="ui",
            panel="Results",
            load="pubench_mlflow.cli.commands:ui",
            example="pubench ui --results results",
        )
    ]
