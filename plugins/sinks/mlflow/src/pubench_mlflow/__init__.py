"""MLflow as a sink. The sending is in :mod:`pubench_mlflow.sink`."""

from __future__ import annotations

from pubench_core import SinkInfo, hookimpl


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
