"""MLflow as a sink, and the command that opens its page. The sending is in :mod:`pubench_mlflow.sink`."""

from __future__ import annotations

from pubench_core import CommandInfo, SinkInfo, hookimpl


@hookimpl
def pubench_sinks() -> list[SinkInfo]:
    return [
        SinkInfo(
            key="mlflow",
            name="MLflow",
            summary="An MLflow run for each record: parameters, measures, epochs, tags and the record's files.",
            load="pubench_mlflow.sink:MlflowSink",
            automatic=True,
            address="server or database; by default MLFLOW_TRACKING_URI, else <results>/mlflow.db",
        )
    ]


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return [
        CommandInfo(
            path="ui",
            load="pubench_mlflow.cli.commands:ui",
            help="Open MLflow's page on the results, on this machine only.",
            example="pubench ui --results results",
        )
    ]
